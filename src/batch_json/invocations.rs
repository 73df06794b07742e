//! The arguments of `batch_tool`: `{"invocations": [{"name", "arguments"}]}`.

use serde_json::value::RawValue;

use super::{
    Draft, Error, drafted,
    names::Shape,
    read::{Kind, Reader, kind},
};
use crate::{
    batch::spec::MAX_CALLS,
    proto::{BatchMode, BatchOptions, CallList, ExecuteBatchRequest, ToolCall, execute_batch_request::Source},
};

/// All invocations run at once, as many as R1 lets run at once.
const WIDTH: u32 = 16;

const FIELDS: Shape = Shape {
    fields: &["invocations"],
    elsewhere: &[
        (&["name", "arguments"], "in an element of invocations"),
        (
            &["mode", "max_concurrency", "serialize_on", "stop_on_error", "include_results"],
            "to execute_tool_batch; batch_tool has no options",
        ),
    ],
};
const INVOCATION: Shape = Shape {
    fields: &["name", "arguments"],
    elsewhere: &[(&["key"], "to a call of execute_tool_batch; batch_tool has no keys")],
};

const LIST_EXPECTED: &str = "an array of {\"name\", \"arguments\"} objects";
const NAME_EXPECTED: &str = "a tool's name as a string";
const ARGUMENTS_EXPECTED: &str = "one JSON object, as text such as \"{\\\"id\\\": 1}\", or as the object itself";

/// Reads the arguments of `batch_tool` into a batch that runs them: parallel, going on after failures.
pub fn read_invocations(text: &str) -> Result<Draft, Error> {
    drafted(text, |reader, whole| {
        let options = BatchOptions {
            mode: BatchMode::Parallel.into(),
            max_concurrency: WIDTH,
            stop_on_error: Some(false),
            ..BatchOptions::default()
        };
        let source = list(reader, whole).map(|calls| Source::CallList(CallList { calls }));
        ExecuteBatchRequest { source, options: Some(options), ..ExecuteBatchRequest::default() }
    })
}

fn list(reader: &mut Reader, whole: &RawValue) -> Option<Vec<ToolCall>> {
    let members = reader.members("", whole, &FIELDS, "an object with \"invocations\"")?;
    let Some(raw) = members.get("invocations") else {
        reader.problem("invocations", format!("missing: expected {LIST_EXPECTED}"));
        return None;
    };
    if kind(raw) != Kind::Array {
        reader.mismatch("invocations", LIST_EXPECTED, raw);
        return None;
    }
    let elements = reader.elements("invocations", raw, MAX_CALLS)?;
    if elements.total > MAX_CALLS {
        let found = elements.total;
        reader.problem("invocations", format!("expected at most {MAX_CALLS}, found {found}; split the list"));
    }
    let kept = elements.kept.into_iter().enumerate();
    Some(kept.map(|(index, raw)| invocation(reader, &format!("invocations[{index}]"), raw)).collect())
}

fn invocation(reader: &mut Reader, path: &str, raw: &RawValue) -> ToolCall {
    let Some(members) = reader.members(path, raw, &INVOCATION, "an object {\"name\", \"arguments\"}") else {
        return ToolCall::default();
    };
    let name_path = format!("{path}.name");
    let tool = members.get("name").and_then(|raw| reader.string(&name_path, raw, NAME_EXPECTED));
    if members.get("name").is_none() {
        reader.problem(&name_path, format!("missing: expected {NAME_EXPECTED}"));
    }
    let args_json = members.get("arguments").and_then(|raw| arguments(reader, &format!("{path}.arguments"), raw));
    ToolCall { tool: tool.unwrap_or_default(), args_json: args_json.unwrap_or_default(), key: String::new() }
}

/// The text of the object: out of its string, of which only the escapes are decoded, or as it stands.
fn arguments(reader: &mut Reader, path: &str, raw: &RawValue) -> Option<String> {
    match kind(raw) {
        Kind::Object => Some(raw.get().to_owned()),
        Kind::String => reader.string(path, raw, ARGUMENTS_EXPECTED),
        Kind::Array | Kind::Number | Kind::Bool | Kind::Null => {
            reader.mismatch(path, ARGUMENTS_EXPECTED, raw);
            None
        }
    }
}
