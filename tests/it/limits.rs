//! What a backend takes, over all batches (I10), and whose turn it is.

use toolbatch::proto::{BatchOptions, CallErrorReason, ToolCall};

use crate::{
    backend::ScriptedBackend,
    rig::{Ran, Rig, batch, batch_with, call, parallel},
};

async fn rig_with(max_concurrency: u32) -> Rig {
    let backend = ScriptedBackend::start().await;
    let mut configured = backend.config("stub");
    configured.max_concurrency = max_concurrency;
    Rig::start_with(backend, vec![configured], |_| {}).await
}

fn effects(prefix: &str, count: usize) -> Vec<ToolCall> {
    (0..count).map(|n| call("effect", &format!(r#"{{"id":"{prefix}{n}"}}"#))).collect()
}

#[tokio::test]
async fn a_backend_has_no_more_calls_at_once_than_it_takes() {
    let rig = rig_with(3).await;
    let run = |prefix: &'static str| rig.run(batch_with(effects(prefix, 60), parallel(16)));
    let ran = tokio::join!(run("a"), run("b"), run("c"));
    for ran in [ran.0, ran.1, ran.2] {
        assert_eq!(ran.summary().succeeded, 60);
    }
    assert!(rig.backend.journal().most_at_once(|_| true) <= 3);
}

#[tokio::test]
async fn one_call_does_not_wait_behind_two_hundred() {
    let rig = rig_with(1).await;
    let held = rig.backend.hold("large0");
    let large = rig.open(batch_with(effects("large", 200), parallel(16))).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    let small = rig.open(batch(effects("small", 1))).await.expect("taken in");
    held.release();
    let small = Ran { events: small.rest().await.expect("it ends") };
    assert_eq!(small.statuses(), ["completed"]);
    let ids = rig.backend.journal().ids();
    assert_eq!(ids[..3], ["large0", "large1", "small0"], "the batches take turns");
    assert_eq!(Ran { events: large.rest().await.expect("it ends") }.summary().succeeded, 200);
}

#[tokio::test]
async fn after_losses_in_a_row_one_call_is_tried_and_the_others_follow() {
    let rig = Rig::start().await;
    let mut calls: Vec<ToolCall> = (0..5).map(|_| call("status", r#"{"code":14,"text":"gone"}"#)).collect();
    calls.extend(effects("a", 3));
    let options = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    let ran = rig.run(batch_with(calls, options)).await;
    assert_eq!(ran.statuses(), [["failed"; 5].as_slice(), &["completed"; 3]].concat());
    for lost in &ran.results()[..5] {
        let error = lost.error.as_ref().expect("an error");
        assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::BackendUnavailable, true));
    }
    assert_eq!(rig.backend.journal().ids().iter().filter(|id| !id.is_empty()).count(), 3);
}
