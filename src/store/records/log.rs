//! Log entries.

use std::time::Duration;

use bytes::Bytes;

use super::{damaged, wire};
use crate::{
    batch::{
        event::{
            BatchStatus, CallError, CallFinished, Ending, Entry, Event, Reason, ResultMark, StepId, StopReason,
            Timestamp,
        },
        summary::Counts,
    },
    store::Error,
};

pub(super) fn entry_to_wire(entry: &Entry) -> wire::Entry {
    use wire::entry::Event as Wire;
    let event = match &entry.event {
        Event::BatchStarted => Wire::BatchStarted(wire::BatchStarted {}),
        Event::CallStarted { index, step_id, attempt, in_doubt, base_tool, backend, generation } => {
            Wire::CallStarted(wire::CallStarted {
                index: *index,
                step_id: step_id_to_wire(*step_id),
                attempt: *attempt,
                in_doubt: *in_doubt,
                base_tool: base_tool.clone(),
                backend: backend.clone(),
                generation: *generation,
            })
        }
        Event::CallRetrying { index, step_id, attempt, error, retry_time } => Wire::CallRetrying(wire::CallRetrying {
            index: *index,
            attempt: *attempt,
            error: Some(error_to_wire(error)),
            retry_time: retry_time.0,
            step_id: step_id_to_wire(*step_id),
        }),
        Event::CallFinished(finished) => Wire::CallFinished(finished_to_wire(finished)),
        Event::BatchResumed { in_doubt } => Wire::BatchResumed(wire::BatchResumed { in_doubt: in_doubt.clone() }),
        Event::BatchFinished { status, counts, stop_reason } => Wire::BatchFinished(wire::BatchFinished {
            status: status_to_wire(*status).into(),
            stop_reason: stop_reason_to_wire(*stop_reason).into(),
            counts: Some(counts_to_wire(counts)),
        }),
    };
    wire::Entry { time: entry.time.0, event: Some(event) }
}

pub(super) fn entry_from_wire(sequence: u64, entry: wire::Entry) -> Result<Entry, Error> {
    use wire::entry::Event as Wire;
    let event = match entry.event.ok_or_else(|| damaged("event"))? {
        Wire::BatchStarted(_) => Event::BatchStarted,
        Wire::CallStarted(started) => Event::CallStarted {
            index: started.index,
            step_id: step_id_from_wire(&started.step_id)?,
            attempt: started.attempt,
            in_doubt: started.in_doubt,
            base_tool: started.base_tool,
            backend: started.backend,
            generation: started.generation,
        },
        Wire::CallRetrying(retrying) => Event::CallRetrying {
            index: retrying.index,
            step_id: step_id_from_wire(&retrying.step_id)?,
            attempt: retrying.attempt,
            error: error_from_wire(retrying.error.ok_or_else(|| damaged("error"))?)?,
            retry_time: Timestamp(retrying.retry_time),
        },
        Wire::CallFinished(finished) => Event::CallFinished(finished_from_wire(finished)?),
        Wire::BatchResumed(resumed) => Event::BatchResumed { in_doubt: resumed.in_doubt },
        Wire::BatchFinished(finished) => Event::BatchFinished {
            status: status_from_wire(finished.status())?,
            counts: counts_from_wire(&finished.counts.ok_or_else(|| damaged("counts"))?),
            stop_reason: stop_reason_from_wire(finished.stop_reason()),
        },
    };
    Ok(Entry { sequence, time: Timestamp(entry.time), event })
}

pub(super) fn finished_to_wire(finished: &CallFinished) -> wire::CallFinished {
    use wire::call_finished::Ending as Wire;
    let ending = match &finished.ending {
        Ending::Completed { result } => Wire::Completed(wire::Completed { result: Some(mark_to_wire(*result)) }),
        Ending::Awaiting { await_id, result } => {
            Wire::Awaiting(wire::Awaiting { await_id: await_id.clone(), result: Some(mark_to_wire(*result)) })
        }
        Ending::Failed(error) => Wire::Failed(error_to_wire(error)),
        Ending::Skipped { result, await_id, args_changed } => Wire::Skipped(wire::Skipped {
            result: result.map(mark_to_wire),
            await_id: await_id.clone(),
            args_changed: *args_changed,
        }),
    };
    wire::CallFinished {
        index: finished.index,
        step_id: step_id_to_wire(finished.step_id),
        attempts: finished.attempts,
        duration: u64::try_from(finished.duration.as_nanos()).unwrap_or(u64::MAX),
        ending: Some(ending),
    }
}

pub(super) fn finished_from_wire(finished: wire::CallFinished) -> Result<CallFinished, Error> {
    use wire::call_finished::Ending as Wire;
    let mark = |mark: Option<wire::ResultMark>| mark.map(mark_from_wire).ok_or_else(|| damaged("result"));
    let ending = match finished.ending.ok_or_else(|| damaged("ending"))? {
        Wire::Completed(completed) => Ending::Completed { result: mark(completed.result)? },
        Wire::Awaiting(awaiting) => Ending::Awaiting { await_id: awaiting.await_id, result: mark(awaiting.result)? },
        Wire::Failed(error) => Ending::Failed(error_from_wire(error)?),
        Wire::Skipped(skipped) => Ending::Skipped {
            result: skipped.result.map(mark_from_wire),
            await_id: skipped.await_id,
            args_changed: skipped.args_changed,
        },
    };
    Ok(CallFinished {
        index: finished.index,
        step_id: step_id_from_wire(&finished.step_id)?,
        attempts: finished.attempts,
        duration: Duration::from_nanos(finished.duration),
        ending,
    })
}

pub(super) fn step_id_to_wire(step_id: StepId) -> Bytes {
    Bytes::copy_from_slice(step_id.0.as_bytes())
}

pub(super) fn step_id_from_wire(bytes: &Bytes) -> Result<StepId, Error> {
    uuid::Uuid::from_slice(bytes).map(StepId).map_err(|_| damaged("step id"))
}

fn mark_to_wire(mark: ResultMark) -> wire::ResultMark {
    wire::ResultMark { bytes: mark.bytes, inlined: mark.inlined }
}

fn mark_from_wire(mark: wire::ResultMark) -> ResultMark {
    ResultMark { bytes: mark.bytes, inlined: mark.inlined }
}

fn error_to_wire(error: &CallError) -> wire::CallError {
    let reason = match error.reason {
        Reason::ToolFailed => wire::Reason::ToolFailed,
        Reason::ToolNotAllowed => wire::Reason::ToolNotAllowed,
        Reason::ToolNotFound => wire::Reason::ToolNotFound,
        Reason::ToolNotBatchable => wire::Reason::ToolNotBatchable,
        Reason::InvalidArgs => wire::Reason::InvalidArgs,
        Reason::BackendUnavailable => wire::Reason::BackendUnavailable,
        Reason::TimedOut => wire::Reason::TimedOut,
        Reason::Cancelled => wire::Reason::Cancelled,
        Reason::InDoubt => wire::Reason::InDoubt,
        Reason::BadResponse => wire::Reason::BadResponse,
    };
    wire::CallError {
        reason: reason.into(),
        message: error.message.clone(),
        outcome_unknown: error.outcome_unknown,
        retryable: error.retryable,
        code: error.code.clone(),
    }
}

fn error_from_wire(error: wire::CallError) -> Result<CallError, Error> {
    let reason = match error.reason() {
        wire::Reason::Unspecified => return Err(damaged("reason")),
        wire::Reason::ToolFailed => Reason::ToolFailed,
        wire::Reason::ToolNotAllowed => Reason::ToolNotAllowed,
        wire::Reason::ToolNotFound => Reason::ToolNotFound,
        wire::Reason::ToolNotBatchable => Reason::ToolNotBatchable,
        wire::Reason::InvalidArgs => Reason::InvalidArgs,
        wire::Reason::BackendUnavailable => Reason::BackendUnavailable,
        wire::Reason::TimedOut => Reason::TimedOut,
        wire::Reason::Cancelled => Reason::Cancelled,
        wire::Reason::InDoubt => Reason::InDoubt,
        wire::Reason::BadResponse => Reason::BadResponse,
    };
    Ok(CallError {
        reason,
        message: error.message,
        outcome_unknown: error.outcome_unknown,
        retryable: error.retryable,
        code: error.code,
    })
}

pub(super) fn counts_to_wire(counts: &Counts) -> wire::Counts {
    wire::Counts {
        total: counts.total,
        completed: counts.completed,
        failed: counts.failed,
        skipped: counts.skipped,
        awaiting: counts.awaiting,
        not_run: counts.waiting,
    }
}

pub(super) fn counts_from_wire(counts: &wire::Counts) -> Counts {
    Counts {
        total: counts.total,
        completed: counts.completed,
        failed: counts.failed,
        skipped: counts.skipped,
        awaiting: counts.awaiting,
        waiting: counts.not_run,
    }
}

pub(super) fn status_to_wire(status: BatchStatus) -> wire::BatchStatus {
    match status {
        BatchStatus::Completed => wire::BatchStatus::Completed,
        BatchStatus::Partial => wire::BatchStatus::Partial,
        BatchStatus::Failed => wire::BatchStatus::Failed,
    }
}

pub(super) fn status_from_wire(status: wire::BatchStatus) -> Result<BatchStatus, Error> {
    match status {
        wire::BatchStatus::Unspecified => Err(damaged("status")),
        wire::BatchStatus::Completed => Ok(BatchStatus::Completed),
        wire::BatchStatus::Partial => Ok(BatchStatus::Partial),
        wire::BatchStatus::Failed => Ok(BatchStatus::Failed),
    }
}

pub(super) fn stop_reason_to_wire(reason: Option<StopReason>) -> wire::StopReason {
    match reason {
        None => wire::StopReason::Unspecified,
        Some(StopReason::CallFailed) => wire::StopReason::CallFailed,
        Some(StopReason::AwaitingReview) => wire::StopReason::AwaitingReview,
        Some(StopReason::Cancelled) => wire::StopReason::Cancelled,
        Some(StopReason::TaskEnded) => wire::StopReason::TaskEnded,
        Some(StopReason::Parked) => wire::StopReason::Parked,
    }
}

pub(super) fn stop_reason_from_wire(reason: wire::StopReason) -> Option<StopReason> {
    match reason {
        wire::StopReason::Unspecified => None,
        wire::StopReason::CallFailed => Some(StopReason::CallFailed),
        wire::StopReason::AwaitingReview => Some(StopReason::AwaitingReview),
        wire::StopReason::Cancelled => Some(StopReason::Cancelled),
        wire::StopReason::TaskEnded => Some(StopReason::TaskEnded),
        wire::StopReason::Parked => Some(StopReason::Parked),
    }
}
