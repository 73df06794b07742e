//! What is dropped after its retention, and what is not (R10, I26).

use std::{fs, path::Path, sync::Arc, time::Duration};

use tonic::Code;
use toolbatch::{
    batch::core::TaskNo,
    clock::Clock,
    proto::{
        CallContext, CallToolRequest, EndTaskRequest, ExecuteBatchRequest, ListBatchesRequest, ListKeysRequest,
        ReadStepResultRequest, batch_event::Event, execute_batch_request::Source,
    },
    store::{Commit, Memory, Order, Store as _, layout, records},
};

use crate::{
    backend::ScriptedBackend,
    refusal::violations,
    rig::{Ran, Rig, batch, call, keyed},
};

/// Only a test that already failed waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

/// The shortest there is: a round of retention comes every second.
const SHORT: Duration = Duration::from_secs(1);

/// Asks again and again until it is so.
async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

fn in_task(task: &str, request: ExecuteBatchRequest) -> ExecuteBatchRequest {
    ExecuteBatchRequest { task_id: task.into(), batch_id: format!("batch of {task}"), ..request }
}

/// A large result, kept as a blob.
fn blob(key: &str, bytes: u32) -> toolbatch::proto::ToolCall {
    keyed(key, "blob", &format!(r#"{{"bytes":{bytes}}}"#))
}

async fn is_gone(rig: &Rig, batch_id: &str) -> bool {
    match rig.get_batch(batch_id).await {
        Ok(_) => false,
        Err(status) => {
            assert_eq!(status.code(), Code::NotFound, "{status}");
            true
        }
    }
}

fn blob_files(data: &Path) -> usize {
    fs::read_dir(data.join("data/blobs")).expect("the folder of the blobs").count()
}

async fn with_retention(retention: Duration) -> Rig {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    Rig::start_with(backend, backends, |config| config.retention = retention).await
}

#[tokio::test]
async fn a_task_is_dropped_whole_and_one_with_an_unfinished_batch_is_not() {
    let mut rig = with_retention(SHORT).await;
    let held = rig.backend.hold("running");
    let running = in_task("live", batch(vec![blob("r", 5_000), call("effect", r#"{"id":"running"}"#)]));
    let mut events = rig.open(running).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallFinished(_))).await;
    let plan = format!("\"{}\"", "x".repeat(100_000));
    rig.set_variable("gone", "plan", &plan).await.expect("set");
    let gone = in_task("gone", batch(vec![blob("k", 1 << 20), blob("l", 10), keyed("f", "fail", "{}")]));
    let ran = rig.run(gone.clone()).await;
    let steps: Vec<_> = ran.results().iter().map(|result| result.step_id.clone()).collect();
    until("the finished task is dropped", || is_gone(&rig, "batch of gone")).await;
    for step in &steps {
        assert_eq!(rig.get_step(step).await.unwrap_err().code(), Code::NotFound);
        let request = ReadStepResultRequest { step_id: step.clone(), offset: 0 };
        assert_eq!(rig.tasks().read_step_result(request).await.unwrap_err().code(), Code::NotFound);
    }
    let keys = ListKeysRequest { task_id: "gone".into(), ..ListKeysRequest::default() };
    assert_eq!(rig.tasks().list_keys(keys).await.unwrap_err().code(), Code::NotFound);
    let end = EndTaskRequest { task_id: "gone".into(), ..EndTaskRequest::default() };
    assert_eq!(rig.tasks().end_task(end).await.unwrap_err().code(), Code::NotFound);
    assert!(rig.watch("batch of gone", 0).await.is_err_and(|status| status.code() == Code::NotFound));
    let listed = rig.batches().list_batches(ListBatchesRequest::default()).await.expect("listed").into_inner();
    assert_eq!(listed.batches.iter().map(|batch| batch.batch_id.as_str()).collect::<Vec<_>>(), ["batch of live"]);

    // The same ids are free again, and so are the keys and names.
    let by_name = ExecuteBatchRequest { source: Some(Source::CallsRef("${plan}".into())), ..batch(vec![]) };
    let found = violations(&rig.refused(ExecuteBatchRequest { task_id: "gone".into(), ..by_name }).await);
    assert!(found[0].1.contains("missing step output plan"), "{found:?}");
    let again = rig.run(ExecuteBatchRequest { options: None, ..gone }).await;
    assert_eq!(again.statuses(), ["completed", "completed", "failed"]);
    assert!(steps.iter().all(|step| again.results().iter().all(|result| result.step_id != *step)));

    held.release();
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.statuses(), ["completed", "completed"]);
    until("its files go too", || is_gone(&rig, "batch of live")).await;
    rig.restart().await;
    // What was written before a start is written to no more.
    until("no blob file is left", || async { blob_files(rig.data.path()) == 0 }).await;
    assert!(is_gone(&rig, "batch of live").await);
    rig.stop().await;
}

/// A task's head as it would be had the clock shown this when it was written.
fn written_at(store: &Memory, task: &str, nanoseconds: i64) {
    let locator = store.get(&layout::task_locator("default", task)).expect("read").expect("it is there");
    let head = layout::task(TaskNo(records::decode::<records::Locator>(&locator).expect("a locator").task));
    let record = store.get(&head).expect("read").expect("it is there");
    let record = records::Task { active_time: nanoseconds, ..records::decode(&record).expect("a task") };
    store.commit(Commit { ops: vec![(head, Some(records::encode(&record)))], ..Commit::default() }).expect("kept");
}

fn age(store: &Memory) -> u64 {
    let counters = store.get(layout::COUNTERS).expect("read").expect("it is there");
    records::decode::<records::Counters>(&counters).expect("counters").age
}

#[tokio::test]
async fn no_clock_makes_a_task_go_sooner_or_later() {
    let store = Memory::new();
    let change = |config: &mut toolbatch::config::Config| config.retention = Duration::from_secs(20);
    let mut rig = Rig::start_on_with(Arc::new(store.clone()), change).await;
    for task in ["long ago", "in ten years"] {
        rig.run(in_task(task, batch(vec![keyed("k", "effect", r#"{"id":"1"}"#)]))).await;
    }
    written_at(&store, "long ago", 0);
    written_at(&store, "in ten years", i64::MAX);
    let seen = age(&store);
    until("rounds have passed", || async { age(&store) >= seen + 3 }).await;
    for task in ["long ago", "in ten years"] {
        assert!(!is_gone(&rig, &format!("batch of {task}")).await, "{task}");
    }
    rig.stop().await;
    // A server that starts goes on from the age that was reached, however long it was off.
    let reached = age(&store);
    let change = |config: &mut toolbatch::config::Config| config.retention = Duration::from_secs(3);
    let mut rig = Rig::start_on_with(Arc::new(store.clone()), change).await;
    until("both are dropped", || async { leftovers(&store) == 0 }).await;
    assert!(age(&store) >= reached);
    rig.stop().await;
}

#[tokio::test]
async fn a_task_of_variables_alone_is_dropped_with_their_files() {
    let store = Memory::new();
    let change = |config: &mut toolbatch::config::Config| config.retention = SHORT;
    let mut rig = Rig::start_on_with(Arc::new(store.clone()), change).await;
    for value in ["1".to_owned(), format!("\"{}\"", "x".repeat(100_000))] {
        rig.set_variable("T", "", &value).await.expect("set");
    }
    assert!(leftovers(&store) > 0);
    until("all is dropped", || async { leftovers(&store) == 0 }).await;
    until("its blob goes", || async { store.closed_blob_files().expect("listed").is_empty() }).await;
    assert_eq!(rig.set_variable("T", "", "1").await.expect("set"), "VAR_1", "it begins anew");
    rig.stop().await;
}

/// A crash after any commit of a drop: the next start finishes it.
#[tokio::test]
async fn a_drop_that_a_crash_cut_off_is_finished_by_the_next_start() {
    let store = Memory::new();
    let change = |config: &mut toolbatch::config::Config| config.retention = SHORT;
    let mut rig = Rig::start_on_with(Arc::new(store.clone()), change).await;
    let calls = (0..150).map(|n| keyed(&format!("k{n}"), "effect", &format!(r#"{{"id":"{n}"}}"#)));
    rig.run(in_task("gone", batch(calls.chain([blob("large", 100_000)]).collect()))).await;
    let before = store.commits();
    until("all is dropped", || async { leftovers(&store) == 0 && is_gone(&rig, "batch of gone").await }).await;
    rig.stop().await;
    let after = store.commits();
    assert!(after - before >= 3, "it takes several commits: {}", after - before);
    for commits in before + 1..after {
        let past = store.at(commits);
        let mut rig = Rig::start_on_with(Arc::new(past.clone()), change).await;
        until("the rest is dropped", || async { leftovers(&past) == 0 }).await;
        assert!(is_gone(&rig, "batch of gone").await, "after {commits} commits");
        until("its blob goes", || async { past.closed_blob_files().expect("listed").is_empty() }).await;
        rig.stop().await;
    }
}

/// How many records a store holds besides its counters.
fn leftovers(store: &Memory) -> usize {
    let all = store.scan(b"\0"..b"\xff", Order::Ascending, usize::MAX).expect("read");
    all.iter().filter(|(key, _)| key != "N").count()
}

/// The size of a folder and all that is in it.
fn bytes_in(path: &Path) -> u64 {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(of) if of.is_dir() => bytes_in(&entry.path()),
            Ok(of) => of.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Runs batches of large results in tasks of their own, of which all but the last two expire; then restarts.
async fn c42(batches: u32, calls: u32, bytes: u32) {
    let mut rig = with_retention(SHORT).await;
    let held = rig.backend.hold("pinned");
    let mut pins = Vec::new();
    for number in 0..batches {
        let task = format!("task {number}");
        let mut list: Vec<_> = (0..calls).map(|at| blob(&format!("k{at}"), bytes)).collect();
        if number + 2 >= batches {
            // Never dropped, as it is not finished.
            list.push(call("effect", r#"{"id":"pinned"}"#));
            pins.push(rig.open(in_task(&task, batch(list))).await.expect("taken in"));
        } else {
            assert_eq!(rig.run(in_task(&task, batch(list))).await.summary().succeeded, calls);
        }
    }
    rig.backend.journal().wait_for(|entries| entries.iter().filter(|entry| entry.id == "pinned").count() == 2).await;
    for number in 0..batches - 2 {
        until("it is dropped", || async { is_gone(&rig, &format!("batch of task {number}")).await }).await;
    }
    held.release();
    for pin in pins {
        assert_eq!(Ran { events: pin.rest().await.expect("it ends") }.summary().failed, 0);
    }
    rig.stop().await;
    let live = u64::from(2 * calls) * u64::from(bytes);
    let data = rig.data.path().join("data");
    let clock = Clock::start();
    rig.restart_with(|config| config.retention = Duration::from_hours(1)).await;
    let ready = clock.now().mono;
    let blobs_least = move |data: &Path| bytes_in(&data.join("blobs"));
    until("what nothing refers to is deleted", || async { blobs_least(&data) <= 5 * live }).await;
    let (blobs, sled, journal) =
        (bytes_in(&data.join("blobs")), bytes_in(&data.join("sled")), bytes_in(&data.join("journal")));
    println!(
        "{batches} batches of {calls} x {bytes} B: live {live} B; blobs {blobs} B, sled {sled} B, journal {journal} B; ready in {ready:?}"
    );
    rig.stop().await;
}

/// In full size, 600 MB: `TOOLBATCH_C42=full cargo test --profile fast --test it c42 -- --nocapture`.
#[tokio::test]
async fn c42_disk_space_is_given_back() {
    let full = std::env::var("TOOLBATCH_C42").is_ok_and(|size| size == "full");
    let (batches, calls) = if full { (60, 100) } else { (6, 20) };
    c42(batches, calls, 100_000).await;
}

#[tokio::test]
async fn a_direct_step_is_dropped_with_its_task() {
    let store = Memory::new();
    let mut rig = Rig::start_on_with(Arc::new(store.clone()), |config| config.retention = SHORT).await;
    let context = CallContext { task_id: "T".into(), key: "k".into(), ..CallContext::default() };
    let args_json = r#"{"bytes":100000}"#.into();
    let request = CallToolRequest { tool: "blob".into(), args_json, context: Some(context) };
    let step = rig.tools().call_tool(request).await.expect("it is answered").into_inner().step_id;
    until("the step is dropped", || async { rig.get_step(&step).await.is_err() }).await;
    until("nothing is left of it", || async { leftovers(&store) == 0 }).await;
    rig.stop().await;
}
