//! Requests of any bytes, which no generated client would send.

use bytes::{Buf as _, BufMut as _, Bytes};
use tonic::{
    Request, Status,
    codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

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
    client.server_streaming(Request::new(message), path, Raw).await.map(drop)
}

/// Bytes as they are, both ways.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length)))
    }
}
