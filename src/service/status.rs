//! The one place that makes a `tonic::Status`: code, message, and details that a program can act on (AIP-193).

use std::{collections::HashMap, time::Duration};

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use super::check::{self, Refusal};
use crate::{dispatch::Refusal as Refused, engine, json, store};

/// The domain of every `google.rpc.ErrorInfo`.
const DOMAIN: &str = "toolbatch.v1";
/// How long a client should wait before it tries again: a restart of the server takes about this long.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What of an id that nothing has stands in a status: every id that something can have is shorter.
const MAX_ID_BYTES: usize = 256;

/// A refusal in the making.
struct Draft {
    code: Code,
    reason: &'static str,
    message: String,
    details: ErrorDetails,
}

impl Draft {
    fn new(code: Code, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: ErrorDetails::new() }
    }

    fn retry(self) -> Self {
        self.retry_in(RETRY_AFTER)
    }

    fn retry_in(mut self, delay: Duration) -> Self {
        self.details.set_retry_info(Some(delay));
        self
    }

    fn done(mut self) -> Status {
        self.details.set_error_info(self.reason, DOMAIN, HashMap::new());
        Status::with_error_details(self.code, self.message, self.details)
    }
}

/// What the engine could not do.
pub(super) fn engine(error: engine::Error) -> Status {
    use engine::Error;
    let message = error.to_string();
    match error {
        Error::NotFound { kind, id } => {
            let reason = match kind {
                "batch" => "BATCH_NOT_FOUND",
                "step" => "STEP_NOT_FOUND",
                "key" => "KEY_NOT_FOUND",
                "backend" => "BACKEND_NOT_FOUND",
                _ => "TASK_NOT_FOUND",
            };
            let mut draft = Draft::new(Code::NotFound, reason, message);
            draft.details.set_resource_info(kind, json::cut(&id, MAX_ID_BYTES), "", "");
            draft.done()
        }
        Error::AlreadyExists { batch_id, .. } => {
            let mut draft = Draft::new(Code::AlreadyExists, "BATCH_ID_TAKEN", message);
            draft.details.set_resource_info("batch", batch_id, "", "");
            draft.done()
        }
        Error::TaskEnded { .. } => Draft::new(Code::FailedPrecondition, "TASK_ENDED", message).done(),
        Error::KeyNotUnknown { .. } => Draft::new(Code::FailedPrecondition, "KEY_NOT_UNKNOWN", message).done(),
        Error::PastTheEnd { .. } => Draft::new(Code::OutOfRange, "PAST_THE_LAST_EVENT", message).done(),
        Error::TooManyOpen { .. } => overloaded("TOO_MANY_OPEN_BATCHES", &message),
        Error::AgentHasTooMany { .. } => overloaded("AGENT_HAS_TOO_MANY_OPEN_BATCHES", &message),
        Error::Backend(refusal) => backend(&refusal),
        Error::Stopping => Draft::new(Code::Unavailable, "SERVER_STOPPING", message).retry().done(),
        Error::Store(error) => store(&error),
    }
}

/// Why a backend is not registered, or not taken out.
fn backend(refused: &Refused) -> Status {
    let message = refused.to_string();
    match refused {
        Refused::Forbidden { .. } => Draft::new(Code::PermissionDenied, "ADDRESS_NOT_ALLOWED", message).done(),
        Refused::Configured(_) => Draft::new(Code::FailedPrecondition, "BACKEND_CONFIGURED", message).done(),
        Refused::Conflict(conflict) => {
            let mut draft = Draft::new(Code::AlreadyExists, "TOOL_TAKEN", message);
            draft.details.set_resource_info(
                "tool",
                json::cut(&conflict.tool, MAX_ID_BYTES),
                conflict.first.clone(),
                "",
            );
            draft.done()
        }
        Refused::Unreachable { .. } => Draft::new(Code::Unavailable, "BACKEND_UNREACHABLE", message).retry().done(),
        Refused::Itself(_) => Draft::new(Code::FailedPrecondition, "BACKEND_IS_THIS_SERVER", message).done(),
        Refused::Schema { .. } | Refused::ToolName(_) => invalid("backend.addresses", message),
        Refused::Credential(_) => invalid("backend.credential", message),
        Refused::TooMany => Draft::new(Code::ResourceExhausted, "TOO_MANY_BACKENDS", message).done(),
    }
}

fn store(error: &store::Error) -> Status {
    tracing::error!(%error, "a request failed in the store");
    let message = error.to_string();
    match error {
        store::Error::Full(_) => Draft::new(Code::ResourceExhausted, "STORE_FULL", message).retry().done(),
        // A folder that became read-only, which ends the server as any other failure does.
        store::Error::Failed(_) | store::Error::NotWritable(_) => {
            Draft::new(Code::Unavailable, "STORE_FAILED", message).retry().done()
        }
        store::Error::Damaged(_) | store::Error::Newer(_) => {
            Draft::new(Code::DataLoss, "STORE_DAMAGED", message).done()
        }
        store::Error::InUse(_) | store::Error::Conflict(_) | store::Error::Refused(_) => {
            Draft::new(Code::Internal, "STORE_REFUSED", message).done()
        }
    }
}

/// The key of a call of a batch tool names a batch that was asked for otherwise.
pub(super) fn batch_key_taken(key: &str) -> Status {
    let key = json::quote(key);
    let message = format!(
        "context.key {key} is that of a batch with other content in this task: choose another key, or send the same content to attach to it"
    );
    Draft::new(Code::AlreadyExists, "BATCH_ID_TAKEN", message).done()
}

/// What R1 forbids, every violation by its field, as many as fit.
pub(super) fn refusal(refusal: &Refusal) -> Status {
    let fitted = check::fit(refusal);
    let mut draft = Draft::new(Code::InvalidArgument, "INVALID_REQUEST", fitted.message);
    for violation in fitted.violations {
        draft.details.add_bad_request_violation(violation.field, violation.description);
    }
    draft.done()
}

/// One field that is wrong, in the small requests.
pub(super) fn invalid(field: &str, description: impl Into<String>) -> Status {
    let description = description.into();
    let mut draft = Draft::new(Code::InvalidArgument, "INVALID_REQUEST", format!("{field}: {description}"));
    draft.details.add_bad_request_violation(field, description);
    draft.done()
}

/// Refuses who shows no token that belongs to anyone: the same for every cause, so that nobody learns which tokens there are or were.
pub(super) fn unauthenticated() -> Status {
    let message = "expected the metadata `authorization: Bearer TOKEN`, once, with a token of an agent or operator, or a client \
                   certificate with the name of one";
    Draft::new(Code::Unauthenticated, "UNAUTHENTICATED", message).done()
}

/// Refuses what a caller may not do.
pub(super) fn denied(reason: &'static str, message: &str) -> Status {
    Draft::new(Code::PermissionDenied, reason, message.to_owned()).done()
}

/// A call that this server has sent, on whatever way it came back. Only this server and its backends know its id.
pub(super) fn own_call(id: &str) -> Status {
    let message = format!("this call comes from this server itself ({id}): take it out of its backends, and of theirs");
    Draft::new(Code::FailedPrecondition, "CALLED_BY_ITSELF", message).done()
}

/// A call that has come through a chain of toolbatches.
pub(super) fn too_many_hops() -> Status {
    let message = "this call has come through more than one toolbatch: register the tool backend where the call begins";
    Draft::new(Code::FailedPrecondition, "TOO_MANY_HOPS", message).done()
}

/// An agent sends more than it may; `early` is how much later the request would have been taken.
pub(super) fn too_fast(agent: &str, most: u32, early: Duration) -> Status {
    let message = format!(
        "agent {agent:?} sends more than limits.agent_requests_per_second = {most}; nothing was begun: try again in {} ms",
        early.as_millis() + 1
    );
    Draft::new(Code::ResourceExhausted, "AGENT_SENDS_TOO_FAST", message).retry_in(early).done()
}

/// There is too much to do already; nothing of the request is recorded.
pub(super) fn overloaded(reason: &'static str, what: &str) -> Status {
    let message = format!("{what}; nothing was begun: try again in a moment");
    Draft::new(Code::ResourceExhausted, reason, message).retry().done()
}

/// An RPC of the contract that this version does not serve.
pub(super) fn not_served(rpc: &str) -> Status {
    Draft::new(Code::Unimplemented, "NOT_SERVED", format!("{rpc} is not served by this version")).done()
}

/// The client's own deadline has passed. What it watches goes on.
pub(super) fn deadline(advice: &str) -> Status {
    let message = format!("the deadline that the client set has passed; {advice}");
    Draft::new(Code::DeadlineExceeded, "DEADLINE_EXCEEDED", message).done()
}

/// A step that has no result to read.
pub(super) fn no_result(step_id: &str, state: &str) -> Status {
    let message = format!("step {step_id} has no result: it {state}");
    Draft::new(Code::FailedPrecondition, "STEP_HAS_NO_RESULT", message).done()
}

/// A reader wants to begin behind the end.
pub(super) fn past_result(offset: u64, bytes: u64) -> Status {
    let message = format!("offset is {offset}, but the result has {bytes} bytes: send an offset of at most that");
    Draft::new(Code::OutOfRange, "PAST_THE_RESULT", message).done()
}

/// How tonic's refusal of a message over the limit begins (0.14.9); a test sends such a message, so a change of words is noticed.
const TOO_LARGE: &str = "Error, decoded message length too large";
/// What a status of tonic, or of one of its services, is about: the reason that goes with its code.
const FOREIGN_REASONS: [(Code, &str); 4] = [
    (Code::ResourceExhausted, "MESSAGE_TOO_LARGE"),
    (Code::Unimplemented, "NOT_SERVED"),
    (Code::Internal, "MALFORMED_MESSAGE"),
    (Code::NotFound, "SERVICE_NOT_FOUND"),
];
/// What of an RPC's path stands in a message; every path of the contract is shorter.
const MAX_RPC_BYTES: usize = 200;

/// A status that tonic, or one of its services, answered the RPC with. A message over the limit is `OUT_OF_RANGE` with tonic, but
/// `RESOURCE_EXHAUSTED` by gRPC's table.
pub(super) fn foreign(rpc: &str, status: &Status) -> Status {
    let too_large = status.code() == Code::OutOfRange && status.message().starts_with(TOO_LARGE);
    let code = if too_large { Code::ResourceExhausted } else { status.code() };
    let reason = FOREIGN_REASONS.iter().find(|(known, _)| *known == code).map_or("REFUSED", |(_, reason)| reason);
    let message = match status.message() {
        "" => format!("{} is not served here", json::cut(rpc, MAX_RPC_BYTES)),
        message => message.to_owned(),
    };
    let mut details = ErrorDetails::new();
    details.set_error_info(reason, DOMAIN, HashMap::new());
    // Its metadata tells a client what to do, such as which compressions are taken.
    Status::with_error_details_and_metadata(code, message, details, status.metadata().clone())
}
