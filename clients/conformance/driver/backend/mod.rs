//! The reference backend: the tools of the suite, served until SIGTERM.
//!
//! | file | duty |
//! | --- | --- |
//! | `tools` | what is declared: names, schemas, flags |
//! | `act` | what each tool does |
//! | `gate` | waiting until a file is there |
//! | `service` | the tools as a `ToolService` |

mod act;
mod gate;
mod service;
mod tools;

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use toolbatch::proto::tool_service_server::ToolServiceServer;

use self::service::Tools;

/// How long running calls may go on after SIGTERM.
const GRACE: Duration = Duration::from_secs(30);
/// Requests of 4 MiB, and the largest args of a call beside them.
const REQUEST_MAX: usize = 5 * 1024 * 1024;
/// The service that stands for all of them in `grpc.health.v1`.
const WHOLE_SERVER: &str = "";

/// Serves the tools at `addr` until SIGTERM; then running calls have their grace period.
pub(crate) async fn run(addr: &str) -> anyhow::Result<()> {
    let addr: SocketAddr = addr.parse().with_context(|| format!("{addr}: expected HOST:PORT, such as 127.0.0.1:0"))?;
    let listener = TcpListener::bind(addr).await.with_context(|| format!("cannot listen on {addr}"))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (mut health, health_service) = tonic_health::server::health_reporter();
    let tools = ToolServiceServer::new(Tools::default()).max_decoding_message_size(REQUEST_MAX);
    let stopping = CancellationToken::new();
    let server = Server::builder()
        .add_service(health_service)
        .add_service(tools)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopping.clone().cancelled_owned());
    tokio::pin!(server);
    println!("listening");
    tokio::select! {
        end = &mut server => return end.context("the server ended by itself"),
        _ = terminate.recv() => {}
    }
    health.set_service_status(WHOLE_SERVER, ServingStatus::NotServing).await;
    // Whoever watches gets that as the last word: an open watch would hold the connection for the whole grace period.
    health.clear_service_status(WHOLE_SERVER).await;
    stopping.cancel();
    if let Ok(end) = tokio::time::timeout(GRACE, server).await {
        return end.context("the server failed while it stopped");
    }
    eprintln!("calls that still run after {} s are cancelled", GRACE.as_secs());
    Ok(())
}
