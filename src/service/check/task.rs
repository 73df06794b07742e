//! What is asked of a task.

use bytes::Bytes;

use super::{MAX_KEY_BYTES, Refusal, Violations, text};
use crate::{
    batch::key::Verdict,
    dispatch::MAX_RESULT_BYTES,
    json,
    proto::{self, settle_key_request::Fate},
};

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

/// Checks what settles a key, and gives the verdict; an empty result is null. Takes as long as 64 MiB of JSON take to read.
///
/// # Errors
/// Every rule that it breaks.
pub fn check_settle(request: proto::SettleKeyRequest) -> Result<Verdict<Bytes>, Refusal> {
    let mut violations = Violations::default();
    text::check(&mut violations, "key", &request.key, 1, MAX_KEY_BYTES);
    let verdict = match request.fate {
        Some(Fate::LandedResultJson(result)) => {
            check_result(&mut violations, &result);
            Verdict::Landed(if result.is_empty() { Bytes::from_static(b"null") } else { result.into() })
        }
        Some(Fate::NotLanded(_)) => Verdict::NotLanded,
        None => {
            violations.add("fate", "neither landed_result_json nor not_landed arrived; expected one of them");
            Verdict::NotLanded
        }
    };
    violations.refuse()?;
    Ok(verdict)
}

fn check_result(violations: &mut Violations, result: &str) {
    let field = "landed_result_json";
    if result.len() > MAX_RESULT_BYTES {
        violations.add(field, format!("{} bytes arrived; expected at most {MAX_RESULT_BYTES}", result.len()));
    } else if !result.is_empty()
        && let Err(fault) = json::check_result(result)
    {
        violations.add(field, format!("{fault}; expected one JSON value, or nothing for null"));
    }
}
