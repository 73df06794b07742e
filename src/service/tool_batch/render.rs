//! A batch's summary as the JSON of R11. Results stand in it byte for byte, but that a lone surrogate is U+FFFD.
//!
//! With at most 256 KiB of results (R6), and 2 KiB of error, 512 bytes of key and 256 of tool for each of 200 calls, six bytes for
//! each at worst, it stays below the 3 MiB that a `CallToolResponse` carries.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    json,
    proto::{BatchStatus, BatchSummary, CallError, CallErrorReason, CallResult, CallStatus, StopReason},
};

/// What `execute_tool_batch` answers.
#[derive(Serialize)]
struct Batch<'a> {
    status: String,
    total: u32,
    succeeded: u32,
    failed: u32,
    skipped: u32,
    awaiting: u32,
    not_run: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    results: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    index: u32,
    tool: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    key: &'a str,
    status: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    step_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "is_false")]
    result_omitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_reason: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    outcome_unknown: bool,
    #[serde(skip_serializing_if = "is_false")]
    args_changed: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    await_id: &'a str,
}

/// What `batch_tool` answers.
#[derive(Serialize)]
struct Invocations<'a> {
    results: Vec<Invocation<'a>>,
}

#[derive(Serialize)]
struct Invocation<'a> {
    name: &'a str,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "is_false")]
    result_omitted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    outcome_unknown: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    await_id: &'a str,
    /// Empty where the call was not run.
    step_id: &'a str,
}

/// The result of `execute_tool_batch`.
pub(super) fn batch(summary: &BatchSummary) -> String {
    let stopped = Some(summary.stop_reason()).filter(|reason| *reason != StopReason::Unspecified);
    write(&Batch {
        status: word(summary.status().as_str_name(), BatchStatus::Unspecified.as_str_name()),
        total: summary.total,
        succeeded: summary.succeeded,
        failed: summary.failed,
        skipped: summary.skipped,
        awaiting: summary.awaiting,
        not_run: summary.not_run,
        stop_reason: stopped.map(|reason| word(reason.as_str_name(), StopReason::Unspecified.as_str_name())),
        results: summary.results.iter().map(call).collect(),
    })
}

/// The result of `batch_tool`.
pub(super) fn invocations(summary: &BatchSummary) -> String {
    write(&Invocations { results: summary.results.iter().map(invocation).collect() })
}

/// A call's status as a word.
pub(super) fn call_status(status: CallStatus) -> String {
    word(status.as_str_name(), CallStatus::Unspecified.as_str_name())
}

fn call(call: &CallResult) -> Call<'_> {
    let error = call.error.as_ref();
    let reason = error.map(CallError::reason);
    Call {
        index: call.index,
        tool: &call.tool,
        key: &call.key,
        status: call_status(call.status()),
        step_id: &call.step_id,
        duration_ms: duration_ms(call),
        result: result(call),
        result_omitted: call.result_omitted,
        error: error.map(|error| error.message.as_str()),
        error_reason: reason.map(|reason| word(reason.as_str_name(), CallErrorReason::Unspecified.as_str_name())),
        outcome_unknown: error.is_some_and(|error| error.outcome_unknown),
        args_changed: call.args_changed,
        await_id: &call.await_id,
    }
}

fn invocation(call: &CallResult) -> Invocation<'_> {
    let error = call.error.as_ref();
    Invocation {
        name: &call.tool,
        status: call_status(call.status()),
        result: result(call),
        result_omitted: call.result_omitted,
        error: error.map(|error| error.message.as_str()),
        outcome_unknown: error.is_some_and(|error| error.outcome_unknown),
        await_id: &call.await_id,
        step_id: &call.step_id,
    }
}

/// What ran took a time; what was skipped or left out did not.
fn duration_ms(call: &CallResult) -> Option<u128> {
    let ran = matches!(call.status(), CallStatus::Completed | CallStatus::Failed | CallStatus::Awaiting);
    let duration = call.duration.filter(|_| ran)?;
    std::time::Duration::try_from(duration).ok().map(|duration| duration.as_millis())
}

fn result(call: &CallResult) -> Option<Box<RawValue>> {
    if call.result_json.is_empty() {
        return None;
    }
    // It was checked when the call finished.
    RawValue::from_string(json::whole_characters(&call.result_json).into_owned()).ok()
}

/// `BATCH_STATUS_COMPLETED` is `completed`: without what all names of its enum begin with.
fn word(name: &str, unspecified: &str) -> String {
    let prefix = unspecified.trim_end_matches("UNSPECIFIED");
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase()
}

fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("text, numbers and checked JSON are always written")
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
