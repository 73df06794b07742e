//! The contract's messages as the suite writes them: snake case, enums in lower case without their prefix, without times.

use toolbatch::proto::{
    BatchEvent, BatchMode, BatchOptions, BatchStatus, BatchSummary, CallError, CallErrorReason, CallResult, CallStatus,
    InDoubtPolicy, PlannedCall, Step, StopReason, UsageRow, batch_event::Event,
};

use super::{
    native::rewritten,
    object::{Object, array},
};

/// An event of a known kind.
pub(super) fn event(event: &BatchEvent, kind: &Event) -> String {
    let (kind, members) = match kind {
        Event::BatchPlanned(planned) => {
            ("batch_planned", Object::default().list("calls", planned.calls.iter().map(planned_call)))
        }
        Event::BatchStarted(started) => {
            let text = started.options.as_ref().map(options).unwrap_or_default();
            let members = Object::default().text("task_id", &started.task_id).text("agent_id", &started.agent_id);
            ("batch_started", members.count("total", started.total).raw("options", &text))
        }
        Event::CallStarted(started) => {
            let members = Object::default().count("index", started.index).text("tool", &started.tool);
            let members = members.text("key", &started.key).text("step_id", &started.step_id);
            ("call_started", members.count("attempt", started.attempt))
        }
        Event::CallRetrying(retrying) => {
            let members = Object::default().count("index", retrying.index).text("step_id", &retrying.step_id);
            ("call_retrying", members.count("attempt", retrying.attempt).raw("error", &error(retrying.error.as_ref())))
        }
        Event::CallProgress(told) => {
            let members = Object::default().count("index", told.index).text("step_id", &told.step_id);
            let members = members.number("progress", told.progress).number("total", told.total);
            ("call_progress", members.text("message", &told.message))
        }
        Event::CallFinished(finished) => {
            let text = finished.result.as_ref().map(result).unwrap_or_default();
            ("call_finished", Object::default().raw("result", &text))
        }
        Event::BatchResumed(resumed) => {
            let places = resumed.in_doubt.iter().map(u32::to_string);
            ("batch_resumed", Object::default().list("in_doubt", places))
        }
        Event::BatchFinished(finished) => {
            let text = finished.summary.as_ref().map(summary).unwrap_or_default();
            ("batch_finished", Object::default().raw("summary", &text))
        }
    };
    let head = Object::default().text("kind", kind).text("batch_id", &event.batch_id);
    head.count("sequence", event.sequence).with(members).end()
}

/// How a batch went, or goes.
pub(super) fn summary(summary: &BatchSummary) -> String {
    let status = known(&BatchStatus::try_from(summary.status).map(|one| one.as_str_name()), "BATCH_STATUS_");
    let reason = known(&StopReason::try_from(summary.stop_reason).map(|one| one.as_str_name()), "STOP_REASON_");
    Object::default()
        .text("status", &status)
        .count("total", summary.total)
        .count("succeeded", summary.succeeded)
        .count("failed", summary.failed)
        .count("skipped", summary.skipped)
        .count("awaiting", summary.awaiting)
        .count("not_run", summary.not_run)
        .text("stop_reason", &reason)
        .list("results", summary.results.iter().map(result))
        .end()
}

/// What the suite asks of a step's record.
pub(super) fn step(step: &Step) -> String {
    Object::default()
        .text("args_json", &step.args_json)
        .text("result_json", &step.result_json)
        .count("result_bytes", step.result_bytes)
        .text("status", &call_status(step.status))
        .count("attempts", step.attempts)
        .raw("error", &error(step.error.as_ref()))
        .end()
}

/// What was used, row by row.
pub(super) fn usage(rows: &[UsageRow]) -> String {
    array(rows.iter().map(|row| {
        Object::default()
            .text("tool", &row.tool)
            .text("unit", &row.unit)
            .number("quantity", row.quantity)
            .text("cost_nanos", &row.cost_nanos.to_string())
            .text("currency", &row.currency)
            .end()
    }))
}

fn result(result: &CallResult) -> String {
    Object::default()
        .count("index", result.index)
        .text("tool", &result.tool)
        .text("key", &result.key)
        .text("status", &call_status(result.status))
        .text("step_id", &result.step_id)
        .text("result_json", &result.result_json)
        .raw("value", &rewritten(&result.result_json))
        .flag("result_omitted", result.result_omitted)
        .raw("error", &error(result.error.as_ref()))
        .text("await_id", &result.await_id)
        .count("attempts", result.attempts)
        .flag("args_changed", result.args_changed)
        .end()
}

fn planned_call(call: &PlannedCall) -> String {
    Object::default()
        .count("index", call.index)
        .text("tool", &call.tool)
        .text("base_tool", &call.base_tool)
        .text("backend", &call.backend)
        .text("key", &call.key)
        .text("lane", &call.lane)
        .text("skipped_step_id", &call.skipped_step_id)
        .raw("error", &error(call.error.as_ref()))
        .end()
}

fn options(options: &BatchOptions) -> String {
    let mode = known(&BatchMode::try_from(options.mode).map(|one| one.as_str_name()), "BATCH_MODE_");
    let in_doubt = known(&InDoubtPolicy::try_from(options.in_doubt).map(|one| one.as_str_name()), "IN_DOUBT_POLICY_");
    Object::default()
        .text("mode", &mode)
        .count("max_concurrency", options.max_concurrency)
        .text("serialize_on", &options.serialize_on)
        .flag("stop_on_error", options.stop_on_error())
        .flag("include_results", options.include_results())
        .text("in_doubt", &in_doubt)
        .end()
}

fn error(error: Option<&CallError>) -> String {
    let Some(error) = error else { return String::new() };
    let reason = known(&CallErrorReason::try_from(error.reason).map(|one| one.as_str_name()), "CALL_ERROR_REASON_");
    Object::default()
        .text("reason", &reason)
        .text("message", &error.message)
        .flag("outcome_unknown", error.outcome_unknown)
        .flag("retryable", error.retryable)
        .text("code", &error.code)
        .end()
}

fn call_status(status: i32) -> String {
    known(&CallStatus::try_from(status).map(|one| one.as_str_name()), "CALL_STATUS_")
}

/// A value's name without its prefix, in lower case; nothing for the unspecified one.
fn known<E>(name: &Result<&'static str, E>, prefix: &str) -> String {
    let Ok(name) = name else { return "unknown".to_owned() };
    match name.strip_prefix(prefix).unwrap_or(name) {
        "UNSPECIFIED" => String::new(),
        name => name.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use toolbatch::proto::CallFinished;

    use super::*;

    #[test]
    fn a_result_is_at_hand_as_text_and_as_a_value() {
        let result = CallResult {
            tool: "echo".into(),
            status: CallStatus::Completed.into(),
            result_json: "{ \"n\": 1.10 }".into(),
            error: Some(CallError { reason: 77, ..CallError::default() }),
            ..CallResult::default()
        };
        let kind = Event::CallFinished(CallFinished { result: Some(result) });
        let whole = BatchEvent { batch_id: "b".into(), sequence: 3, ..BatchEvent::default() };
        assert_eq!(
            event(&whole, &kind),
            r#"{"kind":"call_finished","batch_id":"b","sequence":3,"result":{"tool":"echo","status":"completed","result_json":"{ \"n\": 1.10 }","value":{"n":1.10},"error":{"reason":"unknown"}}}"#
        );
    }

    #[test]
    fn enum_values_lose_their_prefix_and_the_unspecified_one_is_nothing() {
        assert_eq!(call_status(CallStatus::NotRun.into()), "not_run");
        assert_eq!(call_status(0), "");
        assert_eq!(call_status(99), "unknown");
    }
}
