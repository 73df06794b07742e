//! R9: `CancelBatch` and `EndTask`.

use tonic::Code;
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    BatchOptions, BatchStatus, CallErrorReason, CallStatus, ExecuteBatchRequest, InDoubtPolicy, RetryPolicy,
    StopReason, ToolCall, batch_event::Event,
};

use crate::{
    process::Program,
    rig::{Ran, Rig, batch, batch_with, call, keyed, parallel},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn named(batch_id: &str, request: ExecuteBatchRequest) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: batch_id.into(), ..request }
}

#[tokio::test]
async fn a_cancelled_batch_finishes_what_runs_and_starts_nothing() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let events = rig.open(named("b", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    let running = rig.cancel("b", false).await.expect("it is stopped");
    assert_eq!(running.summary.expect("a summary").status(), BatchStatus::Running);
    gate.release();
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.statuses(), ["completed", "not_run"]);
    assert_eq!(ran.summary().stop_reason(), StopReason::Cancelled);
    assert_eq!(ran.summary().status(), BatchStatus::Partial);
    assert_eq!(rig.backend.journal().ids(), ["a"]);
    for abort in [false, true] {
        let again = rig.cancel("b", abort).await.expect("a finished batch stays as it is");
        assert_eq!(again.summary.as_ref(), Some(ran.summary()));
        assert_eq!(again.last_sequence, 4);
    }
    let absent = rig.cancel("nobody's", false).await.expect_err("there is none");
    assert_eq!(absent.code(), Code::NotFound);
}

#[tokio::test]
async fn abort_cuts_running_calls_off_and_leaves_their_keys_unknown() {
    let rig = Rig::start().await;
    let gates = [rig.backend.hold("a"), rig.backend.hold("b")];
    let list = || vec![keyed("k", "effect", r#"{"id":"a"}"#), effect("b"), effect("c")];
    let events = rig.open(named("b", batch_with(list(), parallel(2)))).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;
    let over = rig.cancel("b", true).await.expect("it is stopped").summary.expect("a summary");
    assert_eq!((over.status(), over.stop_reason()), (BatchStatus::Failed, StopReason::Cancelled));
    let statuses: Vec<CallStatus> = over.results.iter().map(toolbatch::proto::CallResult::status).collect();
    assert_eq!(statuses, [CallStatus::Failed, CallStatus::Failed, CallStatus::NotRun]);
    for result in &over.results[..2] {
        let error = result.error.as_ref().expect("an error");
        assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::Cancelled, true));
    }
    assert_eq!(Ran { events: events.rest().await.expect("it ends") }.summary(), &over);
    // The backend hears of it, and nothing of it is waited for.
    rig.backend.journal().wait_for(|entries| entries.iter().all(|entry| entry.end.is_some())).await;
    drop(gates);
    let fail = BatchOptions { in_doubt: InDoubtPolicy::Fail.into(), ..BatchOptions::default() };
    let again = rig.run(batch_with(vec![keyed("k", "effect", r#"{"id":"a"}"#)], fail)).await;
    assert_eq!(again.results()[0].error.as_ref().expect("an error").reason(), CallErrorReason::InDoubt);
    assert_eq!(rig.backend.journal().entries().len(), 2);
}

#[tokio::test]
async fn a_call_in_backoff_is_not_repeated_after_a_cancellation() {
    let rig = Rig::start().await;
    let long = Some(prost_types::Duration { seconds: 600, nanos: 0 });
    let policy = RetryPolicy { max_attempts: 3, initial_backoff: long, max_backoff: long, backoff_multiplier: 1.0 };
    let options = BatchOptions { retry: Some(policy), ..BatchOptions::default() };
    let calls = vec![call("flaky", r#"{"id":"a","fail":2}"#), effect("b")];
    let mut events = rig.open(named("b", batch_with(calls, options))).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallRetrying(_))).await;
    let over = rig.cancel("b", false).await.expect("it is stopped").summary.expect("a summary");
    assert_eq!((over.status(), over.stop_reason()), (BatchStatus::Failed, StopReason::Cancelled));
    let error = over.results[0].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::ToolFailed, false));
    assert_eq!(rig.backend.journal().entries().len(), 1);
}

#[tokio::test]
async fn an_ended_task_starts_nothing_more_and_takes_nothing_in() {
    let rig = Rig::start().await;
    let gates = ["a", "c", "other"].map(|id| rig.backend.hold(id));
    let first = rig.open(named("b1", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    let second = rig.open(named("b2", batch(vec![effect("c"), effect("d")]))).await.expect("taken in");
    let elsewhere = ExecuteBatchRequest { task_id: "U".into(), ..batch(vec![effect("other"), effect("e")]) };
    let elsewhere = rig.open(elsewhere).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 3).await;
    for reason in ["the order was withdrawn", "again"] {
        rig.end_task("T", reason).await.expect("it ends, and may be ended again");
    }
    drop(gates);
    for events in [first, second] {
        let ran = Ran { events: events.rest().await.expect("it ends") };
        assert_eq!(ran.statuses(), ["completed", "not_run"]);
        assert_eq!(ran.summary().stop_reason(), StopReason::TaskEnded);
    }
    assert_eq!(Ran { events: elsewhere.rest().await.expect("it ends") }.statuses(), ["completed", "completed"]);
    for validate_only in [false, true] {
        let refused = rig.refused(ExecuteBatchRequest { validate_only, ..batch(vec![effect("f")]) }).await;
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(refused.get_details_error_info().expect("details").reason, "TASK_ENDED");
    }
    // What is on record can still be attached to and read.
    let attached = rig.run(named("b1", batch(vec![effect("a"), effect("b")]))).await;
    assert_eq!(attached.statuses(), ["completed", "not_run"]);
    let absent = rig.end_task("nobody's", "").await.expect_err("it has not begun");
    assert_eq!(absent.code(), Code::NotFound);
    let forged = rig.end_task("T", "a\nb").await.expect_err("a reason is one line");
    assert_eq!(forged.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_task_without_live_batches_ends_too_and_stays_so_over_a_restart() {
    let mut rig = Rig::start().await;
    rig.run(batch(vec![effect("a")])).await;
    rig.end_task("T", "").await.expect("it ends");
    assert_eq!(rig.refused(batch(vec![effect("b")])).await.code(), Code::FailedPrecondition);
    rig.restart().await;
    assert_eq!(rig.refused(batch(vec![effect("b")])).await.code(), Code::FailedPrecondition);
    rig.end_task("T", "").await.expect("it is ended");
}

#[tokio::test]
async fn a_cancellation_survives_a_crash_and_what_was_in_flight_follows_its_policy() {
    let mut program = Program::new("5s").await;
    let client = program.start().await;
    let gate = program.backend.hold("a");
    client.open(named("b", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    program.backend.journal().wait_for(|entries| entries.len() == 1).await;
    client.cancel("b", false).await.expect("it is stopped");
    program.crash().await;
    gate.release();
    let client = program.start().await;
    let ran = Ran { events: client.watch("b", 0).await.expect("it is there").rest().await.expect("it ends") };
    assert_eq!(
        ran.story(),
        ["started", "call_started 0 #1", "resumed [0]", "call_started 0 #2", "completed 0", "finished"]
    );
    assert_eq!(ran.statuses(), ["completed", "not_run"]);
    assert_eq!(ran.summary().stop_reason(), StopReason::Cancelled);
    assert_eq!(program.backend.journal().ids(), ["a", "a"]);
}

#[tokio::test]
async fn nothing_of_an_ended_task_is_resumed_after_a_crash() {
    let mut program = Program::new("5s").await;
    let client = program.start().await;
    let _gate = program.backend.hold("a");
    client.open(named("b1", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    client.open(named("b2", batch(vec![effect("a")]))).await.expect("taken in");
    program.backend.journal().wait_for(|entries| entries.len() == 2).await;
    client.cancel("b1", false).await.expect("it is stopped");
    client.end_task("T", "").await.expect("it ends");
    program.crash().await;
    let client = program.start().await;
    for (batch_id, story) in [
        ("b1", ["started", "call_started 0 #1", "resumed [0]", "failed 0", "finished"]),
        ("b2", ["started", "call_started 0 #1", "resumed [0]", "failed 0", "finished"]),
    ] {
        let ran = Ran { events: client.watch(batch_id, 0).await.expect("it is there").rest().await.expect("it ends") };
        assert_eq!(ran.story(), story);
        let error = ran.results()[0].error.as_ref().expect("an error");
        assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::InDoubt, true));
        assert!(error.message.contains("task has ended"), "{}", error.message);
        let reason = if batch_id == "b1" { StopReason::TaskEnded } else { StopReason::Unspecified };
        assert_eq!(ran.summary().stop_reason(), reason);
    }
    assert_eq!(program.backend.journal().entries().len(), 2);
}
