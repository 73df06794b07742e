use super::*;
use crate::proto::{
    BatchFinished, BatchOptions, BatchResumed, CallErrorReason, CallFinished, CallProgress, CallStarted, StopReason,
};

fn tell(teller: &mut Teller, event: Event) -> Vec<String> {
    let time = Some(prost_types::Timestamp { seconds: 1_796_054_400, nanos: 0 });
    teller.tell(&BatchEvent { batch_id: "b1".into(), sequence: 1, time, event: Some(event) })
}

fn plain(event: Event) -> Vec<String> {
    tell(&mut Teller::new(Palette::Bare), event)
}

fn result(status: CallStatus) -> CallResult {
    CallResult {
        index: 3,
        tool: "create".into(),
        key: "so-4".into(),
        status: status.into(),
        step_id: "s4".into(),
        duration: Some(prost_types::Duration { seconds: 0, nanos: 152_000_000 }),
        attempts: 1,
        ..CallResult::default()
    }
}

fn error(message: &str) -> CallError {
    CallError { reason: CallErrorReason::ToolFailed.into(), message: message.into(), ..CallError::default() }
}

fn finished(result: CallResult) -> String {
    plain(Event::CallFinished(CallFinished { result: Some(result) })).join("|")
}

#[test]
fn a_batch_starts_with_how_it_runs() {
    let started = |options| {
        plain(Event::BatchStarted(BatchStarted { task_id: "T".into(), agent_id: String::new(), total: 12, options }))
    };
    let lanes = BatchOptions {
        mode: BatchMode::Parallel.into(),
        max_concurrency: 4,
        serialize_on: "contract".into(),
        stop_on_error: Some(false),
        ..BatchOptions::default()
    };
    assert_eq!(
        started(Some(lanes)),
        [
            "batch b1 of task T: 12 calls, parallel, at most 4 at once, one at a time for each contract, going on after failures"
        ]
    );
    let sequential = BatchOptions { mode: BatchMode::Sequential.into(), ..BatchOptions::default() };
    assert_eq!(started(Some(sequential)), ["batch b1 of task T: 12 calls, sequential"]);
}

#[test]
fn each_end_of_a_call_is_one_line() {
    assert_eq!(finished(result(CallStatus::Completed)), "#3 create [so-4] completed in 152 ms");
    assert_eq!(
        finished(CallResult { attempts: 3, result_omitted: true, ..result(CallStatus::Completed) }),
        "#3 create [so-4] completed in 152 ms (3 attempts); result not shown here: toolbatch step s4 --result"
    );
    assert_eq!(
        finished(CallResult { error: Some(error("it is locked\nby ann")), ..result(CallStatus::Failed) }),
        "#3 create [so-4] failed after 152 ms: it is locked (tool_failed)"
    );
    let unknown = CallError { outcome_unknown: true, code: "E1".into(), ..error("no answer") };
    assert_eq!(
        finished(CallResult { attempts: 0, error: Some(unknown), ..result(CallStatus::Failed) }),
        "#3 create [so-4] failed before it was sent: no answer (tool_failed, E1); it may have taken effect"
    );
    assert_eq!(
        finished(CallResult { args_changed: true, ..result(CallStatus::Skipped) }),
        "#3 create [so-4] skipped, done by step s4; tool or args differ from the ones it ran with"
    );
    assert_eq!(
        finished(CallResult { await_id: "r1".into(), ..result(CallStatus::Awaiting) }),
        "#3 create [so-4] awaiting review r1"
    );
    assert_eq!(finished(CallResult { status: 99, ..result(CallStatus::Completed) }), "#3 create [so-4] unknown_99");
}

#[test]
fn colour_and_symbol_show_the_status_on_a_terminal() {
    let mut teller = Teller::new(Palette::Coloured);
    let event = Event::CallFinished(CallFinished { result: Some(result(CallStatus::Completed)) });
    assert_eq!(
        tell(&mut teller, event),
        ["\u{1b}[32m✓\u{1b}[0m #3 create [so-4] \u{1b}[32mcompleted in 152 ms\u{1b}[0m"]
    );
}

#[test]
fn what_tools_and_clients_wrote_cannot_reach_the_terminal_raw() {
    let hostile = CallResult {
        tool: "t\u{1b}[2J".into(),
        key: "k\u{202e}".into(),
        error: Some(error("\u{1b}]0;title\u{7}\u{9b}x")),
        ..result(CallStatus::Failed)
    };
    assert_eq!(
        finished(hostile),
        r"#3 t\u001b[2J [k\u202e] failed after 152 ms: \u001b]0;title\u0007\u009bx (tool_failed)"
    );
}

#[test]
fn retries_name_the_call_that_started() {
    let mut teller = Teller::new(Palette::Bare);
    let started = |attempt| {
        Event::CallStarted(CallStarted {
            index: 3,
            tool: "create".into(),
            key: "so-4".into(),
            step_id: "s4".into(),
            attempt,
        })
    };
    let retrying = Event::CallRetrying(CallRetrying {
        index: 3,
        step_id: "s4".into(),
        attempt: 1,
        error: Some(error("busy")),
        retry_time: Some(prost_types::Timestamp { seconds: 1_796_054_400, nanos: 200_000_000 }),
    });
    assert!(tell(&mut teller, started(1)).is_empty());
    assert_eq!(
        tell(&mut teller, retrying.clone()),
        ["#3 create [so-4] attempt 1 failed, again in 200 ms: busy (tool_failed)"]
    );
    assert_eq!(tell(&mut teller, started(2)), ["#3 create [so-4] attempt 2"]);
    assert_eq!(plain(retrying), ["#3 attempt 1 failed, again in 200 ms: busy (tool_failed)"]);
    assert!(plain(Event::CallProgress(CallProgress::default())).is_empty());
}

#[test]
fn the_end_tells_what_was_not_run_and_counts() {
    let not_run = CallResult { duration: None, attempts: 0, step_id: String::new(), ..result(CallStatus::NotRun) };
    let summary = BatchSummary {
        status: BatchStatus::Partial.into(),
        total: 4,
        succeeded: 2,
        failed: 1,
        not_run: 1,
        stop_reason: StopReason::CallFailed.into(),
        results: vec![result(CallStatus::Completed), not_run],
        ..BatchSummary::default()
    };
    assert_eq!(
        plain(Event::BatchFinished(BatchFinished { summary: Some(summary) })),
        ["#3 create [so-4] not run", "partial: 2 completed, 1 failed, 1 not run, of 4 calls; stopped by call_failed"]
    );
}

#[test]
fn resumes_name_what_was_in_flight() {
    let resumed = |in_doubt| plain(Event::BatchResumed(BatchResumed { in_doubt })).join("");
    let start = "the server was restarted and took the batch up again";
    assert_eq!(resumed(vec![]), format!("{start}; no call was in flight"));
    assert_eq!(resumed(vec![2, 5]), format!("{start}; in flight were #2, #5"));
}

#[test]
fn a_plan_tells_where_each_call_goes() {
    let call = |index| PlannedCall {
        index,
        tool: "Create".into(),
        base_tool: "create".into(),
        backend: "erp".into(),
        ..PlannedCall::default()
    };
    let calls = vec![
        PlannedCall { lane: "40040343".into(), ..call(0) },
        PlannedCall { skipped_step_id: "s9".into(), key: "k".into(), ..call(1) },
        PlannedCall { error: Some(error("not in the list")), ..call(2) },
    ];
    assert_eq!(
        plain(Event::BatchPlanned(BatchPlanned { calls })),
        [
            "#0 Create goes to erp as create, in lane 40040343",
            "#1 Create [k] is skipped, done by step s9",
            "#2 Create would fail: not in the list (tool_failed)",
            "plan: 3 calls, 1 to be skipped, 1 that would fail; nothing was run",
        ]
    );
}

#[test]
fn an_event_of_a_newer_server_is_named() {
    let event = BatchEvent { sequence: 7, ..BatchEvent::default() };
    assert_eq!(Teller::new(Palette::Bare).tell(&event), ["event 7 is of a kind that this client does not know"]);
}
