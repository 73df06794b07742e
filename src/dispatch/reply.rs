//! What a backend's answer comes to: every way it can answer or not answer, read as exactly one outcome.

use bytes::Bytes;
use tonic::{Code, Status};

use super::message::{QUOTE_MAX_BYTES, cut, plain};
use crate::{
    batch::{
        event::Reason,
        outcome::{Outcome, UsageItem},
    },
    json,
    proto::{self, CallToolResponse, call_tool_response},
};

#[cfg(test)]
mod properties;

/// One attempt's outcome, with the result's JSON text (valid UTF-8) in hand.
pub type Reply = Outcome<Bytes>;

/// The longest result (R6).
pub const MAX_RESULT_BYTES: usize = 64 * 1_024 * 1_024;

/// What a step keeps of a failure's message (R6).
const MAX_FAILURE_BYTES: usize = 64 * 1_024;

/// What is kept of a tool's own code: a word for programs, not a text.
const MAX_CODE_BYTES: usize = 256;

/// The longest name of a review, as long as any other id of the contract.
const MAX_AWAIT_ID_BYTES: usize = 256;

/// The longest unit: a word such as "pages".
const MAX_UNIT_BYTES: usize = 64;

/// The most units of one call: each becomes a usage row.
const MAX_USAGE_ITEMS: usize = 64;

/// From here on a result is checked off this thread: a megabyte takes about a millisecond, in which no other call moves.
const CHECK_ASIDE_BYTES: usize = 1_024 * 1_024;

/// tonic's words for an answer that is over the bound that it was given.
const TOO_LARGE: &str = "Error, decoded message length too large";

/// Reads a backend's answer.
pub(super) async fn read(response: CallToolResponse) -> Reply {
    match checked(response).await {
        Ok(reply) => reply,
        Err(fault) => unknown(Reason::BadResponse, format!("the tool ran, but its answer is no valid result: {fault}")),
    }
}

async fn checked(response: CallToolResponse) -> Result<Reply, String> {
    let usage = checked_usage(response.usage)?;
    match response.outcome {
        Some(call_tool_response::Outcome::ResultJson(result)) => {
            Ok(Outcome::Completed { result: checked_result(result).await?, usage })
        }
        Some(call_tool_response::Outcome::Failure(failure)) => Ok(Outcome::Failed {
            message: cut(&failure.message, MAX_FAILURE_BYTES).to_owned(),
            code: cut(&failure.code, MAX_CODE_BYTES).to_owned(),
            retryable: failure.retryable,
            usage,
        }),
        Some(call_tool_response::Outcome::Awaiting(awaiting)) => {
            if !(1..=MAX_AWAIT_ID_BYTES).contains(&awaiting.await_id.len()) {
                let bytes = awaiting.await_id.len();
                return Err(format!("its await_id has {bytes} bytes; expected 1 to {MAX_AWAIT_ID_BYTES}"));
            }
            let result = checked_result(awaiting.result_json).await?;
            Ok(Outcome::Awaiting { await_id: awaiting.await_id, result, usage })
        }
        None => Err("it has no outcome; expected result_json, failure or awaiting".to_owned()),
    }
}

async fn checked_result(text: String) -> Result<Bytes, String> {
    if text.is_empty() {
        return Ok(Bytes::from_static(b"null"));
    }
    if text.len() > MAX_RESULT_BYTES {
        return Err(too_large(&format!("the result has {} bytes", text.len())));
    }
    let text = if text.len() < CHECK_ASIDE_BYTES {
        check_json(&text)?;
        text
    } else {
        tokio::task::spawn_blocking(move || check_json(&text).map(|()| text))
            .await
            .map_err(|error| format!("checking it failed: {error}"))??
    };
    Ok(Bytes::from(text))
}

fn check_json(text: &str) -> Result<(), String> {
    json::check_result(text).map_err(|fault| format!("its result is not JSON: {}", fault.without_text()))
}

fn too_large(what: &str) -> String {
    format!("{what}; expected at most 64 MiB ({MAX_RESULT_BYTES} bytes)")
}

fn checked_usage(items: Vec<proto::UsageItem>) -> Result<Vec<UsageItem>, String> {
    if items.len() > MAX_USAGE_ITEMS {
        return Err(format!("it has {} usage items; expected at most {MAX_USAGE_ITEMS}", items.len()));
    }
    let checked = |proto::UsageItem { unit, quantity }| {
        if !(1..=MAX_UNIT_BYTES).contains(&unit.len()) {
            let (shown, bytes) = (plain(&unit, MAX_UNIT_BYTES), unit.len());
            return Err(format!("its usage has the unit {shown:?} of {bytes} bytes; expected 1 to {MAX_UNIT_BYTES}"));
        }
        if !quantity.is_finite() || quantity < 0.0 {
            let unit = plain(&unit, MAX_UNIT_BYTES);
            return Err(format!("its usage has {quantity} {unit}; expected a finite number, 0 or more"));
        }
        Ok(UsageItem { unit, quantity })
    };
    items.into_iter().map(checked).collect()
}

/// Reads a status that a backend answered instead, the request having left. `late`: the attempt's time is up.
pub(super) fn of_status(backend: &str, status: &Status, late: bool) -> Reply {
    let said = describe(status);
    match status.code() {
        Code::Unimplemented => Outcome::NotSent {
            reason: Reason::ToolNotFound,
            message: format!("backend `{backend}` lists the tool, but does not serve the method that calls it: {said}"),
        },
        // Some servers answer the end of their own timer, which is ours, with CANCELLED.
        Code::DeadlineExceeded => unknown(Reason::TimedOut, format!("backend `{backend}` answered {said}")),
        Code::Cancelled | Code::Unavailable if late => {
            unknown(Reason::TimedOut, format!("the attempt's time was up, and backend `{backend}` answered {said}"))
        }
        Code::Cancelled | Code::Unavailable => {
            let message = format!("backend `{backend}` answered {said} after it had the request");
            unknown(Reason::BackendUnavailable, message)
        }
        Code::OutOfRange if status.message().starts_with(TOO_LARGE) => {
            let message =
                format!("the tool ran, but its answer is no valid result: {}", too_large("the answer is too large"));
            unknown(Reason::BadResponse, message)
        }
        Code::Ok
        | Code::Unknown
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::ResourceExhausted
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => {
            let message = format!("backend `{backend}` answered {said}; expected an outcome of the tool");
            unknown(Reason::BadResponse, message)
        }
    }
}

/// An outcome that nobody knows.
pub(super) fn unknown(reason: Reason, message: String) -> Reply {
    Outcome::Unknown { reason, message }
}

/// A status in a few words: its code as gRPC writes it, and its message.
pub(super) fn describe(status: &Status) -> String {
    let code = match status.code() {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    };
    match status.message() {
        "" => code.to_owned(),
        message => format!("{code} ({})", plain(message, QUOTE_MAX_BYTES)),
    }
}
