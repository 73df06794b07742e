//! The list of calls.

use std::{collections::HashMap, sync::Arc};

use super::{List, Violations, text};
use crate::{
    batch::spec::{CallSpec, MAX_CALLS},
    json,
};

/// R1.
pub const MAX_TOOL_BYTES: usize = 256;

/// R1.
pub const MAX_KEY_BYTES: usize = 512;

/// R1; a larger document belongs where the tool can fetch it.
pub const MAX_ARGS_BYTES: usize = 1024 * 1024;

/// Checks every call of the list, and none of a list that is too long: what a client sees first should be that, and the work is bounded.
pub(super) fn check(violations: &mut Violations, list: List<'_>, lanes: Option<&json::Path>) -> Vec<CallSpec> {
    let count = list.calls.len();
    if !(1..=MAX_CALLS).contains(&count) {
        let hint = if count == 0 { "" } else { "; run a longer list as several batches" };
        violations.add(list.field, format!("{count} calls arrived; expected 1 to {MAX_CALLS}{hint}"));
        return Vec::new();
    }
    let mut first_with_key = HashMap::new();
    let mut specs = Vec::with_capacity(count);
    for (index, call) in list.calls.iter().enumerate() {
        let field = |name| format!("{}[{index}].{name}", list.field);
        text::check(violations, &field("tool"), &call.tool, 1, MAX_TOOL_BYTES);
        let lane = check_args(violations, &field("args_json"), &call.args_json, lanes);
        text::check(violations, &field("key"), &call.key, 0, MAX_KEY_BYTES);
        let key = (!call.key.is_empty()).then_some(call.key.as_str());
        if let Some(key) = key {
            let first = *first_with_key.entry(key).or_insert(index);
            if first != index {
                let key = json::quote(key);
                let both =
                    format!("calls {first} and {index} both have the key {key}; expected each key once in a list");
                violations.add(field("key"), both);
            }
        }
        specs.push(CallSpec {
            tool: call.tool.as_str().into(),
            args: args_or_empty(&call.args_json).into(),
            key: key.map(Arc::from),
            lane: lane.map(Arc::from),
        });
    }
    specs
}

/// Gives the lane of the arguments, where they are sound and there are lanes.
pub(super) fn check_args(
    violations: &mut Violations,
    field: &str,
    sent: &str,
    lanes: Option<&json::Path>,
) -> Option<String> {
    if sent.len() > MAX_ARGS_BYTES {
        violations.add(field, format!("{} bytes arrived; expected at most {MAX_ARGS_BYTES} (1 MiB)", sent.len()));
        return None;
    }
    let args = args_or_empty(sent);
    match json::check_args(args) {
        Ok(()) => lanes.and_then(|path| json::lane(args, path)),
        Err(fault) => {
            violations.add(field, fault.to_string());
            None
        }
    }
}

/// Models send nothing, or only blanks, for a tool without parameters (R1).
pub(super) fn args_or_empty(args: &str) -> &str {
    if args.bytes().all(json::is_blank) { "{}" } else { args }
}
