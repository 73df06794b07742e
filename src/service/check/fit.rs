//! As many violations as a client's library lets through.

use prost::Message as _;
use tonic_types::pb;

use super::{Refusal, Violation};
use crate::json;

/// The bound on an encoded `google.rpc.Status`, message and details together (R1). It travels as base64, a third longer, beside
/// its message once more (at most 768 bytes in percent encoding): under 7.6 KiB, and common clients drop a status of over 8 KiB.
pub const MAX_STATUS_BYTES: usize = 5 * 1024;

/// Left for what else a status carries: its `google.rpc.ErrorInfo` (reason at most 63 bytes, domain, the counts) and its framing.
const RESERVED_BYTES: usize = 512;

/// The longest message; in percent encoding a byte takes up to three.
const MAX_MESSAGE_BYTES: usize = 256;

/// What goes into one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The status's message: how many rules are broken, and the first of them.
    pub message: String,
    /// The entries of the `google.rpc.BadRequest`, in order. Where some did not fit, the last one has no field and says how many.
    pub violations: Vec<Violation>,
    /// How many violations did not fit.
    pub more: usize,
}

/// Keeps the first violations, as many as fit into [`MAX_STATUS_BYTES`] with their message and an `ErrorInfo`; at least one.
#[must_use]
pub fn fit(refusal: &Refusal) -> Fitted {
    let message = message(refusal);
    let count = refusal.count();
    let room = MAX_STATUS_BYTES - RESERVED_BYTES - message.len();
    let total: usize = refusal.violations().map(entry_bytes).sum();
    if total <= room {
        return Fitted { message, violations: refusal.violations().cloned().collect(), more: 0 };
    }
    // The longest that the last entry can be.
    let mut used = entry_bytes(&and_more(count));
    let fits = |violation: &&Violation| {
        used += entry_bytes(violation);
        used <= room
    };
    let mut violations: Vec<_> = refusal.violations().take_while(fits).cloned().collect();
    let more = count - violations.len();
    violations.push(and_more(more));
    Fitted { message, violations, more }
}

/// One line for people, at most [`MAX_MESSAGE_BYTES`] bytes.
pub(super) fn message(refusal: &Refusal) -> String {
    let Violation { field, description } = &refusal.first;
    let message = match refusal.count() {
        1 => format!("{field}: {description}"),
        count => format!("{count} violations, first {field}: {description}"),
    };
    if message.len() <= MAX_MESSAGE_BYTES {
        return message;
    }
    format!("{}…", json::cut(&message, MAX_MESSAGE_BYTES - '…'.len_utf8()))
}

fn and_more(count: usize) -> Violation {
    let noun = if count == 1 { "violation" } else { "violations" };
    Violation::new("", format!("and {count} more {noun}"))
}

/// What a violation adds to an encoded `BadRequest`.
fn entry_bytes(violation: &Violation) -> usize {
    let entry = pb::bad_request::FieldViolation {
        field: violation.field.clone(),
        description: violation.description.clone(),
        ..Default::default()
    };
    let length = entry.encoded_len();
    prost::encoding::key_len(1) + prost::encoding::encoded_len_varint(length as u64) + length
}
