//! The domain's types as the contract's messages.

use std::time::Duration;

use crate::{
    batch::{
        event::{BatchStatus, CallError, CallFinished, Ending, Event, Reason, ResultMark, StopReason, Timestamp},
        spec::{InDoubtPolicy, Mode, Options},
        state::CallState,
        summary::Counts,
    },
    engine::{
        keys::{KeyView, Standing},
        read::{BatchView, LogLine},
        tail::Progress,
    },
    proto,
    store::records::{BatchRecord, Outline},
};

/// An entry of the log. The last one shows the summary, which `summary` is then for.
pub(super) fn event(line: &LogLine, outline: &Outline, summary: Option<proto::BatchSummary>) -> proto::BatchEvent {
    use proto::batch_event::Event as Wire;
    let name = |index: u32| outline.calls.get(index as usize);
    let tool = |index| name(index).map_or_else(String::new, |call| call.tool.to_string());
    let key = |index| name(index).and_then(|call| call.key.as_deref()).unwrap_or_default().to_owned();
    let event = match &line.entry.event {
        Event::BatchStarted => Wire::BatchStarted(proto::BatchStarted {
            task_id: outline.task_id.clone(),
            agent_id: outline.agent_id.clone(),
            total: u32::try_from(outline.calls.len()).unwrap_or(u32::MAX),
            options: Some(options(&outline.options)),
        }),
        Event::CallStarted { index, step_id, attempt, .. } => Wire::CallStarted(proto::CallStarted {
            index: *index,
            tool: tool(*index),
            key: key(*index),
            step_id: step_id.to_string(),
            attempt: *attempt,
        }),
        Event::CallRetrying { index, step_id, attempt, error, retry_time } => Wire::CallRetrying(proto::CallRetrying {
            index: *index,
            step_id: step_id.to_string(),
            attempt: *attempt,
            error: Some(call_error(error)),
            retry_time: Some(timestamp(*retry_time)),
        }),
        Event::CallFinished(finished) => Wire::CallFinished(proto::CallFinished {
            result: Some(call_result(finished, outline, line.result.as_deref())),
        }),
        Event::BatchResumed { in_doubt } => Wire::BatchResumed(proto::BatchResumed { in_doubt: in_doubt.clone() }),
        Event::BatchFinished { .. } => Wire::BatchFinished(proto::BatchFinished { summary }),
    };
    proto::BatchEvent {
        batch_id: String::new(),
        sequence: line.entry.sequence,
        time: Some(timestamp(line.entry.time)),
        event: Some(event),
    }
}

/// Progress: live only, so it has no place in the log.
pub(super) fn progress(news: Progress) -> proto::BatchEvent {
    let time = timestamp(news.time);
    let progress = proto::CallProgress {
        index: news.index,
        step_id: news.step_id.to_string(),
        progress: news.progress,
        total: news.total,
        message: news.message,
    };
    proto::BatchEvent {
        batch_id: String::new(),
        sequence: 0,
        time: Some(time),
        event: Some(proto::batch_event::Event::CallProgress(progress)),
    }
}

fn call_result(finished: &CallFinished, outline: &Outline, result: Option<&[u8]>) -> proto::CallResult {
    let call = outline.calls.get(finished.index as usize);
    let mut message = proto::CallResult {
        index: finished.index,
        tool: call.map_or_else(String::new, |call| call.tool.to_string()),
        key: call.and_then(|call| call.key.as_deref()).unwrap_or_default().to_owned(),
        status: call_status(&finished.ending).into(),
        step_id: finished.step_id.to_string(),
        duration: Some(duration(finished.duration)),
        result_json: result.map(|text| String::from_utf8_lossy(text).into_owned()).unwrap_or_default(),
        attempts: finished.attempts,
        ..proto::CallResult::default()
    };
    let omitted = |mark: ResultMark| !mark.inlined;
    match &finished.ending {
        Ending::Completed { result } => message.result_omitted = omitted(*result),
        Ending::Awaiting { await_id, result } => {
            message.result_omitted = omitted(*result);
            message.await_id.clone_from(await_id);
        }
        Ending::Failed(error) => message.error = Some(call_error(error)),
        Ending::Skipped { result, await_id, args_changed } => {
            message.result_omitted = result.is_some_and(omitted);
            message.await_id = await_id.clone().unwrap_or_default();
            message.args_changed = *args_changed;
        }
    }
    message
}

/// A batch in numbers, with a result for each call that has ended; once the batch has, for every call.
pub(super) fn summary(view: &BatchView) -> proto::BatchSummary {
    let counts = Counts::of(&view.state);
    let mut results = Vec::with_capacity(view.state.calls.len());
    for ((index, call), result) in (0..).zip(&view.state.calls).zip(&view.results) {
        match call {
            CallState::Ended(finished) => results.push(call_result(finished, &view.outline, result.as_deref())),
            CallState::Waiting if view.state.end.is_some() => results.push(not_run(index, &view.outline)),
            CallState::Waiting | CallState::Running(_) => {}
        }
    }
    let end = view.state.end;
    proto::BatchSummary {
        status: end.map_or(proto::BatchStatus::Running, |end| batch_status(end.status)).into(),
        stop_reason: stop_reason(end.and_then(|end| end.stop_reason)).into(),
        results,
        ..numbers(&counts, end.is_some())
    }
}

/// A batch in numbers alone.
fn numbers(counts: &Counts, ended: bool) -> proto::BatchSummary {
    proto::BatchSummary {
        total: counts.total,
        succeeded: counts.completed,
        failed: counts.failed,
        skipped: counts.skipped,
        awaiting: counts.awaiting,
        not_run: if ended { counts.waiting } else { 0 },
        ..proto::BatchSummary::default()
    }
}

fn not_run(index: u32, outline: &Outline) -> proto::CallResult {
    let call = outline.calls.get(index as usize);
    proto::CallResult {
        index,
        tool: call.map_or_else(String::new, |call| call.tool.to_string()),
        key: call.and_then(|call| call.key.as_deref()).unwrap_or_default().to_owned(),
        status: proto::CallStatus::NotRun.into(),
        ..proto::CallResult::default()
    }
}

/// A batch as a whole.
pub(super) fn batch(view: &BatchView) -> proto::Batch {
    proto::Batch {
        summary: Some(summary(view)),
        last_sequence: view.state.last_sequence,
        ..batch_head(&view.head, &view.outline)
    }
}

/// A batch that has ended, from its head alone: without results.
pub(super) fn ended_batch(head: &BatchRecord, outline: &Outline) -> proto::Batch {
    let mut message = batch_head(head, outline);
    if let Some(end) = &head.end {
        message.last_sequence = end.last_sequence;
        message.summary = Some(proto::BatchSummary {
            status: batch_status(end.end.status).into(),
            stop_reason: stop_reason(end.end.stop_reason).into(),
            ..numbers(&end.counts, true)
        });
    }
    message
}

fn batch_head(head: &BatchRecord, outline: &Outline) -> proto::Batch {
    proto::Batch {
        batch_id: head.batch_id.clone(),
        task_id: outline.task_id.clone(),
        agent_id: outline.agent_id.clone(),
        options: Some(options(&outline.options)),
        start_time: Some(timestamp(head.start_time)),
        end_time: head.end.map(|end| timestamp(end.end.time)),
        ..proto::Batch::default()
    }
}

/// The options as they took effect: nothing is left to a default.
fn options(options: &Options) -> proto::BatchOptions {
    let (mode, max_concurrency) = match options.mode {
        Mode::Sequential { max_concurrency } => (proto::BatchMode::Sequential, max_concurrency),
        Mode::Parallel { max_concurrency } => (proto::BatchMode::Parallel, max_concurrency),
    };
    let in_doubt = match options.in_doubt {
        InDoubtPolicy::Rerun => proto::InDoubtPolicy::Rerun,
        InDoubtPolicy::Lookup => proto::InDoubtPolicy::Lookup,
        InDoubtPolicy::Fail => proto::InDoubtPolicy::Fail,
    };
    proto::BatchOptions {
        mode: mode.into(),
        max_concurrency,
        serialize_on: options.serialize_on.clone(),
        stop_on_error: Some(options.stop_on_error),
        include_results: Some(options.include_results),
        call_timeout: options.call_timeout.map(duration),
        retry: Some(proto::RetryPolicy {
            max_attempts: options.retry.max_attempts,
            initial_backoff: Some(duration(options.retry.initial_backoff)),
            max_backoff: Some(duration(options.retry.max_backoff)),
            backoff_multiplier: options.retry.backoff_multiplier,
        }),
        in_doubt: in_doubt.into(),
    }
}

pub(super) fn call_status(ending: &Ending) -> proto::CallStatus {
    match ending {
        Ending::Completed { .. } => proto::CallStatus::Completed,
        Ending::Awaiting { .. } => proto::CallStatus::Awaiting,
        Ending::Failed(_) => proto::CallStatus::Failed,
        Ending::Skipped { .. } => proto::CallStatus::Skipped,
    }
}

pub(super) fn call_error(error: &CallError) -> proto::CallError {
    let reason = match error.reason {
        Reason::ToolFailed => proto::CallErrorReason::ToolFailed,
        Reason::ToolNotAllowed => proto::CallErrorReason::ToolNotAllowed,
        Reason::ToolNotFound => proto::CallErrorReason::ToolNotFound,
        Reason::ToolNotBatchable => proto::CallErrorReason::ToolNotBatchable,
        Reason::InvalidArgs => proto::CallErrorReason::InvalidArgs,
        Reason::BackendUnavailable => proto::CallErrorReason::BackendUnavailable,
        Reason::TimedOut => proto::CallErrorReason::TimedOut,
        Reason::Cancelled => proto::CallErrorReason::Cancelled,
        Reason::InDoubt => proto::CallErrorReason::InDoubt,
        Reason::BadResponse => proto::CallErrorReason::BadResponse,
    };
    proto::CallError {
        reason: reason.into(),
        message: error.message.clone(),
        outcome_unknown: error.outcome_unknown,
        retryable: error.retryable,
        code: error.code.clone(),
    }
}

fn batch_status(status: BatchStatus) -> proto::BatchStatus {
    match status {
        BatchStatus::Completed => proto::BatchStatus::Completed,
        BatchStatus::Partial => proto::BatchStatus::Partial,
        BatchStatus::Failed => proto::BatchStatus::Failed,
    }
}

fn stop_reason(reason: Option<StopReason>) -> proto::StopReason {
    match reason {
        None => proto::StopReason::Unspecified,
        Some(StopReason::CallFailed) => proto::StopReason::CallFailed,
        Some(StopReason::AwaitingReview) => proto::StopReason::AwaitingReview,
        Some(StopReason::Cancelled) => proto::StopReason::Cancelled,
        Some(StopReason::TaskEnded) => proto::StopReason::TaskEnded,
        Some(StopReason::Parked) => proto::StopReason::Parked,
    }
}

/// A key as it stands.
pub(super) fn key(view: KeyView) -> proto::KeyRecord {
    let state = match view.standing {
        Standing::Running => proto::KeyState::Running,
        Standing::Completed => proto::KeyState::Completed,
        Standing::Failed => proto::KeyState::Failed,
        Standing::Unknown => proto::KeyState::Unknown,
    };
    proto::KeyRecord {
        key: view.key,
        state: state.into(),
        step_id: view.step_id.map(|step_id| step_id.to_string()).unwrap_or_default(),
        base_tool: view.base_tool,
        idempotency_key: view.idempotency_key,
        update_time: view.time.map(timestamp),
        settled_by: view.settled_by.unwrap_or_default(),
    }
}

pub(super) fn timestamp(time: Timestamp) -> prost_types::Timestamp {
    let seconds = time.0.div_euclid(1_000_000_000);
    let nanos = i32::try_from(time.0.rem_euclid(1_000_000_000)).unwrap_or(0);
    prost_types::Timestamp { seconds, nanos }
}

fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}

/// The answer to a call of which nothing was run.
pub(super) fn failure(message: String, code: &str) -> proto::CallToolResponse {
    let failure = proto::ToolFailure { message, code: code.to_owned(), retryable: false };
    let outcome = Some(proto::call_tool_response::Outcome::Failure(failure));
    proto::CallToolResponse { outcome, ..proto::CallToolResponse::default() }
}
