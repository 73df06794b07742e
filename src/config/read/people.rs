//! `[[agents]]` and `[[operators]]`: who is asked for a token, and what each agent may call.

use std::collections::HashMap;

use toml::de::{DeTable, DeValue};

use super::{Field, Reader, TOP, Value};
use crate::config::{Agent, Binding, DEFAULT_TENANT, Operator, Secret, Token, value};

const AGENT: [&str; 7] = ["id", "tenant", "token_env", "token_file", "token_sha256", CERT_NAME, "tools"];
const OPERATOR: [&str; 5] = ["id", "token_env", "token_file", "token_sha256", CERT_NAME];
const TOKENS: [&str; 4] = ["token_env", "token_file", "token_sha256", CERT_NAME];
const CERT_NAME: &str = "cert_name";
const BINDING: [&str; 2] = ["name", "tool"];

/// The most tokens of one: the old, the new, and some to spare.
const MAX_TOKENS: usize = 8;

/// The most tools of one agent. Models choose badly among far fewer.
const MAX_TOOLS: usize = 1_000;

impl Reader<'_> {
    pub(super) fn agents(&mut self, field: Field<'_, '_>) -> Vec<Agent> {
        self.each(field, &AGENT, |reader, entry, table, path| {
            let (id, tokens) = reader.person(entry, table, path);
            let name = format!("{path}.tenant");
            let tenant = table
                .get("tenant")
                .and_then(|value| reader.text(Field { value, name: &name }, "a tenant's name", value::tenant));
            let tenant = tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned());
            let name = format!("{path}.tools");
            let tools = match table.get("tools") {
                Some(value) => reader.bindings(Field { value, name: &name }),
                None => reader
                    .missing(entry, path, "tools = [\"execute_tool_batch\", \"create_order\"]")
                    .unwrap_or_default(),
            };
            Agent { id, tenant, tokens, tools }
        })
    }

    pub(super) fn operators(&mut self, field: Field<'_, '_>) -> Vec<Operator> {
        self.each(field, &OPERATOR, |reader, entry, table, path| {
            let (id, tokens) = reader.person(entry, table, path);
            Operator { id, tokens }
        })
    }

    /// Reads each table of an array, and names ids that stand there twice.
    fn each<T>(
        &mut self,
        field: Field<'_, '_>,
        known: &[&str],
        read: impl Fn(&mut Self, &Value<'_>, &DeTable<'_>, &str) -> T,
    ) -> Vec<T> {
        let DeValue::Array(entries) = field.value.get_ref() else {
            self.wrong_type(field, &format!("tables, each headed [[{}]]", field.name));
            return Vec::new();
        };
        let mut first_with = HashMap::new();
        let mut all = Vec::with_capacity(entries.len());
        for (index, value) in entries.iter().enumerate() {
            let path = format!("{}[{index}]", field.name);
            let DeValue::Table(table) = value.get_ref() else {
                self.wrong_type(Field { value, name: &path }, "a table with an id and a token");
                continue;
            };
            self.unknown_fields(table, known, &format!(" in {path}"), Some(&TOP));
            if let Some(id) = table.get("id")
                && let Some(text) = id.get_ref().as_str()
            {
                let first = *first_with.entry(text.to_owned()).or_insert(index);
                if first != index {
                    let name = format!("{path}.id");
                    self.fault(
                        Field { value: id, name: &name },
                        format!("{text:?} is the id of {}[{first}] too; give each its own", field.name),
                    );
                }
            }
            all.push(read(self, value, table, &path));
        }
        all
    }

    fn person(&mut self, entry: &Value<'_>, table: &DeTable<'_>, path: &str) -> (String, Vec<Token>) {
        let name = format!("{path}.id");
        let id = match table.get("id") {
            Some(value) => self.text(Field { value, name: &name }, "an id", value::id),
            None => self.missing(entry, path, "id = \"orders\""),
        };
        (id.unwrap_or_default(), self.tokens(entry, table, path))
    }

    /// Each kind of token alone or in an array, so that an old and a new one hold at the same time.
    fn tokens(&mut self, entry: &Value<'_>, table: &DeTable<'_>, path: &str) -> Vec<Token> {
        let (mut tokens, mut count) = (Vec::new(), 0);
        for key in TOKENS {
            let Some(value) = table.get(key) else { continue };
            let name = format!("{path}.{key}");
            if let DeValue::Array(entries) = value.get_ref() {
                count += entries.len();
                for (index, value) in entries.iter().enumerate() {
                    let name = format!("{name}[{index}]");
                    tokens.extend(self.token(key, Field { value, name: &name }));
                }
            } else {
                count += 1;
                tokens.extend(self.token(key, Field { value, name: &name }));
            }
        }
        match count {
            0 => self
                .missing(
                    entry,
                    path,
                    "token_env = \"ORDERS_TOKEN\", token_file = \"orders.token\", token_sha256 = \"...\", or \
                     cert_name = \"orders.example.com\"",
                )
                .unwrap_or(tokens),
            1..=MAX_TOKENS => tokens,
            _ => {
                self.faults
                    .add(entry.span().start, format!("{path} has {count} tokens; expected at most {MAX_TOKENS}"));
                tokens
            }
        }
    }

    /// A certificate that nobody asks for says nothing.
    pub(super) fn guard_cert_names<'a>(&mut self, field: Field<'_, '_>, tokens: impl IntoIterator<Item = &'a Token>) {
        let named = tokens.into_iter().find_map(|token| match token {
            Token::Certificate(name) => Some(name),
            Token::Secret(_) | Token::Sha256(_) => None,
        });
        if let Some(name) = named {
            self.fault(
                field,
                format!(
                    "cert_name = {name:?}, but no client is asked for a certificate: add [tls] with client_ca, the authorities \
                     who sign the clients'"
                ),
            );
        }
    }

    fn token(&mut self, key: &str, field: Field<'_, '_>) -> Option<Token> {
        match key {
            "token_env" => {
                let name = self.text(field, "a variable's name", value::variable)?;
                Some(Token::Secret(Secret::Env(name)))
            }
            "token_file" => {
                let path = self.text(field, "a path", value::folder)?;
                Some(Token::Secret(Secret::File(path)))
            }
            CERT_NAME => self.text(field, "a name in a certificate", value::cert_name).map(Token::Certificate),
            _ => self.text(field, "a token's SHA-256", value::sha256).map(Token::Sha256),
        }
    }

    fn bindings(&mut self, field: Field<'_, '_>) -> Vec<Binding> {
        let DeValue::Array(entries) = field.value.get_ref() else {
            self.wrong_type(
                field,
                "an array of tools, such as [\"plan_orders\", { name = \"Create order\", tool = \"create_order\" }]",
            );
            return Vec::new();
        };
        if entries.len() > MAX_TOOLS {
            self.fault(field, format!("{} tools; expected at most {MAX_TOOLS}", entries.len()));
        }
        let mut bindings: Vec<Binding> = Vec::with_capacity(entries.len());
        for (index, value) in entries.iter().enumerate() {
            let name = format!("{}[{index}]", field.name);
            let field = Field { value, name: &name };
            let Some(binding) = self.binding(field) else { continue };
            if bindings.iter().any(|earlier| earlier.name == binding.name) {
                self.fault(
                    field,
                    format!("{:?} is in this list already; give each tool a name of its own", binding.name),
                );
            }
            bindings.push(binding);
        }
        bindings
    }

    fn binding(&mut self, field: Field<'_, '_>) -> Option<Binding> {
        let DeValue::Table(table) = field.value.get_ref() else {
            let name = self.text(field, "a tool's name, or { name = \"...\", tool = \"...\" }", value::tool)?;
            return Some(Binding { tool: name.clone(), name });
        };
        self.unknown_fields(table, &BINDING, &format!(" in {}", field.name), None);
        let mut read = |key: &str, line: &str| match table.get(key) {
            Some(value) => {
                let name = format!("{}.{key}", field.name);
                self.text(Field { value, name: &name }, "a tool's name", value::tool)
            }
            None => self.missing(field.value, field.name, line),
        };
        let name = read("name", "name = \"Create order\"");
        let tool = read("tool", "tool = \"create_order\"");
        Some(Binding { name: name?, tool: tool? })
    }
}
