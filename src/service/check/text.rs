//! Ids, keys and tool names: bounded, and without control characters.

use super::Violations;
use crate::json::quote;

/// R1.
pub const MAX_TASK_ID_BYTES: usize = 256;

/// R1 names no bound of its own for it; it is an id like a task's.
pub const MAX_AGENT_ID_BYTES: usize = 256;

/// R1.
pub const MAX_BATCH_ID_BYTES: usize = 128;

/// Checks that `text` has `min` (0 or 1) to `max` bytes and no control character: C0, DEL and C1 could forge lines in logs and terminals.
pub(super) fn check(violations: &mut Violations, field: &str, text: &str, min: usize, max: usize) {
    if text.len() < min {
        violations.add(field, format!("nothing arrived; expected {min} to {max} bytes of text"));
    }
    if text.len() > max {
        violations.add(field, format!("{} bytes arrived: {}; expected {min} to {max}", text.len(), quote(text)));
    }
    if let Some((at, control)) = text.char_indices().find(|(_, c)| c.is_control()) {
        violations.add(
            field,
            format!(
                "{} holds the control character U+{:04X} at byte {at}; expected none of U+0000 to U+001F and U+007F to U+009F",
                quote(text),
                u32::from(control)
            ),
        );
    }
}
