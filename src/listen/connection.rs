//! One connection: its handshake, HTTP/2 with every bound set, and when it ends.

use std::{
    convert::Infallible,
    future::poll_fn,
    hash::{BuildHasher as _, RandomState},
    pin::pin,
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tonic::body::Body;

use super::{
    Requests,
    activity::{Activity, Running, Unused},
    body::Answer,
    peer_names::PeerNames,
    socket::{Io, Stream},
    streams::Streams,
    tls::Certificates,
};
use crate::config::Limits;

/// How far a connection's age may be from that of the others, in tenths: those that came together do not come back together.
const AGE_SPREAD: u32 = 10;

/// What a connection that is told to end has to do so once nothing runs on it: the other side may be gone, or may not want to.
const FAREWELL: Duration = Duration::from_secs(1);

/// Drives connections.
pub(super) struct Connections<S> {
    limits: Limits,
    tls: Option<Certificates>,
    requests: S,
    http: http2::Builder<Streams>,
}

impl<S> Connections<S>
where
    S: Requests + Clone + Send + Sync + 'static,
    S::Future: Send,
{
    pub(super) fn new(limits: Limits, tls: Option<Certificates>, requests: S, streams: Streams) -> Self {
        let http = http(&limits, streams);
        Self { limits, tls, requests, http }
    }

    /// Resolves once the connection has ended.
    pub(super) async fn drive(&self, stream: Stream, closing: watch::Receiver<bool>) {
        match (stream, &self.tls) {
            (Stream::Unix(stream), _) => self.speak(stream, None, closing).await,
            (Stream::Tcp(stream), None) => self.speak(stream, None, closing).await,
            (Stream::Tcp(stream), Some(tls)) => {
                match timeout(self.limits.handshake_timeout, tls.acceptor().accept(stream)).await {
                    Ok(Ok(stream)) => {
                        let names = stream.get_ref().1.peer_certificates().and_then(PeerNames::of);
                        self.speak(stream, names, closing).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a connection ends: no TLS handshake in limits.handshake_timeout"),
                }
            }
        }
    }

    async fn speak(&self, io: impl Io + 'static, names: Option<PeerNames>, mut closing: watch::Receiver<bool>) {
        let limits = &self.limits;
        let activity = Activity::new();
        let service = Counted { inner: self.requests.clone(), activity: activity.clone(), names };
        let io: Box<dyn Io> = Box::new(io);
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(io), service));
        let stop = async {
            tokio::select! {
                // Its sender drives this, so it is there.
                _ = closing.wait_for(|closing| *closing) => None,
                () = sleep(age(limits.connection_age)) => Some("limits.connection_age"),
                unused = activity.unused(limits.first_request_timeout, limits.idle_timeout) => Some(match unused {
                    Unused::NoRequest => "limits.first_request_timeout",
                    Unused::Idle => "limits.idle_timeout",
                }),
            }
        };
        tokio::select! {
            ended = &mut connection => return log(ended),
            why = stop => if let Some(why) = why {
                tracing::debug!("a connection ends: {why}");
            }
        }
        // No further request is taken; those that run may end.
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = &mut connection => log(ended),
            _ = activity.unused(FAREWELL, FAREWELL) => {}
            () = sleep(limits.connection_age_grace) => tracing::debug!("a connection is cut off with its streams"),
        }
    }
}

fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection failed");
    }
}

/// HTTP/2 with nothing left to defaults that could change.
fn http(limits: &Limits, streams: Streams) -> http2::Builder<Streams> {
    let mut http = http2::Builder::new(streams);
    http.timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams_per_connection)
        .max_header_list_size(limits.header_list_bytes)
        .initial_stream_window_size(limits.stream_window_bytes)
        .initial_connection_window_size(limits.connection_window_bytes)
        .adaptive_window(false)
        .max_send_buf_size(limits.send_buffer_bytes)
        .max_pending_accept_reset_streams(limits.pending_resets)
        .max_local_error_reset_streams(limits.local_resets)
        .keep_alive_interval(limits.keepalive_interval)
        .keep_alive_timeout(limits.keepalive_timeout);
    http
}

/// An age, moved by chance by up to a tenth either way.
fn age(mean: Duration) -> Duration {
    let spread = mean / AGE_SPREAD;
    // Its keys are random, and it is there; a connection's age needs no better dice.
    let dice = RandomState::new().hash_one(()) >> 32;
    let part = f64::from(u32::try_from(dice).unwrap_or(0)) / f64::from(u32::MAX);
    mean.saturating_sub(spread) + spread.mul_f64(2.0 * part)
}

/// Counts the requests of a connection on their way to the services, and says with each whose connection it is.
struct Counted<S> {
    inner: S,
    activity: Activity,
    names: Option<PeerNames>,
}

impl<S> hyper::service::Service<Request<Incoming>> for Counted<S>
where
    S: Requests + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let running = self.activity.begin();
        if let Some(names) = &self.names {
            request.extensions_mut().insert(names.clone());
        }
        Box::pin(answer(self.inner.clone(), request.map(Body::new), running))
    }
}

async fn answer<S: Requests>(
    mut inner: S,
    request: Request<Body>,
    running: Running,
) -> Result<Response<Body>, Infallible> {
    poll_fn(|context| inner.poll_ready(context)).await?;
    let response = inner.call(request).await?;
    Ok(response.map(|body| Body::new(Answer::new(body, running))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_lie_within_a_tenth_and_differ() {
        let mean = Duration::from_mins(30);
        let ages: Vec<_> = (0..100).map(|_| age(mean)).collect();
        assert!(ages.iter().all(|age| (Duration::from_mins(27)..=Duration::from_mins(33)).contains(age)), "{ages:?}");
        assert!(ages.iter().any(|age| *age < mean) && ages.iter().any(|age| *age > mean), "{ages:?}");
    }
}
