//! The JSON that models and people write for a batch: the arguments of `execute_tool_batch` and of `batch_tool`, and the file of
//! `toolbatch run`.
//!
//! ```json
//! {
//!   "mode": "parallel",
//!   "max_concurrency": 4,
//!   "serialize_on": "contract",
//!   "calls": [
//!     {"tool": "create_sales_order", "key": "order-1", "args": {"contract": "40040343", "quantity": 1.10}}
//!   ]
//! }
//! ```
//!
//! Only the shape is read here: names and types. What the values may be is R1's to check, in one place, on the server. Every
//! `args` is taken over byte for byte. `null` means "left out" for the optional fields; nothing else is guessed.

mod error;
mod invocations;
mod names;
mod read;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;

pub use error::{Error, Problem, Problems};
pub use invocations::read_invocations;
use names::Shape;
use read::{Elements, Members, Reader, found, kind};

use crate::{
    batch::spec::MAX_CALLS,
    proto::{
        BatchMode, BatchOptions, CallList, ExecuteBatchRequest, InDoubtPolicy, RetryPolicy, ToolCall,
        execute_batch_request::Source,
    },
};

/// The longest text that is read. A request holds at most 16 MiB (R1), most of it args, which stand here as they are; the
/// rest is room for the member names and the indentation around 200 calls.
pub const MAX_BYTES: usize = 17 * 1024 * 1024;

/// Who wrote the text, and so which fields it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A model, as the arguments of `execute_tool_batch` (R11): `calls`, `mode`, `max_concurrency`, `serialize_on`,
    /// `stop_on_error`, `include_results`.
    Model,
    /// A person, as a file. All of the model's fields, and what an operator decides: `call_timeout` ("500ms", "30s", "5m", "1h"),
    /// `retry` (`max_attempts`, `initial_backoff`, `max_backoff`, `backoff_multiplier`), `in_doubt` ("rerun", "lookup", "fail").
    File,
}

/// A call's fields that stand beside the list.
const CALL_ELSEWHERE: (&[&str], &str) = (&["tool", "args", "key"], "in an element of calls");
const MODEL_SHAPE: Shape = Shape {
    fields: &["calls", "mode", "max_concurrency", "serialize_on", "stop_on_error", "include_results"],
    elsewhere: &[CALL_ELSEWHERE],
};
const FILE_SHAPE: Shape = Shape {
    fields: &[
        "calls",
        "mode",
        "max_concurrency",
        "serialize_on",
        "stop_on_error",
        "include_results",
        "call_timeout",
        "retry",
        "in_doubt",
    ],
    elsewhere: &[CALL_ELSEWHERE],
};
const CALL_SHAPE: Shape = Shape {
    fields: &["tool", "args", "key"],
    elsewhere: &[(
        &["mode", "max_concurrency", "serialize_on", "stop_on_error", "include_results"],
        "beside calls, not in a call",
    )],
};
const RETRY_SHAPE: Shape =
    Shape { fields: &["max_attempts", "initial_backoff", "max_backoff", "backoff_multiplier"], elsewhere: &[] };

/// The names of a [`BatchMode`] in JSON.
const MODES: &[(&str, i32)] = &[("sequential", BatchMode::Sequential as i32), ("parallel", BatchMode::Parallel as i32)];
/// The names of an [`InDoubtPolicy`] in JSON.
const IN_DOUBT: &[(&str, i32)] = &[
    ("rerun", InDoubtPolicy::Rerun as i32),
    ("lookup", InDoubtPolicy::Lookup as i32),
    ("fail", InDoubtPolicy::Fail as i32),
];

const LIST_EXPECTED: &str =
    "an array of {\"tool\", \"args\", \"key\"} objects, or a reference such as \"${VAR_1}.calls\"";

/// A number that no mode has, for one that could not be read: what it would have allowed is not known.
const UNREAD_MODE: i32 = -1;

/// What could be read of a text, and what is wrong with the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Task, agent and batch id are left empty, since they do not stand in the JSON. Where there are problems, something stands in
    /// the place of what could not be read, so that calls keep their indexes: such a request must not run.
    pub request: ExecuteBatchRequest,
    /// In the order of the text.
    pub problems: Problems,
}

/// Reads a batch. Task, agent and batch id are left empty, since they do not stand in the JSON.
///
/// All that is wrong with the shape is reported at once. Depth costs no stack: args are stepped over, not built.
pub fn parse(text: &str, dialect: Dialect) -> Result<ExecuteBatchRequest, Error> {
    let Draft { request, problems } = read(text, dialect)?;
    if problems.is_empty() { Ok(request) } else { Err(Error::Invalid(problems)) }
}

/// The same for those who have more to say about the request than its shape. Fails only where the text is no JSON, or too long.
pub fn read(text: &str, dialect: Dialect) -> Result<Draft, Error> {
    drafted(text, |reader, whole| batch(reader, whole, dialect))
}

fn drafted(text: &str, batch: impl FnOnce(&mut Reader, &RawValue) -> ExecuteBatchRequest) -> Result<Draft, Error> {
    if text.len() > MAX_BYTES {
        return Err(Error::TooLarge { bytes: text.len() });
    }
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| Error::Syntax(error.to_string()))?;
    let mut reader = Reader::new();
    let request = batch(&mut reader, whole);
    Ok(Draft { request, problems: reader.finish() })
}

/// Reads the calls of a list that stands by itself, such as one that a reference leads to. `path` is what problems call it.
pub fn parse_calls(text: &str, path: &str) -> Result<Vec<ToolCall>, Error> {
    let list: &RawValue = serde_json::from_str(text).map_err(|error| Error::Syntax(error.to_string()))?;
    let mut reader = Reader::new();
    let calls = calls(&mut reader, path, list).unwrap_or_default();
    let problems = reader.finish();
    if problems.is_empty() { Ok(calls) } else { Err(Error::Invalid(problems)) }
}

fn batch(reader: &mut Reader, whole: &RawValue, dialect: Dialect) -> ExecuteBatchRequest {
    let shape = match dialect {
        Dialect::Model => &MODEL_SHAPE,
        Dialect::File => &FILE_SHAPE,
    };
    let Some(members) = reader.members("", whole, shape, "an object with \"calls\"") else {
        return ExecuteBatchRequest::default();
    };
    let source = members.get("calls").and_then(|calls| source(reader, calls));
    if members.get("calls").is_none() {
        reader.problem("calls", format!("missing: expected {LIST_EXPECTED}"));
    }
    ExecuteBatchRequest { source, options: Some(options(reader, &members)), ..ExecuteBatchRequest::default() }
}

/// Fields that the dialect does not know have been reported by now; here they are only absent or present.
fn options(reader: &mut Reader, members: &Members<'_>) -> BatchOptions {
    BatchOptions {
        mode: members
            .optional("mode")
            .map(|raw| reader.choice("mode", raw, MODES).unwrap_or(UNREAD_MODE))
            .unwrap_or_default(),
        max_concurrency: members
            .optional("max_concurrency")
            .and_then(|raw| reader.count("max_concurrency", raw, "a whole number from 0 to 16"))
            .unwrap_or_default(),
        serialize_on: members
            .optional("serialize_on")
            .and_then(|raw| {
                reader.string("serialize_on", raw, "a path as a string, such as \"contract\" or \"/order/contract\"")
            })
            .unwrap_or_default(),
        stop_on_error: members.optional("stop_on_error").and_then(|raw| reader.boolean("stop_on_error", raw)),
        include_results: members.optional("include_results").and_then(|raw| reader.boolean("include_results", raw)),
        call_timeout: members.optional("call_timeout").and_then(|raw| reader.duration("call_timeout", raw)),
        retry: members.optional("retry").and_then(|raw| retry(reader, raw)),
        in_doubt: members
            .optional("in_doubt")
            .and_then(|raw| reader.choice("in_doubt", raw, IN_DOUBT))
            .unwrap_or_default(),
    }
}

fn retry(reader: &mut Reader, raw: &RawValue) -> Option<RetryPolicy> {
    let members = reader.members("retry", raw, &RETRY_SHAPE, "an object with \"max_attempts\"")?;
    Some(RetryPolicy {
        max_attempts: members
            .optional("max_attempts")
            .and_then(|raw| reader.count("retry.max_attempts", raw, "a whole number from 1 to 10"))
            .unwrap_or_default(),
        initial_backoff: members
            .optional("initial_backoff")
            .and_then(|raw| reader.duration("retry.initial_backoff", raw)),
        max_backoff: members.optional("max_backoff").and_then(|raw| reader.duration("retry.max_backoff", raw)),
        backoff_multiplier: members
            .optional("backoff_multiplier")
            .and_then(|raw| reader.number("retry.backoff_multiplier", raw, "a number from 1 to 10"))
            .unwrap_or_default(),
    })
}

fn source(reader: &mut Reader, raw: &RawValue) -> Option<Source> {
    match kind(raw) {
        read::Kind::String => reader.string("calls", raw, LIST_EXPECTED).map(Source::CallsRef),
        read::Kind::Array => Some(Source::CallList(CallList { calls: calls(reader, "calls", raw)? })),
        read::Kind::Object | read::Kind::Number | read::Kind::Bool | read::Kind::Null => {
            reader.problem("calls", format!("expected {LIST_EXPECTED}, found {}", found(raw)));
            None
        }
    }
}

fn calls(reader: &mut Reader, path: &str, raw: &RawValue) -> Option<Vec<ToolCall>> {
    let elements: Elements<'_> = reader.elements(path, raw, MAX_CALLS)?;
    if elements.total > MAX_CALLS {
        reader.problem(path, format!("expected at most {MAX_CALLS} calls, found {}; split the list", elements.total));
    }
    let kept = elements.kept.into_iter().enumerate();
    Some(kept.map(|(index, raw)| call(reader, &format!("{path}[{index}]"), raw)).collect())
}

fn call(reader: &mut Reader, path: &str, raw: &RawValue) -> ToolCall {
    let Some(members) = reader.members(path, raw, &CALL_SHAPE, "an object {\"tool\", \"args\", \"key\"}") else {
        return ToolCall::default();
    };
    let tool_path = format!("{path}.tool");
    let tool = members.get("tool").and_then(|raw| reader.string(&tool_path, raw, "a tool's name as a string"));
    if members.get("tool").is_none() {
        reader.problem(&tool_path, "missing: expected a tool's name as a string".to_owned());
    }
    let args_json = members.get("args").and_then(|raw| args(reader, &format!("{path}.args"), raw));
    let key =
        members.optional("key").map(|raw| reader.string(&format!("{path}.key"), raw, "a string")).unwrap_or_default();
    ToolCall {
        tool: tool.unwrap_or_default(),
        args_json: args_json.unwrap_or_else(|| "{}".to_owned()),
        key: key.unwrap_or_default(),
    }
}

/// The text of the args as it stands, never a re-written form of it: `1.10` stays `1.10`.
fn args(reader: &mut Reader, path: &str, raw: &RawValue) -> Option<String> {
    match kind(raw) {
        read::Kind::Object => Some(raw.get().to_owned()),
        read::Kind::String => {
            reader.problem(
                path,
                format!("expected an object, found {}; write the object itself, not its text", found(raw)),
            );
            None
        }
        read::Kind::Array | read::Kind::Number | read::Kind::Bool | read::Kind::Null => {
            reader.problem(path, format!("expected an object, found {}", found(raw)));
            None
        }
    }
}
