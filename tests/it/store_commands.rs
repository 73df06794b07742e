//! `toolbatch store check`, `backup` and `restore`, as users run them.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::Path,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tempfile::TempDir;
use tokio::task::JoinSet;
use toolbatch::{
    batch::core::{BatchNo, TaskNo},
    proto::{BatchFinished, ExecuteBatchRequest, ToolCall, batch_event::Event},
    store::{Commit, Embedded, Order, Store as _, layout, records},
};

use crate::{
    backend::ScriptedBackend,
    rig::{Client, Ran, batch, call, keyed, parallel},
    store_process::serve::Process,
};

/// What is done to a data folder, and what the check must say of it.
type Damage<'a> = (&'a dyn Fn(&Path), &'a str);

/// The record that a store is given, and what the check must say of it.
type Change<'a> = (&'a dyn Fn(&Embedded) -> (bytes::Bytes, Option<bytes::Bytes>), &'a str);

fn store(args: &[&str], paths: &[&Path]) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_toolbatch")).arg("store").args(args).args(paths).output();
    program.expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

#[track_caller]
fn assert_code(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
}

/// Backs a data folder up.
fn backup(to: &Path, data: &Path) -> Output {
    let program =
        Command::new(env!("CARGO_BIN_EXE_toolbatch")).args(["store", "backup", "--data-dir"]).args([data, to]).output();
    program.expect("the program runs")
}

fn stub(backend: &ScriptedBackend) -> String {
    format!("[[backends]]\nname = \"stub\"\naddresses = [\"{}\"]\n", backend.address())
}

async fn client(server: &Process) -> Client {
    Client { channel: server.connect().await }
}

fn effect(id: &str) -> ToolCall {
    keyed(id, "effect", &format!(r#"{{"id":"{id}"}}"#))
}

/// A data folder with some of everything in it, whose server was killed.
async fn made() -> (TempDir, ScriptedBackend) {
    let dir = tempfile::tempdir().expect("a folder");
    let backend = ScriptedBackend::start().await;
    let server = Process::serve(dir.path(), &dir.path().join("data"), &stub(&backend)).expect("it starts");
    let client = client(&server).await;
    let calls = vec![
        effect("one"),
        keyed("large", "blob", r#"{"bytes":700000}"#),
        keyed("medium", "blob", r#"{"bytes":9000}"#),
        keyed("failed", "fail", "{}"),
    ];
    let options = toolbatch::proto::BatchOptions { stop_on_error: Some(false), ..parallel(2) };
    let request = ExecuteBatchRequest { batch_id: "B".into(), options: Some(options), ..batch(calls) };
    assert_eq!(client.run(request).await.summary().succeeded, 3);
    client.set_variable("T", "plan", &format!("\"{}\"", "x".repeat(8_000))).await.expect("set");
    let held = backend.hold("open");
    let open = client.open(batch(vec![effect("open"), call("echo", "{}")])).await.expect("taken in");
    backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "open")).await;
    server.kill();
    drop((held, open));
    (dir, backend)
}

fn copied(from: &Path) -> TempDir {
    let to = tempfile::tempdir().expect("a folder");
    let copy = Command::new("cp").arg("-r").arg(from.join("data")).arg(to.path()).status();
    assert!(copy.expect("cp runs").success());
    to
}

#[tokio::test]
async fn a_whole_store_is_called_whole_in_words_and_in_json() {
    let (dir, _backend) = made().await;
    let data = dir.path().join("data");
    let checked = store(&["check"], &[&data]);
    assert_code(&checked, 0);
    let text = stdout(&checked);
    assert!(text.contains(": whole; 1 tasks, 2 batches, 5 steps, ") && text.contains(" 3 blobs of "), "{text}");
    let checked = store(&["check", "--json"], &[&data]);
    assert_code(&checked, 0);
    let json: serde_json::Value = serde_json::from_str(&stdout(&checked)).expect("one object");
    assert_eq!((&json["checked"]["batches"], &json["checked"]["faults"]), (&2.into(), &0.into()));
    // A look changes nothing: the server goes on where it was.
    let server = Process::serve(dir.path(), &data, "").expect("it starts");
    let in_use = store(&["check"], &[&data]);
    assert_code(&in_use, 4);
    assert!(String::from_utf8_lossy(&in_use.stderr).contains(&format!("in use by pid {}", server.pid())));
}

#[tokio::test]
async fn what_is_damaged_is_named_by_file_and_place() {
    let (dir, _backend) = made().await;
    let blob_file = |data: &Path| {
        let files = fs::read_dir(data.join("blobs")).expect("files").map(|entry| entry.expect("a file").path());
        files.max_by_key(|path| fs::metadata(path).expect("a file").len()).expect("a file")
    };
    let flip = |path: &Path, at: u64| {
        let file = fs::OpenOptions::new().read(true).write(true).open(path).expect("a file");
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("it is there");
        file.write_all_at(&[byte[0] ^ 0x10], at).expect("written");
    };
    let damages: [Damage<'_>; 5] = [
        (&|data| flip(&blob_file(data), 300_000), "at byte 262"),
        (&|data| fs::remove_file(blob_file(data)).expect("removed"), "the file is gone"),
        (&|data| flip(&data.join("journal/0"), 600), "journal/0 at byte"),
        (&|data| fs::remove_dir_all(data.join("sled")).expect("removed"), "sled is missing"),
        (&|data| fs::write(data.join("STORE"), "format").expect("written"), "STORE is not what was written there"),
    ];
    for (damage, told) in damages {
        let copy = copied(dir.path());
        let data = copy.path().join("data");
        damage(&data);
        let checked = store(&["check"], &[&data]);
        assert_code(&checked, 4);
        let text = stdout(&checked) + &String::from_utf8_lossy(&checked.stderr);
        assert!(text.contains(told), "{told}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

/// What the records say is checked too, not only that they are those that were written.
#[tokio::test]
async fn what_does_not_fit_together_is_named_by_task_and_record() {
    let (dir, _backend) = made().await;
    let (task, first) = (TaskNo(1), BatchNo(1));
    let step = |store: &Embedded| {
        let (low, high) = (layout::step_locator(nil()), layout::step_locator(max()));
        store.scan(&low..&high, Order::Ascending, 1).expect("read")[0].0.clone()
    };
    let changes: [Change<'_>; 8] = [
        (&|_| (layout::task_locator("default", "T"), None), "what finds it by its name is gone"),
        (&|_| (layout::batch_locator("default", "B"), None), "what finds it by its id is gone"),
        (&|_| (layout::open_batch(BatchNo(2)), None), "it has not ended, and what says so is gone"),
        (&|_| (layout::entry(task, first, 3), None), "the log of batch 1 does not fold"),
        (&|store| (step(store), None), "what finds it by its id is gone"),
        (&|_| (layout::task_key(task, "one"), Some("\u{1}x".into())), "a record cannot be read"),
        (&|_| (layout::variable(task, "plan"), Some("\u{1}".into())), "a record lacks its value"),
        (&|_| (layout::task(task), Some(records::encode(&records::Task::default()))), "which has another name"),
    ];
    for (change, told) in changes {
        let copy = copied(dir.path());
        let data = copy.path().join("data");
        let opened = Embedded::open(&data).expect("it opens");
        let ops = vec![change(&opened)];
        opened.commit(Commit { ops, ..Commit::default() }).expect("kept");
        opened.close().expect("closed");
        let checked = store(&["check"], &[&data]);
        assert_code(&checked, 4);
        assert!(stdout(&checked).contains(told), "{told}: {}", stdout(&checked));
    }
}

fn nil() -> toolbatch::batch::event::StepId {
    toolbatch::batch::event::StepId(uuid::Uuid::nil())
}

fn max() -> toolbatch::batch::event::StepId {
    toolbatch::batch::event::StepId(uuid::Uuid::max())
}

#[tokio::test]
async fn a_backup_of_a_busy_server_holds_all_that_was_announced_before() {
    let dir = tempfile::tempdir().expect("a folder");
    let backend = ScriptedBackend::start().await;
    let data = dir.path().join("data");
    let server = Process::serve(dir.path(), &data, &stub(&backend)).expect("it starts");
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for task in 0..3 {
        let (client, stop) = (client(&server).await, Arc::clone(&stop));
        load.spawn(async move {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                let calls = (0..20).map(|at| keyed(&format!("{round}-{at}"), "blob", r#"{"bytes":6000}"#)).collect();
                let request = ExecuteBatchRequest { task_id: format!("load {task}"), ..batch(calls) };
                assert_eq!(client.run(request).await.summary().succeeded, 20);
                round += 1;
            }
            round
        });
    }
    let announced = client(&server).await;
    for round in 0..4 {
        let id = format!("before {round}");
        assert_eq!(announced.run(batch(vec![effect(&id)])).await.summary().succeeded, 1);
        let to = dir.path().join(format!("backup {round}"));
        let (from, target) = (data.clone(), to.clone());
        let made = tokio::task::spawn_blocking(move || backup(&target, &from)).await.expect("it ends");
        assert_code(&made, 0);
        assert!(stdout(&made).contains(": whole; "), "{made:?}");
    }
    stop.store(true, Ordering::Relaxed);
    assert!(load.join_all().await.into_iter().sum::<u32>() > 0, "there was load");
    let refused = backup(&dir.path().join("backup 0"), &data);
    assert_code(&refused, 2);
    assert_code(&backup(&data.join("inside"), &data), 2);
    server.kill();

    let restored = dir.path().join("restored");
    assert_code(&store(&["restore"], &[&dir.path().join("backup 3"), &restored]), 0);
    assert_code(&store(&["restore"], &[&dir.path().join("backup 3"), &restored]), 2);
    let other = tempfile::tempdir().expect("a folder");
    let server = Process::serve(other.path(), &restored, &stub(&backend)).expect("it starts on the restored folder");
    let client = client(&server).await;
    let calls = (0..4).map(|round| effect(&format!("before {round}"))).collect();
    let ran = client.run(batch(calls)).await;
    assert_eq!(ran.statuses(), ["skipped"; 4]);
}

#[tokio::test]
async fn a_backup_without_a_server_takes_up_what_was_unfinished() {
    let (dir, backend) = made().await;
    let to = dir.path().join("copy");
    assert_code(&backup(&to, &dir.path().join("data")), 0);
    let restored = dir.path().join("restored");
    assert_code(&store(&["restore"], &[&to, &restored]), 0);
    let server = Process::serve(dir.path(), &restored, &stub(&backend)).expect("it starts");
    let client = client(&server).await;
    let listed = client.batches().list_batches(toolbatch::proto::ListBatchesRequest::default()).await;
    let newest = listed.expect("listed").into_inner().batches[0].batch_id.clone();
    let ran = Ran { events: client.watch(&newest, 0).await.expect("there").rest().await.expect("it ends") };
    assert!(matches!(
        ran.events.last().and_then(|event| event.event.as_ref()),
        Some(Event::BatchFinished(BatchFinished { .. }))
    ));
    assert_eq!(ran.statuses(), ["completed", "completed"]);
    assert_code(&store(&["restore"], &[&dir.path().join("nothing"), &dir.path().join("new")]), 4);
    assert!(!dir.path().join("new").exists(), "nothing is made of nothing");
}
