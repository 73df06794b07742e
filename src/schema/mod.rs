//! The two batch tools as they are listed: names, descriptions, and JSON Schemas of their arguments, written once.

use crate::{
    dispatch::{BATCH_TOOL, EXECUTE_TOOL_BATCH},
    proto::Tool,
};

#[cfg(test)]
mod tests;

const EXECUTE_SCHEMA: &str = include_str!("execute_tool_batch.json");
const INVOCATIONS_SCHEMA: &str = include_str!("batch_tool.json");

// The first line of a description is what a list of tools shows to a person.
const EXECUTE_DESCRIPTION: &str = "\
Runs a prepared list of tool calls as one step and answers with what became of each, in the order of the list.
Use it for several calls that are known beforehand, above all for writes; not where a call needs the result of another. Results: \
status is \"completed\" (every call completed or was skipped), \"partial\" or \"failed\"; each entry has its own status: \
completed, failed (with error and error_reason), skipped (its key had completed before), not_run (stop_reason says why) or \
awaiting (a person reviews it). With outcome_unknown a failed call may have taken effect: do not simply repeat it. After \
mending what failed, send the same list with the same keys again: what is done is skipped. The tools that pause, ask \
people or run batches cannot be in the list.";

const INVOCATIONS_DESCRIPTION: &str = "\
Runs several independent tool calls at once and answers with the result of each, in the order given.
One that fails does not stop the others. Use it for reads that do not depend on each other; for writes use execute_tool_batch, which has order \
and keys. Each entry has name and status (completed, failed, awaiting, not_run) and result or error; with outcome_unknown \
a failed call may have taken effect. The tools that pause, ask people or run batches cannot be in the list.";

/// `execute_tool_batch` and `batch_tool`, as `ListTools` gives them.
#[must_use]
pub fn batch_tools() -> [Tool; 2] {
    [
        tool(EXECUTE_TOOL_BATCH, EXECUTE_DESCRIPTION, EXECUTE_SCHEMA),
        tool(BATCH_TOOL, INVOCATIONS_DESCRIPTION, INVOCATIONS_SCHEMA),
    ]
}

fn tool(name: &str, description: &str, schema: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema_json: compact(schema),
        reports_progress: true,
        ..Tool::default()
    }
}

/// A JSON text without the blanks between its tokens: models pay for each of them.
#[must_use]
pub fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let kept = text.chars().filter(|&c| {
        if !in_string {
            in_string = c == '"';
            return !c.is_ascii_whitespace();
        }
        in_string = escaped || c != '"';
        escaped = !escaped && c == '\\';
        true
    });
    kept.collect()
}
