//! From TOML to a [`Config`]: walks the parsed text, so that every value and every unknown field has its place.

mod listener;
mod prices;

use std::{collections::HashMap, ops::RangeInclusive, time::Duration};

mod backend_tls;
mod credentials;
mod people;
mod registration;

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Backend, Config, Listen, MAX_CALL_TIMEOUT, MAX_RETENTION, MAX_SHUTDOWN_GRACE, MIN_RETENTION,
    error::{Fault, Faults},
    value,
};

/// The most replicas of one backend. Each costs a connection and a health check; more belong behind a balancer.
pub const MAX_ADDRESSES: usize = 16;

/// How alike (Jaro) an unknown field and a known one must be to be offered as what was meant; clap's threshold for flags.
const ALIKE: f64 = 0.7;

const TOP: [&str; 15] = [
    "listen",
    "data_dir",
    "shutdown_grace",
    "retention",
    "call_timeout",
    "insecure",
    "tls",
    "limits",
    "not_batchable",
    "backends",
    "credentials",
    "agents",
    "operators",
    "prices",
    "registration",
];
const BACKEND: [&str; 8] =
    ["name", "addresses", "ca", "cert", "key", "credential", "max_concurrency", "max_calls_per_second"];

/// The most calls at once that a backend can be said to take: more is no limit.
pub const MAX_CONCURRENCY: u32 = 10_000;
/// The most calls in a second that a backend can be said to take.
pub const MAX_CALLS_PER_SECOND: f64 = 1_000_000.0;

/// Any length but none at all.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);

type Value<'i> = Spanned<DeValue<'i>>;

/// Reads a whole text; on failure all its faults, in the order of the text.
pub(super) fn config(text: &str) -> Result<Config, Vec<Fault>> {
    let mut faults = Faults::of(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let end_of_text = text.trim_end().len();
        faults.add(error.span().map_or(end_of_text, |span| span.start), one_line(error.message()));
    }
    if !faults.is_empty() {
        return Err(faults.into_sorted());
    }
    let mut reader = Reader { faults };
    let config = reader.top(document.get_ref());
    if reader.faults.is_empty() { Ok(config) } else { Err(reader.faults.into_sorted()) }
}

/// The parser writes its messages over several lines.
fn one_line(message: &str) -> String {
    format!("this is not TOML: {}", message.lines().map(str::trim).collect::<Vec<_>>().join(", "))
}

struct Reader<'t> {
    faults: Faults<'t>,
}

/// A field's value and how messages name it.
#[derive(Clone, Copy)]
struct Field<'v, 'i> {
    value: &'v Value<'i>,
    name: &'v str,
}

impl Reader<'_> {
    fn top(&mut self, table: &DeTable<'_>) -> Config {
        self.unknown_fields(table, &TOP, "", None);
        let default = Config::default();
        let get = |name| table.get(name).map(|value| Field { value, name });
        let listen = get("listen").and_then(|field| self.text(field, "an address", value::listen));
        let insecure = get("insecure").and_then(|field| self.boolean(field));
        // Where `insecure` is faulty, that is the fault to mend first.
        let exposed = !insecure.unwrap_or(get("insecure").is_some());
        let asks = get("agents").or(get("operators")).is_some();
        let tls = get("tls").and_then(|field| self.tls(field));
        if let (Some(field), Some(listen), true) = (get("listen"), &listen, exposed) {
            let knows = asks || tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
            self.guard(field, listen, knows, get("tls").is_some());
        }
        if let (Some(field), Some(listen)) = (get("tls"), &listen) {
            self.guard_tls(field, listen);
        }
        let backends = get("backends").map_or(default.backends, |field| self.backends(field));
        let credentials = get("credentials").map_or(default.credentials, |field| self.credentials(field));
        if let Some(field) = get("backends") {
            self.known_credentials(field, &backends, &credentials);
        }
        let agents = get("agents").map_or(default.agents, |field| self.agents(field));
        let operators = get("operators").map_or(default.operators, |field| self.operators(field));
        if tls.as_ref().map_or(get("tls").is_none(), |tls| tls.client_ca.is_none()) {
            if let Some(field) = get("agents") {
                self.guard_cert_names(field, agents.iter().flat_map(|agent| &agent.tokens));
            }
            if let Some(field) = get("operators") {
                self.guard_cert_names(field, operators.iter().flat_map(|operator| &operator.tokens));
            }
        }
        Config {
            data_dir: get("data_dir")
                .and_then(|field| self.text(field, "a path", value::folder))
                .unwrap_or(default.data_dir),
            shutdown_grace: get("shutdown_grace")
                .and_then(|field| self.duration(field, Duration::ZERO..=MAX_SHUTDOWN_GRACE))
                .unwrap_or(default.shutdown_grace),
            retention: get("retention")
                .and_then(|field| self.duration(field, MIN_RETENTION..=MAX_RETENTION))
                .unwrap_or(default.retention),
            call_timeout: get("call_timeout")
                .and_then(|field| self.duration(field, SHORTEST_TIMEOUT..=MAX_CALL_TIMEOUT))
                .unwrap_or(default.call_timeout),
            not_batchable: get("not_batchable")
                .map_or(default.not_batchable, |field| self.texts(field, "tool names", value::tool_pattern)),
            backends,
            credentials,
            agents,
            operators,
            prices: get("prices").map_or(default.prices, |field| self.prices(field)),
            registration: get("registration").map_or(default.registration, |field| self.registration(field)),
            listen: listen.unwrap_or(default.listen),
            insecure: insecure.unwrap_or(default.insecure),
            tls,
            limits: get("limits").map_or(default.limits, |field| self.limits(field)),
        }
    }

    /// Open mode lets everybody do everything, and an unencrypted token is anybody's who hears it: neither must be opened to a
    /// network by accident (R12).
    fn guard(&mut self, field: Field<'_, '_>, listen: &Listen, knows: bool, encrypts: bool) {
        if listen.is_local() {
            return;
        }
        if !knows {
            self.fault(
                field,
                format!(
                    "{listen} can be reached from other machines, and nobody is asked for a token: whoever connects may call \
                     every tool; listen on 127.0.0.1, [::1] or \"unix:/PATH\", or set insecure = true if the network is trusted"
                ),
            );
        } else if !encrypts {
            self.fault(
                field,
                format!(
                    "{listen} can be reached from other machines, and tokens would arrive unencrypted: add [tls] with cert and \
                     key, or set insecure = true where a proxy that speaks TLS stands in front"
                ),
            );
        }
    }

    fn backends(&mut self, field: Field<'_, '_>) -> Vec<Backend> {
        let DeValue::Array(entries) = field.value.get_ref() else {
            self.wrong_type(field, "tables, each headed [[backends]]");
            return Vec::new();
        };
        let mut lines = HashMap::new();
        let mut backends = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let path = format!("backends[{index}]");
            let Field { value, name } = Field { value: entry, name: &path };
            let DeValue::Table(table) = value.get_ref() else {
                self.wrong_type(Field { value, name }, "a table with name and addresses");
                continue;
            };
            let backend = self.backend(entry, table, &path);
            let first = *lines.entry(backend.name.clone()).or_insert(index);
            if first != index
                && !backend.name.is_empty()
                && let Some(value) = table.get("name")
            {
                let name = format!("{path}.name");
                self.fault(
                    Field { value, name: &name },
                    format!("{:?} is the name of backends[{first}] too; give each its own", backend.name),
                );
            }
            backends.push(backend);
        }
        backends
    }

    fn backend(&mut self, entry: &Value<'_>, table: &DeTable<'_>, path: &str) -> Backend {
        self.unknown_fields(table, &BACKEND, &format!(" in {path}"), Some(&TOP));
        let name_path = format!("{path}.name");
        let name = match table.get("name") {
            Some(value) => self.text(Field { value, name: &name_path }, "a name", |text| {
                value::backend_name(text).map(|()| text.to_owned())
            }),
            None => self.missing(entry, path, "name = \"erp\""),
        };
        let addresses_path = format!("{path}.addresses");
        let addresses = match table.get("addresses") {
            Some(value) => Some(self.addresses(Field { value, name: &addresses_path })),
            None => self.missing(entry, path, "addresses = [\"http://127.0.0.1:7001\"]"),
        };
        let credential_path = format!("{path}.credential");
        let credential = table.get("credential").and_then(|value| {
            let field = Field { value, name: &credential_path };
            self.text(field, "a credential's name", |text| value::backend_name(text).map(|()| text.to_owned()))
        });
        let (at_once, pace) = (format!("{path}.max_concurrency"), format!("{path}.max_calls_per_second"));
        let max_concurrency = table.get("max_concurrency").and_then(|value| {
            let bounds = 1..=i64::from(MAX_CONCURRENCY);
            self.integer(Field { value, name: &at_once }, bounds).and_then(|number| u32::try_from(number).ok())
        });
        let max_calls_per_second =
            table.get("max_calls_per_second").and_then(|value| self.pace(Field { value, name: &pace }));
        let tls = self.backend_tls(table, path);
        if let Some(addresses) = &addresses {
            self.guard_backend_tls(table, path, addresses);
        }
        Backend {
            name: name.unwrap_or_default(),
            addresses: addresses.unwrap_or_default(),
            tls,
            credential,
            max_concurrency: max_concurrency.unwrap_or_default(),
            max_calls_per_second: max_calls_per_second.unwrap_or_default(),
        }
    }

    fn pace(&mut self, field: Field<'_, '_>) -> Option<f64> {
        let number: Option<f64> = match field.value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            DeValue::Float(number) => number.to_string().parse().ok(),
            DeValue::String(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.wrong_type(field, "a number of calls");
                return None;
            }
        };
        let number = number.filter(|number| *number > 0.0 && *number <= MAX_CALLS_PER_SECOND);
        if number.is_none() {
            let expected = format!("a number above 0 and up to {MAX_CALLS_PER_SECOND}");
            self.fault(field, format!("it is out of bounds; expected {expected}"));
        }
        number
    }

    fn addresses(&mut self, field: Field<'_, '_>) -> Vec<String> {
        if let DeValue::Array(entries) = field.value.get_ref() {
            if !(1..=MAX_ADDRESSES).contains(&entries.len()) {
                self.fault(field, format!("{} addresses; expected 1 to {MAX_ADDRESSES}", entries.len()));
            }
            for (index, entry) in entries.iter().enumerate() {
                let text = entry.get_ref().as_str();
                if text.is_some() && entries[..index].iter().any(|earlier| earlier.get_ref().as_str() == text) {
                    let name = format!("{}[{index}]", field.name);
                    self.fault(
                        Field { value: entry, name: &name },
                        "this address stands here twice; name each replica once",
                    );
                }
            }
        }
        self.texts(field, "addresses", value::backend_address)
    }

    /// Names each field that nothing reads, with the nearest that is read, or all of them where none is near.
    fn unknown_fields(&mut self, table: &DeTable<'_>, known: &[&str], place: &str, top: Option<&[&str]>) {
        for key in table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let name = key.get_ref().as_ref();
            let advice = match nearest(name, known) {
                _ if top.is_some_and(|top| top.contains(&name)) => {
                    "it is a field of the top level: move it above the first section".to_owned()
                }
                Some(near) => format!("did you mean {near:?}?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            self.faults.add(key.span().start, format!("unknown field {name:?}{place}; {advice}"));
        }
    }

    fn text<T>(
        &mut self,
        field: Field<'_, '_>,
        expected: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let DeValue::String(text) = field.value.get_ref() else {
            self.wrong_type(field, &format!("{expected} as a string"));
            return None;
        };
        read(text).map_err(|message| self.fault(field, message)).ok()
    }

    fn texts(
        &mut self,
        field: Field<'_, '_>,
        expected: &str,
        check: impl Fn(&str) -> Result<(), String>,
    ) -> Vec<String> {
        let DeValue::Array(entries) = field.value.get_ref() else {
            self.wrong_type(field, &format!("an array of {expected}, such as [\"...\"]"));
            return Vec::new();
        };
        let mut texts = Vec::with_capacity(entries.len());
        for (index, value) in entries.iter().enumerate() {
            let name = format!("{}[{index}]", field.name);
            let read = |text: &str| check(text).map(|()| text.to_owned());
            texts.extend(self.text(Field { value, name: &name }, "each entry", read));
        }
        texts
    }

    fn boolean(&mut self, field: Field<'_, '_>) -> Option<bool> {
        let value = field.value.get_ref().as_bool();
        if value.is_none() {
            self.wrong_type(field, "true or false, without quotes");
        }
        value
    }

    fn duration(&mut self, field: Field<'_, '_>, bounds: RangeInclusive<Duration>) -> Option<Duration> {
        let duration = self.text(field, "a duration such as \"30s\"", value::duration)?;
        if bounds.contains(&duration) {
            return Some(duration);
        }
        let [given, least, most] = [duration, *bounds.start(), *bounds.end()].map(value::duration_text);
        self.fault(field, format!("{given} is out of bounds; expected {least} to {most}"));
        None
    }

    fn missing<T>(&mut self, entry: &Value<'_>, path: &str, line: &str) -> Option<T> {
        self.faults.add(entry.span().start, format!("{path} lacks a field; add {line}"));
        None
    }

    fn wrong_type(&mut self, field: Field<'_, '_>, expected: &str) {
        let arrived = match field.value.get_ref() {
            DeValue::String(text) => format!("the string {text:?}"),
            DeValue::Integer(number) => format!("the integer {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(moment) => format!("the date {moment}"),
            DeValue::Array(entries) => format!("an array of {}", entries.len()),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.fault(field, format!("got {arrived}; expected {expected}"));
    }

    fn fault(&mut self, field: Field<'_, '_>, message: impl AsRef<str>) {
        self.faults.add(field.value.span().start, format!("{}: {}", field.name, message.as_ref()));
    }
}

/// The known name most like `name`, where one is like it.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let scored = known.iter().map(|candidate| (strsim::jaro(name, candidate), *candidate));
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}
