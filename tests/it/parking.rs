//! R8: a batch that was running at three crashes in a row is not run again, and the server serves.

use toolbatch::proto::{BatchStatus, CallErrorReason, ExecuteBatchRequest, KeyState, StopReason, ToolCall};

use crate::{
    process::{Program, Signal},
    rig::{Client, Ran, batch, keyed},
};

fn effect(id: &str) -> ToolCall {
    keyed(id, "effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn request() -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: "b".into(), ..batch(vec![effect("a"), effect("b"), effect("c")]) }
}

/// Waits until a tool ran so often.
async fn runs(program: &Program, id: &str, times: usize) {
    let ran = |entries: &[crate::backend::Entry]| entries.iter().filter(|entry| entry.id == id).count() == times;
    program.backend.journal().wait_for(ran).await;
}

async fn whole(client: &Client) -> Ran {
    Ran { events: client.watch("b", 0).await.expect("it is there").rest().await.expect("it ends") }
}

#[tokio::test]
async fn a_batch_that_was_running_at_three_crashes_in_a_row_is_parked() {
    let mut program = Program::new("5s").await;
    let _gate = program.backend.hold("b");
    let client = program.start().await;
    client.open(request()).await.expect("taken in");
    for crash in 1..=3 {
        runs(&program, "b", crash).await;
        program.crash().await;
        program.start().await;
    }
    program.logged("it is parked").await;
    let client = Client::connect(&program.endpoint()).await;
    let ran = whole(&client).await;
    assert_eq!(ran.statuses(), ["completed", "failed", "not_run"]);
    assert_eq!(
        ran.story().last_chunk(),
        Some(&["resumed [1]".to_owned(), "failed 1".to_owned(), "finished".to_owned()])
    );
    assert_eq!((ran.summary().status(), ran.summary().stop_reason()), (BatchStatus::Partial, StopReason::Parked));
    let error = ran.results()[1].error.as_ref().expect("an error");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::InDoubt, true));
    assert!(error.message.contains("crashes of the server in a row"), "{}", error.message);
    let unknown = client.keys(&[KeyState::Unknown], 10).await.expect("a list");
    assert_eq!(unknown.iter().map(|key| &*key.key).collect::<Vec<_>>(), ["b"]);
    // The server serves, and what was left out can be sent again.
    let again = ExecuteBatchRequest { batch_id: String::new(), ..batch(vec![effect("a"), effect("c")]) };
    let again = client.open(again).await.expect("taken in").rest().await.expect("it ends");
    assert_eq!(Ran { events: again }.statuses(), ["skipped", "completed"]);
    runs(&program, "b", 3).await;
}

#[tokio::test]
async fn progress_and_a_good_stop_begin_a_new_row() {
    let mut program = Program::new("0s").await;
    let first = program.backend.hold("a");
    let _second = program.backend.hold("b");
    let client = program.start().await;
    client.open(request()).await.expect("taken in");
    for crash in 1..=2 {
        runs(&program, "a", crash).await;
        program.crash().await;
        program.start().await;
    }
    first.release();
    // The first call has ended; two more crashes are two in a row.
    for crash in 1..=2 {
        runs(&program, "b", crash).await;
        program.crash().await;
        program.start().await;
    }
    runs(&program, "b", 3).await;
    program.signal(Signal::Terminate);
    assert_eq!(program.ended().await.code(), Some(0));
    program.start().await;
    for crash in 4..=5 {
        runs(&program, "b", crash).await;
        program.crash().await;
        program.start().await;
    }
    runs(&program, "b", 6).await;
    let batch = Client::connect(&program.endpoint()).await.get_batch("b").await.expect("it is there");
    assert_eq!(batch.summary.expect("a summary").status(), BatchStatus::Running);
}
