//! The store of a real process: who may have it, and what becomes of it on a small disk (RELIABILITY.md I22, I24, I25).

pub(crate) mod serve;
pub(crate) mod small_disk;

use std::{fs, path::Path};

use tempfile::TempDir;
use tonic::{Code, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_types::StatusExt as _;
use toolbatch::proto::{BatchEvent, ExecuteBatchRequest, batch_event::Event, batch_service_client::BatchServiceClient};

use crate::{
    backend::ScriptedBackend,
    rig::{batch, keyed},
};

use serve::{Ended, Process};
use small_disk::SmallDisk;

/// A folder for a server, and the folder of its store.
fn folders() -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let data = dir.path().join("data");
    (dir, data)
}

fn serve(dir: &Path, data: &Path) -> Process {
    Process::serve(dir, data, "").unwrap_or_else(|ended| panic!("it does not start: {ended:?}"))
}

fn refused(dir: &Path, data: &Path) -> Ended {
    let Err(ended) = Process::serve(dir, data, "") else { panic!("it starts") };
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(ended.stderr.contains(&data.display().to_string()), "{ended:?}");
    ended
}

async fn run(channel: &Channel, request: ExecuteBatchRequest) -> Result<Vec<BatchEvent>, tonic::Status> {
    let mut stream = BatchServiceClient::new(channel.clone()).execute_batch(request).await?.into_inner();
    let mut events = Vec::new();
    while let Some(message) = stream.message().await? {
        events.extend(message.event);
    }
    Ok(events)
}

fn counts(events: &[BatchEvent]) -> (u32, u32) {
    match events.last().and_then(|event| event.event.as_ref()) {
        Some(Event::BatchFinished(finished)) => {
            let summary = finished.summary.as_ref().expect("a summary");
            (summary.succeeded, summary.skipped)
        }
        other => panic!("the last event is {other:?}"),
    }
}

#[test]
fn a_second_server_says_who_holds_the_folder() {
    let (dir, data) = folders();
    let first = serve(dir.path(), &data);
    let other = tempfile::tempdir().expect("a folder");
    let ended = refused(other.path(), &data);
    assert!(ended.stderr.contains(&format!("in use by pid {}", first.pid())), "{ended:?}");
    assert_eq!(first.stop().code, Some(0));
    serve(other.path(), &data).kill();
}

#[tokio::test]
async fn after_kill_9_the_next_start_has_the_folder_and_all_that_was_told() {
    let (dir, data) = folders();
    let backend = ScriptedBackend::start().await;
    let more = format!("[[backends]]\nname = \"stub\"\naddresses = [\"{}\"]\n", backend.address());
    for round in 0..5 {
        let server = Process::serve(dir.path(), &data, &more).expect("it starts at once");
        let channel = server.connect().await;
        let calls = (0..=round).map(|id| keyed(&format!("key-{id}"), "effect", &format!(r#"{{"id":"{id}"}}"#)));
        let events = run(&channel, batch(calls.collect())).await.expect("it runs");
        assert_eq!(counts(&events), (1, round));
        server.kill();
    }
    assert_eq!(backend.journal().ids(), ["0", "1", "2", "3", "4"]);
}

#[test]
fn a_newer_format_is_refused() {
    let (dir, data) = folders();
    assert_eq!(serve(dir.path(), &data).stop().code, Some(0));
    fs::write(data.join("STORE"), "toolbatch store\nformat 9\n").expect("written");
    let ended = refused(dir.path(), &data);
    assert!(ended.stderr.contains("format 9"), "{ended:?}");
}

#[test]
fn a_store_whose_files_are_gone_is_refused_and_never_begun_anew() {
    for part in ["journal", "sled", "blobs", "STORE"] {
        let (dir, data) = folders();
        assert_eq!(serve(dir.path(), &data).stop().code, Some(0));
        let path = data.join(part);
        if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.expect("removed");
        for _ in 0..2 {
            assert!(refused(dir.path(), &data).stderr.contains(part));
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_refused() {
    let Some(disk) = SmallDisk::mount("a_folder_that_cannot_be_written_is_refused", 64) else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let data = disk.path().join("data");
    assert_eq!(serve(dir.path(), &data).stop().code, Some(0));
    disk.make_read_only();
    let ended = refused(dir.path(), &data);
    assert!(ended.stderr.contains("not writable"), "{ended:?}");
}

#[tokio::test]
async fn a_full_disk_refuses_new_work_until_there_is_space_and_loses_nothing() {
    let test = "a_full_disk_refuses_new_work_until_there_is_space_and_loses_nothing";
    let Some(disk) = SmallDisk::mount(test, 64) else { return };
    let backend = ScriptedBackend::start().await;
    let more = format!("[[backends]]\nname = \"stub\"\naddresses = [\"{}\"]\n", backend.address());
    let dir = tempfile::tempdir().expect("a folder");
    let data = disk.path().join("data");
    let server = Process::serve(dir.path(), &data, &more).expect("it starts");
    let channel = server.connect().await;
    let effect = |id: &str| keyed(id, "effect", &format!(r#"{{"id":"{id}"}}"#));
    assert_eq!(counts(&run(&channel, batch(vec![effect("before")])).await.expect("it runs")), (1, 0));
    let mut health = HealthClient::new(channel.clone());
    let mut states = health.watch(HealthCheckRequest::default()).await.expect("health").into_inner();
    let mut state = async || states.message().await.expect("it is told").map(|answer| answer.status());
    assert_eq!(state().await, Some(ServingStatus::Serving));

    let held = backend.hold("running");
    let request = batch(vec![effect("running"), effect("after it")]);
    let mut stream = BatchServiceClient::new(channel.clone()).execute_batch(request).await.expect("in").into_inner();
    backend.journal().wait_for(|entries| entries.len() == 2).await;
    let ballast = disk.fill();
    let refused = run(&channel, batch(vec![effect("refused")])).await.expect_err("the disk is full");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert_eq!(refused.get_details_error_info().expect("an ErrorInfo").reason, "STORE_FULL");
    assert!(refused.get_details_retry_info().is_some());
    assert_eq!(state().await, Some(ServingStatus::NotServing));
    held.release();
    let mut events = Vec::new();
    while let Some(message) = stream.message().await.expect("what runs ends") {
        events.extend(message.event);
    }
    assert_eq!(counts(&events), (2, 0));
    let attached = run(&channel, batch(vec![effect("before")])).await.expect_err("still full");
    assert_eq!(attached.code(), Code::ResourceExhausted);

    fs::remove_file(&ballast).expect("space");
    assert_eq!(state().await, Some(ServingStatus::Serving), "nobody has to ask for work first");
    let calls = ["before", "running", "after it", "refused"].map(effect).to_vec();
    assert_eq!(counts(&run(&channel, batch(calls.clone())).await.expect("there is space")), (1, 3));
    disk.fill();
    server.kill();
    let server = Process::serve(dir.path(), &data, &more).expect("it starts on a full disk");
    fs::remove_file(&ballast).expect("space");
    let channel = server.connect().await;
    assert_eq!(counts(&run(&channel, batch(calls)).await.expect("it runs")), (0, 4));
    assert_eq!(backend.journal().ids(), ["before", "running", "after it", "refused"]);
}
