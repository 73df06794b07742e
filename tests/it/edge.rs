//! The server as clients meet it: services by name, listeners, compression, and a reason in every status.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::task::JoinSet;
use tonic::{Code, Request, Status, codec::CompressionEncoding, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_prost::ProstCodec;
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use tonic_types::StatusExt as _;
use toolbatch::{
    config::{Config, Listen},
    proto::{
        BatchEvent, ExecuteBatchRequest, GetBatchResponse, LookupCallRequest, WatchBatchRequest,
        batch_service_client::BatchServiceClient,
    },
    server::Server,
    store::{self, Memory},
};

use crate::{
    backend::ScriptedBackend,
    refusal::{refusal, violations},
    rig::{Events, Ran, Rig, batch, call, connect},
};

const SERVICES: [&str; 3] = ["toolbatch.v1.BatchService", "toolbatch.v1.TaskService", "toolbatch.v1.ToolService"];

fn effect() -> ExecuteBatchRequest {
    batch(vec![call("effect", r#"{"id":"a"}"#)])
}

#[tokio::test]
async fn what_is_not_served_yet_says_so() {
    let rig = Rig::start().await;
    let mut tools = rig.tools();
    let status = tools.lookup_call(LookupCallRequest::default()).await.expect_err("not served");
    assert_eq!(refusal(&status), (Code::Unimplemented, "NOT_SERVED".to_owned()), "{status:?}");
}

/// As much of a request as can be sent wrongly: its first field, a text in the contract, as bytes.
#[derive(Clone, PartialEq, prost::Message)]
struct Raw {
    #[prost(bytes, tag = "1")]
    id: Vec<u8>,
}

async fn call_raw(channel: &Channel, path: &'static str, id: &[u8]) -> Status {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.expect("the connection is open");
    let path = http::uri::PathAndQuery::from_static(path);
    let codec: ProstCodec<Raw, GetBatchResponse> = ProstCodec::default();
    client.unary(Request::new(Raw { id: id.to_vec() }), path, codec).await.expect_err("it is refused")
}

#[tokio::test]
async fn statuses_that_the_transport_makes_have_a_reason_too() {
    let rig = Rig::start().await;
    let status = call_raw(&rig.channel, "/toolbatch.v1.BatchService/GetBatch", b"\xff").await;
    assert_eq!(refusal(&status), (Code::Internal, "MALFORMED_MESSAGE".to_owned()));
    assert!(status.message().contains("UTF-8"), "{}", status.message());
    for path in ["/toolbatch.v1.BatchService/Nothing", "/nobody.v1.Service/Nothing"] {
        let status = call_raw(&rig.channel, path, b"b").await;
        assert_eq!(refusal(&status), (Code::Unimplemented, "NOT_SERVED".to_owned()));
        assert!(status.message().contains(path), "{}", status.message());
    }
    assert!(rig.backend.journal().entries().is_empty());
}

#[tokio::test]
async fn health_is_told_by_service_name() {
    let rig = Rig::start().await;
    let mut health = HealthClient::new(rig.channel.clone());
    for service in SERVICES.into_iter().chain([""]) {
        let answer = health.check(HealthCheckRequest { service: service.into() }).await.expect("it is known");
        assert_eq!(answer.into_inner().status(), ServingStatus::Serving, "{service}");
    }
    let unknown = health.check(HealthCheckRequest { service: "nobody.v1.Service".into() }).await.expect_err("unknown");
    assert_eq!(refusal(&unknown), (Code::NotFound, "SERVICE_NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn a_stopping_server_tells_whoever_watches_its_health() {
    let mut rig = Rig::start().await;
    let mut health = HealthClient::new(rig.channel.clone());
    let watch = health.watch(HealthCheckRequest { service: SERVICES[0].into() }).await.expect("it is known");
    let mut watch = watch.into_inner();
    let first = watch.message().await.expect("the stream goes on").expect("a status");
    assert_eq!(first.status(), ServingStatus::Serving);
    rig.stop().await;
    let last = watch.message().await.expect("the stream goes on").expect("a status");
    assert_eq!(last.status(), ServingStatus::NotServing);
}

async fn reflect(channel: &Channel, ask: MessageRequest) -> MessageResponse {
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(ask) };
    let mut client = ServerReflectionClient::new(channel.clone());
    let answer = client.server_reflection_info(tokio_stream::once(request)).await.expect("it is served");
    let message = answer.into_inner().message().await.expect("the stream goes on").expect("an answer");
    message.message_response.expect("an answer")
}

#[tokio::test]
async fn reflection_lists_the_services_and_shows_their_files() {
    let rig = Rig::start().await;
    let MessageResponse::ListServicesResponse(list) =
        reflect(&rig.channel, MessageRequest::ListServices(String::new())).await
    else {
        panic!("it is no list")
    };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
        assert!(names.iter().any(|name| name == service), "{service} is not in {names:?}");
        let MessageResponse::FileDescriptorResponse(files) =
            reflect(&rig.channel, MessageRequest::FileContainingSymbol(service.into())).await
        else {
            panic!("{service} has no file")
        };
        assert!(!files.file_descriptor_proto.is_empty());
    }
}

#[tokio::test]
async fn compressed_requests_are_taken() {
    let rig = Rig::start().await;
    let client = || rig.batches().send_compressed(CompressionEncoding::Gzip);
    let args = format!(r#"{{"x":"{}"}}"#, "x".repeat(100_000));
    let stream = client().execute_batch(batch(vec![call("echo", &args)])).await.expect("taken in").into_inner();
    let events = Events::Execute(stream).rest().await.expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().entries()[0].args_json, args);
    let status = client().execute_batch(batch(vec![])).await.expect_err("it is refused");
    assert_eq!(violations(&status)[0].0, "call_list.calls");
}

#[tokio::test]
async fn a_unix_socket_serves_as_a_port_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("toolbatch.sock");
    let backend = ScriptedBackend::start_on_socket(&folder.path().join("tools.sock")).await;
    let backends = vec![backend.config("stub")];
    let listen = Listen::Unix(path.clone());
    let mut rig = Rig::start_with(backend, backends, |config| config.listen = listen).await;
    assert_eq!(rig.endpoint(), format!("unix:{}", path.display()));
    assert_eq!(rig.run(effect()).await.statuses(), ["completed"]);
    rig.restart().await;
    assert_eq!(rig.run(effect()).await.statuses(), ["completed"]);
    let status = rig.refused(batch(vec![])).await;
    assert_eq!(violations(&status)[0].0, "call_list.calls");
    rig.stop().await;
    assert!(!path.exists(), "it is gone with its server");
}

/// A server on a store in memory, and a client.
async fn in_memory(backend: &ScriptedBackend, memory: &Memory) -> (Server, BatchServiceClient<Channel>) {
    let config = Config {
        listen: Listen::Tcp("127.0.0.1:0".parse().expect("an address")),
        backends: vec![backend.config("stub")],
        shutdown_grace: Duration::ZERO,
        ..Config::default()
    };
    let server = Server::start_on(Arc::new(memory.clone()), config).await.expect("the server starts");
    let client = BatchServiceClient::new(connect(server.endpoint()).await);
    (server, client)
}

async fn events_of(mut client: BatchServiceClient<Channel>) -> Result<Vec<BatchEvent>, Status> {
    Events::Execute(client.execute_batch(effect()).await?.into_inner()).rest().await
}

/// Fills the store while a batch is about to be taken in. Gives back that batch, and the status that a plan is refused with.
async fn fill(
    memory: &Memory,
    client: &BatchServiceClient<Channel>,
) -> (JoinSet<Result<Vec<BatchEvent>, Status>>, Status) {
    memory.fail_commits_with(store::Error::Full("the test filled it".into()));
    let waiting = JoinSet::from_iter([events_of(client.clone())]);
    let plan = ExecuteBatchRequest { validate_only: true, ..effect() };
    loop {
        // The store is found to be full once something is to be written.
        if let Err(status) = client.clone().execute_batch(plan.clone()).await {
            return (waiting, status);
        }
    }
}

#[tokio::test]
async fn a_full_store_takes_no_new_work_makes_no_plans_and_is_read_all_the_same() {
    let (backend, memory) = (ScriptedBackend::start().await, Memory::new());
    let (server, client) = in_memory(&backend, &memory).await;
    let finished = events_of(client.clone()).await.expect("it ends");
    let (mut waiting, status) = fill(&memory, &client).await;
    for status in [status, events_of(client.clone()).await.expect_err("there is no room")] {
        assert_eq!(refusal(&status), (Code::ResourceExhausted, "STORE_FULL".to_owned()));
        assert!(status.get_details_retry_info().is_some(), "{status:?}");
    }
    let request = WatchBatchRequest { batch_id: finished[0].batch_id.clone(), after_sequence: 0 };
    let stream = client.clone().watch_batch(request).await.expect("it is there").into_inner();
    assert_eq!(Events::Watch(stream).rest().await.expect("it ends"), finished);
    assert_eq!(backend.journal().entries().len(), 1);

    memory.heal();
    let events = waiting.join_next().await.expect("it waits").expect("no panic").expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"]);
    assert_eq!(backend.journal().entries().len(), 2);
    server.stop().await.expect("it stops well");
}

#[tokio::test]
async fn a_server_with_a_full_store_can_be_stopped() {
    let (backend, memory) = (ScriptedBackend::start().await, Memory::new());
    let (server, client) = in_memory(&backend, &memory).await;
    let (mut waiting, _) = fill(&memory, &client).await;
    server.stop().await.expect("what it held was told to nobody, so the next start goes on before it");
    let status = waiting.join_next().await.expect("it waits").expect("no panic").expect_err("nothing was taken in");
    assert_eq!(refusal(&status).0, Code::Unavailable);

    memory.heal();
    let (server, client) = in_memory(&backend, &memory).await;
    assert!(backend.journal().entries().is_empty(), "what was not taken in does not run");
    let events = events_of(client).await.expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"]);
    server.stop().await.expect("it stops well");
}
