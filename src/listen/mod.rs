//! The server's own listener: connections are taken, bounded and driven here (table 4c of the design's security list), and requests
//! go on to the services. tonic's server has no bound on connections, idle time or the first request (ADR 0011).

mod activity;
mod body;
mod connection;
mod peer_names;
mod peers;
mod socket;
mod streams;
mod tls;

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use http::{Request, Response};
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tonic::body::Body;
use tower::Service;

use self::{connection::Connections, peers::Peers, socket::Socket, streams::Streams};
use crate::config::{Limits, Listen, Tls};

pub use self::tls::Error as CertificateError;
pub(crate) use self::{peer_names::PeerNames, tls::Certificates};

/// How long nothing is accepted after the system refused to: usually there is no descriptor left, and some connection has to end first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why nothing can listen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is refused.
    #[error("cannot listen on {at}: {cause}; choose another address with `listen`, or stop what holds it")]
    Bind {
        /// The address.
        at: String,
        /// What the system says.
        cause: io::Error,
    },
    /// Certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] CertificateError),
}

/// What requests go to: every service behind its layers. Always ready.
pub(crate) trait Requests: Service<Request<Body>, Response = Response<Body>, Error = Infallible> {}

impl<S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>> Requests for S {}

/// Bound to its address; nothing is accepted yet.
pub(crate) struct Listener {
    socket: Socket,
    certificates: Option<Certificates>,
    limits: Limits,
}

impl Listener {
    /// Reads the certificates and takes the address.
    pub(crate) async fn bind(listen: &Listen, tls: Option<&Tls>, limits: Limits) -> Result<Self, Error> {
        let certificates = tls.map(Certificates::read).transpose()?;
        let bound = Socket::bind(listen).await;
        let socket = bound.map_err(|cause| Error::Bind { at: listen.to_string(), cause })?;
        Ok(Self { socket, certificates, limits })
    }

    /// Where clients connect to: `http://127.0.0.1:50051`, `https://...` or `unix:/run/toolbatch.sock`.
    pub(crate) fn endpoint(&self) -> String {
        self.socket.endpoint(self.certificates.is_some())
    }

    /// What connections are met with, where that is TLS.
    pub(crate) fn certificates(&self) -> Option<Certificates> {
        self.certificates.clone()
    }

    /// Takes connections until `closed`, and then drives those there are to their ends. Dropped, it cuts them off.
    pub(crate) async fn serve<S>(self, requests: S, closed: impl Future<Output = ()>)
    where
        S: Requests + Clone + Send + Sync + 'static,
        S::Future: Send,
    {
        let Self { socket, certificates, limits } = self;
        let peers = Peers::new(limits.connections, limits.connections_per_peer);
        let (closing, is_closing) = watch::channel(false);
        let streams = Streams::new(limits.stall_timeout);
        let connections = Arc::new(Connections::new(limits, certificates, requests, streams.clone()));
        let mut running = JoinSet::new();
        let mut closed = std::pin::pin!(closed);
        loop {
            tokio::select! {
                biased;
                () = &mut closed => break,
                Some(ended) = running.join_next() => log_panic(ended),
                accepted = socket.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let Some(seat) = peers.seat(peer) else { continue };
                        let (connections, is_closing) = (Arc::clone(&connections), is_closing.clone());
                        running.spawn(async move {
                            connections.drive(stream, is_closing).await;
                            drop(seat);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(socket);
        closing.send_replace(true);
        while let Some(ended) = running.join_next().await {
            log_panic(ended);
        }
        streams.ended().await;
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended unexpectedly");
    }
}
