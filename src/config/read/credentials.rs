//! `[credentials.NAME]`: what backends are shown.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use super::{Field, Reader, Value};
use crate::config::{Backend, Credential, Secret, value};

const CREDENTIAL: [&str; 3] = ["header", "value_env", "value_file"];

impl Reader<'_> {
    pub(super) fn credentials(&mut self, field: Field<'_, '_>) -> Vec<Credential> {
        let DeValue::Table(table) = field.value.get_ref() else {
            self.wrong_type(field, "tables, each headed [credentials.NAME]");
            return Vec::new();
        };
        let mut all = Vec::new();
        for (key, entry) in table {
            let path = format!("credentials.{}", key.get_ref());
            let DeValue::Table(table) = entry.get_ref() else {
                self.wrong_type(Field { value: entry, name: &path }, "a table with a header and a value");
                continue;
            };
            if let Err(fault) = value::backend_name(key.get_ref()) {
                self.fault(Field { value: entry, name: &path }, fault);
            }
            self.unknown_fields(table, &CREDENTIAL, &format!(" in {path}"), None);
            all.push(self.credential(key.get_ref(), entry, table, &path));
        }
        all
    }

    fn credential(&mut self, name: &str, entry: &Value<'_>, table: &DeTable<'_>, path: &str) -> Credential {
        let [header, env, file] = CREDENTIAL.map(|field| format!("{path}.{field}"));
        let header = match table.get("header") {
            Some(value) => self.text(Field { value, name: &header }, "a metadata key", value::header),
            None => self.missing(entry, path, "header = \"authorization\""),
        };
        let secret = match (table.get("value_env"), table.get("value_file")) {
            (Some(value), None) => {
                self.text(Field { value, name: &env }, "a variable's name", value::variable).map(Secret::Env)
            }
            (None, Some(value)) => self.text(Field { value, name: &file }, "a path", value::folder).map(Secret::File),
            (Some(_), Some(value)) => {
                self.fault(Field { value, name: &file }, "value_env stands there too; expected one of them");
                None
            }
            (None, None) => self.missing(entry, path, "value_env = \"SAP_TOKEN\", or value_file = \"sap.token\""),
        };
        // What is faulty is never used.
        let value = secret.unwrap_or(Secret::File(PathBuf::new()));
        Credential { name: name.to_owned(), header: header.unwrap_or_default(), value }
    }

    /// Names each backend whose credential is not there.
    pub(super) fn known_credentials(&mut self, field: Field<'_, '_>, backends: &[Backend], all: &[Credential]) {
        for backend in backends {
            if let Some(name) = &backend.credential
                && !all.iter().any(|credential| credential.name == *name)
            {
                let fault = format!(
                    "backend {:?} names the credential {name:?}, which is not there; add [credentials.{name}]",
                    backend.name
                );
                self.fault(field, fault);
            }
        }
    }
}
