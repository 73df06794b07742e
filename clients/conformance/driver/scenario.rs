//! Scenario files: what is in them, and what is wrong with them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use crate::{json::Json, matching::Order, names};

/// What a request may hold beside `do`.
const REQUEST: [&str; 15] = [
    "token",
    "give_up_after_ms",
    "deadline_ms",
    "stop",
    "batch",
    "batch_id",
    "after_sequence",
    "abort_running",
    "task_id",
    "name",
    "value_json",
    "step_id",
    "format",
    "call",
    "do",
];
/// What a client can be asked to do.
const DOES: [&str; 10] = [
    "run",
    "result",
    "watch",
    "cancel_batch",
    "set_variable",
    "step",
    "step_result",
    "usage",
    "definitions",
    "tool_call",
];

/// One story that a client and a backend have to live through.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) server: ServerKind,
    pub(crate) cut: Cut,
    pub(crate) steps: Vec<Step>,
}

/// Which server a scenario is played on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerKind {
    /// h2c, open to everybody.
    Plain,
    /// A Unix socket.
    Unix,
    /// TLS and tokens.
    Secure,
    /// With prices for usage.
    Priced,
    /// A server of the driver's own, newer than the contract.
    Future,
}

/// Where the way to the server is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nowhere: there is no proxy.
    #[default]
    Never,
    /// After each message of an answer.
    EveryEvent,
    /// After the so many-th messages of all answers together, from 1.
    After(Vec<u64>),
}

/// One request, and what is expected of its answer.
#[derive(Debug)]
pub(crate) struct Step {
    /// `do` and what belongs to it.
    pub(crate) request: Vec<(String, Json)>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) expect: Expect,
}

/// What goes wrong, and when.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Once the client has shown an event that holds this.
    pub(crate) after: Option<Json>,
    /// Once a tool waits at this gate.
    pub(crate) held: Option<String>,
    pub(crate) act: Act,
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    RestartServer,
    KillServer,
    StopServer,
    RestartBackend,
    TerminateBackend,
    KillBackend,
    Open(String),
}

/// What has to come.
#[derive(Debug, Default)]
pub(crate) struct Expect {
    pub(crate) events: Option<Vec<Json>>,
    pub(crate) order: Order,
    pub(crate) end: Option<Json>,
}

/// An object whose members are taken one by one, so that none is overlooked.
struct Members {
    left: Vec<(String, Json)>,
    what: &'static str,
}

impl Members {
    fn of(value: Json, what: &'static str) -> anyhow::Result<Self> {
        let Json::Object(left) = value else { bail!("expected an object as {what}, came {value}") };
        Ok(Self { left, what })
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        let place = self.left.iter().position(|(member, _)| member == name)?;
        Some(self.left.remove(place).1)
    }

    fn text(&mut self, name: &str) -> anyhow::Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(other) => bail!("{}: expected a text as {name:?}, came {other}", self.what),
        }
    }

    fn array(&mut self, name: &str) -> anyhow::Result<Option<Vec<Json>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Json::Array(values)) => Ok(Some(values)),
            Some(other) => bail!("{}: expected an array as {name:?}, came {other}", self.what),
        }
    }

    fn flag(&mut self, name: &str) -> anyhow::Result<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Json::Bool(value)) => Ok(value),
            Some(other) => bail!("{}: expected true or false as {name:?}, came {other}", self.what),
        }
    }

    fn end(self) -> anyhow::Result<()> {
        match self.left.first() {
            Some((name, _)) => bail!("{}: there is no member {name:?}", self.what),
            None => Ok(()),
        }
    }
}

/// All scenarios of a folder, by file and place. No two have one name.
pub(crate) fn read_folder(folder: &Path) -> anyhow::Result<Vec<Scenario>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read scenarios in {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut scenarios = Vec::new();
    let mut files_of: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let read = read_file(&text).with_context(|| file.display().to_string())?;
        for scenario in &read {
            if let Some(other) = files_of.insert(scenario.name.clone(), file.clone()) {
                bail!("{} and {}: two scenarios named {:?}", other.display(), file.display(), scenario.name);
            }
        }
        scenarios.extend(read);
    }
    ensure!(!scenarios.is_empty(), "there is no scenario in {}", folder.display());
    Ok(scenarios)
}

/// The scenarios of one file.
fn read_file(text: &str) -> anyhow::Result<Vec<Scenario>> {
    // It says line and column of what is no JSON.
    serde_json::from_str::<serde::de::IgnoredAny>(text)?;
    let Json::Array(values) = Json::parse(text)? else { bail!("expected an array of scenarios") };
    let scenario = |(place, value): (usize, Json)| {
        let name = value.get("name").and_then(Json::as_text);
        let what = name.map_or_else(|| format!("scenario {}", place + 1), |name| format!("scenario {name:?}"));
        read_scenario(value).context(what)
    };
    values.into_iter().enumerate().map(scenario).collect()
}

fn read_scenario(value: Json) -> anyhow::Result<Scenario> {
    let mut members = Members::of(value, "a scenario")?;
    let name = members.text("name")?.filter(|name| !name.is_empty()).context("it has no name")?;
    members.text("about")?.context("it does not say what it is about")?;
    members.text("case")?;
    let server = match members.text("server")?.as_deref() {
        None | Some("plain") => ServerKind::Plain,
        Some("unix") => ServerKind::Unix,
        Some("secure") => ServerKind::Secure,
        Some("priced") => ServerKind::Priced,
        Some("future") => ServerKind::Future,
        Some(other) => bail!("there is no server {other:?}: expected plain, unix, secure, priced or future"),
    };
    let cut = members.take("cut").map(read_cut).transpose()?.unwrap_or_default();
    if cut != Cut::Never && matches!(server, ServerKind::Unix | ServerKind::Secure) {
        bail!("cut: the proxy neither reads TLS nor listens on a socket file: use another server");
    }
    let steps = members.array("steps")?.filter(|steps| !steps.is_empty()).context("it has no steps")?;
    members.end()?;
    let step = |(place, value)| read_step(value).with_context(|| format!("step {}", place + 1));
    let steps = steps.into_iter().enumerate().map(step).collect::<anyhow::Result<_>>()?;
    Ok(Scenario { name, server, cut, steps })
}

fn read_cut(value: Json) -> anyhow::Result<Cut> {
    let wanted = "cut: expected \"every_event\" or numbers from 1";
    match value {
        Json::Text(word) if word == "every_event" => Ok(Cut::EveryEvent),
        Json::Array(values) => {
            let numbers = values.iter().map(|value| value.as_u64().filter(|number| *number > 0).context(wanted));
            Ok(Cut::After(numbers.collect::<anyhow::Result<_>>()?))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => {
            bail!("{wanted}, came {value}")
        }
    }
}

fn read_step(value: Json) -> anyhow::Result<Step> {
    let mut members = Members::of(value, "a step")?;
    members.text("note")?;
    let faults = members.array("faults")?.unwrap_or_default();
    let fault = |(place, value)| read_fault(value).with_context(|| format!("fault {}", place + 1));
    let faults = faults.into_iter().enumerate().map(fault).collect::<anyhow::Result<_>>()?;
    let expect = members.take("expect").as_ref().map(read_expect).transpose()?.unwrap_or_default();
    let Json::Object(request) = names::write_out(&Json::Object(members.left))? else { bail!("it is no object") };
    for (name, _) in &request {
        ensure!(REQUEST.contains(&name.as_str()), "a request has no member {name:?}");
    }
    let asked = request.iter().find(|(name, _)| name == "do").and_then(|(_, value)| value.as_text());
    let asked = asked.context("it does not say what to do")?;
    ensure!(DOES.contains(&asked), "a client does no {asked:?}");
    Ok(Step { request, faults, expect })
}

fn read_fault(value: Json) -> anyhow::Result<Fault> {
    let mut members = Members::of(value, "a fault")?;
    members.text("note")?;
    let (after, held) = (members.take("after"), members.text("held")?);
    let (what, gate) = (members.text("do")?.context("it does not say what to do")?, members.text("gate")?);
    members.end()?;
    let act = match (what.as_str(), gate) {
        ("open", Some(gate)) => Act::Open(gate),
        ("open", None) => bail!("it does not say which gate to open"),
        (_, Some(_)) => bail!("only `open` has a gate"),
        ("restart_server", None) => Act::RestartServer,
        ("kill_server", None) => Act::KillServer,
        ("stop_server", None) => Act::StopServer,
        ("restart_backend", None) => Act::RestartBackend,
        ("terminate_backend", None) => Act::TerminateBackend,
        ("kill_backend", None) => Act::KillBackend,
        (other, None) => bail!("there is no fault {other:?}"),
    };
    Ok(Fault { after, held, act })
}

fn read_expect(value: &Json) -> anyhow::Result<Expect> {
    let mut members = Members::of(names::write_out(value)?, "what is expected")?;
    let order = Order { any: members.flag("any_order")?, some: members.flag("some")? };
    let expect = Expect { events: members.array("events")?, order, end: members.take("end") };
    members.end()?;
    Ok(expect)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        format!("{:#}", read_file(text).unwrap_err())
    }

    fn with_step(step: &str) -> String {
        format!(r#"[{{"name":"n","about":"a","steps":[{step}]}}]"#)
    }

    #[test]
    fn all_scenarios_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/conformance/scenarios");
        assert!(!read_folder(&folder).unwrap().is_empty());
    }

    #[test]
    fn a_scenario_is_read_whole() {
        let step = r#"{"do":"run","note":"n","batch":{"calls":{"$list":[2,{"tool":"echo"}]}},
            "faults":[{"after":{"kind":"k"},"held":"x","do":"kill_server"},{"do":"open","gate":"x"}],
            "expect":{"some":true,"events":[],"end":{"left":true}}}"#;
        let text =
            format!(r#"[{{"name":"n","about":"a","case":"C1","server":"future","cut":[2,3],"steps":[{step}]}}]"#);
        let [scenario] = &read_file(&text).unwrap()[..] else { panic!("one scenario") };
        assert_eq!((scenario.server, &scenario.cut), (ServerKind::Future, &Cut::After(vec![2, 3])));
        let [step] = &scenario.steps[..] else { panic!("one step") };
        assert_eq!(step.request[1].1.to_string(), r#"{"calls":[{"tool":"echo"},{"tool":"echo"}]}"#);
        assert_eq!((&step.faults[0].act, &step.faults[1].act), (&Act::KillServer, &Act::Open("x".into())));
        assert!(step.expect.order.some && !step.expect.order.any && step.expect.events.is_some());
    }

    #[test]
    fn errors_name_the_scenario_and_the_step() {
        assert_eq!(
            error(&with_step(r#"{"do":"runs","expect":{}}"#)),
            r#"scenario "n": step 1: a client does no "runs""#
        );
        let wrong = with_step(r#"{"do":"run","expect":{"event":[]}}"#);
        assert_eq!(error(&wrong), r#"scenario "n": step 1: what is expected: there is no member "event""#);
        let wrong = with_step(r#"{"do":"run","faults":[{"do":"burn"}],"expect":{}}"#);
        assert_eq!(error(&wrong), r#"scenario "n": step 1: fault 1: there is no fault "burn""#);
        assert!(error("[\n{]").contains("line 2"));
        assert!(
            error(r#"[{"name":"n","about":"a","server":"far","steps":[]}]"#).contains("there is no server \"far\"")
        );
        assert!(error(r#"[{"name":"n","about":"a","server":"unix","cut":"every_event","steps":[]}]"#).contains("cut"));
    }

    #[test]
    fn names_are_unique() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.json", "b.json"] {
            std::fs::write(folder.path().join(file), with_step(r#"{"do":"run","expect":{}}"#)).unwrap();
        }
        assert!(read_folder(folder.path()).unwrap_err().to_string().contains("two scenarios named \"n\""));
    }
}
