//! R4 and R7: which calls run when, and what becomes of the rest.

use toolbatch::proto::{
    BatchMode, BatchOptions, BatchStatus, CallErrorReason, RetryPolicy, StopReason, ToolCall, batch_event::Event,
};

use crate::{
    backend::Entry,
    rig::{Rig, batch, batch_with, call, keyed, parallel},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn order(doc: &str, n: usize) -> ToolCall {
    call("order_change", &format!(r#"{{"order":{{"contract":"{doc}"}},"doc":"{doc}","n":{n},"ms":5}}"#))
}

fn retry(max_attempts: u32) -> RetryPolicy {
    let short = Some(prost_types::Duration { seconds: 0, nanos: 1_000_000 });
    RetryPolicy { max_attempts, initial_backoff: short, max_backoff: short, backoff_multiplier: 1.0 }
}

#[tokio::test]
async fn c08_defaults_that_are_true_are_true() {
    let rig = Rig::start().await;
    let calls = || vec![call("fail", "{}"), effect("b")];
    let mode_only = BatchOptions { mode: BatchMode::Sequential.into(), ..BatchOptions::default() };
    for request in [batch(calls()), batch_with(calls(), mode_only)] {
        let ran = rig.run(request).await;
        assert_eq!(ran.statuses(), ["failed", "not_run"]);
        assert_eq!(ran.summary().stop_reason(), StopReason::CallFailed);
        assert_eq!(ran.summary().status(), BatchStatus::Failed);
        let Some(Event::BatchStarted(started)) = &ran.events[0].event else { panic!("{:?}", ran.events[0]) };
        let options = started.options.as_ref().expect("the options as they took effect");
        assert_eq!((options.stop_on_error, options.include_results), (Some(true), Some(true)));
    }
    let going_on = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    let ran = rig.run(batch_with(calls(), going_on)).await;
    assert_eq!(ran.statuses(), ["failed", "completed"]);
    assert_eq!(ran.summary().stop_reason(), StopReason::Unspecified);
    assert_eq!(ran.summary().status(), BatchStatus::Partial);
}

#[tokio::test]
async fn two_hundred_calls_run_at_most_sixteen_at_once() {
    let rig = Rig::start().await;
    let calls = (0..200).map(|n| call("effect", &format!(r#"{{"id":"{n}","ms":2}}"#))).collect();
    let ran = rig.run(batch_with(calls, parallel(16))).await;
    assert_eq!(ran.summary().succeeded, 200);
    let most = rig.backend.journal().most_at_once(|_| true);
    assert!((2..=16).contains(&most), "{most} at once");
    let indexes: Vec<u32> = ran.results().iter().map(|result| result.index).collect();
    assert_eq!(indexes, (0..200).collect::<Vec<u32>>());
}

#[tokio::test]
async fn sequential_mode_ignores_the_width() {
    let rig = Rig::start().await;
    let options = BatchOptions { max_concurrency: 8, ..BatchOptions::default() };
    rig.run(batch_with((0..6).map(|n| effect(&n.to_string())).collect(), options)).await;
    assert_eq!(rig.backend.journal().most_at_once(|_| true), 1);
    assert_eq!(rig.backend.journal().ids(), ["0", "1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn c29_results_stand_in_call_order() {
    let rig = Rig::start().await;
    let gates = ["a", "b", "c"].map(|id| rig.backend.hold(id));
    let calls = ["a", "b", "c"].map(effect).to_vec();
    let mut events = rig.open(batch_with(calls, parallel(3))).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 3).await;
    let mut finished = Vec::new();
    for gate in gates.into_iter().rev() {
        gate.release();
        let event = events.until(|event| matches!(event, Event::CallFinished(_))).await;
        let Some(Event::CallFinished(call)) = event.event else { unreachable!("it was looked for") };
        finished.push(call.result.expect("a result").index);
    }
    assert_eq!(finished, [2, 1, 0]);
    let last = events.until(|event| matches!(event, Event::BatchFinished(_))).await;
    let Some(Event::BatchFinished(batch)) = last.event else { unreachable!("it was looked for") };
    let results = batch.summary.expect("a summary").results;
    assert_eq!(
        results.iter().map(|result| result.result_json.as_str()).collect::<Vec<_>>(),
        [r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#]
    );
}

#[tokio::test]
async fn c30_one_document_in_order_never_two_at_once() {
    let rig = Rig::start().await;
    let mut calls: Vec<ToolCall> = (0..20).map(|n| order("40040343", n)).collect();
    let others: Vec<ToolCall> = (0..5).map(|n| order("P-1", n)).collect();
    calls.splice(10..10, others);
    let options = BatchOptions { serialize_on: "order.contract".into(), ..parallel(16) };
    let ran = rig.run(batch_with(calls, options)).await;
    assert_eq!(ran.summary().succeeded, 25, "{:?}", ran.summary());
    let journal = rig.backend.journal();
    for doc in ["40040343", "P-1"] {
        let entries: Vec<_> = journal.entries().into_iter().filter(|entry| entry.id == doc).collect();
        assert!(entries.windows(2).all(|pair| pair[0].index < pair[1].index), "{doc} is out of order");
        assert_eq!(journal.most_at_once(|entry| entry.id == doc), 1);
    }
    assert_eq!(journal.most_at_once(|_| true), 2);
}

#[tokio::test]
async fn a_call_that_waits_for_its_lane_holds_no_slot() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("A");
    let calls = vec![order("A", 0), order("A", 1), order("A", 2), order("B", 0)];
    let options = BatchOptions { serialize_on: "/order/contract".into(), ..parallel(2) };
    let events = rig.open(batch_with(calls, options)).await.expect("taken in");
    // B runs although A's first call is held and two more of A stand before it.
    let both = |entries: &[Entry]| entries.len() == 2 && entries.iter().any(|entry| entry.id == "B" && entry.answered);
    rig.backend.journal().wait_for(both).await;
    gate.release();
    events.rest().await.expect("it ends");
    let indexes: Vec<u32> =
        rig.backend.journal().entries().iter().filter(|entry| entry.id == "A").map(|entry| entry.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
}

#[tokio::test]
async fn c32_a_failing_sibling_stops_only_what_has_not_started() {
    for (stop_on_error, statuses) in [
        (true, ["completed", "failed", "completed", "not_run"]),
        (false, ["completed", "failed", "completed", "completed"]),
    ] {
        let rig = Rig::start().await;
        let (a, c) = (rig.backend.hold("a"), rig.backend.hold("c"));
        let calls = vec![effect("a"), call("fail", "{}"), effect("c"), effect("d")];
        let options = BatchOptions { stop_on_error: Some(stop_on_error), ..parallel(3) };
        let mut events = rig.open(batch_with(calls, options)).await.expect("taken in");
        let failed = events.until(|event| matches!(event, Event::CallFinished(_))).await;
        let Some(Event::CallFinished(failed)) = failed.event else { unreachable!("it was looked for") };
        assert_eq!(failed.result.expect("a result").index, 1);
        if !stop_on_error {
            rig.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "d")).await;
        }
        a.release();
        c.release();
        let events = events.rest().await.expect("it ends");
        let ran = crate::rig::Ran { events };
        assert_eq!(ran.statuses(), statuses);
        assert_eq!(ran.summary().status(), BatchStatus::Partial);
        let reason = if stop_on_error { StopReason::CallFailed } else { StopReason::Unspecified };
        assert_eq!(ran.summary().stop_reason(), reason);
        let d = &ran.results()[3];
        assert_eq!(d.step_id.is_empty(), stop_on_error, "a call that is not run has no step");
    }
}

#[tokio::test]
async fn c33_a_review_stops_the_rest_and_the_list_can_be_sent_again() {
    let rig = Rig::start().await;
    let list = || {
        let calls = vec![
            keyed("a", "effect", r#"{"id":"a"}"#),
            keyed("b", "review", r#"{"id":"b"}"#),
            keyed("c", "effect", r#"{"id":"c"}"#),
        ];
        batch_with(calls, BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() })
    };
    let first = rig.run(list()).await;
    assert_eq!(first.statuses(), ["completed", "awaiting", "not_run"]);
    assert_eq!(first.results()[1].await_id, "b");
    assert_eq!(first.summary().stop_reason(), StopReason::AwaitingReview);
    assert_eq!(first.summary().status(), BatchStatus::Partial);
    let second = rig.run(list()).await;
    assert_eq!(second.statuses(), ["skipped", "skipped", "completed"]);
    assert_eq!(second.results()[1].await_id, "b");
    assert_eq!(second.summary().status(), BatchStatus::Completed);
    assert_eq!(rig.backend.journal().ids(), ["a", "b", "c"]);
}

#[tokio::test]
async fn c33_in_parallel_what_runs_finishes_and_nothing_more_starts() {
    let rig = Rig::start().await;
    let a = rig.backend.hold("a");
    let calls = vec![effect("a"), call("review", r#"{"id":"b"}"#), effect("c")];
    let mut events = rig.open(batch_with(calls, parallel(2))).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallFinished(_))).await;
    a.release();
    let ran = crate::rig::Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.statuses(), ["completed", "awaiting", "not_run"]);
    assert_eq!(rig.backend.journal().entries().len(), 2);
}

#[tokio::test]
async fn c34_which_values_share_a_lane() {
    let rig = Rig::start().await;
    let values = [
        "4711",
        "\"4711\"",
        "\"\\u0034711\"",
        "\"0000004711\"",
        "true",
        "\"true\"",
        "null",
        "\"null\"",
        "{\"id\":1}",
        "[4711]",
        "9007199254740993",
        "9007199254740992",
        "4711.0",
        "4.711e3",
    ];
    let mut calls: Vec<ToolCall> = values.iter().map(|value| call("echo", &format!(r#"{{"doc":{value}}}"#))).collect();
    calls.push(call("echo", "{}"));
    let lanes = lanes(&rig, calls, "doc").await;
    assert!(
        lanes[0] == lanes[1] && lanes[1] == lanes[2] && lanes[0] == lanes[12] && lanes[0] == lanes[13],
        "{lanes:?}"
    );
    assert_ne!(lanes[0], lanes[3]);
    assert_eq!(lanes[4], lanes[5]);
    assert!(!lanes[7].is_empty());
    for without in [6, 8, 9, 14] {
        assert_eq!(lanes[without], "", "call {without}");
    }
    assert_ne!(lanes[10], lanes[11]);
    let pair = || vec![call("echo", r#"{"a.b":"x"}"#), call("echo", r#"{"a":{"b":"x"}}"#)];
    assert_eq!(self::lanes(&rig, pair(), "a.b").await, ["", "x"]);
    assert_eq!(self::lanes(&rig, pair(), "/a.b").await, ["x", ""]);
}

async fn lanes(rig: &Rig, calls: Vec<ToolCall>, path: &str) -> Vec<String> {
    let options = BatchOptions { serialize_on: path.into(), ..parallel(4) };
    let request = toolbatch::proto::ExecuteBatchRequest { validate_only: true, ..batch_with(calls, options) };
    let planned = rig.run(request).await;
    let Some(Event::BatchPlanned(plan)) = &planned.events[0].event else { panic!("{:?}", planned.events) };
    plan.calls.iter().map(|call| call.lane.clone()).collect()
}

#[tokio::test]
async fn a_retryable_failure_is_repeated_under_the_same_step_and_idempotency_key() {
    let rig = Rig::start().await;
    let options = BatchOptions { retry: Some(retry(3)), ..BatchOptions::default() };
    let ran = rig.run(batch_with(vec![call("flaky", r#"{"id":"a","fail":2}"#)], options)).await;
    assert_eq!(
        ran.story(),
        [
            "started",
            "call_started 0 #1",
            "retrying 0 #1",
            "call_started 0 #2",
            "retrying 0 #2",
            "call_started 0 #3",
            "completed 0",
            "finished"
        ]
    );
    assert_eq!(ran.results()[0].attempts, 3);
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.iter().map(|entry| entry.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    for entry in &entries {
        assert_eq!(entry.step_id, entries[0].step_id);
        assert_eq!(entry.idempotency_key, entries[0].idempotency_key);
        assert!(!entry.in_doubt);
    }
}

#[tokio::test]
async fn a_failure_that_is_not_retryable_or_has_no_attempts_left_ends_the_call() {
    let rig = Rig::start().await;
    let options = BatchOptions { retry: Some(retry(2)), stop_on_error: Some(false), ..BatchOptions::default() };
    let calls = vec![call("fail", "{}"), call("flaky", r#"{"id":"a","fail":5}"#)];
    let ran = rig.run(batch_with(calls, options)).await;
    assert_eq!(ran.statuses(), ["failed", "failed"]);
    assert_eq!(ran.results().iter().map(|result| result.attempts).collect::<Vec<_>>(), [1, 2]);
    let error = ran.results()[1].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.retryable, error.outcome_unknown), (CallErrorReason::ToolFailed, true, false));
    assert_eq!(error.code, "STUB");
}
