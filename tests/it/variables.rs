//! `SetVariable`: an output under a name, durable, in a task that lives (R2).

use std::{collections::BTreeSet, sync::Arc};

use tokio::task::JoinSet;
use tonic::{Code, Status};
use toolbatch::{
    batch::core::TaskNo,
    proto::{SetVariableRequest, batch_event::Event},
    store::{Commit, Memory, Store as _, layout, records},
};

use crate::{
    refusal::{not_found, refusal, violations},
    rig::{Client, Rig, batch, call},
};

const TASK: TaskNo = TaskNo(1);

async fn set(client: &Client, name: &str, value: &str) -> Result<String, Status> {
    client.set_variable("T", name, value).await
}

/// What the store has under a name in its first task.
fn stored(store: &Memory, name: &str) -> (String, records::VariableRecord) {
    let value = store.get(&layout::variable(TASK, name)).expect("read").expect("it is there");
    let record = records::decode_variable(&value).expect("a variable");
    let text = match &record.value.body {
        toolbatch::batch::outcome::Body::Inline(bytes) => bytes.to_vec(),
        toolbatch::batch::outcome::Body::Blob(blob) => {
            store.read_blob(*blob, 0, usize::try_from(blob.bytes).expect("small")).expect("read").to_vec()
        }
    };
    (String::from_utf8(text).expect("text"), record)
}

fn head(store: &Memory) -> records::Task {
    records::decode(&store.get(&layout::task(TASK)).expect("read").expect("it is there")).expect("a task")
}

#[tokio::test]
async fn a_variable_begins_its_task_and_is_kept_byte_for_byte() {
    let store = Memory::new();
    let mut rig = Rig::start_on(Arc::new(store.clone())).await;
    let small = " {\"z\": 1.10, \"a\":[1e400] } ";
    let large = format!("[\"{}\"]", "x".repeat(100_000));
    assert_eq!(set(&rig, "small", small).await.expect("set"), "small");
    assert_eq!(set(&rig, "large", &large).await.expect("set"), "large");
    assert!(rig.list_batches("T", 0, "").await.expect("the task has begun").batches.is_empty());
    rig.stop().await;
    let (text, record) = stored(&store, "small");
    assert_eq!((text.as_str(), record.writer.as_str()), (small, "local"));
    assert!(record.update_time.0 > 0);
    let (text, record) = stored(&store, "large");
    assert_eq!(text, large);
    let toolbatch::batch::outcome::Body::Blob(blob) = record.value.body else { panic!("it is a blob") };
    for key in [layout::blob_user(blob.file, TASK), layout::task_blob(TASK, blob.file)] {
        assert!(store.get(&key).expect("read").is_some(), "its file is kept for the task");
    }
}

#[tokio::test]
async fn a_later_value_replaces_an_earlier_one_and_counts_as_activity() {
    let store = Memory::new();
    let rig = Rig::start_on(Arc::new(store.clone())).await;
    set(&rig, "a", "1").await.expect("set");
    let long_ago = records::Task { active_time: 0, ..head(&store) };
    let ops = vec![(layout::task(TASK), Some(records::encode(&long_ago)))];
    store.commit(Commit { ops, ..Commit::default() }).expect("kept");
    set(&rig, "a", "2").await.expect("set");
    assert_eq!(stored(&store, "a").0, "2");
    assert!(head(&store).active_time > 0);
    // The head of a task with a running batch is the live one.
    let held = rig.backend.hold("r");
    let mut events = rig.open(batch(vec![call("effect", r#"{"id":"r"}"#)])).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallStarted(_))).await;
    set(&rig, "", "3").await.expect("set");
    held.release();
    events.rest().await.expect("it ends");
    assert_eq!(head(&store).last_variable, 1);
    assert_eq!(stored(&store, "VAR_1").0, "3");
}

#[tokio::test]
async fn without_a_name_it_takes_the_next_free_number() {
    let mut rig = Rig::start().await;
    assert_eq!(set(&rig, "", "1").await.expect("set"), "VAR_1");
    assert_eq!(set(&rig, "VAR_2", "1").await.expect("set"), "VAR_2");
    assert_eq!(set(&rig, "", "1").await.expect("set"), "VAR_3");
    assert_eq!(set(&rig, "VAR_1", "2").await.expect("set"), "VAR_1");
    rig.restart().await;
    assert_eq!(set(&rig, "", "1").await.expect("set"), "VAR_4");
    assert_eq!(rig.set_variable("U", "", "1").await.expect("set"), "VAR_1", "each task counts for itself");
}

/// What comes together is committed together: the first begins the task, and the others have to find it before it is stored.
#[tokio::test]
async fn many_at_once_share_one_new_task_and_get_names_of_their_own() {
    let store = Memory::new();
    let rig = Arc::new(Rig::start_on(Arc::new(store.clone())).await);
    let (mut names, mut batches) = (JoinSet::new(), JoinSet::new());
    for number in 0..60 {
        let rig = Arc::clone(&rig);
        if number % 6 == 5 {
            batches.spawn(async move { rig.run(batch(vec![call("echo", "{}")])).await.statuses() });
        } else {
            names.spawn(async move { set(&rig, "", &number.to_string()).await.expect("set") });
        }
    }
    let names: BTreeSet<String> = names.join_all().await.into_iter().collect();
    assert_eq!(names, (1..=50).map(|n| format!("VAR_{n}")).collect());
    assert!(batches.join_all().await.iter().all(|statuses| statuses == &["completed"]));
    assert_eq!(rig.list_batches("T", 0, "").await.expect("listed").batches.len(), 10);
    let counters = store.get(layout::COUNTERS).expect("read").expect("it is there");
    assert_eq!(records::decode::<records::Counters>(&counters).expect("counters").next_task, 2, "there is one task");
}

#[tokio::test]
async fn a_wrong_request_is_refused_whole_and_leaves_nothing() {
    let rig = Rig::start().await;
    let request = SetVariableRequest { task_id: "T".into(), name: "1st".into(), value_json: "{".into() };
    let status = rig.tasks().set_variable(request).await.expect_err("refused");
    let fields: Vec<_> = violations(&status).into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["name", "value_json"]);
    let status = rig.list_batches("T", 0, "").await.expect_err("no task");
    not_found(&status, "TASK_NOT_FOUND", ("task", "T"));
}

#[tokio::test]
async fn an_ended_task_takes_no_variable() {
    let store = Memory::new();
    let rig = Rig::start_on(Arc::new(store.clone())).await;
    set(&rig, "a", "1").await.expect("set");
    rig.end_task("T", "").await.expect("it ends");
    for name in ["a", "b", ""] {
        let status = set(&rig, name, "2").await.expect_err("refused");
        assert_eq!(refusal(&status), (Code::FailedPrecondition, "TASK_ENDED".to_owned()));
    }
    assert_eq!(stored(&store, "a").0, "1");
}
