//! A store that is full, or fails, under a running server (RELIABILITY.md I22).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use tokio::sync::watch;
use tonic::{Code, Status};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_types::StatusExt as _;
use toolbatch::{
    proto::{BatchStatus, ListBatchesRequest, ListToolsRequest, ToolCall, batch_event::Event},
    store::{BlobRef, Commit, Error, Memory, Order, RoomFor, Store, memory::Landing},
};

use crate::rig::{Events, Ran, Rig, batch, call};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn full() -> Error {
    Error::Full("the test's disk".to_owned())
}

/// A store that tells how many commits it refused.
struct Telling {
    inner: Memory,
    refused: watch::Sender<usize>,
}

impl Store for Telling {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.inner.get(key)
    }

    fn scan(&self, range: Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.inner.scan(range, order, limit)
    }

    fn commit(&self, commit: Commit) -> Result<(), Error> {
        let outcome = self.inner.commit(commit);
        if outcome.is_err() {
            self.refused.send_modify(|refused| *refused += 1);
        }
        outcome
    }

    fn write_blob(&self, content: &[u8]) -> Result<BlobRef, Error> {
        self.inner.write_blob(content)
    }

    fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        self.inner.read_blob(blob, offset, max)
    }

    fn closed_blob_files(&self) -> Result<Vec<u32>, Error> {
        self.inner.closed_blob_files()
    }

    fn remove_blob_file(&self, file: u32) -> Result<(), Error> {
        self.inner.remove_blob_file(file)
    }

    fn check_room(&self, purpose: RoomFor) -> Result<(), Error> {
        self.inner.check_room(purpose)
    }

    fn verify(&self, task_seq: u64) -> Result<(), Error> {
        self.inner.verify(task_seq)
    }
}

#[track_caller]
fn assert_refused(status: &Status, code: Code, reason: &str) {
    assert_eq!(status.code(), code, "{status}");
    assert_eq!(status.get_details_error_info().expect("an ErrorInfo").reason, reason);
    assert!(status.get_details_retry_info().is_some_and(|info| info.retry_delay.is_some()), "{status}");
}

/// What health says of the server as a whole: now, and after each change.
struct Health(tonic::Streaming<HealthCheckResponse>);

impl Health {
    async fn next(&mut self) -> Option<ServingStatus> {
        self.0.message().await.ok().flatten().map(|answer| answer.status())
    }

    async fn until(&mut self, wanted: ServingStatus) {
        while self.next().await.expect("it becomes what the test waits for") != wanted {}
    }
}

async fn health(rig: &Rig) -> Health {
    let mut client = HealthClient::new(rig.channel.clone());
    Health(client.watch(HealthCheckRequest::default()).await.expect("health").into_inner())
}

/// The id of the only batch.
async fn listed(rig: &Rig) -> String {
    let listed = rig.batches().list_batches(ListBatchesRequest::default()).await.expect("listed").into_inner();
    assert_eq!(listed.batches.len(), 1);
    listed.batches[0].batch_id.clone()
}

/// A server whose backend holds the first of two calls.
async fn with_a_running_call(store: &Memory) -> (Rig, Events, crate::backend::Held) {
    running_on(Arc::new(store.clone())).await
}

async fn running_on(store: Arc<dyn Store>) -> (Rig, Events, crate::backend::Held) {
    let rig = Rig::start_on(store).await;
    let held = rig.backend.hold("a");
    let mut events = rig.open(batch(vec![effect("a"), effect("b")])).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallStarted(_))).await;
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    (rig, events, held)
}

#[tokio::test]
async fn new_work_is_refused_before_the_store_is_full_and_what_runs_ends() {
    let store = Memory::new();
    let (mut rig, events, held) = with_a_running_call(&store).await;
    store.refuse_new_work_with(full());
    let before = store.commits();
    assert_refused(&rig.refused(batch(vec![effect("c")])).await, Code::ResourceExhausted, "STORE_FULL");
    let variable = rig.set_variable("T", "a", "1").await.expect_err("it is refused");
    assert_refused(&variable, Code::ResourceExhausted, "STORE_FULL");
    assert_eq!(store.commits(), before, "nothing is recorded of what is refused");
    held.release();
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.statuses(), ["completed", "completed"]);
    store.heal();
    assert_eq!(rig.run(batch(vec![effect("d")])).await.statuses(), ["completed"]);
    rig.stop().await;
}

#[tokio::test]
async fn a_full_store_announces_nothing_reads_on_and_goes_on_when_there_is_space() {
    let store = Memory::new();
    let refused = watch::Sender::new(0);
    let mut refusals = refused.subscribe();
    let (mut rig, mut events, held) = running_on(Arc::new(Telling { inner: store.clone(), refused })).await;
    let batch_id = listed(&rig).await;
    store.fail_commits_with(full());
    held.release();
    refusals.wait_for(|refused| *refused > 0).await.expect("the loop lives");
    assert_refused(&rig.refused(batch(vec![effect("c")])).await, Code::ResourceExhausted, "STORE_FULL");
    let mut health = health(&rig).await;
    health.until(ServingStatus::NotServing).await;
    assert_eq!(rig.get_batch(&batch_id).await.expect("it is read").batch_id, batch_id);
    let first = rig.watch(&batch_id, 0).await.expect("it is followed").next().await.expect("it goes on");
    assert!(matches!(first.expect("an event").event, Some(Event::BatchStarted(_))));
    let tools = rig.tools().list_tools(ListToolsRequest::default()).await;
    assert!(!tools.expect("tools are listed").into_inner().tools.is_empty());
    assert_eq!(rig.backend.journal().entries().len(), 1, "no further call has started");
    store.heal();
    health.until(ServingStatus::Serving).await;
    let next = events.next().await.expect("the stream goes on").expect("an event");
    assert!(matches!(next.event, Some(Event::CallFinished(_))), "{next:?}");
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.summary().status(), BatchStatus::Completed);
    assert_eq!(rig.backend.journal().ids(), ["a", "b"]);
    rig.stop().await;
}

#[tokio::test]
async fn a_server_whose_store_is_full_can_be_stopped_and_the_next_start_goes_on() {
    let store = Memory::new();
    let (mut rig, events, held) = with_a_running_call(&store).await;
    store.fail_commits_with(full());
    held.release();
    rig.backend.journal().wait_for(|entries| entries[0].answered).await;
    rig.take_server().stop().await.expect("it stops well");
    assert_eq!(events.rest().await.unwrap_err().code(), Code::Unavailable);
    store.heal();
    let again = Rig::start_on(Arc::new(store)).await;
    let batch_id = listed(&again).await;
    let ran = Ran { events: again.watch(&batch_id, 0).await.expect("there").rest().await.expect("it ends") };
    assert_eq!(ran.story()[2], "resumed [0]");
    assert_eq!(ran.results().len(), 2);
}

#[tokio::test]
async fn a_store_that_fails_ends_the_server_and_announces_nothing() {
    let store = Memory::new();
    let (mut rig, events, held) = with_a_running_call(&store).await;
    let mut health = health(&rig).await;
    assert_eq!(health.next().await, Some(ServingStatus::Serving));
    store.fail_after(0, Landing::Lost);
    let mut server = rig.take_server();
    held.release();
    let error = server.failed().await;
    assert!(matches!(&error, Error::Failed(text) if text.contains("the test stopped the store")), "{error}");
    let (ended, last, ()) = tokio::join!(events.rest(), health.next(), server.abandon());
    assert_eq!(ended.unwrap_err().code(), Code::Unavailable);
    assert_eq!(last, Some(ServingStatus::NotServing));
    assert_eq!(rig.backend.journal().ids(), ["a"], "no further call has started");
}

#[tokio::test]
async fn a_store_that_failed_in_part_writes_what_runs_to_its_end_and_then_ends_the_server() {
    let store = Memory::new();
    let (mut rig, mut events, held) = with_a_running_call(&store).await;
    store.refuse_new_work_with(Error::Failed("the test's checkpoint".to_owned()));
    assert_refused(&rig.refused(batch(vec![effect("c")])).await, Code::Unavailable, "STORE_FAILED");
    health(&rig).await.until(ServingStatus::NotServing).await;
    held.release();
    events.until(|event| matches!(event, Event::CallFinished(_))).await;
    let error = rig.take_server().failed().await;
    assert_eq!(error, Error::Failed("the test's checkpoint".to_owned()));
    assert_eq!(rig.backend.journal().ids(), ["a"], "no further call has started");
}
