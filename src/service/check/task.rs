//! What is asked of a task.

use super::{Refusal, Violations, text};
use crate::proto;

/// The longest reason for a task's end: a few sentences, and with the task's ids far below what a record of the store holds.
pub const MAX_REASON_BYTES: usize = 1_024;

/// Checks what ends a task. A `task_id` that no task can have is answered as an unknown one.
///
/// # Errors
/// Every rule that it breaks.
pub fn check_end(request: &proto::EndTaskRequest) -> Result<(), Refusal> {
    let mut violations = Violations::default();
    text::check(&mut violations, "reason", &request.reason, 0, MAX_REASON_BYTES);
    violations.refuse()
}
