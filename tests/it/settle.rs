//! R5: what is on record of a task's keys, and what an operator can say of them.

use std::collections::HashSet;

use tonic::Code;
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    BatchOptions, CallErrorReason, CallStatus, ExecuteBatchRequest, InDoubtPolicy, KeyState, ReadStepResultRequest,
    ToolCall,
    batch_event::Event,
    settle_key_request::{Fate, NotLanded},
};

use crate::rig::{Ran, Rig, batch, batch_with, keyed};

fn effect(key: &str, id: &str) -> ToolCall {
    keyed(key, "effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn not_landed() -> Fate {
    Fate::NotLanded(NotLanded {})
}

fn landed(result: &str) -> Fate {
    Fate::LandedResultJson(result.into())
}

/// Leaves a key unknown, and gives the step of its call.
async fn lose(rig: &Rig, lost: ToolCall) -> String {
    let gate = rig.backend.hold("lost");
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 });
    let ran = rig.run(batch_with(vec![lost], BatchOptions { call_timeout: timeout, ..BatchOptions::default() })).await;
    drop(gate);
    assert!(ran.results()[0].error.as_ref().expect("an error").outcome_unknown);
    ran.results()[0].step_id.clone()
}

#[tokio::test]
async fn a_key_that_landed_is_skipped_with_the_result_that_was_given() {
    let mut rig = Rig::start().await;
    let step_id = lose(&rig, effect("k", "lost")).await;
    let settled = rig.settle("k", landed(r#"{ "order":1.0}"#)).await.expect("it is unknown");
    assert_eq!((settled.state(), &*settled.settled_by), (KeyState::Completed, "local"));
    assert_eq!((&settled.step_id, &*settled.base_tool), (&step_id, "effect"));
    assert!(settled.update_time.is_some());
    assert_eq!(settled.idempotency_key, rig.backend.journal().entries()[0].idempotency_key);
    for restarts in [false, true] {
        if restarts {
            rig.restart().await;
        }
        let again = rig.run(batch(vec![effect("k", "lost")])).await;
        assert_eq!(again.statuses(), ["skipped"]);
        let result = &again.results()[0];
        assert_eq!((&result.step_id, &*result.result_json), (&step_id, r#"{ "order":1.0}"#), "byte for byte");
        assert!(rig.run(batch(vec![effect("k", "other")])).await.results()[0].args_changed);
        let step = rig.get_step(&step_id).await.expect("a step");
        assert_eq!((step.status(), &*step.result_json), (CallStatus::Completed, r#"{ "order":1.0}"#));
        assert_eq!((step.attempts, step.error), (1, None));
        assert_eq!(rig.keys(&[], 10).await.expect("a list"), std::slice::from_ref(&settled));
    }
    assert_eq!(rig.backend.journal().entries().len(), 1);
    let refused = rig.settle("k", not_landed()).await.expect_err("it is settled");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(refused.get_details_error_info().expect("details").reason, "KEY_NOT_UNKNOWN");
    assert!(refused.message().contains("is completed"), "{}", refused.message());
}

#[tokio::test]
async fn a_large_result_and_none_at_all_stand_on_the_step() {
    let rig = Rig::start().await;
    // Each of these characters is written out, as far as the bound on what is quoted goes.
    let message = r"\u0001".repeat(1_000);
    let lost = || keyed("large", "status", &format!(r#"{{"code":13,"message":"{message}"}}"#));
    let step_id = lose(&rig, lost()).await;
    let said = rig.get_step(&step_id).await.expect("a step").error.expect("an error").message;
    assert!((1_024..1_300).contains(&said.len()), "{} bytes", said.len());
    let large = format!("\"{}\"", "x".repeat(5 << 20));
    rig.settle("large", landed(&large)).await.expect("it is unknown");
    let again = rig.run(batch(vec![lost()])).await;
    assert!(again.results()[0].result_omitted);
    let request = ReadStepResultRequest { step_id, offset: 0 };
    let mut chunks = rig.tasks().read_step_result(request).await.expect("it has one").into_inner();
    let mut read = Vec::new();
    while let Some(response) = chunks.message().await.expect("it goes on") {
        read.extend(response.chunk);
    }
    assert!(read == large.as_bytes(), "{} bytes came back", read.len());
    lose(&rig, effect("none", "lost")).await;
    rig.settle("none", landed("")).await.expect("it is unknown");
    assert_eq!(rig.run(batch(vec![effect("none", "lost")])).await.results()[0].result_json, "null");
}

#[tokio::test]
async fn a_key_that_did_not_land_runs_again_as_the_same_logical_call() {
    let rig = Rig::start().await;
    lose(&rig, effect("k", "lost")).await;
    let settled = rig.settle("k", not_landed()).await.expect("it is unknown");
    assert_eq!((settled.state(), &*settled.settled_by), (KeyState::Failed, "local"));
    let fail = BatchOptions { in_doubt: InDoubtPolicy::Fail.into(), ..BatchOptions::default() };
    let again = rig.run(batch_with(vec![effect("k", "lost")], fail)).await;
    assert_eq!(again.statuses(), ["completed"], "nothing is in doubt any more, so the policy does not matter");
    let entries = rig.backend.journal().entries();
    assert_eq!(entries[0].idempotency_key, entries[1].idempotency_key);
    assert!(!entries[1].in_doubt);
    let listed = rig.keys(&[], 10).await.expect("a list");
    assert_eq!((listed[0].state(), &*listed[0].settled_by), (KeyState::Completed, ""));
}

#[tokio::test]
async fn another_body_after_a_key_that_did_not_land_is_another_logical_call() {
    let mut rig = Rig::start().await;
    lose(&rig, effect("k", "lost")).await;
    rig.settle("k", not_landed()).await.expect("it is unknown");
    // It is lost too, and comes back under the key that it had.
    lose(&rig, keyed("k", "effect", r#"{"id":"lost","ms":1}"#)).await;
    rig.restart().await;
    assert_eq!(rig.run(batch(vec![keyed("k", "effect", r#"{"id":"lost","ms":1}"#)])).await.statuses(), ["completed"]);
    let keys: Vec<String> = rig.backend.journal().entries().into_iter().map(|entry| entry.idempotency_key).collect();
    assert_ne!(keys[0], keys[1], "one idempotency key must not carry two bodies");
    assert_eq!(keys[1], keys[2]);
}

#[tokio::test]
async fn a_key_that_runs_is_not_settled_and_shows_as_running() {
    let rig = Rig::start().await;
    lose(&rig, effect("k", "lost")).await;
    let gate = rig.backend.hold("lost");
    let mut events = rig.open(batch(vec![effect("k", "lost")])).await.expect("taken in");
    let started = events.until(|event| matches!(event, Event::CallStarted(_))).await;
    let Some(Event::CallStarted(started)) = started.event else { unreachable!("it was looked for") };
    let refused = rig.settle("k", not_landed()).await.expect_err("it is running");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("is running"), "{}", refused.message());
    for states in [&[][..], &[KeyState::Running]] {
        let listed = rig.keys(states, 10).await.expect("a list");
        assert_eq!((listed.len(), listed[0].state(), &listed[0].step_id), (1, KeyState::Running, &started.step_id));
    }
    assert!(rig.keys(&[KeyState::Unknown], 10).await.expect("a list").is_empty());
    gate.release();
    events.rest().await.expect("it ends");
    assert_eq!(rig.keys(&[], 10).await.expect("a list")[0].state(), KeyState::Completed);
}

#[tokio::test]
async fn a_batch_that_comes_to_the_key_later_goes_by_what_was_settled() {
    let rig = Rig::start().await;
    lose(&rig, effect("k", "lost")).await;
    let gate = rig.backend.hold("first");
    let events = rig.open(batch(vec![effect("f", "first"), effect("k", "lost")])).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "first")).await;
    rig.settle("k", landed("7")).await.expect("nothing runs under it");
    gate.release();
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.statuses(), ["completed", "skipped"]);
    assert_eq!(ran.results()[1].result_json, "7");
}

#[tokio::test]
async fn what_cannot_be_settled_is_refused_with_words() {
    let rig = Rig::start().await;
    assert_eq!(rig.settle("k", not_landed()).await.expect_err("no task").code(), Code::NotFound);
    rig.run(batch(vec![effect("done", "a"), keyed("failed", "fail", "{}")])).await;
    let absent = rig.settle("nobody's", not_landed()).await.expect_err("no key");
    assert_eq!(absent.code(), Code::NotFound);
    assert_eq!(absent.get_details_error_info().expect("details").reason, "KEY_NOT_FOUND");
    for (key, is) in [("done", "is completed"), ("failed", "is failed")] {
        let refused = rig.settle(key, not_landed()).await.expect_err("it is known");
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(refused.message().contains(is), "{}", refused.message());
    }
    lose(&rig, effect("k", "lost")).await;
    for (key, fate, field) in [
        ("k", landed("{"), "landed_result_json"),
        ("k", landed(" \n"), "landed_result_json"),
        ("", not_landed(), "key"),
    ] {
        let refused = rig.settle(key, fate).await.expect_err("it breaks a rule");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(refused.get_details_bad_request().expect("details").field_violations[0].field, field);
    }
    let request = toolbatch::proto::SettleKeyRequest { task_id: "T".into(), key: "k".into(), fate: None };
    assert_eq!(rig.tasks().settle_key(request).await.expect_err("no fate").code(), Code::InvalidArgument);
    // Nothing of it changed anything, and an ended task's keys can be settled still.
    rig.end_task("T", "").await.expect("it ends");
    rig.settle("k", landed("1")).await.expect("it is unknown");
}

#[tokio::test]
async fn every_key_stands_on_exactly_one_page() {
    let rig = Rig::start().await;
    let calls = (0..25).map(|n| effect(&format!("k{n}"), "a")).collect();
    rig.run(batch(calls)).await;
    rig.run(batch(vec![keyed("bad", "fail", "{}")])).await;
    let _gate = rig.backend.hold("held");
    let request = ExecuteBatchRequest { batch_id: "b".into(), ..batch(vec![effect("run", "held")]) };
    rig.open(request).await.expect("taken in").until(|event| matches!(event, Event::CallStarted(_))).await;
    let all = rig.keys(&[], 1_000).await.expect("a list");
    assert_eq!(all.iter().map(|key| &*key.key).collect::<HashSet<_>>().len(), 27);
    for size in [1, 4, 26, 27] {
        assert_eq!(rig.keys(&[], size).await.expect("a list"), all, "pages of {size}");
    }
    let done = rig.keys(&[KeyState::Completed], 7).await.expect("a list");
    assert_eq!(done.len(), 25);
    let others = rig.keys(&[KeyState::Failed, KeyState::Running], 1).await.expect("a list");
    assert_eq!(others.iter().map(|key| &*key.key).collect::<HashSet<_>>(), HashSet::from(["bad", "run"]));
    let refused = rig.keys(&[KeyState::Unspecified], 1).await.expect_err("no key is in that state");
    assert_eq!(refused.code(), Code::InvalidArgument);
    rig.cancel("b", true).await.expect("it is stopped");
    let lost = rig.keys(&[KeyState::Unknown], 5).await.expect("a list");
    assert_eq!((lost.len(), &*lost[0].key), (1, "run"));
    let step = rig.get_step(&lost[0].step_id).await.expect("a step");
    assert_eq!(step.error.expect("an error").reason(), CallErrorReason::Cancelled);
}
