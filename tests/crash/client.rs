//! A client that keeps all that it saw, and comes back after every broken stream.

use std::time::Duration;

use tonic::{Code, Status, Streaming, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_client::HealthClient};
use toolbatch::proto::{
    Batch, BatchEvent, ExecuteBatchRequest, ExecuteBatchResponse, GetBatchRequest, GetStepRequest,
    ReadStepResultRequest, SetVariableRequest, Step, WatchBatchRequest, WatchBatchResponse, batch_event::Event,
    batch_service_client::BatchServiceClient, task_service_client::TaskServiceClient,
};

use crate::{backend::Journal, process::PATIENCE};

/// The pause before a server that is not there is tried again.
const AGAIN: Duration = Duration::from_millis(2);

/// The largest message that is taken: a summary with all results that are inlined.
const MAX_MESSAGE: usize = 16 << 20;

/// One event, as a client saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its place in the order of the journal: what the backend begins afterwards has a later one.
    pub(crate) stamp: usize,
    pub(crate) event: BatchEvent,
}

/// One stream, from its beginning to its break or end.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The sequence after which it was asked for.
    pub(crate) after: u64,
    pub(crate) events: Vec<Seen>,
    /// It ended with OK.
    pub(crate) ended: bool,
}

impl Stream {
    fn new(after: u64) -> Self {
        Self { after, events: Vec::new(), ended: false }
    }

    pub(crate) fn last(&self) -> u64 {
        self.events.iter().map(|seen| seen.event.sequence).max().unwrap_or(self.after)
    }
}

/// How a client comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    /// With `WatchBatch`, after the last event that it saw.
    Watch,
    /// With the same request again.
    Repeat,
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    channel: Channel,
    journal: Journal,
}

enum Events {
    Execute(Streaming<ExecuteBatchResponse>),
    Watch(Streaming<WatchBatchResponse>),
}

impl Events {
    async fn next(&mut self) -> Result<Option<BatchEvent>, Status> {
        Ok(match self {
            Self::Execute(stream) => stream.message().await?.and_then(|message| message.event),
            Self::Watch(stream) => stream.message().await?.and_then(|message| message.event),
        })
    }
}

impl Client {
    /// The connection is made when it is needed, and again when it is lost.
    pub(crate) fn new(endpoint: String, journal: Journal) -> Self {
        let endpoint = tonic::transport::Endpoint::from_shared(endpoint).expect("it is an address");
        Self { channel: endpoint.connect_lazy(), journal }
    }

    /// Runs a batch to its end, through whatever becomes of the server.
    pub(crate) async fn run(&self, request: &ExecuteBatchRequest, back: Return) -> Vec<Stream> {
        let mut streams = vec![self.execute(request, |_| true).await];
        while !streams.last().expect("there is one").ended {
            let last = streams.iter().map(Stream::last).max().unwrap_or(0);
            streams.push(if last == 0 || back == Return::Repeat {
                self.execute(request, |_| true).await
            } else {
                self.watch(&request.batch_id, last).await
            });
        }
        streams
    }

    /// One stream of `ExecuteBatch`, read as long as `goes_on` says so.
    pub(crate) async fn execute(
        &self,
        request: &ExecuteBatchRequest,
        goes_on: impl FnMut(&BatchEvent) -> bool,
    ) -> Stream {
        let open = || {
            let (client, request) = (self.clone(), request.clone());
            async move { Ok(Events::Execute(client.batches().execute_batch(request).await?.into_inner())) }
        };
        self.read(0, open, goes_on).await
    }

    /// One stream of `WatchBatch`.
    pub(crate) async fn watch(&self, batch_id: &str, after: u64) -> Stream {
        let request = WatchBatchRequest { batch_id: batch_id.to_owned(), after_sequence: after };
        let open = || {
            let (client, request) = (self.clone(), request.clone());
            async move { Ok(Events::Watch(client.batches().watch_batch(request).await?.into_inner())) }
        };
        self.read(after, open, |_| true).await
    }

    /// Follows a batch to its end; the server may be away meanwhile, and the batch not yet begun.
    pub(crate) async fn follow(&self, batch_id: &str) -> Vec<Stream> {
        let mut streams = vec![self.watch(batch_id, 0).await];
        while !streams.last().expect("there is one").ended {
            streams.push(self.watch(batch_id, streams.iter().map(Stream::last).max().unwrap_or(0)).await);
        }
        streams
    }

    async fn read<F: Future<Output = Result<Events, Status>>>(
        &self,
        after: u64,
        open: impl Fn() -> F,
        mut goes_on: impl FnMut(&BatchEvent) -> bool,
    ) -> Stream {
        let mut stream = Stream::new(after);
        let mut events = self.answer(open).await;
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    let more = goes_on(&event);
                    stream.events.push(Seen { stamp: self.journal.stamp(), event });
                    if !more {
                        return stream;
                    }
                }
                Ok(None) => {
                    stream.ended = true;
                    return stream;
                }
                Err(status) => {
                    assert!(comes_back(&status), "the stream ended with {status:?}");
                    return stream;
                }
            }
        }
    }

    /// One stream of `ExecuteBatch` from a server that is there now, and the status that it was refused with or broke with.
    pub(crate) async fn try_execute(&self, request: &ExecuteBatchRequest) -> (Stream, Option<Status>) {
        let mut seen = Stream::new(0);
        let mut events = match self.batches().execute_batch(request.clone()).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return (seen, Some(status)),
        };
        loop {
            match events.message().await {
                Ok(Some(message)) => {
                    let event = message.event.expect("a message holds an event");
                    seen.events.push(Seen { stamp: self.journal.stamp(), event });
                }
                Ok(None) => {
                    seen.ended = true;
                    return (seen, None);
                }
                Err(status) => return (seen, Some(status)),
            }
        }
    }

    /// What health says of the server as a whole: now, and after each change.
    pub(crate) async fn health(&self) -> Result<Streaming<HealthCheckResponse>, Status> {
        let answer = HealthClient::new(self.channel.clone()).watch(HealthCheckRequest::default()).await?;
        Ok(answer.into_inner())
    }

    /// All that a batch's stream tells, from its beginning to its end.
    pub(crate) async fn events(&self, request: &ExecuteBatchRequest) -> Result<Vec<BatchEvent>, Status> {
        let mut stream = self.batches().execute_batch(request.clone()).await?.into_inner();
        let mut events = Vec::new();
        while let Some(message) = stream.message().await? {
            events.extend(message.event);
        }
        Ok(events)
    }

    /// The first `length` events of a batch's log, or fewer where it has no more.
    pub(crate) async fn prefix(&self, batch_id: &str, length: u64) -> Result<Vec<BatchEvent>, Status> {
        let request = WatchBatchRequest { batch_id: batch_id.to_owned(), after_sequence: 0 };
        let mut stream = self.batches().watch_batch(request).await?.into_inner();
        let mut events = Vec::new();
        while (events.len() as u64) < length
            && let Some(message) = stream.message().await?
        {
            events.extend(message.event.filter(|event| event.sequence > 0));
        }
        Ok(events)
    }

    /// Everything that the server keeps of a batch's log.
    pub(crate) async fn replay(&self, batch_id: &str) -> Vec<BatchEvent> {
        let stream = self.watch(batch_id, 0).await;
        assert!(stream.ended, "nobody kills the server now");
        stream.events.into_iter().map(|seen| seen.event).collect()
    }

    pub(crate) async fn get_batch(&self, batch_id: &str) -> Batch {
        let request = GetBatchRequest { batch_id: batch_id.to_owned() };
        let ask = || {
            let (client, request) = (self.clone(), request.clone());
            async move { Ok(client.batches().get_batch(request).await?.into_inner()) }
        };
        self.answer(ask).await.batch.expect("an answer holds a batch")
    }

    /// A batch, if the server knows of it.
    pub(crate) async fn get_batch_or_none(&self, batch_id: &str) -> Option<Batch> {
        let request = GetBatchRequest { batch_id: batch_id.to_owned() };
        self.batches().get_batch(request).await.ok()?.into_inner().batch
    }

    pub(crate) async fn get_step(&self, step_id: &str) -> Step {
        let request = GetStepRequest { step_id: step_id.to_owned() };
        let ask = || {
            let (client, request) = (self.clone(), request.clone());
            async move { Ok(client.tasks().get_step(request).await?.into_inner()) }
        };
        self.answer(ask).await.step.expect("an answer holds a step")
    }

    pub(crate) async fn set_variable(&self, task_id: &str, name: &str, value: &str) {
        let request =
            SetVariableRequest { task_id: task_id.to_owned(), name: name.to_owned(), value_json: value.to_owned() };
        let ask = || {
            let (client, request) = (self.clone(), request.clone());
            async move { Ok(client.tasks().set_variable(request).await?.into_inner()) }
        };
        self.answer(ask).await;
    }

    /// A call's full result.
    pub(crate) async fn result(&self, step_id: &str) -> Result<Vec<u8>, Status> {
        let request = ReadStepResultRequest { step_id: step_id.to_owned(), ..Default::default() };
        let mut stream = self.tasks().read_step_result(request).await?.into_inner();
        let mut result = Vec::new();
        while let Some(part) = stream.message().await? {
            result.extend_from_slice(&part.chunk);
        }
        Ok(result)
    }

    /// Asks until there is an answer.
    async fn answer<T, F: Future<Output = Result<T, Status>>>(&self, ask: impl Fn() -> F) -> T {
        let asking = async {
            loop {
                match ask().await {
                    Ok(answer) => return answer,
                    Err(status) if comes_back(&status) => tokio::time::sleep(AGAIN).await,
                    Err(status) => panic!("the server refuses: {status:?}"),
                }
            }
        };
        let Ok(answer) = tokio::time::timeout(PATIENCE, asking).await else { panic!("no server answers") };
        answer
    }

    fn batches(&self) -> BatchServiceClient<Channel> {
        BatchServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE)
    }

    fn tasks(&self) -> TaskServiceClient<Channel> {
        TaskServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE)
    }
}

/// Whether the status tells of a server that went away, and not of something that it refuses.
fn comes_back(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal)
}

/// The index of the call that an event finishes.
pub(crate) fn finishes(event: &BatchEvent) -> Option<u32> {
    match &event.event {
        Some(Event::CallFinished(finished)) => finished.result.as_ref().map(|result| result.index),
        _ => None,
    }
}
