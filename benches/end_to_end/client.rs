//! A raw tonic client of toolbatch.

use std::time::Duration;

use tonic::{
    Status,
    transport::{Channel, Endpoint},
};
use toolbatch::proto::{
    BatchEvent, BatchMode, BatchOptions, CallList, CallResult, ExecuteBatchRequest, ReadStepResultRequest, ToolCall,
    WatchBatchRequest, batch_event::Event, batch_service_client::BatchServiceClient, execute_batch_request::Source,
    task_service_client::TaskServiceClient,
};

use crate::backend::MESSAGE_MAX;

/// How the calls of a batch run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Sequential,
    /// So many at once.
    Parallel(u32),
    /// So many lanes, 16 at once.
    Lanes(usize),
}

/// A connection to the server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    batches: BatchServiceClient<Channel>,
    tasks: TaskServiceClient<Channel>,
}

/// A connection to `endpoint`.
pub(crate) async fn channel(endpoint: &str) -> Channel {
    let endpoint = Endpoint::from_shared(endpoint.to_owned()).expect("an address").tcp_nodelay(true);
    endpoint.connect().await.expect("it listens")
}

/// A batch of keyed calls in a task of its own.
pub(crate) fn batch(task: &str, tool: &str, calls: usize, order: Order) -> ExecuteBatchRequest {
    let lanes = if let Order::Lanes(lanes) = order { lanes } else { usize::MAX };
    let calls = (0..calls).map(|n| ToolCall {
        tool: tool.into(),
        args_json: format!(r#"{{"contract":"4004{:04}","item":"pump","quantity":6}}"#, n % lanes),
        key: format!("order-{n}"),
    });
    let (mode, max_concurrency, serialize_on) = match order {
        Order::Sequential => (BatchMode::Sequential, 0, ""),
        Order::Parallel(width) => (BatchMode::Parallel, width, ""),
        Order::Lanes(_) => (BatchMode::Parallel, 16, "contract"),
    };
    let options = BatchOptions {
        mode: mode.into(),
        max_concurrency,
        serialize_on: serialize_on.into(),
        ..BatchOptions::default()
    };
    ExecuteBatchRequest {
        task_id: task.into(),
        source: Some(Source::CallList(CallList { calls: calls.collect() })),
        options: Some(options),
        ..ExecuteBatchRequest::default()
    }
}

impl Client {
    pub(crate) async fn connect(endpoint: &str) -> Self {
        let channel = channel(endpoint).await;
        let tasks = TaskServiceClient::new(channel.clone());
        Self { batches: BatchServiceClient::new(channel), tasks }
    }

    /// Runs a batch, gives each call's end to `ended`, and requires that all of them completed.
    pub(crate) async fn run(&mut self, request: ExecuteBatchRequest, mut ended: impl FnMut(&CallResult)) {
        let mut stream = self.batches.execute_batch(request).await.expect("it is taken").into_inner();
        while let Some(message) = stream.message().await.expect("it is told to its end") {
            match message.event.and_then(|event| event.event) {
                Some(Event::CallFinished(finished)) => ended(&finished.result.expect("it has one")),
                Some(Event::BatchFinished(finished)) => {
                    let summary = finished.summary.expect("it has one");
                    assert_eq!(summary.succeeded, summary.total, "{summary:?}");
                }
                _ => {}
            }
        }
    }

    /// Runs a batch whose calls all complete, or says why it was not taken in.
    pub(crate) async fn try_run(&mut self, request: ExecuteBatchRequest) -> Result<(), Status> {
        let mut stream = self.batches.execute_batch(request).await?.into_inner();
        let mut succeeded = false;
        while let Some(message) = stream.message().await.expect("what is taken in is told to its end") {
            if let Some(Event::BatchFinished(finished)) = message.event.and_then(|event| event.event) {
                succeeded = finished.summary.is_some_and(|summary| summary.succeeded == summary.total);
            }
        }
        assert!(succeeded, "what is taken in completes");
        Ok(())
    }

    /// Starts a batch and leaves its stream once it has begun. Gives its id.
    pub(crate) async fn leave(&mut self, request: ExecuteBatchRequest) -> String {
        let mut stream = self.batches.execute_batch(request).await.expect("it is taken").into_inner();
        let BatchEvent { batch_id, .. } =
            stream.message().await.expect("it begins").and_then(|message| message.event).expect("an event");
        batch_id
    }

    /// Follows a batch to its end.
    pub(crate) async fn watch(&mut self, batch_id: &str) {
        let request = WatchBatchRequest { batch_id: batch_id.into(), after_sequence: 0 };
        let mut stream = self.batches.watch_batch(request).await.expect("it is there").into_inner();
        while stream.message().await.expect("it is told to its end").is_some() {}
    }

    /// Reads a whole result. Gives its length.
    pub(crate) async fn read_result(&mut self, step_id: &str) -> usize {
        let request = ReadStepResultRequest { step_id: step_id.into(), offset: 0 };
        let mut stream = self.tasks.read_step_result(request).await.expect("it is there").into_inner();
        let mut length = 0;
        while let Some(message) = stream.message().await.expect("it is read to its end") {
            length += message.chunk.len();
        }
        length
    }
}

/// The raw client of the backend.
pub(crate) async fn tools(endpoint: &str) -> toolbatch::proto::tool_service_client::ToolServiceClient<Channel> {
    toolbatch::proto::tool_service_client::ToolServiceClient::new(channel(endpoint).await)
        .max_decoding_message_size(MESSAGE_MAX)
}

/// The middle of some durations.
pub(crate) fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
