//! R4 to R7 over real connections: what runs, in which order, and what is told of it.

use crate::rig::{Rig, batch, call, keyed};

#[tokio::test]
async fn a_sequential_batch_runs_in_order_and_tells_everything() {
    let rig = Rig::start().await;
    let calls = (0..3).map(|n| call("effect", &format!(r#"{{"id":"e{n}"}}"#))).collect();
    let ran = rig.run(batch(calls)).await;
    assert_eq!(
        ran.story(),
        [
            "started",
            "call_started 0 #1",
            "completed 0",
            "call_started 1 #1",
            "completed 1",
            "call_started 2 #1",
            "completed 2",
            "finished"
        ]
    );
    assert_eq!(ran.results()[1].result_json, r#"{"id":"e1"}"#);
    assert_eq!(rig.backend.journal().ids(), ["e0", "e1", "e2"]);
    let sequences: Vec<u64> = ran.events.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, (1..=8).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_completed_key_is_skipped_by_a_later_batch_and_after_a_restart() {
    let mut rig = Rig::start().await;
    let request = || batch(vec![keyed("k", "effect", r#"{"id":"a"}"#)]);
    let first = rig.run(request()).await;
    let second = rig.run(request()).await;
    rig.restart().await;
    let third = rig.run(request()).await;
    for later in [&second, &third] {
        assert_eq!(later.story(), ["started", "skipped 0", "finished"]);
        assert_eq!(later.results()[0].step_id, first.results()[0].step_id);
        assert_eq!(later.results()[0].result_json, r#"{"id":"a"}"#);
    }
    assert_eq!(rig.backend.journal().ids(), ["a"]);
}
