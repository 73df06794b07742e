//! The stub tools: what they are listed as, and what they do.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use serde_json::Value;
use tokio::sync::watch;
use tonic::{Code, Status};
use toolbatch::proto::{CallToolResponse, Tool, ToolAwaiting, ToolFailure, UsageItem, call_tool_response::Outcome};

use super::journal::Journal;

/// Everything of a backend that survives its crashes.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) journal: Journal,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tools: Vec<Tool>,
    lookup: Lookup,
    lookups: Vec<String>,
    gates: Vec<Gate>,
    /// What it says of its health; nothing, where it does not serve that.
    serves: Option<bool>,
    /// How often a `flaky` id ran.
    flaky: HashMap<String, u64>,
    /// The documents that an `order_change` holds.
    docs: HashSet<String>,
}

/// What `LookupCall` answers.
#[derive(Clone, Debug, Default)]
pub(crate) enum Lookup {
    #[default]
    Unimplemented,
    Unknown,
    NotLanded,
    /// It took effect and answered this result.
    Landed(String),
    /// It took effect and answered this.
    Answered(Box<CallToolResponse>),
    /// An answer without a fate.
    Empty,
    /// What the journal says: a backend that can tell.
    Journaled,
}

#[derive(Clone, Debug)]
struct Gate {
    /// A tool, or an `id`.
    what: String,
    number: u64,
    open: watch::Receiver<bool>,
}

impl Script {
    pub(super) fn new(tools: Vec<Tool>) -> Self {
        let script = Self::default();
        script.state().tools = tools;
        script
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics while it holds the script")
    }

    pub(super) fn tools(&self) -> Vec<Tool> {
        self.state().tools.clone()
    }

    pub(super) fn set_tools(&self, tools: Vec<Tool>) {
        self.state().tools = tools;
    }

    pub(super) fn serves(&self) -> Option<bool> {
        self.state().serves
    }

    pub(super) fn set_serves(&self, serves: bool) {
        self.state().serves = Some(serves);
    }

    pub(super) fn set_lookup(&self, lookup: Lookup) {
        self.state().lookup = lookup;
    }

    pub(super) fn look_up(&self, idempotency_key: String) -> Lookup {
        let mut state = self.state();
        let lookup = state.lookup.clone();
        let told = matches!(lookup, Lookup::Journaled).then(|| self.journal.tell(&idempotency_key));
        state.lookups.push(idempotency_key);
        told.unwrap_or(lookup)
    }

    pub(super) fn lookups(&self) -> Vec<String> {
        self.state().lookups.clone()
    }

    pub(super) fn add_gate(&self, what: &str) -> (u64, watch::Sender<bool>) {
        let (sender, open) = watch::channel(false);
        let mut state = self.state();
        let number = state.gates.iter().map(|gate| gate.number).max().unwrap_or(0) + 1;
        state.gates.push(Gate { what: what.to_owned(), number, open });
        (number, sender)
    }

    pub(super) fn remove_gate(&self, number: u64) {
        self.state().gates.retain(|gate| gate.number != number);
    }

    /// Waits until nothing holds this call.
    pub(super) async fn pass_gates(&self, tool: &str, id: &str) {
        let gates: Vec<Gate> =
            self.state().gates.iter().filter(|gate| gate.what == tool || gate.what == id).cloned().collect();
        for mut gate in gates {
            // A gate that was dropped is open.
            let _ = gate.open.wait_for(|open| *open).await;
        }
    }

    /// Does what `tool` does, and gives its answer.
    pub(super) async fn run(&self, tool: &str, id: &str, args_json: &str) -> Result<CallToolResponse, Status> {
        let args: Value = serde_json::from_str(args_json).unwrap_or_default();
        let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| args[name].as_u64().unwrap_or(0);
        let _lock = match tool {
            "order_change" => match self.lock(id) {
                Some(lock) => Some(lock),
                None => return Ok(failure("document is being processed", false)),
            },
            _ => None,
        };
        self.pass_gates(tool, id).await;
        tokio::time::sleep(Duration::from_millis(number("ms"))).await;
        Ok(match tool {
            "echo" => result(args_json),
            "effect" | "order_change" => result(&serde_json::json!({ "id": id }).to_string()),
            "fail" => match (usize::try_from(number("bytes")).unwrap_or(0), text("text")) {
                (0, text) if text.is_empty() => failure("it failed", false),
                (0, text) => failure(&text, false),
                (bytes, _) => failure(&"f".repeat(bytes), false),
            },
            "flaky" => {
                let mut state = self.state();
                let runs = state.flaky.entry(id.to_owned()).or_default();
                *runs += 1;
                if *runs <= number("fail") { failure("not yet", true) } else { result("true") }
            }
            "review" => {
                let awaiting = ToolAwaiting { await_id: text("id"), result_json: text("result") };
                CallToolResponse { outcome: Some(Outcome::Awaiting(awaiting)), ..Default::default() }
            }
            "blob" => {
                let quotes = 2;
                let bytes = usize::try_from(number("bytes")).unwrap_or(0);
                result(&format!("\"{}\"", "x".repeat(bytes.saturating_sub(quotes))))
            }
            "raw" => result(&text("text")),
            "silent" => std::future::pending().await,
            "progress" => result(&number("n").to_string()),
            "usage" => {
                let quantity = args["quantity"].as_f64().or_else(|| text("quantity").parse().ok()).unwrap_or(0.0);
                let one = UsageItem { unit: text("unit"), quantity };
                // Several units, or one several times: [["pages", 2], …].
                let usage = args["items"].as_array().map_or(vec![one], |items| {
                    let item = |item: &Value| UsageItem {
                        unit: item[0].as_str().unwrap_or_default().to_owned(),
                        quantity: item[1].as_f64().unwrap_or(0.0),
                    };
                    items.iter().map(item).collect()
                });
                CallToolResponse { usage, ..result("null") }
            }
            "hollow" => CallToolResponse::default(),
            "status" => {
                let code = i32::try_from(number("code")).unwrap_or(0);
                let message = if text("message").is_empty() { "scripted".to_owned() } else { text("message") };
                return Err(Status::new(Code::from_i32(code), message));
            }
            other => return Err(Status::not_found(format!("no stub tool {other}"))),
        })
    }

    fn lock(&self, doc: &str) -> Option<DocLock<'_>> {
        self.state().docs.insert(doc.to_owned()).then(|| DocLock { script: self, doc: doc.to_owned() })
    }
}

struct DocLock<'a> {
    script: &'a Script,
    doc: String,
}

impl Drop for DocLock<'_> {
    fn drop(&mut self) {
        self.script.state().docs.remove(&self.doc);
    }
}

fn result(text: &str) -> CallToolResponse {
    CallToolResponse { outcome: Some(Outcome::ResultJson(text.to_owned())), ..Default::default() }
}

fn failure(message: &str, retryable: bool) -> CallToolResponse {
    let failure = ToolFailure { message: message.to_owned(), code: "STUB".to_owned(), retryable };
    CallToolResponse { outcome: Some(Outcome::Failure(failure)), ..Default::default() }
}

/// A tool without a schema.
pub(crate) fn tool(name: &str) -> Tool {
    Tool { name: name.to_owned(), description: format!("the stub {name}"), ..Default::default() }
}

/// A tool with an input schema.
pub(crate) fn tool_with_schema(name: &str, schema: &str) -> Tool {
    Tool { input_schema_json: schema.to_owned(), ..tool(name) }
}

/// All stub tools.
pub(crate) fn stub_tools() -> Vec<Tool> {
    let plain = ["echo", "fail", "flaky", "review", "blob", "raw", "silent", "usage", "hollow", "status"];
    let mut tools: Vec<Tool> = plain.into_iter().map(tool).collect();
    tools.push(tool_with_schema(
        "effect",
        r#"{"type":"object","required":["id"],"additionalProperties":false,
            "properties":{"id":{"type":"string","minLength":1},"ms":{"type":"integer","minimum":0}}}"#,
    ));
    tools.push(tool_with_schema(
        "order_change",
        r#"{"type":"object","required":["doc"],
            "properties":{"doc":{"type":["string","number"]},"n":{"type":"integer"},"ms":{"type":"integer","minimum":0}}}"#,
    ));
    tools.push(Tool { reports_progress: true, ..tool("progress") });
    tools
}
