use super::*;
use crate::proto::{
    BatchFinished, BatchPlanned, BatchResumed, BatchStarted, CallErrorReason, CallFinished, CallProgress, CallRetrying,
    CallStarted, CallStatus, InDoubtPolicy, RetryPolicy, StopReason, UsageRow,
};
use crate::proto::{BatchMode, BatchStatus};

fn at(seconds: i64, nanos: i32) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds, nanos }
}

fn line(sequence: u64, body: Event) -> String {
    event(&BatchEvent {
        batch_id: "b1".into(),
        sequence,
        time: Some(at(1_796_054_400, 250_000_000)),
        event: Some(body),
    })
}

fn error() -> CallError {
    CallError {
        reason: CallErrorReason::ToolFailed.into(),
        message: "is \"locked\"\nnow".into(),
        outcome_unknown: false,
        retryable: true,
        code: "LOCKED".into(),
    }
}

fn result(index: u32, status: CallStatus) -> CallResult {
    CallResult { index, tool: "t".into(), status: status.into(), ..CallResult::default() }
}

#[test]
fn a_batch_starts_with_its_options() {
    let options = BatchOptions {
        mode: BatchMode::Parallel.into(),
        max_concurrency: 4,
        serialize_on: "contract".into(),
        stop_on_error: Some(false),
        include_results: None,
        call_timeout: Some(prost_types::Duration { seconds: 300, nanos: 0 }),
        retry: Some(RetryPolicy {
            max_attempts: 3,
            initial_backoff: Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 }),
            max_backoff: None,
            backoff_multiplier: 2.0,
        }),
        in_doubt: InDoubtPolicy::Rerun.into(),
    };
    let started = BatchStarted { task_id: "T".into(), agent_id: String::new(), total: 2, options: Some(options) };
    assert_eq!(
        line(1, Event::BatchStarted(started)),
        r#"{"event":"batch_started","batch_id":"b1","sequence":1,"time":"2026-11-30T16:00:00.250Z","task_id":"T","total":2,"options":{"mode":"parallel","max_concurrency":4,"serialize_on":"contract","stop_on_error":false,"include_results":true,"call_timeout_ms":300000,"retry":{"max_attempts":3,"initial_backoff_ms":100,"backoff_multiplier":2.0},"in_doubt":"rerun"}}"#
    );
}

#[test]
fn a_call_starts_is_retried_and_reports_progress() {
    let started = CallStarted { index: 0, tool: "t".into(), key: "k".into(), step_id: "s1".into(), attempt: 1 };
    assert_eq!(
        line(2, Event::CallStarted(started)),
        r#"{"event":"call_started","batch_id":"b1","sequence":2,"time":"2026-11-30T16:00:00.250Z","index":0,"tool":"t","key":"k","step_id":"s1","attempt":1}"#
    );
    let retrying = CallRetrying {
        index: 0,
        step_id: "s1".into(),
        attempt: 1,
        error: Some(error()),
        retry_time: Some(at(1_796_054_401, 0)),
    };
    assert_eq!(
        line(3, Event::CallRetrying(retrying)),
        r#"{"event":"call_retrying","batch_id":"b1","sequence":3,"time":"2026-11-30T16:00:00.250Z","index":0,"step_id":"s1","attempt":1,"error":"is \"locked\"\nnow","error_reason":"tool_failed","error_code":"LOCKED","retryable":true,"retry_time":"2026-11-30T16:00:01Z"}"#
    );
    let progress = CallProgress { index: 0, step_id: "s1".into(), progress: 0.5, total: 0.0, message: "half".into() };
    assert_eq!(
        line(0, Event::CallProgress(progress)),
        r#"{"event":"call_progress","batch_id":"b1","time":"2026-11-30T16:00:00.250Z","index":0,"step_id":"s1","progress":0.5,"message":"half"}"#
    );
}

#[test]
fn a_result_keeps_its_bytes_on_one_line() {
    let finished = |result_json: &str| {
        let result = CallResult {
            key: "k".into(),
            step_id: "s1".into(),
            duration: Some(prost_types::Duration { seconds: 1, nanos: 204_999_999 }),
            attempts: 1,
            result_json: result_json.into(),
            ..result(0, CallStatus::Completed)
        };
        line(4, Event::CallFinished(CallFinished { result: Some(result) }))
    };
    let head = r#"{"event":"call_finished","batch_id":"b1","sequence":4,"time":"2026-11-30T16:00:00.250Z","index":0,"tool":"t","key":"k","status":"completed","step_id":"s1","attempts":1,"duration_ms":1204,"#;
    for json in [r#"{"z": 1.10,  "a":1e400, "n":12345678901234567890123}"#, "null", r#""\ud800""#, "[ ]"] {
        assert_eq!(finished(json), format!("{head}\"result\":{json}}}"));
    }
    assert_eq!(finished("{\n\t\"a\":\r\n1\n}"), format!("{head}\"result\":{{ \t\"a\":  1 }}}}"));
    assert_eq!(finished("no JSON"), format!("{head}\"result_text\":\"no JSON\"}}"));
}

#[test]
fn each_other_end_of_a_call_has_its_fields() {
    let finished = |result: CallResult| line(5, Event::CallFinished(CallFinished { result: Some(result) }));
    let head = r#"{"event":"call_finished","batch_id":"b1","sequence":5,"time":"2026-11-30T16:00:00.250Z","index":1,"tool":"t","#;
    let cases = [
        (
            CallResult {
                error: Some(CallError { outcome_unknown: true, retryable: false, code: String::new(), ..error() }),
                ..result(1, CallStatus::Failed)
            },
            r#""status":"failed","error":"is \"locked\"\nnow","error_reason":"tool_failed","outcome_unknown":true}"#,
        ),
        (
            CallResult { args_changed: true, step_id: "s0".into(), ..result(1, CallStatus::Skipped) },
            r#""status":"skipped","step_id":"s0","args_changed":true}"#,
        ),
        (
            CallResult { await_id: "r1".into(), ..result(1, CallStatus::Awaiting) },
            r#""status":"awaiting","await_id":"r1"}"#,
        ),
        (
            CallResult { result_omitted: true, ..result(1, CallStatus::Completed) },
            r#""status":"completed","result_omitted":true}"#,
        ),
    ];
    for (result, tail) in cases {
        assert_eq!(finished(result), format!("{head}{tail}"));
    }
}

#[test]
fn a_batch_ends_with_its_summary() {
    let summary = BatchSummary {
        status: BatchStatus::Partial.into(),
        total: 2,
        succeeded: 1,
        not_run: 1,
        stop_reason: StopReason::Cancelled.into(),
        results: vec![
            CallResult { result_json: "1".into(), ..result(0, CallStatus::Completed) },
            result(1, CallStatus::NotRun),
        ],
        ..BatchSummary::default()
    };
    assert_eq!(
        line(6, Event::BatchFinished(BatchFinished { summary: Some(summary) })),
        r#"{"event":"batch_finished","batch_id":"b1","sequence":6,"time":"2026-11-30T16:00:00.250Z","status":"partial","total":2,"succeeded":1,"failed":0,"skipped":0,"awaiting":0,"not_run":1,"stop_reason":"cancelled","results":[{"index":0,"tool":"t","status":"completed","result":1},{"index":1,"tool":"t","status":"not_run"}]}"#
    );
}

#[test]
fn plans_resumes_and_unknown_events_are_lines_too() {
    let planned = BatchPlanned {
        calls: vec![
            PlannedCall {
                index: 0,
                tool: "T".into(),
                base_tool: "t".into(),
                backend: "erp".into(),
                lane: "7".into(),
                ..PlannedCall::default()
            },
            PlannedCall { index: 1, tool: "u".into(), error: Some(error()), ..PlannedCall::default() },
        ],
    };
    assert_eq!(
        line(1, Event::BatchPlanned(planned)),
        r#"{"event":"batch_planned","batch_id":"b1","sequence":1,"time":"2026-11-30T16:00:00.250Z","calls":[{"index":0,"tool":"T","base_tool":"t","backend":"erp","lane":"7"},{"index":1,"tool":"u","error":"is \"locked\"\nnow","error_reason":"tool_failed","error_code":"LOCKED","retryable":true}]}"#
    );
    assert_eq!(
        line(7, Event::BatchResumed(BatchResumed { in_doubt: vec![1, 3] })),
        r#"{"event":"batch_resumed","batch_id":"b1","sequence":7,"time":"2026-11-30T16:00:00.250Z","in_doubt":[1,3]}"#
    );
    let unknown = BatchEvent { batch_id: "b1".into(), sequence: 8, time: None, event: None };
    assert_eq!(event(&unknown), r#"{"event":"unknown","batch_id":"b1","sequence":8}"#);
}

#[test]
fn batches_steps_and_tools_are_one_object_each() {
    let shown = Batch {
        batch_id: "b1".into(),
        task_id: "T".into(),
        agent_id: String::new(),
        options: None,
        start_time: Some(at(1_796_054_400, 0)),
        end_time: None,
        summary: Some(BatchSummary { status: BatchStatus::Running.into(), total: 3, ..BatchSummary::default() }),
        last_sequence: 4,
    };
    let counts = r#""status":"running","total":3,"succeeded":0,"failed":0,"skipped":0,"awaiting":0,"not_run":0"#;
    let head = r#"{"batch_id":"b1","task_id":"T","start_time":"2026-11-30T16:00:00Z","last_sequence":4,"#;
    assert_eq!(batch(&shown, true), format!("{head}{counts},\"results\":[]}}"));
    assert_eq!(batch(&shown, false), format!("{head}{counts}}}"));

    let shown = Step {
        step_id: "s1".into(),
        task_id: "T".into(),
        tool: "t".into(),
        status: CallStatus::Completed.into(),
        attempts: 1,
        args_json: "{\"a\": 1.10}".into(),
        result_json: "2".into(),
        result_bytes: 1,
        usage: vec![UsageRow { unit: "calls".into(), quantity: 1.0, cost_nanos: 2, ..UsageRow::default() }],
        ..Step::default()
    };
    assert_eq!(
        step(&shown),
        r#"{"step_id":"s1","task_id":"T","tool":"t","index":0,"status":"completed","attempts":1,"args":{"a": 1.10},"result_bytes":1,"result":2,"usage":[{"unit":"calls","quantity":1.0,"cost_nanos":2}]}"#
    );

    let shown = Tool { name: "t".into(), input_schema_json: "{\n}".into(), pauses: true, ..Tool::default() };
    assert_eq!(tool(&shown), r#"{"name":"t","input_schema":{ },"pauses":true}"#);
}
