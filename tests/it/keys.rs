//! R5: a keyed call runs at most once per task.

use toolbatch::proto::{
    BatchOptions, BatchStatus, CallErrorReason, ExecuteBatchRequest, InDoubtPolicy, ToolCall, batch_event::Event,
};

use crate::{
    backend::Lookup,
    rig::{Ran, Rig, batch, batch_with, call, keyed},
};

fn effect(key: &str, id: &str) -> ToolCall {
    keyed(key, "effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn with_policy(call: ToolCall, policy: InDoubtPolicy) -> ExecuteBatchRequest {
    batch_with(vec![call], BatchOptions { in_doubt: policy.into(), ..BatchOptions::default() })
}

/// Leaves the key "k" unknown: its call is sent and never answered.
async fn lose(rig: &Rig, lost: ToolCall, policy: InDoubtPolicy) -> Ran {
    let gate = rig.backend.hold("lost");
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 200_000_000 });
    let options = BatchOptions { call_timeout: timeout, in_doubt: policy.into(), ..BatchOptions::default() };
    let ran = rig.run(batch_with(vec![lost], options)).await;
    drop(gate);
    ran
}

#[tokio::test]
async fn c22_a_failed_key_runs_again() {
    let rig = Rig::start().await;
    let list = || batch(vec![keyed("k", "flaky", r#"{"id":"a","fail":1}"#)]);
    let (first, second, third) = (rig.run(list()).await, rig.run(list()).await, rig.run(list()).await);
    assert_eq!(
        (first.statuses(), second.statuses(), third.statuses()),
        (vec!["failed"], vec!["completed"], vec!["skipped"])
    );
    assert_ne!(first.results()[0].step_id, second.results()[0].step_id);
    assert_eq!(third.results()[0].step_id, second.results()[0].step_id);
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.len(), 2);
    assert_ne!(entries[0].idempotency_key, entries[1].idempotency_key, "a definite failure ends the logical call");
}

#[tokio::test]
async fn c23_two_batches_and_twenty_more_share_one_run() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let mut first = rig.open(batch(vec![effect("k", "a")])).await.expect("taken in");
    first.until(|event| matches!(event, Event::CallStarted(_))).await;
    let mut waiting = Vec::new();
    for _ in 0..21 {
        let mut events = rig.open(batch(vec![effect("k", "a")])).await.expect("taken in");
        events.until(|event| matches!(event, Event::BatchStarted(_))).await;
        waiting.push(events);
    }
    gate.release();
    let step = Ran { events: first.rest().await.expect("it ends") }.results()[0].step_id.clone();
    for events in waiting {
        let ran = Ran { events: events.rest().await.expect("it ends") };
        assert_eq!(ran.statuses(), ["skipped"]);
        assert_eq!(ran.results()[0].step_id, step);
    }
    assert_eq!(rig.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn c23_whoever_waited_runs_where_the_first_fails() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let list = || batch(vec![keyed("k", "flaky", r#"{"id":"a","fail":1}"#)]);
    let mut first = rig.open(list()).await.expect("taken in");
    first.until(|event| matches!(event, Event::CallStarted(_))).await;
    let mut second = rig.open(list()).await.expect("taken in");
    second.until(|event| matches!(event, Event::BatchStarted(_))).await;
    gate.release();
    assert_eq!(Ran { events: first.rest().await.expect("it ends") }.statuses(), ["failed"]);
    assert_eq!(Ran { events: second.rest().await.expect("it ends") }.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().most_at_once(|_| true), 1);
}

#[tokio::test]
async fn c23_crossed_batches_both_end() {
    let rig = Rig::start().await;
    let gates = [rig.backend.hold("1"), rig.backend.hold("2")];
    let forth = rig.open(batch(vec![effect("k1", "1"), effect("k2", "2")])).await.expect("taken in");
    let back = rig.open(batch(vec![effect("k2", "2"), effect("k1", "1")])).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;
    drop(gates);
    for events in [forth, back] {
        let ran = Ran { events: events.rest().await.expect("it ends") };
        assert_eq!(ran.statuses(), ["completed", "skipped"]);
    }
    assert_eq!(rig.backend.journal().entries().len(), 2);
}

#[tokio::test]
async fn c25_a_key_used_for_something_else_is_skipped_and_says_so() {
    let rig = Rig::start().await;
    let first = rig.run(batch(vec![effect("inv-1", "charge")])).await;
    let second = rig.run(batch(vec![effect("inv-1", "refund"), call("effect", r#"{"id":"mail"}"#)])).await;
    assert_eq!(second.statuses(), ["skipped", "completed"]);
    let skipped = &second.results()[0];
    assert!(skipped.args_changed && skipped.result_json.is_empty() && !skipped.result_omitted, "{skipped:?}");
    assert_eq!(skipped.step_id, first.results()[0].step_id);
    assert_eq!(second.summary().status(), BatchStatus::Completed);
    assert_eq!(second.summary().skipped, 1);
    assert_eq!(rig.backend.journal().ids(), ["charge", "mail"]);
}

#[tokio::test]
async fn args_are_compared_as_values() {
    let rig = Rig::start().await;
    rig.run(batch(vec![keyed("k", "echo", r#"{"a":1.0,"b":[1e2]}"#)])).await;
    let same = rig.run(batch(vec![keyed("k", "echo", r#" { "b" : [100], "a":1 }"#)])).await;
    assert!(!same.results()[0].args_changed);
    assert_eq!(same.results()[0].result_json, r#"{"a":1.0,"b":[1e2]}"#, "the original's, byte for byte");
    let text = rig.run(batch(vec![keyed("k", "echo", r#"{"a":"1","b":[100]}"#)])).await;
    assert!(text.results()[0].args_changed);
}

#[tokio::test]
async fn keys_of_different_tasks_never_meet() {
    let rig = Rig::start().await;
    for (task, key) in [("a", "b/c"), ("a/b", "c"), ("a", "B/c"), ("a", "b/c ")] {
        let request = ExecuteBatchRequest { task_id: task.into(), ..batch(vec![effect(key, "x")]) };
        assert_eq!(rig.run(request).await.statuses(), ["completed"], "{task} {key}");
    }
    let keys: std::collections::HashSet<String> =
        rig.backend.journal().entries().into_iter().map(|entry| entry.idempotency_key).collect();
    assert_eq!(keys.len(), 4);
}

#[tokio::test]
async fn an_unknown_outcome_is_run_again_in_doubt_under_the_same_idempotency_key() {
    let rig = Rig::start().await;
    let lost = lose(&rig, effect("k", "lost"), InDoubtPolicy::Rerun).await;
    let error = lost.results()[0].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::TimedOut, true));
    let again = rig.run(with_policy(effect("k", "lost"), InDoubtPolicy::Rerun)).await;
    assert_eq!(again.statuses(), ["completed"]);
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.iter().map(|entry| entry.in_doubt).collect::<Vec<_>>(), [false, true]);
    assert_eq!(entries[0].idempotency_key, entries[1].idempotency_key);
}

#[tokio::test]
async fn an_unknown_outcome_is_not_run_again_where_the_policy_is_to_fail_or_the_args_differ() {
    let rig = Rig::start().await;
    lose(&rig, effect("k", "lost"), InDoubtPolicy::Rerun).await;
    for request in [
        with_policy(effect("k", "lost"), InDoubtPolicy::Fail),
        with_policy(effect("k", "other"), InDoubtPolicy::Rerun),
        with_policy(effect("k", "other"), InDoubtPolicy::Lookup),
    ] {
        let ran = rig.run(request).await;
        assert_eq!(ran.story(), ["started", "failed 0", "finished"]);
        let result = &ran.results()[0];
        let error = result.error.as_ref().expect("an error");
        assert_eq!((error.reason(), error.outcome_unknown, result.attempts), (CallErrorReason::InDoubt, true, 0));
        assert_eq!(rig.get_step(&result.step_id).await.expect("a step").attempts, 0);
    }
    assert_eq!(rig.backend.journal().entries().len(), 1);
    // The key is unknown still.
    assert_eq!(rig.run(with_policy(effect("k", "lost"), InDoubtPolicy::Rerun)).await.statuses(), ["completed"]);
}

#[tokio::test]
async fn an_unknown_outcome_is_looked_up() {
    let rig = Rig::start().await;
    lose(&rig, effect("k", "lost"), InDoubtPolicy::Rerun).await;
    rig.backend.answer_lookups(Lookup::Unknown);
    let unknown = rig.run(with_policy(effect("k", "lost"), InDoubtPolicy::Lookup)).await;
    let error = unknown.results()[0].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::InDoubt, true));
    rig.backend.answer_lookups(Lookup::NotLanded);
    let ran = rig.run(with_policy(effect("k", "lost"), InDoubtPolicy::Lookup)).await;
    assert_eq!(ran.statuses(), ["completed"]);
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.len(), 2);
    assert!(!entries[1].in_doubt, "it never took effect, so nothing is in doubt");
    assert_eq!(rig.backend.lookups(), [entries[0].idempotency_key.clone(), entries[0].idempotency_key.clone()]);
}

#[tokio::test]
async fn a_lost_answer_is_looked_up_at_once_where_the_policy_says_so() {
    let rig = Rig::start().await;
    rig.backend.answer_lookups(Lookup::Landed(r#"{"found":1}"#.into()));
    let landed = lose(&rig, effect("k", "lost"), InDoubtPolicy::Lookup).await;
    assert_eq!(landed.statuses(), ["completed"]);
    assert_eq!(landed.results()[0].result_json, r#"{"found":1}"#);
    rig.backend.answer_lookups(Lookup::NotLanded);
    let not_landed = lose(&rig, effect("k2", "lost"), InDoubtPolicy::Lookup).await;
    let error = not_landed.results()[0].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::TimedOut, false));
    rig.backend.answer_lookups(Lookup::Unknown);
    let unknown = lose(&rig, effect("k3", "lost"), InDoubtPolicy::Lookup).await;
    let error = unknown.results()[0].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::TimedOut, true));
}

#[tokio::test]
async fn calls_without_a_key_have_an_idempotency_key_each() {
    let rig = Rig::start().await;
    let list = || batch(vec![call("effect", r#"{"id":"a"}"#), call("effect", r#"{"id":"a"}"#)]);
    rig.run(list()).await;
    rig.run(list()).await;
    let keys: std::collections::HashSet<String> =
        rig.backend.journal().entries().into_iter().map(|entry| entry.idempotency_key).collect();
    assert_eq!(keys.len(), 4);
}
