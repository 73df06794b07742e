//! One HTTP/2 connection to one address of a backend.
//!
//! It is made whole, used by any number of calls at once, and never repaired: when it ends, [`super::backend`] makes
//! another. No pings are sent: a default gRPC server of the C core or Go closes a connection that pings during a quiet
//! call, and a call's own timeout is what bounds its silence.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, header};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, client::conn::http2, rt::Executor};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpStream, UnixStream, lookup_host},
    time::timeout,
};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Status, body::Body};
use tower::BoxError;

use super::{
    Error, Refusal,
    credentials::Shown,
    departure::{Departing, Departure, was_turned_away},
    destinations::Destinations,
    tls::Trust,
};
use crate::proto::tool_service_client::ToolServiceClient;

/// The most headers of one answer, a status's message among them.
const MAX_HEADER_BYTES: u32 = 16 * 1_024;

/// Bound on reaching one address: two dead replicas leave time for a third within the 5 s that a call waits (R8).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The most bytes of one message either way: a result of 64 MiB, and 1 MiB for what stands around it.
const MAX_MESSAGE_BYTES: usize = 65 * 1_024 * 1_024;

/// tonic 0.14 panics on one that is no base64, and nothing here reads it.
const STATUS_DETAILS: &str = "grpc-status-details-bin";

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("toolbatch/", env!("CARGO_PKG_VERSION")));

/// Where one replica of a backend listens.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// As it stands in the configuration.
    text: Arc<str>,
    target: Target,
    /// The name that its certificate has to bear, and whom it may be signed by; none: no TLS.
    secure: Option<(ServerName<'static>, Trust)>,
    origin: Uri,
    /// Where it may lead; that of the configuration may lead anywhere.
    guard: Option<Arc<Destinations>>,
    /// What it is shown with each request.
    shown: Option<Shown>,
}

#[derive(Clone, Debug)]
enum Target {
    /// `host:port`
    Tcp(String),
    Unix(PathBuf),
    #[cfg(test)]
    Pipe(super::pipe::Dials),
}

impl Address {
    /// Reads `http://host:port`, `https://host:port` or `unix:/path`.
    pub(super) fn parse(text: &str, trust: &Trust) -> Result<Self, Error> {
        let bad = |expected| Error::Address { address: text.to_owned(), expected };
        let whole =
            |target, secure, origin| Self { text: text.into(), target, secure, origin, guard: None, shown: None };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.starts_with('/') {
                return Err(bad("an absolute path after `unix:`, such as unix:/run/tools.sock"));
            }
            // A socket's path is no valid authority in HTTP/2.
            let origin = Uri::from_static("http://localhost");
            return Ok(whole(Target::Unix(path.into()), None, origin));
        }
        let uri: Uri = text.parse().map_err(|_| bad("http://host:port, https://host:port or unix:/path"))?;
        let (Some("http" | "https"), "/", None) = (uri.scheme_str(), uri.path(), uri.query()) else {
            return Err(bad("http://host:port, https://host:port or unix:/path, with nothing after the port"));
        };
        let authority = uri.authority().ok_or_else(|| bad("a host and a port after `http://`"))?;
        if authority.as_str().contains('@') {
            return Err(bad("no user name in the address"));
        }
        let (secure, port) = if uri.scheme_str() == Some("https") {
            let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(host).map_err(|_| bad("a host name or an IP address after `https://`"))?;
            (Some((name, trust.clone())), 443)
        } else {
            (None, 80)
        };
        let target = match authority.port_u16() {
            Some(_) => authority.to_string(),
            None => format!("{authority}:{port}"),
        };
        Ok(whole(Target::Tcp(target), secure, uri))
    }

    /// A backend within this process.
    #[cfg(test)]
    pub(super) fn piped(dials: super::pipe::Dials) -> Self {
        let origin = Uri::from_static("http://localhost");
        Self { text: "pipe".into(), target: Target::Pipe(dials), secure: None, origin, guard: None, shown: None }
    }

    /// The same, that may lead to these places alone.
    pub(super) fn guarded(self, destinations: Arc<Destinations>) -> Self {
        Self { guard: Some(destinations), ..self }
    }

    /// The same, that is shown a credential with each request.
    pub(super) fn shown(self, shown: Shown) -> Self {
        Self { shown: Some(shown), ..self }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether TLS is spoken there.
    pub(super) fn is_secure(&self) -> bool {
        self.secure.is_some()
    }

    /// Refuses it where it leads to what is not allowed, at this moment.
    pub(super) async fn is_allowed(&self) -> Result<(), Refusal> {
        let forbidden = |cause| Refusal::Forbidden { address: self.text.to_string(), cause };
        match (&self.target, &self.guard) {
            (Target::Tcp(target), Some(_)) => match timeout(CONNECT_TIMEOUT, lookup_host(target.as_str())).await {
                Ok(Ok(found)) => self.allowed(found).map(drop).map_err(forbidden),
                // Connecting will say that it leads nowhere.
                Ok(Err(_)) | Err(_) => Ok(()),
            },
            (Target::Unix(path), Some(guard)) => guard.check_socket(path).map_err(forbidden),
            _ => Ok(()),
        }
    }

    /// What of the addresses that a name has is allowed; one at least, or why none is.
    fn allowed(&self, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, String> {
        let Some(guard) = &self.guard else { return Ok(found.collect()) };
        let mut cause = "it has no address".to_owned();
        let allowed: Vec<_> =
            found.filter(|address| guard.check_ip(address.ip()).map_err(|refused| cause = refused).is_ok()).collect();
        if allowed.is_empty() { Err(cause) } else { Ok(allowed) }
    }

    async fn tcp(&self, target: &str) -> Result<TcpStream, io::Error> {
        let found = lookup_host(target).await?;
        let allowed = self.allowed(found).map_err(|cause| io::Error::new(io::ErrorKind::PermissionDenied, cause))?;
        let stream = TcpStream::connect(&*allowed).await?;
        // A call is one small packet that nothing follows: waiting for more would cost up to 40 ms.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn socket(&self, path: &Path) -> Result<UnixStream, io::Error> {
        if let Some(guard) = &self.guard {
            guard.check_socket(path).map_err(|cause| io::Error::new(io::ErrorKind::PermissionDenied, cause))?;
        }
        UnixStream::connect(path).await
    }
}

/// Runs what the backends need in the background, until they are shut down.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Runs `future` to its end or until [`Tasks::shutdown`].
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        // hyper's futures are as large as the largest of their kinds, a whole connection, and HTTP/2 keeps a waker of a call's first
        // task, and with it the task's memory, until the call is answered. In a box it is there once, and gone when it has ended.
        let future = Box::pin(future);
        self.tracker.spawn(async move {
            stop.run_until_cancelled_owned(future).await;
        });
    }

    /// Ends everything, open connections included, and waits for the end.
    pub(super) async fn shutdown(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, future: F) {
        self.spawn(future);
    }
}

/// An open connection. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    sender: http2::SendRequest<Departing>,
    address: Arc<Address>,
    ended: CancellationToken,
}

impl Connection {
    /// Connects to `address`, or says why not.
    pub(super) async fn open(address: &Address, tasks: &Tasks) -> Result<Self, io::Error> {
        let connecting = async {
            match &address.target {
                Target::Tcp(target) => {
                    let stream = address.tcp(target).await?;
                    match &address.secure {
                        None => Self::start(TokioIo::new(stream), address, tasks).await,
                        Some((name, trust)) => {
                            let (stream, answer) = trust.shake_hands(name, stream).await?;
                            let connection = Self::start(TokioIo::new(stream), address, tasks).await?;
                            answer.heard().await?;
                            Ok(connection)
                        }
                    }
                }
                Target::Unix(path) => Self::start(TokioIo::new(address.socket(path).await?), address, tasks).await,
                #[cfg(test)]
                Target::Pipe(dials) => Self::start(TokioIo::new(dials.dial().await?), address, tasks).await,
            }
        };
        timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(|_| {
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no connection within {CONNECT_TIMEOUT:?}")))
        })
    }

    async fn start<S>(stream: TokioIo<S>, address: &Address, tasks: &Tasks) -> Result<Self, io::Error>
    where
        TokioIo<S>: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
        S: 'static,
    {
        let mut http2 = http2::Builder::new(tasks.clone());
        http2.max_header_list_size(MAX_HEADER_BYTES);
        let (sender, connection) = http2.handshake(stream).await.map_err(io::Error::other)?;
        let ended = CancellationToken::new();
        let guard = ended.clone().drop_guard();
        let text = address.text.clone();
        tasks.spawn(async move {
            // Dropped at shutdown too.
            let _guard = guard;
            if let Err(error) = connection.await {
                tracing::debug!(address = %text, %error, "connection to a backend ended");
            }
        });
        Ok(Self { sender, address: Arc::new(address.clone()), ended })
    }

    /// Whether it takes further requests. Calls in flight may go on where it does not.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed() && !self.ended.is_cancelled()
    }

    /// Waits until it takes no further requests.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Sends one request, whose way `departure` follows.
    pub(super) fn sender(&self, departure: &Arc<Departure>) -> Sender {
        Sender { connection: self.sender.clone(), departure: departure.clone(), shown: self.address.shown.clone() }
    }

    /// What requests are addressed to.
    pub(super) fn origin(&self) -> Uri {
        self.address.origin.clone()
    }

    /// A client for one request, whose way `departure` follows.
    pub(super) fn client(&self, departure: &Arc<Departure>) -> ToolServiceClient<Sender> {
        ToolServiceClient::with_origin(self.sender(departure), self.origin())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

/// Sends one request on a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    connection: http2::SendRequest<Departing>,
    departure: Arc<Departure>,
    shown: Option<Shown>,
}

impl tower::Service<Request<Body>> for Sender {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connection.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let departure = self.departure.clone();
        let mut request = request.map(|body| Departing::new(body, departure.clone()));
        request.headers_mut().insert(header::USER_AGENT, USER_AGENT);
        if let Some(shown) = &self.shown {
            shown.attach(request.headers_mut());
        }
        let response = self.connection.send_request(request);
        Box::pin(async move {
            let mut response = response.await.inspect_err(|error| {
                if was_turned_away(error) {
                    departure.turned_away();
                }
            })?;
            refuse_encoding(response.headers())?;
            response.headers_mut().remove(STATUS_DETAILS);
            Ok(response.map(Answer))
        })
    }
}

/// Nothing here announces that it takes compressed answers. tonic reports one as UNIMPLEMENTED, which would read as a tool that
/// is not there, although it ran.
fn refuse_encoding(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get("grpc-encoding") {
        Some(encoding) if encoding != "identity" => {
            Err(Status::internal(format!("the answer is compressed with {encoding:?}; expected no compression")))
        }
        Some(_) | None => Ok(()),
    }
}

/// An answer's body.
#[derive(Debug)]
pub(super) struct Answer(Incoming);

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut polled = Pin::new(&mut self.0).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &mut polled
            && let Some(trailers) = frame.trailers_mut()
        {
            trailers.remove(STATUS_DETAILS);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Target, Trust};

    fn tcp(text: &str) -> String {
        match Address::parse(text, &Trust::default()).expect(text).target {
            Target::Tcp(target) => target,
            Target::Unix(path) => panic!("{text} became the socket {}", path.display()),
            Target::Pipe(_) => panic!("{text} became a pipe"),
        }
    }

    #[test]
    fn addresses_are_hosts_or_sockets() {
        assert_eq!(tcp("http://127.0.0.1:7001"), "127.0.0.1:7001");
        assert_eq!(tcp("http://[::1]:7001/"), "[::1]:7001");
        assert_eq!(tcp("http://tools.internal"), "tools.internal:80");
        assert_eq!(tcp("https://tools.internal"), "tools.internal:443");
        assert_eq!(tcp("https://[::1]:7001"), "[::1]:7001");
        for text in ["unix:/run/tools.sock", "unix:///run/tools.sock"] {
            let target = Address::parse(text, &Trust::default()).expect(text).target;
            assert!(matches!(target, Target::Unix(path) if path.as_os_str() == "/run/tools.sock"));
        }
    }

    #[test]
    fn other_addresses_are_refused_by_name() {
        for text in [
            "ftp://a:1",
            "https://a..b:1",
            "https://a:1/path",
            "a:1",
            "http://",
            "http://a:1/path",
            "http://a:1?x=1",
            "http://u@a:1",
            "unix:run",
            "",
            "\n",
        ] {
            let error = Address::parse(text, &Trust::default()).expect_err(text).to_string();
            assert!(error.contains("expected"), "{error}");
        }
    }
}
