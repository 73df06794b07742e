//! Variables.

use super::{
    damaged,
    step::{payload_from_wire, payload_to_wire},
    wire,
};
use crate::{
    batch::{event::Timestamp, outcome::Payload},
    store::Error,
};

/// A task's output under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableRecord {
    /// Its JSON text.
    pub value: Payload,
    /// When it was written.
    pub update_time: Timestamp,
    /// Who wrote it.
    pub writer: String,
}

pub(super) fn to_wire(variable: &VariableRecord) -> wire::Variable {
    wire::Variable {
        value: Some(payload_to_wire(&variable.value)),
        update_time: variable.update_time.0,
        writer: variable.writer.clone(),
    }
}

pub(super) fn from_wire(variable: wire::Variable) -> Result<VariableRecord, Error> {
    Ok(VariableRecord {
        value: payload_from_wire(variable.value.ok_or_else(|| damaged("value"))?)?,
        update_time: Timestamp(variable.update_time),
        writer: variable.writer,
    })
}
