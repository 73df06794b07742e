//! Any RPC of the contract, by its path: bytes out, bytes and a status back.

use bytes::Bytes;
use tonic::{Request, Status, client::Grpc, transport::Channel};

use crate::bytes_codec::BytesCodec;

/// What an RPC answered: its messages, and how it ended.
pub(super) struct Answer {
    pub(super) messages: Vec<Bytes>,
    pub(super) end: Result<(), Status>,
}

/// Sends one message to an RPC, such as "BatchService/GetBatch", and takes at most so many back.
pub(super) async fn exchange(channel: &Channel, rpc: &str, request: Request<Vec<u8>>, at_most: usize) -> Answer {
    let mut client = Grpc::new(channel.clone());
    client.ready().await.expect("the server is there");
    let path = format!("/toolbatch.v1.{rpc}").parse().expect("a path");
    let mut messages = Vec::new();
    // A unary RPC is a stream of one message.
    let mut stream = match client.server_streaming(request.map(Bytes::from), path, BytesCodec).await {
        Ok(response) => response.into_inner(),
        Err(status) => return Answer { messages, end: Err(status) },
    };
    while messages.len() < at_most {
        match stream.message().await {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => break,
            Err(status) => return Answer { messages, end: Err(status) },
        }
    }
    Answer { messages, end: Ok(()) }
}
