//! What the server told over its sockets, and when: the HTTP/2 frames that the recorder saw leave, read as far as it takes to find
//! events on their way to clients and calls on their way to backends.

use std::collections::HashMap;

use prost::Message;
use toolbatch::proto::{BatchEvent, CallToolRequest, ExecuteBatchResponse};

use super::record::Record;

/// What an HTTP/2 client sends first (RFC 9113, 3.4). The server is one towards its backends.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
/// A gRPC message's head: whether it is compressed, and its length.
const MESSAGE_HEAD: usize = 5;

/// Something that was told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// A client was told of an event.
    Event(Box<BatchEvent>),
    /// A backend was sent an attempt.
    Attempt { batch_id: String, index: u32, attempt: u32 },
}

/// One direction of one connection.
#[derive(Debug, Default)]
struct Connection {
    /// Sent, and no whole frame yet.
    rest: Vec<u8>,
    to_backend: bool,
    started: bool,
    /// By HTTP/2 stream: the part of a message that is there.
    streams: HashMap<u32, Vec<u8>>,
}

/// Everything that was told, each with the number of records that stood before it: it left no earlier than after them.
pub(crate) fn told(records: &[Record]) -> Vec<(usize, Told)> {
    let mut connections: HashMap<i64, Connection> = HashMap::new();
    let mut all = Vec::new();
    for (place, record) in records.iter().enumerate() {
        match record {
            Record::Process => connections.clear(),
            Record::Close { fd } => {
                connections.remove(fd);
            }
            Record::Send { fd, bytes } => {
                let found = connections.entry(*fd).or_default().take(bytes);
                all.extend(found.into_iter().map(|told| (place, told)));
            }
            Record::Open { .. }
            | Record::Write { .. }
            | Record::Truncate { .. }
            | Record::Sync { .. }
            | Record::Synced { .. }
            | Record::Rename { .. }
            | Record::Unlink { .. }
            | Record::Mkdir { .. } => {}
        }
    }
    all
}

impl Connection {
    fn take(&mut self, bytes: &[u8]) -> Vec<Told> {
        self.rest.extend_from_slice(bytes);
        if !self.started {
            if PREFACE.starts_with(&self.rest) && self.rest.len() < PREFACE.len() {
                return Vec::new();
            }
            self.started = true;
            self.to_backend = self.rest.starts_with(PREFACE);
            if self.to_backend {
                self.rest.drain(..PREFACE.len());
            }
        }
        let mut found = Vec::new();
        while let Some(length) = self.frame_length() {
            let frame: Vec<u8> = self.rest.drain(..FRAME_HEAD + length).collect();
            if frame[3] == DATA {
                let stream = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]);
                self.data(stream, &frame[FRAME_HEAD..], &mut found);
            }
        }
        found
    }

    /// The length of the first frame's content, if it is all there.
    fn frame_length(&self) -> Option<usize> {
        let head = self.rest.get(..FRAME_HEAD)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        (self.rest.len() >= FRAME_HEAD + length).then_some(length)
    }

    fn data(&mut self, stream: u32, content: &[u8], found: &mut Vec<Told>) {
        let message = self.streams.entry(stream).or_default();
        message.extend_from_slice(content);
        while let Some(head) = message.get(..MESSAGE_HEAD) {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            if message.len() < MESSAGE_HEAD + length {
                return;
            }
            let whole: Vec<u8> = message.drain(..MESSAGE_HEAD + length).collect();
            let content = &whole[MESSAGE_HEAD..];
            found.extend(if self.to_backend { attempt(content) } else { event(content) });
        }
    }
}

/// `ExecuteBatch` and `WatchBatch` answer with messages of one shape.
fn event(message: &[u8]) -> Option<Told> {
    let event = ExecuteBatchResponse::decode(message).ok()?.event?;
    (event.sequence > 0 && !event.batch_id.is_empty()).then_some(Told::Event(Box::new(event)))
}

/// A call, or a lookup, which has the same shape; both are of an attempt that is on record. `ListTools` has no context.
fn attempt(message: &[u8]) -> Option<Told> {
    let context = CallToolRequest::decode(message).ok()?.context?;
    let (batch_id, index, attempt) = (context.batch_id, context.index, context.attempt);
    (attempt > 0).then_some(Told::Attempt { batch_id, index, attempt })
}
