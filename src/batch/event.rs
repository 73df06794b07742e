//! The batch's durable log, entry by entry.

use std::{fmt, time::Duration};

use uuid::Uuid;

use super::summary::Counts;

/// Nanoseconds since the Unix epoch, by the wall clock. For records and for people, never for timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// A moment by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// For records and people. It may jump.
    pub wall: Timestamp,
    /// For timers: time since the process began. It never jumps.
    pub mono: Duration,
}

/// The id of a call's step, a UUIDv7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub Uuid);

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One entry of a batch's log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// 1 for the first, then without gaps.
    pub sequence: u64,
    /// When it was written.
    pub time: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened to a batch. The state of a batch is a fold over these.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The batch was accepted; always sequence 1.
    BatchStarted,
    /// An attempt of a call is about to leave.
    CallStarted {
        /// Which call.
        index: u32,
        /// Its step; the same for all its attempts.
        step_id: StepId,
        /// 1 for the first.
        attempt: u32,
        /// The backend is told that an earlier attempt may have taken effect.
        in_doubt: bool,
        /// What the call's tool resolved to.
        base_tool: String,
        /// The backend it goes to.
        backend: String,
        /// For a keyed call: its key's generation, which the idempotency key is derived from.
        generation: u64,
    },
    /// An attempt failed in a way that will be repeated.
    CallRetrying {
        /// Which call.
        index: u32,
        /// Its step.
        step_id: StepId,
        /// The attempt that failed.
        attempt: u32,
        /// How it failed.
        error: CallError,
        /// When the next attempt is due.
        retry_time: Timestamp,
    },
    /// A call has come to its end; it never runs again in this batch.
    CallFinished(CallFinished),
    /// A server that restarted took the batch up again.
    BatchResumed {
        /// The calls that were in flight, ascending.
        in_doubt: Vec<u32>,
    },
    /// The batch is over; always the last entry.
    BatchFinished {
        /// How it went.
        status: BatchStatus,
        /// In numbers; those still waiting were not run.
        counts: Counts,
        /// Why calls were left out; set only where one was.
        stop_reason: Option<StopReason>,
    },
}

/// How one call came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFinished {
    /// Which call.
    pub index: u32,
    /// The call's step; for a skipped call the step that ran it first.
    pub step_id: StepId,
    /// How often it was sent.
    pub attempts: u32,
    /// From the first attempt to the end, backoff included.
    pub duration: Duration,
    /// Which end it was.
    pub ending: Ending,
}

/// The ways a call can end.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The tool did it.
    Completed {
        /// What it answered.
        result: ResultMark,
    },
    /// The tool ran and waits for a person's review.
    Awaiting {
        /// Names the review.
        await_id: String,
        /// What it answered so far.
        result: ResultMark,
    },
    /// It failed, or may have.
    Failed(CallError),
    /// Its key was done before.
    Skipped {
        /// The original's result, where tool and args are the same.
        result: Option<ResultMark>,
        /// The original's review, where it waits for one and tool and args are the same.
        await_id: Option<String>,
        /// Tool or args differ from those that the key ran with.
        args_changed: bool,
    },
}

/// That there is a result, and whether events carry it. The bytes stand on the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultMark {
    /// The length of the JSON text.
    pub bytes: u64,
    /// It is inlined in events and summary: decided once, when the call finished (R6).
    pub inlined: bool,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// The kind of failure.
    pub reason: Reason,
    /// For people and models: what arrived, what was expected, what to do.
    pub message: String,
    /// The call may have taken effect.
    pub outcome_unknown: bool,
    /// A repeat can succeed, and this attempt changed nothing.
    pub retryable: bool,
    /// The tool's own code; empty where it gave none.
    pub code: String,
}

/// The kinds of failure (`CallErrorReason` of the contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The tool ran and reported a failure.
    ToolFailed,
    /// Not in the agent's tool list.
    ToolNotAllowed,
    /// No backend serves it.
    ToolNotFound,
    /// No batch may call it.
    ToolNotBatchable,
    /// The args do not fit the tool's input schema.
    InvalidArgs,
    /// The backend could not be reached, or was lost.
    BackendUnavailable,
    /// No answer in time.
    TimedOut,
    /// Aborted on request.
    Cancelled,
    /// In flight at an interruption, and not to be run again.
    InDoubt,
    /// The backend's answer is no valid result.
    BadResponse,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStatus {
    /// Every call is completed or skipped.
    Completed,
    /// Some are.
    Partial,
    /// None is completed, skipped or awaiting.
    Failed,
}

/// Why a batch started no further calls before the list's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// A call failed under `stop_on_error`.
    CallFailed,
    /// A call waits for a review.
    AwaitingReview,
    /// `CancelBatch`.
    Cancelled,
    /// `EndTask`.
    TaskEnded,
    /// It was running at too many crashes of the server in a row.
    Parked,
}
