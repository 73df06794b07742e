//! A direct step's request.

use super::{
    MAX_AGENT_ID_BYTES, MAX_KEY_BYTES, MAX_TASK_ID_BYTES, MAX_TOOL_BYTES, Refusal, Violations, calls, options, text,
};
use crate::{
    batch::spec::{CallSpec, Spec},
    proto,
};

/// Checks a direct call, which runs as a batch of one with the defaults of R1.
///
/// # Errors
/// Every rule of R1 that it breaks.
pub fn check_direct(request: &proto::CallToolRequest) -> Result<Spec, Refusal> {
    let nowhere = proto::CallContext::default();
    let context = request.context.as_ref().unwrap_or(&nowhere);
    let mut violations = Violations::default();
    text::check(&mut violations, "tool", &request.tool, 1, MAX_TOOL_BYTES);
    calls::check_args(&mut violations, "args_json", &request.args_json, None);
    text::check(&mut violations, "context.task_id", &context.task_id, 1, MAX_TASK_ID_BYTES);
    text::check(&mut violations, "context.agent_id", &context.agent_id, 0, MAX_AGENT_ID_BYTES);
    text::check(&mut violations, "context.key", &context.key, 0, MAX_KEY_BYTES);
    let (options, _) = options::check(&mut violations, &proto::BatchOptions::default());
    violations.refuse()?;
    let call = CallSpec {
        tool: request.tool.as_str().into(),
        args: calls::args_or_empty(&request.args_json).into(),
        key: Some(context.key.as_str()).filter(|key| !key.is_empty()).map(Into::into),
        lane: None,
    };
    Ok(Spec {
        task_id: context.task_id.clone(),
        agent_id: context.agent_id.clone(),
        batch_id: None,
        calls: vec![call],
        options,
        direct: true,
        trace: None,
        // It has no id to repeat, so nothing is ever compared with it; and no request has this digest.
        content_digest: [0; 32],
    })
}
