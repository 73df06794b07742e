//! What the values hold: versioned protobuf (`records.proto`), to and from the domain's types.

mod batch;
mod log;
#[cfg(test)]
mod properties;
mod step;
#[cfg(test)]
mod tests;
mod variable;
mod wire;

use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message;

pub use self::{
    batch::{BatchEnd, BatchRecord, Outline},
    variable::VariableRecord,
    wire::{Counters, Locator, OpenBatch, Registration, Task},
};
use super::Error;
use crate::batch::{core::BatchNo, event::Entry, key::KeyRecord, step::StepRecord};

/// The version that this program writes, the first byte of every value. It rises only when a value cannot be read as before.
const VERSION: u8 = 1;

/// A value of the first version.
#[must_use]
pub fn encode(message: &impl Message) -> Bytes {
    let mut bytes = BytesMut::with_capacity(message.encoded_len() + 1);
    bytes.put_u8(VERSION);
    bytes.put_slice(&message.encode_to_vec());
    bytes.freeze()
}

/// Reads a value that [`encode`] wrote.
pub fn decode<M: Message + Default>(value: &Bytes) -> Result<M, Error> {
    match value.first() {
        Some(&VERSION) => {
            M::decode(value.slice(1..)).map_err(|error| Error::Damaged(format!("a record cannot be read: {error}")))
        }
        Some(&version) if version > VERSION => Err(Error::Newer(format!(
            "a record has version {version}, and this program reads up to {VERSION}: use the program that wrote it"
        ))),
        Some(_) | None => Err(Error::Damaged("a record has no version".into())),
    }
}

fn damaged(what: &str) -> Error {
    Error::Damaged(format!("a record lacks its {what}"))
}

/// An entry of a batch's log; its sequence number stands in its key.
#[must_use]
pub fn encode_entry(entry: &Entry) -> Bytes {
    encode(&log::entry_to_wire(entry))
}

/// Reads an entry that [`encode_entry`] wrote.
pub fn decode_entry(sequence: u64, value: &Bytes) -> Result<Entry, Error> {
    log::entry_from_wire(sequence, decode(value)?)
}

/// A step, to be cut into parts.
#[must_use]
pub fn encode_step(batch: BatchNo, step: &StepRecord) -> Bytes {
    encode(&step::step_to_wire(batch, step))
}

/// Reads a step whose parts have been put together again.
pub fn decode_step(step_id: crate::batch::event::StepId, value: &Bytes) -> Result<(BatchNo, StepRecord), Error> {
    step::step_from_wire(step_id, decode(value)?)
}

/// A key of a task.
#[must_use]
pub fn encode_key(name: &str, key: &KeyRecord) -> Bytes {
    encode(&step::key_to_wire(name, key))
}

/// Reads a key's name and record.
pub fn decode_key(value: &Bytes) -> Result<(String, KeyRecord), Error> {
    step::key_from_wire(decode(value)?)
}

/// A batch's head.
#[must_use]
pub fn encode_batch(batch: &BatchRecord) -> Bytes {
    encode(&batch::batch_to_wire(batch))
}

/// Reads a batch's head.
pub fn decode_batch(value: &Bytes) -> Result<BatchRecord, Error> {
    batch::batch_from_wire(decode(value)?)
}

/// A variable of a task; its name stands in its key.
#[must_use]
pub fn encode_variable(variable: &VariableRecord) -> Bytes {
    encode(&variable::to_wire(variable))
}

/// Reads a variable.
pub fn decode_variable(value: &Bytes) -> Result<VariableRecord, Error> {
    variable::from_wire(decode(value)?)
}
