//! Requests of any bytes, which no generated client would send.

use bytes::Bytes;
use tonic::{Request, Status, codec::CompressionEncoding, transport::Channel};

use crate::bytes_codec::BytesCodec;

/// Every RPC of the contract.
pub(super) const RPCS: [&str; 21] = [
    "/toolbatch.v1.BatchService/ExecuteBatch",
    "/toolbatch.v1.BatchService/WatchBatch",
    "/toolbatch.v1.BatchService/GetBatch",
    "/toolbatch.v1.BatchService/ListBatches",
    "/toolbatch.v1.BatchService/CancelBatch",
    "/toolbatch.v1.TaskService/EndTask",
    "/toolbatch.v1.TaskService/SetVariable",
    "/toolbatch.v1.TaskService/GetStep",
    "/toolbatch.v1.TaskService/ReadStepResult",
    "/toolbatch.v1.TaskService/ListSteps",
    "/toolbatch.v1.TaskService/ListUsage",
    "/toolbatch.v1.TaskService/ListKeys",
    "/toolbatch.v1.TaskService/SettleKey",
    "/toolbatch.v1.TaskService/WatchTask",
    "/toolbatch.v1.ToolService/ListTools",
    "/toolbatch.v1.ToolService/CallTool",
    "/toolbatch.v1.ToolService/CallToolWithProgress",
    "/toolbatch.v1.ToolService/LookupCall",
    "/toolbatch.v1.RegistryService/RegisterBackend",
    "/toolbatch.v1.RegistryService/DeregisterBackend",
    "/toolbatch.v1.RegistryService/ListBackends",
];

/// Sends bytes as the message of a request, and waits until the answer begins.
pub(super) async fn send(channel: &Channel, rpc: &'static str, message: Bytes) -> Result<(), Status> {
    exchange(tonic::client::Grpc::new(channel.clone()), rpc, message).await
}

/// The same in gzip.
pub(super) async fn send_compressed(channel: &Channel, rpc: &'static str, message: Bytes) -> Result<(), Status> {
    exchange(tonic::client::Grpc::new(channel.clone()).send_compressed(CompressionEncoding::Gzip), rpc, message).await
}

async fn exchange(mut client: tonic::client::Grpc<Channel>, rpc: &'static str, message: Bytes) -> Result<(), Status> {
    client.ready().await.expect("the connection is open");
    let path = http::uri::PathAndQuery::from_static(rpc);
    // One answer is a stream of one, and a long stream need not be read.
    client.server_streaming(Request::new(message), path, BytesCodec).await.map(drop)
}
