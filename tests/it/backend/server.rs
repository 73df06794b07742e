//! Serves a script over gRPC, on a thread and a runtime of its own, so that it can die as a process does: at once, with
//! everything that it was doing.

use std::{net::SocketAddr, path::PathBuf, pin::Pin, sync::Arc, thread, time::Duration};

use futures_util::{Stream, StreamExt as _, stream};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::oneshot,
};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{
    Request, Response, Status,
    metadata::MetadataMap,
    transport::{Server, server::TcpIncoming},
};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse,
    health_check_response::ServingStatus,
    health_server::{Health, HealthServer},
};
use toolbatch::proto::{
    CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
    ListToolsResponse, LookupCallRequest, LookupCallResponse, ToolProgress, call_tool_response,
    call_tool_with_progress_response, lookup_call_response,
    tool_service_server::{ToolService, ToolServiceServer},
};

use super::{
    journal::Entry,
    script::{Lookup, Script},
};

/// Results of 64 MiB and a byte have to get out.
const MAX_MESSAGE_BYTES: usize = 80 * 1_024 * 1_024;

/// Small, so that every list takes several pages.
const PAGE_TOOLS: usize = 5;

/// What holds a call's reports, before the first of them.
pub(super) const REPORTS: &str = "reports";

/// Where to listen.
#[derive(Clone, Debug)]
pub(super) enum Listen {
    /// A port of 127.0.0.1; 0 takes a free one.
    Port(u16),
    Socket(PathBuf),
}

/// A server that runs.
#[derive(Debug)]
pub(super) struct Running {
    /// What clients connect to.
    pub(super) address: String,
    pub(super) listen: Listen,
    kill: CancellationToken,
    dead: oneshot::Receiver<()>,
}

impl Running {
    pub(super) async fn start(listen: Listen, script: Arc<Script>) -> Self {
        let kill = CancellationToken::new();
        let (tell_bound, bound) = oneshot::channel();
        let (tell_dead, dead) = oneshot::channel();
        let killed = kill.clone();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
            runtime.block_on(killed.run_until_cancelled(serve(listen, script, tell_bound)));
            // Drops every task and every socket.
            drop(runtime);
            let _ = tell_dead.send(());
        });
        let (address, listen) = bound.await.expect("the backend can listen");
        Self { address, listen, kill, dead }
    }

    pub(super) async fn kill(self) {
        self.kill.cancel();
        self.dead.await.expect("the backend's thread ends in order");
    }
}

async fn serve(listen: Listen, script: Arc<Script>, bound: oneshot::Sender<(String, Listen)>) {
    let service = ToolServiceServer::new(Tools(script.clone()))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    let server = Server::builder().add_service(HealthServer::new(Told(script))).add_service(service);
    match listen {
        Listen::Port(port) => {
            let listener = TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
            let port = listener.local_addr().expect("it is bound").port();
            let _ = bound.send((format!("http://127.0.0.1:{port}"), Listen::Port(port)));
            server.serve_with_incoming(TcpIncoming::from(listener).with_nodelay(Some(true))).await
        }
        Listen::Socket(path) => {
            let _ = std::fs::remove_file(&path);
            let listener = UnixListener::bind(&path).expect("the socket can be made");
            let _ = bound.send((format!("unix:{}", path.display()), Listen::Socket(path)));
            server.serve_with_incoming(UnixListenerStream::new(listener)).await
        }
    }
    .expect("the backend serves until it is killed");
}

struct Tools(Arc<Script>);

/// Health, where the script tells it.
struct Told(Arc<Script>);

#[tonic::async_trait]
impl Health for Told {
    type WatchStream = stream::Empty<Result<HealthCheckResponse, Status>>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let status = match self.0.serves() {
            Some(true) => ServingStatus::Serving,
            Some(false) => ServingStatus::NotServing,
            None => return Err(Status::unimplemented("no health here")),
        };
        Ok(Response::new(HealthCheckResponse { status: status.into() }))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("nobody watches health here"))
    }
}

type Progress = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ToolService for Tools {
    type CallToolWithProgressStream = Progress;

    async fn list_tools(&self, request: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let mut tools = self.0.tools();
        let skipped = request.into_inner().page_token.parse().unwrap_or(0);
        let mut tools = tools.split_off(skipped);
        let rest = if tools.len() > PAGE_TOOLS { tools.split_off(PAGE_TOOLS) } else { Vec::new() };
        let next_page_token = if rest.is_empty() { String::new() } else { (skipped + PAGE_TOOLS).to_string() };
        Ok(Response::new(ListToolsResponse { tools, next_page_token }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let peer = request.remote_addr();
        let (metadata, _, request) = request.into_parts();
        execute(self.0.clone(), &metadata, peer, request).await.map(Response::new)
    }

    async fn call_tool_with_progress(
        &self,
        request: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Progress>, Status> {
        let peer = request.remote_addr();
        let (metadata, _, request) = request.into_parts();
        let call = request.call.ok_or_else(|| Status::invalid_argument("no call"))?;
        let args: serde_json::Value = serde_json::from_str(&call.args_json).unwrap_or_default();
        let reports = args["n"].as_u64().unwrap_or(0);
        let pause = Duration::from_millis(args["ms"].as_u64().unwrap_or(0));
        let total = f64::from(u32::try_from(reports).unwrap_or(u32::MAX));
        self.0.pass_gates(REPORTS, REPORTS).await;
        let before = stream::iter(1..=reports).then(move |report| async move {
            tokio::time::sleep(pause).await;
            let progress = f64::from(u32::try_from(report).unwrap_or(u32::MAX));
            Ok(event(call_tool_with_progress_response::Event::Progress(ToolProgress {
                progress,
                total,
                message: format!("{report} of {reports}"),
            })))
        });
        if args["without_outcome"] == true {
            return Ok(Response::new(Box::pin(before)));
        }
        let script = self.0.clone();
        let outcome = stream::once(async move {
            let response = execute(script, &metadata, peer, call).await?;
            Ok(event(call_tool_with_progress_response::Event::Response(response)))
        });
        Ok(Response::new(Box::pin(before.chain(outcome))))
    }

    async fn lookup_call(&self, request: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        let context = request.into_inner().context.unwrap_or_default();
        let fate = match self.0.look_up(context.idempotency_key) {
            Lookup::Unimplemented => return Err(Status::unimplemented("no LookupCall here")),
            Lookup::Unknown => Some(lookup_call_response::Fate::Unknown(lookup_call_response::Unknown {})),
            Lookup::NotLanded => Some(lookup_call_response::Fate::NotLanded(lookup_call_response::NotLanded {})),
            Lookup::Landed(result) => Some(lookup_call_response::Fate::Landed(CallToolResponse {
                outcome: Some(call_tool_response::Outcome::ResultJson(result)),
                ..Default::default()
            })),
            Lookup::Answered(response) => Some(lookup_call_response::Fate::Landed(*response)),
            Lookup::Empty => None,
            Lookup::Journaled => unreachable!("the script has asked its journal"),
        };
        Ok(Response::new(LookupCallResponse { fate }))
    }
}

async fn execute(
    script: Arc<Script>,
    metadata: &MetadataMap,
    peer: Option<SocketAddr>,
    request: CallToolRequest,
) -> Result<CallToolResponse, Status> {
    let CallToolRequest { tool, args_json, context } = request;
    let args: serde_json::Value = serde_json::from_str(&args_json).unwrap_or_default();
    let id = [&args["id"], &args["doc"]]
        .into_iter()
        .find(|value| !value.is_null())
        .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        .unwrap_or_default();
    let context = context.unwrap_or_default();
    let text = |key| metadata.get(key).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let timeout = text("grpc-timeout");
    let running = script.journal.begin(Entry {
        tool: tool.clone(),
        id: id.clone(),
        args_json: args_json.clone(),
        task_id: context.task_id,
        agent_id: context.agent_id,
        key: context.key,
        batch_id: context.batch_id,
        step_id: context.step_id,
        index: context.index,
        attempt: context.attempt,
        idempotency_key: context.idempotency_key,
        in_doubt: context.in_doubt,
        peer,
        timeout,
        metadata: metadata.clone(),
        ..Entry::default()
    });
    running.answer(script.run(&tool, &id, &args_json).await)
}

fn event(event: call_tool_with_progress_response::Event) -> CallToolWithProgressResponse {
    CallToolWithProgressResponse { event: Some(event) }
}
