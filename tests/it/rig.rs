//! A whole server on a store in a temporary folder, with a scripted backend, and clients over real connections.

use std::{sync::Arc, time::Duration};

use tonic::{IntoRequest, Status, Streaming, transport::Channel};
use toolbatch::{
    config::{Backend, Config, Listen},
    proto::{
        self, Batch, BatchEvent, BatchFinished, BatchOptions, BatchSummary, CallList, CallResult, CancelBatchRequest,
        DeregisterBackendRequest, EndTaskRequest, ExecuteBatchRequest, GetBatchRequest, GetStepRequest, KeyRecord,
        KeyState, ListBackendsRequest, ListBatchesRequest, ListBatchesResponse, ListKeysRequest, ListStepsRequest,
        ListStepsResponse, ReadStepResultRequest, RegisterBackendRequest, SetVariableRequest, SettleKeyRequest, Step,
        ToolCall, WatchBatchRequest, batch_event::Event, batch_service_client::BatchServiceClient,
        registry_service_client::RegistryServiceClient, settle_key_request::Fate,
        task_service_client::TaskServiceClient, tool_service_client::ToolServiceClient,
    },
    server::Server,
    store::Store,
};

use crate::{backend::ScriptedBackend, canary};

/// What tests take from a stream at once: the largest summaries and results.
const MAX_MESSAGE: usize = 80 * 1024 * 1024;

/// A client of one server.
pub(crate) struct Client {
    pub(crate) channel: Channel,
}

/// A server, its backend and its folder. It is also a client of that server.
pub(crate) struct Rig {
    pub(crate) backend: ScriptedBackend,
    client: Client,
    /// The store's folder; it goes with the rig.
    pub(crate) data: tempfile::TempDir,
    config: Config,
    server: Option<Server>,
}

impl Rig {
    /// A server with a backend that serves all stub tools.
    pub(crate) async fn start() -> Self {
        let backend = ScriptedBackend::start().await;
        let backends = vec![backend.config("stub")];
        Self::start_with(backend, backends, |_| {}).await
    }

    /// A server with these backends configured, and what else `change` says.
    pub(crate) async fn start_with(
        backend: ScriptedBackend,
        backends: Vec<Backend>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut config = Config {
            listen: Listen::Tcp("127.0.0.1:0".parse().expect("an address")),
            data_dir: data.path().join("data"),
            shutdown_grace: Duration::from_secs(5),
            backends,
            ..Config::default()
        };
        change(&mut config);
        canary::watch();
        let server = Server::start(config.clone()).await.expect("the server starts");
        let client = Client::connect(server.endpoint()).await;
        Self { backend, client, data, config, server: Some(server) }
    }

    /// A server on a store of the test's own.
    pub(crate) async fn start_on(store: Arc<dyn Store>) -> Self {
        Self::start_on_with(store, |_| {}).await
    }

    /// The same, with what else `change` says.
    pub(crate) async fn start_on_with(store: Arc<dyn Store>, change: impl FnOnce(&mut Config)) -> Self {
        let backend = ScriptedBackend::start().await;
        let data = tempfile::tempdir().expect("a folder");
        let mut config = Config {
            listen: Listen::Tcp("127.0.0.1:0".parse().expect("an address")),
            shutdown_grace: Duration::from_millis(500),
            backends: vec![backend.config("stub")],
            ..Config::default()
        };
        change(&mut config);
        canary::watch();
        let server = Server::start_on(store, config.clone()).await.expect("the server starts");
        let client = Client::connect(server.endpoint()).await;
        Self { backend, client, data, config, server: Some(server) }
    }

    /// The server itself, which the rig then no longer has.
    pub(crate) fn take_server(&mut self) -> Server {
        self.server.take().expect("it runs")
    }

    /// Stops the server well and starts it again on the same folder.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start_again().await;
    }

    /// Starts a server that was stopped on the same folder.
    pub(crate) async fn start_again(&mut self) {
        self.restart_with(|_| {}).await;
    }

    /// Starts a stopped server again on the same folder, with what else `change` says.
    pub(crate) async fn restart_with(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        let server = Server::start(self.config.clone()).await.expect("the server starts again");
        self.client = Client::connect(server.endpoint()).await;
        self.server = Some(server);
    }

    pub(crate) async fn stop(&mut self) {
        self.server.take().expect("it runs").stop().await.expect("it stops well");
    }

    pub(crate) fn endpoint(&self) -> &str {
        self.server.as_ref().expect("it runs").endpoint()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        drop(self.server.take());
        canary::must_be_caged();
    }
}

impl std::ops::Deref for Rig {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    pub(crate) async fn connect(endpoint: &str) -> Self {
        Self { channel: connect(endpoint).await }
    }

    pub(crate) fn batches(&self) -> BatchServiceClient<Channel> {
        BatchServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE)
    }

    pub(crate) fn tasks(&self) -> TaskServiceClient<Channel> {
        TaskServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_MESSAGE)
    }

    pub(crate) fn tools(&self) -> ToolServiceClient<Channel> {
        ToolServiceClient::new(self.channel.clone())
    }

    pub(crate) fn registry(&self) -> RegistryServiceClient<Channel> {
        RegistryServiceClient::new(self.channel.clone())
    }

    /// Registers a backend.
    pub(crate) async fn register(&self, name: &str, addresses: &[&str]) -> Result<proto::Backend, Status> {
        let addresses = addresses.iter().map(ToString::to_string).collect();
        let backend = proto::Backend { name: name.into(), addresses, ..proto::Backend::default() };
        let request = RegisterBackendRequest { backend: Some(backend) };
        Ok(self.registry().register_backend(request).await?.into_inner().backend.expect("a backend"))
    }

    pub(crate) async fn deregister(&self, name: &str) -> Result<(), Status> {
        let request = DeregisterBackendRequest { name: name.into() };
        self.registry().deregister_backend(request).await.map(|_| ())
    }

    /// All backends, in pages of this size.
    pub(crate) async fn backends(&self, page_size: i32) -> Vec<proto::Backend> {
        let (mut backends, mut page_token) = (Vec::new(), String::new());
        loop {
            let request = ListBackendsRequest { page_size, page_token };
            let page = self.registry().list_backends(request).await.expect("a page").into_inner();
            backends.extend(page.backends);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return backends;
            }
        }
    }

    /// Starts a batch and gives back its stream.
    pub(crate) async fn open(&self, request: impl IntoRequest<ExecuteBatchRequest>) -> Result<Events, Status> {
        let stream = self.batches().execute_batch(request).await?.into_inner();
        Ok(Events::Execute(stream))
    }

    /// Runs a batch to its end.
    pub(crate) async fn run(&self, request: impl IntoRequest<ExecuteBatchRequest>) -> Ran {
        let events =
            self.open(request).await.expect("the batch is taken in").rest().await.expect("the stream ends well");
        Ran { events }
    }

    /// The status that a batch is refused with.
    pub(crate) async fn refused(&self, request: impl IntoRequest<ExecuteBatchRequest>) -> Status {
        match self.open(request).await {
            Ok(_) => panic!("the batch was taken in"),
            Err(status) => status,
        }
    }

    pub(crate) async fn watch(&self, batch_id: &str, after_sequence: u64) -> Result<Events, Status> {
        let request = WatchBatchRequest { batch_id: batch_id.into(), after_sequence };
        Ok(Events::Watch(self.batches().watch_batch(request).await?.into_inner()))
    }

    pub(crate) async fn get_batch(&self, batch_id: &str) -> Result<Batch, Status> {
        let request = GetBatchRequest { batch_id: batch_id.into() };
        Ok(self.batches().get_batch(request).await?.into_inner().batch.expect("a batch"))
    }

    pub(crate) async fn get_step(&self, step_id: &str) -> Result<Step, Status> {
        let request = GetStepRequest { step_id: step_id.into() };
        Ok(self.tasks().get_step(request).await?.into_inner().step.expect("a step"))
    }

    /// A step's full result from an offset, and how many pieces it came in.
    pub(crate) async fn read_result(&self, step_id: &str, offset: u64) -> Result<(Vec<u8>, usize), Status> {
        let request = ReadStepResultRequest { step_id: step_id.into(), offset };
        let mut stream = self.tasks().read_step_result(request).await?.into_inner();
        let (mut bytes, mut pieces) = (Vec::new(), 0);
        while let Some(piece) = stream.message().await? {
            bytes.extend(piece.chunk);
            pieces += 1;
        }
        Ok((bytes, pieces))
    }

    /// A page of batches, newest first; an empty task means all.
    pub(crate) async fn list_batches(
        &self,
        task_id: &str,
        page_size: i32,
        page_token: &str,
    ) -> Result<ListBatchesResponse, Status> {
        let request = ListBatchesRequest { task_id: task_id.into(), page_size, page_token: page_token.into() };
        Ok(self.batches().list_batches(request).await?.into_inner())
    }

    pub(crate) async fn list_steps(&self, request: ListStepsRequest) -> Result<ListStepsResponse, Status> {
        Ok(self.tasks().list_steps(request).await?.into_inner())
    }

    pub(crate) async fn cancel(&self, batch_id: &str, abort_running: bool) -> Result<Batch, Status> {
        let request = CancelBatchRequest { batch_id: batch_id.into(), abort_running };
        Ok(self.batches().cancel_batch(request).await?.into_inner().batch.expect("a batch"))
    }

    /// All keys of task "T" in these states, in pages of this size.
    pub(crate) async fn keys(&self, states: &[KeyState], page_size: i32) -> Result<Vec<KeyRecord>, Status> {
        let mut keys = Vec::new();
        let mut page_token = String::new();
        loop {
            let states = states.iter().map(|state| i32::from(*state)).collect();
            let request = ListKeysRequest { task_id: "T".into(), states, page_size, page_token };
            let page = self.tasks().list_keys(request).await?.into_inner();
            assert!(page.keys.len() <= usize::try_from(page_size).expect("a size"), "a page has a bound");
            keys.extend(page.keys);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(keys);
            }
        }
    }

    /// Settles a key of task "T".
    pub(crate) async fn settle(&self, key: &str, fate: Fate) -> Result<KeyRecord, Status> {
        let request = SettleKeyRequest { task_id: "T".into(), key: key.into(), fate: Some(fate) };
        Ok(self.tasks().settle_key(request).await?.into_inner().key.expect("a key"))
    }

    /// Gives the name that it is under.
    pub(crate) async fn set_variable(&self, task_id: &str, name: &str, value: &str) -> Result<String, Status> {
        let request = SetVariableRequest { task_id: task_id.into(), name: name.into(), value_json: value.into() };
        Ok(self.tasks().set_variable(request).await?.into_inner().name)
    }

    pub(crate) async fn end_task(&self, task_id: &str, reason: &str) -> Result<(), Status> {
        let request = EndTaskRequest { task_id: task_id.into(), reason: reason.into() };
        self.tasks().end_task(request).await.map(|_| ())
    }
}

pub(crate) async fn connect(endpoint: &str) -> Channel {
    let endpoint = tonic::transport::Endpoint::from_shared(endpoint.to_owned()).expect("an endpoint");
    endpoint.tcp_nodelay(true).connect().await.expect("the server is there")
}

/// A connection that takes 16 KiB before it is read: its server soon waits for it.
pub(crate) async fn connect_narrow(endpoint: &str) -> Channel {
    let endpoint = tonic::transport::Endpoint::from_shared(endpoint.to_owned()).expect("an endpoint");
    let endpoint = endpoint.initial_stream_window_size(16 * 1024).initial_connection_window_size(64 * 1024);
    endpoint.connect().await.expect("the server is there")
}

/// Events from either RPC.
pub(crate) enum Events {
    Execute(Streaming<toolbatch::proto::ExecuteBatchResponse>),
    Watch(Streaming<toolbatch::proto::WatchBatchResponse>),
}

impl Events {
    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<BatchEvent>, Status> {
        let event = match self {
            Self::Execute(stream) => stream.message().await?.and_then(|message| message.event),
            Self::Watch(stream) => stream.message().await?.and_then(|message| message.event),
        };
        Ok(event)
    }

    /// Reads until an event fits, and gives it back.
    pub(crate) async fn until(&mut self, mut fits: impl FnMut(&Event) -> bool) -> BatchEvent {
        loop {
            let event = self.next().await.expect("the stream goes on").expect("the event comes");
            if event.event.as_ref().is_some_and(&mut fits) {
                return event;
            }
        }
    }

    /// All events up to the end.
    pub(crate) async fn rest(mut self) -> Result<Vec<BatchEvent>, Status> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }
}

/// A batch that ran to its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) events: Vec<BatchEvent>,
}

impl Ran {
    pub(crate) fn batch_id(&self) -> &str {
        &self.events[0].batch_id
    }

    /// The kinds of events with their call, in order: `"started"`, `"call_started 0"`, …
    pub(crate) fn story(&self) -> Vec<String> {
        self.events.iter().filter_map(|event| event.event.as_ref()).map(tell).collect()
    }

    pub(crate) fn summary(&self) -> &BatchSummary {
        match self.events.last().and_then(|event| event.event.as_ref()) {
            Some(Event::BatchFinished(BatchFinished { summary: Some(summary) })) => summary,
            other => panic!("the last event is {other:?}"),
        }
    }

    pub(crate) fn results(&self) -> &[CallResult] {
        &self.summary().results
    }

    /// The statuses by index, as words: "completed", "failed", …
    pub(crate) fn statuses(&self) -> Vec<&'static str> {
        self.results().iter().map(|result| status_word(result.status())).collect()
    }
}

/// An event in short.
pub(crate) fn tell(event: &Event) -> String {
    match event {
        Event::BatchPlanned(_) => "planned".into(),
        Event::BatchStarted(_) => "started".into(),
        Event::CallStarted(call) => format!("call_started {} #{}", call.index, call.attempt),
        Event::CallProgress(call) => format!("progress {}", call.index),
        Event::CallFinished(call) => {
            let result = call.result.as_ref().expect("a result");
            format!("{} {}", status_word(result.status()), result.index)
        }
        Event::BatchResumed(resumed) => format!("resumed {:?}", resumed.in_doubt),
        Event::BatchFinished(_) => "finished".into(),
        Event::CallRetrying(call) => format!("retrying {} #{}", call.index, call.attempt),
    }
}

pub(crate) fn status_word(status: toolbatch::proto::CallStatus) -> &'static str {
    use toolbatch::proto::CallStatus;
    match status {
        CallStatus::Unspecified => "unspecified",
        CallStatus::Completed => "completed",
        CallStatus::Failed => "failed",
        CallStatus::Skipped => "skipped",
        CallStatus::NotRun => "not_run",
        CallStatus::Awaiting => "awaiting",
        CallStatus::Running => "running",
    }
}

/// A call.
pub(crate) fn call(tool: &str, args: &str) -> ToolCall {
    ToolCall { tool: tool.into(), args_json: args.into(), key: String::new() }
}

/// A call with a key.
pub(crate) fn keyed(key: &str, tool: &str, args: &str) -> ToolCall {
    ToolCall { key: key.into(), ..call(tool, args) }
}

/// A batch in task "T".
pub(crate) fn batch(calls: Vec<ToolCall>) -> ExecuteBatchRequest {
    ExecuteBatchRequest {
        task_id: "T".into(),
        source: Some(toolbatch::proto::execute_batch_request::Source::CallList(CallList { calls })),
        ..ExecuteBatchRequest::default()
    }
}

/// The same with options.
pub(crate) fn batch_with(calls: Vec<ToolCall>, options: BatchOptions) -> ExecuteBatchRequest {
    ExecuteBatchRequest { options: Some(options), ..batch(calls) }
}

/// Parallel options of a width.
pub(crate) fn parallel(max_concurrency: u32) -> BatchOptions {
    BatchOptions { mode: toolbatch::proto::BatchMode::Parallel.into(), max_concurrency, ..BatchOptions::default() }
}
