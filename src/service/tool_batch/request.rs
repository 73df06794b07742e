//! A model's JSON becomes the request that `ExecuteBatch` would have had.

use super::{BatchTool, faults::Faults};
use crate::{
    batch::key::keyed_batch_id,
    batch_json::{self, Dialect, Draft, Error},
    json,
    proto::{CallToolRequest, ExecuteBatchRequest},
    service::check,
};

/// What was asked for, and what is known to be wrong with it.
pub(super) struct Asked {
    /// Its `batch_id` is that of the key.
    pub(super) request: ExecuteBatchRequest,
    pub(super) key: String,
    pub(super) faults: Faults,
}

/// Reads a call of one of the tools; the message is for one whose text is no JSON. Takes as long as 16 MiB of JSON take to read.
pub(super) fn read(tenant: &str, tool: BatchTool, call: CallToolRequest) -> Result<Asked, String> {
    let context = call.context.unwrap_or_default();
    // Models send nothing, or only blanks, where they mean no arguments (R1).
    let text = if call.args_json.bytes().all(json::is_blank) { "{}" } else { &call.args_json };
    let draft = match tool {
        BatchTool::Execute => batch_json::read(text, Dialect::Model),
        BatchTool::Invocations => batch_json::read_invocations(text),
    };
    let Draft { mut request, problems } = draft.map_err(|error| not_json(tool, text, &error))?;
    request.task_id = context.task_id;
    request.agent_id = context.agent_id;
    if !context.key.is_empty() {
        request.batch_id = keyed_batch_id(tenant, &request.task_id, &context.key);
    }
    let mut faults = Faults::new(tool, problems);
    faults.add(&check::check_key("context.key", &context.key), None);
    Ok(Asked { request, key: context.key, faults })
}

fn not_json(tool: BatchTool, text: &str, error: &Error) -> String {
    let why = match (error, json::check_result(text)) {
        (Error::Syntax(_), Err(fault)) => format!("not valid JSON, at {fault}"),
        (Error::Syntax(_) | Error::TooLarge { .. } | Error::Invalid(_), _) => error.to_string(),
    };
    format!("{} ran nothing. Its arguments are {why}. Send one JSON object.", tool.name())
}
