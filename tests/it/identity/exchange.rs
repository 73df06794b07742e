//! Any RPC of the contract, by its path: bytes out, bytes and a status back.

use bytes::{Buf as _, BufMut as _, Bytes};
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

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
    let mut stream = match client.server_streaming(request, path, Plain).await {
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

/// Messages as they are.
struct Plain;

impl Codec for Plain {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Plain {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}
