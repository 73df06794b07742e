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
/// How long of that the health service goes on saying that no call is taken.
const NEWS: Duration = Duration::from_secs(1);
/// Requests of 4 MiB, and the largest args of a call beside them.
const REQUEST_MAX: usize = 5 * 1024 * 1024;
/// The service that stands for all of them in `grpc.health.v1`.
const WHOLE_SERVER: &str = "";

/// Serves the tools at `addr` until SIGTERM; then running calls have their grace period.
pub(crate) async fn run(addr: &str) -> anyhow::Result<()> {
    let addr: SocketAddr = addr.parse().with_context(|| format!("{addr}: expected HOST:PORT, such as 127.0.0.1:0"))?;
    let listener = TcpListener::bind(addr).await.with_context(|| format!("cannot listen on {addr}"))?;
    let mut terminate = signal(SignalKind::terminate())?;
    println!("listening");
    serve(listener, async move {
        terminate.recv().await;
    })
    .await
}

async fn serve(listener: TcpListener, terminated: impl Future<Output = ()>) -> anyhow::Result<()> {
    let (mut health, health_service) = tonic_health::server::health_reporter();
    let tools = ToolServiceServer::new(Tools::default()).max_decoding_message_size(REQUEST_MAX);
    let stopping = CancellationToken::new();
    let server = Server::builder()
        .add_service(health_service)
        .add_service(tools)
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stopping.clone().cancelled_owned());
    tokio::pin!(server);
    tokio::select! {
        end = &mut server => return end.context("the server ended by itself"),
        () = terminated => {}
    }
    health.set_service_status(WHOLE_SERVER, ServingStatus::NotServing).await;
    stopping.cancel();
    if let Ok(end) = tokio::time::timeout(NEWS, &mut server).await {
        return end.context("the server failed while it stopped");
    }
    // Whoever watches knows by now: an open watch would hold its connection for the whole grace period.
    health.clear_service_status(WHOLE_SERVER).await;
    if let Ok(end) = tokio::time::timeout(GRACE.saturating_sub(NEWS), server).await {
        return end.context("the server failed while it stopped");
    }
    eprintln!("calls that still run after {} s are cancelled", GRACE.as_secs());
    Ok(())
}

#[cfg(test)]
mod tests {
    use tonic::transport::Endpoint;
    use tonic_health::pb::{
        HealthCheckRequest, health_check_response::ServingStatus as Told, health_client::HealthClient,
    };
    use toolbatch::proto::{CallToolRequest, call_tool_response::Outcome, tool_service_client::ToolServiceClient};

    use super::*;

    #[tokio::test]
    async fn a_stop_is_told_first_and_lets_a_running_call_finish() {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("x");
        let held = folder.path().join("x.held");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let terminated = CancellationToken::new();
        let talk = async {
            let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
            let mut health = HealthClient::new(channel.clone());
            let mut told = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
            assert_eq!(told.message().await.unwrap().unwrap().status(), Told::Serving);
            let args_json = serde_json::json!({"gate": gate}).to_string();
            let request = CallToolRequest { tool: "hold".into(), args_json, ..CallToolRequest::default() };
            let mut tools = ToolServiceClient::new(channel);
            let stop = async {
                while !held.exists() {
                    tokio::task::yield_now().await;
                }
                terminated.cancel();
                assert_eq!(told.message().await.unwrap().unwrap().status(), Told::NotServing);
                tokio::fs::write(&gate, "").await.unwrap();
                assert!(told.message().await.unwrap().is_none(), "the watch ends");
            };
            let (answer, ()) = tokio::join!(tools.call_tool(request), stop);
            assert!(matches!(answer.unwrap().into_inner().outcome, Some(Outcome::ResultJson(_))));
        };
        let (served, ()) = tokio::join!(serve(listener, terminated.cancelled()), talk);
        served.unwrap();
    }
}
