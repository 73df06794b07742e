//! A server that is newer than the contract: it sends kinds of events, enum values, fields and reasons that no client knows yet.

mod story;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use http::{HeaderMap, Request, Response};
use prost::Message as _;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use toolbatch::proto::{CancelBatchRequest, ExecuteBatchRequest, GetStepRequest, WatchBatchRequest};

/// A gRPC message begins with a flag and its length in four bytes.
const PREFIX: usize = 5;
/// The step that is refused for a reason that nobody knows.
const REFUSED_STEP: &str = "refused";

/// The server; it ends when this is dropped.
pub(crate) struct Future {
    endpoint: String,
    _tasks: JoinSet<()>,
}

/// What answers a request.
struct Answer {
    messages: Vec<Vec<u8>>,
    status: Status,
}

impl Future {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the future server cannot listen")?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener));
        Ok(Self { endpoint, _tasks: tasks })
    }

    pub(crate) fn endpoint(&self) -> String {
        self.endpoint.clone()
    }
}

async fn accept(listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // A connection that fails is its client's to tell of.
        connections.spawn(async move { serve(stream).await.unwrap_or_default() });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    let mut requests = JoinSet::new();
    while let Some(request) = connection.accept().await {
        let (request, respond) = request?;
        requests.spawn(async move { respond_to(request, respond).await.unwrap_or_default() });
        while requests.try_join_next().is_some() {}
    }
    Ok(())
}

async fn respond_to(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) -> anyhow::Result<()> {
    let path = request.uri().path().to_owned();
    let body = read(request.into_body()).await?;
    ensure!(body.len() >= PREFIX, "a request without a message");
    let answer = answer(&path, &body[PREFIX..])?;
    let head = Response::builder().header("content-type", "application/grpc").body(())?;
    let mut stream = respond.send_response(head, false)?;
    for message in answer.messages {
        stream.send_data(framed(&message)?, false)?;
    }
    let mut trailers = HeaderMap::new();
    answer.status.add_header(&mut trailers)?;
    stream.send_trailers(trailers)?;
    Ok(())
}

async fn read(mut body: RecvStream) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        bytes.extend(chunk);
    }
    Ok(bytes)
}

fn framed(message: &[u8]) -> anyhow::Result<Bytes> {
    let length = u32::try_from(message.len())?.to_be_bytes();
    Ok([&[0][..], &length, message].concat().into())
}

/// `ExecuteBatch` breaks off in the middle; `WatchBatch` goes on from where the client says.
fn answer(path: &str, message: &[u8]) -> anyhow::Result<Answer> {
    let done = |messages| Answer { messages, status: Status::new(Code::Ok, "") };
    Ok(match path {
        "/toolbatch.v1.BatchService/ExecuteBatch" => {
            let request = ExecuteBatchRequest::decode(message)?;
            let status = Status::unavailable("the server breaks off here");
            Answer { messages: story::begin(&request), status }
        }
        "/toolbatch.v1.BatchService/WatchBatch" => {
            let request = WatchBatchRequest::decode(message)?;
            done(story::go_on(&request.batch_id, request.after_sequence))
        }
        "/toolbatch.v1.BatchService/CancelBatch" => {
            done(vec![story::cancelled(&CancelBatchRequest::decode(message)?.batch_id)])
        }
        "/toolbatch.v1.TaskService/GetStep" => {
            let step_id = GetStepRequest::decode(message)?.step_id;
            if step_id == REFUSED_STEP {
                let details = ErrorDetails::with_error_info("NOT_KNOWN_YET", "toolbatch.v1", []);
                let message = "refused for a reason that is new";
                return Ok(Answer {
                    messages: Vec::new(),
                    status: Status::with_error_details(Code::FailedPrecondition, message, details),
                });
            }
            done(vec![story::step(&step_id)])
        }
        other => Answer { messages: Vec::new(), status: Status::unimplemented(format!("{other} is not served here")) },
    })
}
