//! Steps and keys.

use super::{
    damaged,
    log::{finished_from_wire, finished_to_wire, step_id_from_wire, step_id_to_wire},
    wire,
};
use crate::{
    batch::{
        core::BatchNo,
        event::{StepId, Timestamp},
        key::{KeyRecord, KeyState},
        outcome::{BlobRef, Body, Payload, UsageItem},
        step::{StepEnd, StepRecord},
    },
    store::Error,
};

pub(super) fn step_to_wire(batch: BatchNo, step: &StepRecord) -> wire::Step {
    wire::Step {
        batch: batch.0,
        index: step.index,
        base_tool: step.base_tool.clone(),
        backend: step.backend.clone(),
        attempts: step.attempts,
        start_time: step.start_time.0,
        end: step.end.as_ref().map(|end| wire::StepEnd {
            time: end.time.0,
            finished: Some(finished_to_wire(&end.finished)),
            result: end.result.as_ref().map(payload_to_wire),
            usage: end
                .usage
                .iter()
                .map(|item| wire::Usage { unit: item.unit.clone(), quantity: item.quantity })
                .collect(),
        }),
    }
}

pub(super) fn step_from_wire(step_id: StepId, step: wire::Step) -> Result<(BatchNo, StepRecord), Error> {
    let end = step.end.map(end_from_wire).transpose()?;
    let record = StepRecord {
        step_id,
        index: step.index,
        base_tool: step.base_tool,
        backend: step.backend,
        attempts: step.attempts,
        start_time: Timestamp(step.start_time),
        end,
    };
    Ok((BatchNo(step.batch), record))
}

fn end_from_wire(end: wire::StepEnd) -> Result<StepEnd, Error> {
    Ok(StepEnd {
        time: Timestamp(end.time),
        finished: finished_from_wire(end.finished.ok_or_else(|| damaged("ending"))?)?,
        result: end.result.map(payload_from_wire).transpose()?,
        usage: end.usage.into_iter().map(|item| UsageItem { unit: item.unit, quantity: item.quantity }).collect(),
    })
}

pub(super) fn payload_to_wire(payload: &Payload) -> wire::Payload {
    let body = match &payload.body {
        Body::Inline(bytes) => wire::payload::Body::Inline(bytes.clone()),
        Body::Blob(blob) => {
            wire::payload::Body::Blob(wire::Blob { file: blob.file, offset: blob.offset, bytes: blob.bytes })
        }
    };
    wire::Payload { body: Some(body) }
}

pub(super) fn payload_from_wire(payload: wire::Payload) -> Result<Payload, Error> {
    Ok(match payload.body.ok_or_else(|| damaged("body"))? {
        wire::payload::Body::Inline(bytes) => Payload { bytes: bytes.len() as u64, body: Body::Inline(bytes) },
        wire::payload::Body::Blob(blob) => Payload {
            bytes: blob.bytes,
            body: Body::Blob(BlobRef { file: blob.file, offset: blob.offset, bytes: blob.bytes }),
        },
    })
}

pub(super) fn key_to_wire(name: &str, key: &KeyRecord) -> wire::Key {
    let state = match &key.state {
        KeyState::Completed { result_bytes, await_id } => {
            wire::key::State::Completed(wire::KeyCompleted { result_bytes: *result_bytes, await_id: await_id.clone() })
        }
        KeyState::Failed => wire::key::State::Failed(wire::KeyFailed {}),
        KeyState::Unknown => wire::key::State::Unknown(wire::KeyUnknown {}),
    };
    wire::Key {
        key: name.to_owned(),
        state: Some(state),
        step_id: step_id_to_wire(key.step_id),
        base_tool: key.base_tool.clone(),
        args_digest: bytes::Bytes::copy_from_slice(&key.args_digest),
        generation: key.generation,
        update_time: key.update_time.0,
        settled_by: key.settled_by.clone().unwrap_or_default(),
    }
}

pub(super) fn key_from_wire(key: wire::Key) -> Result<(String, KeyRecord), Error> {
    let state = match key.state.ok_or_else(|| damaged("state"))? {
        wire::key::State::Completed(completed) => {
            KeyState::Completed { result_bytes: completed.result_bytes, await_id: completed.await_id }
        }
        wire::key::State::Failed(_) => KeyState::Failed,
        wire::key::State::Unknown(_) => KeyState::Unknown,
    };
    let record = KeyRecord {
        state,
        step_id: step_id_from_wire(&key.step_id)?,
        base_tool: key.base_tool,
        args_digest: key.args_digest.as_ref().try_into().map_err(|_| damaged("args digest"))?,
        generation: key.generation,
        update_time: Timestamp(key.update_time),
        settled_by: Some(key.settled_by).filter(|by| !by.is_empty()),
    };
    Ok((key.key, record))
}
