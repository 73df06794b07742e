//! A backend that speaks HTTP/2 by hand, to do what no gRPC library does on purpose.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::{Reason, RecvStream, server::SendResponse};
use http::{HeaderMap, HeaderValue, Request, Response};
use prost::Message;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use toolbatch::proto::{
    CallToolResponse, ListToolsResponse, LookupCallResponse,
    call_tool_response::Outcome,
    lookup_call_response::{Fate, NotLanded},
};

use super::script::tool;

/// What becomes of the first call or lookup. Every later call is answered `"done"`, every later lookup "not landed".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The connection goes away, and says that it has not looked at the call.
    GoAwayBefore,
    /// The stream is reset with this reason.
    Reset(Reason),
    /// The stream is reset halfway through the answer.
    HalfAnAnswer,
    /// The answer comes byte by byte, and does not end.
    Drip,
    /// The answer has no final status.
    NoStatus,
    /// The answer is compressed, which nobody asked for.
    Compressed,
    /// The final status carries details that are no base64.
    BadDetails,
    /// The same in an answer that is nothing but a status.
    OnlyBadDetails,
}

/// Serves one tool, `echo`, until it is dropped.
#[derive(Debug)]
pub(crate) struct WireBackend {
    pub(crate) address: String,
    calls: Arc<AtomicUsize>,
    _server: JoinSet<()>,
}

impl WireBackend {
    pub(crate) async fn start(first: First) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let calls = Arc::new(AtomicUsize::new(0));
        let mut server = JoinSet::new();
        let counter = calls.clone();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.expect("the listener is open");
                connections.spawn(serve(socket, first, counter.clone()));
            }
        });
        Self { address, calls, _server: server }
    }

    /// How many calls arrived.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn serve(socket: TcpStream, first: First, calls: Arc<AtomicUsize>) {
    let socket = socket.into_std().expect("the socket is open");
    let mut aside = socket.try_clone().expect("a socket can be shared");
    let socket = TcpStream::from_std(socket).expect("the runtime takes it back");
    let mut connection = h2::server::handshake(socket).await.expect("the client speaks HTTP/2");
    let mut answers = JoinSet::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let stream = u32::from(request.body().stream_id());
        if request.uri().path().starts_with("/grpc.health.v1") {
            respond.send_response(headers(&[("grpc-status", "12")]), true).expect("the stream is open");
            continue;
        }
        if request.uri().path().ends_with("/ListTools") {
            let list = ListToolsResponse { tools: vec![tool("echo")], next_page_token: String::new() };
            answers.spawn(answer(request, respond, frame(&list), ok()));
        } else if calls.load(Ordering::SeqCst) > 0 && request.uri().path().ends_with("/LookupCall") {
            let fate = Some(Fate::NotLanded(NotLanded {}));
            answers.spawn(answer(request, respond, frame(&LookupCallResponse { fate }), ok()));
        } else if calls.fetch_add(1, Ordering::SeqCst) > 0 {
            answers.spawn(answer(request, respond, done(), ok()));
        } else if first == First::GoAwayBefore {
            aside.write_all(&go_away(stream - 2)).expect("the client reads");
        } else {
            answers.spawn(misbehave(request, respond, first));
        }
    }
}

async fn misbehave(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, first: First) {
    match first {
        First::Reset(reason) => respond.send_reset(reason),
        First::NoStatus => {
            read(request).await;
            let mut body = respond.send_response(headers(&[]), false).expect("the stream is open");
            body.send_data(Bytes::new(), true).expect("the stream is open");
        }
        First::Compressed => {
            let headers = headers(&[("grpc-encoding", "deflate")]);
            read(request).await;
            let mut body = respond.send_response(headers, false).expect("the stream is open");
            body.send_data(done(), false).expect("the stream is open");
            body.send_trailers(ok()).expect("the stream is open");
        }
        First::BadDetails => {
            let mut trailers = status("13");
            trailers.insert("grpc-status-details-bin", HeaderValue::from_static("%%%"));
            answer(request, respond, Bytes::new(), trailers).await;
        }
        First::OnlyBadDetails => {
            read(request).await;
            let headers = headers(&[("grpc-status", "13"), ("grpc-status-details-bin", "%%%")]);
            respond.send_response(headers, true).expect("the stream is open");
        }
        First::Drip => drip(request, respond).await,
        First::HalfAnAnswer => half(request, respond).await,
        First::GoAwayBefore => unreachable!("the connection does it"),
    }
}

async fn answer(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, message: Bytes, trailers: HeaderMap) {
    read(request).await;
    let mut body = respond.send_response(headers(&[]), false).expect("the stream is open");
    body.send_data(message, false).expect("the stream is open");
    body.send_trailers(trailers).expect("the stream is open");
}

async fn half(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    read(request).await;
    let mut body = respond.send_response(headers(&[]), false).expect("the stream is open");
    let message = done();
    body.send_data(message.slice(..message.len() / 2), false).expect("the stream is open");
    body.send_reset(Reason::INTERNAL_ERROR);
}

/// A message of 16 MiB, at a speed that takes hours, for as long as the client listens.
async fn drip(request: Request<RecvStream>, mut respond: SendResponse<Bytes>) {
    read(request).await;
    let mut body = respond.send_response(headers(&[]), false).expect("the stream is open");
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    let mut next = Bytes::from_static(&[0, 1, 0, 0, 0]);
    while body.send_data(next, false).is_ok() {
        pace.tick().await;
        next = Bytes::from_static(b"x");
    }
}

async fn read(request: Request<RecvStream>) {
    let mut body = request.into_body();
    while let Some(Ok(data)) = body.data().await {
        body.flow_control().release_capacity(data.len()).expect("it was received");
    }
}

fn headers(more: &[(&'static str, &'static str)]) -> Response<()> {
    let mut response = Response::builder().header("content-type", "application/grpc");
    for (name, value) in more {
        response = response.header(*name, *value);
    }
    response.body(()).expect("the headers are well-formed")
}

fn ok() -> HeaderMap {
    status("0")
}

fn status(code: &'static str) -> HeaderMap {
    HeaderMap::from_iter([("grpc-status".parse().expect("a name"), HeaderValue::from_static(code))])
}

fn done() -> Bytes {
    let outcome = Some(Outcome::ResultJson("\"done\"".to_owned()));
    frame(&CallToolResponse { outcome, ..Default::default() })
}

/// A message as gRPC frames it.
fn frame(message: &impl Message) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.encoded_len()).expect("it is small"));
    frame.put_slice(&message.encode_to_vec());
    frame.freeze()
}

/// A GOAWAY frame (RFC 9113, 6.8) without an error: streams above `last_stream` were not looked at.
fn go_away(last_stream: u32) -> Vec<u8> {
    let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    frame.extend(last_stream.to_be_bytes());
    frame.extend(0_u32.to_be_bytes());
    frame
}
