//! An attempt has ended: is it repeated, asked about, or is this the call's end?

use std::{cmp::Reverse, sync::Arc, time::Duration};

use super::{
    core::{CallRef, Context, Core, KeyChange, Output, TaskNo},
    event::{CallError, CallFinished, Ending, Event, Reason, ResultMark, Timestamp},
    key::{KeyRecord, KeyState},
    live::{Live, Plan, Turn},
    outcome::{Fate, Outcome, Payload, UsageItem},
    schedule::in_doubt_error,
    spec::{InDoubtPolicy, RetryPolicy},
    step::{StepEnd, StepRecord},
};
use crate::{
    json,
    seeded::{self, Bug},
};

/// A result is inlined only if it is shorter than this (R6).
pub(super) const INLINE_RESULT_BELOW: u64 = 4 * 1024;
/// The results inlined in one batch stay below this together (R6), so that a summary fits common clients' 4 MiB.
pub(super) const INLINE_TOTAL_BELOW: u64 = 256 * 1024;
/// An error message is cut at this many bytes in events (R6): 200 of them are 400 KiB in a summary.
pub(super) const EVENT_MESSAGE_MAX: usize = 2 * 1024;

/// How a call is to end, with everything that goes on record.
#[derive(Clone, Debug)]
pub(super) enum Close {
    Completed { result: Payload, usage: Vec<UsageItem> },
    Awaiting { await_id: String, result: Payload, usage: Vec<UsageItem> },
    Failed { error: CallError, usage: Vec<UsageItem> },
    Skipped { record: KeyRecord, args_changed: bool },
}

impl Close {
    pub(super) fn failed(error: CallError) -> Self {
        Self::Failed { error, usage: Vec::new() }
    }
}

impl Core {
    /// Takes in an attempt's outcome. One of an attempt that is not the latest, or of a call that has ended, is dropped.
    pub(super) fn outcome(
        &mut self,
        at: CallRef,
        attempt: u32,
        outcome: Outcome,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return };
        let Some(running) = live.turns.get(index as usize).and_then(|_| live.running(index)) else { return };
        if (running.attempt != attempt && !seeded::has(Bug::LateAnswerCounts))
            || live.turns[index as usize] != Turn::Sent
        {
            return;
        }
        self.dirty.push_back(batch);
        let in_doubt = running.in_doubt;
        self.left_with(at, &outcome, cx);
        let Some(live) = self.batches.get(&batch) else { return };
        match outcome {
            Outcome::Completed { result, usage } => {
                self.finish(at, Close::Completed { result, usage }, cx, out);
            }
            Outcome::Awaiting { await_id, result, usage } => {
                self.finish(at, Close::Awaiting { await_id, result, usage }, cx, out);
            }
            Outcome::Failed { message, code, retryable, usage } => {
                let error = tool_error(message, code, retryable);
                self.retry_or_fail(at, error, usage, cx, out);
            }
            Outcome::NotSent { reason, message } => {
                let error = CallError {
                    reason,
                    message,
                    outcome_unknown: in_doubt,
                    retryable: reason == Reason::BackendUnavailable,
                    code: String::new(),
                };
                self.retry_or_fail(at, error, Vec::new(), cx, out);
            }
            Outcome::Unknown { reason, message } => {
                let error = CallError { reason, message, outcome_unknown: true, retryable: false, code: String::new() };
                match live.spec.options.in_doubt {
                    InDoubtPolicy::Lookup => self.ask_again(at, Some(error), out),
                    InDoubtPolicy::Rerun | InDoubtPolicy::Fail => {
                        self.finish(at, Close::failed(error), cx, out);
                    }
                }
            }
        }
    }

    /// Takes in what a backend says became of an attempt.
    pub(super) fn fate(&mut self, at: CallRef, attempt: u32, fate: Fate, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return };
        let Some(Turn::Asking { attempt: asked, lost, .. }) = live.turns.get(index as usize).cloned() else { return };
        if asked != attempt {
            return;
        }
        self.dirty.push_back(batch);
        let close = match fate {
            Fate::Landed(_) if seeded::has(Bug::LandedRunsAgain) => return self.not_landed(at, lost, cx, out),
            Fate::Landed(Outcome::Completed { result, usage }) => Close::Completed { result, usage },
            Fate::Landed(Outcome::Awaiting { await_id, result, usage }) => Close::Awaiting { await_id, result, usage },
            Fate::Landed(Outcome::Failed { message, code, retryable, usage }) => {
                Close::Failed { error: tool_error(message, code, retryable), usage }
            }
            Fate::NotLanded => return self.not_landed(at, lost, cx, out),
            Fate::Landed(Outcome::NotSent { message, .. } | Outcome::Unknown { message, .. })
            | Fate::Unknown { message } => {
                let mut error = lost.unwrap_or_else(in_doubt_error);
                error.message = format!("{}; the backend was asked what became of it: {message}", error.message);
                Close::failed(error)
            }
        };
        self.finish(at, close, cx, out);
    }

    /// The attempt never took effect and never will: as if it had never left (R8).
    fn not_landed(&mut self, at: CallRef, lost: Option<CallError>, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        if let Some(mut error) = lost {
            error.message = format!("{}; the backend says that it did not take effect", error.message);
            error.outcome_unknown = false;
            error.retryable = true;
            return self.retry_or_fail(at, error, Vec::new(), cx, out);
        }
        if live.running(index).is_none() && (live.stop_reason().is_some() || self.draining) {
            *live.turn(index) = Turn::Idle;
            return self.release_key(at);
        }
        if !live.may_go_on(index) {
            let message = "the call was in flight when the server was interrupted; the backend says that it did not take effect, and \
                           its task has ended";
            let error = CallError { message: message.into(), outcome_unknown: false, ..in_doubt_error() };
            return self.finish(at, Close::failed(error), cx, out);
        }
        if self.draining {
            // Its log still says that it was in flight, so the next start asks again.
            *live.turn(index) = Turn::Backoff { due: cx.now.mono };
            return;
        }
        self.proceed(at, Plan::Send { in_doubt: false }, cx, out);
    }

    /// A failure that may be repeated: goes into backoff where the policy allows and the batch has not stopped.
    fn retry_or_fail(
        &mut self,
        at: CallRef,
        error: CallError,
        usage: Vec<UsageItem>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let policy = live.spec.options.retry;
        let Some(running) = live.running(index) else { return };
        let (step_id, attempt, retries) = (running.step_id, running.attempt, running.retries);
        if !error.retryable
            || retries + u32::from(!seeded::has(Bug::RetryTooMany)) >= policy.max_attempts
            || live.stop_reason().is_some()
        {
            return self.finish(at, Close::Failed { error, usage }, cx, out);
        }
        let wait = backoff(&policy, retries);
        let due = cx.now.mono + wait;
        let retry_time = later(cx.now.wall, wait);
        live.log(Event::CallRetrying { index, step_id, attempt, error: for_event(error), retry_time }, cx.now, out);
        *live.turn(index) = Turn::Backoff { due };
        self.timers.push(Reverse((due, batch, index)));
    }

    /// The call's end: its event, its step, its key's record; slot, lane and key are free from here on.
    pub(super) fn finish(&mut self, at: CallRef, close: Close, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let (step_id, attempts, start_time) = match (live.running(index), &close) {
            (Some(running), _) => (running.step_id, running.attempt, running.start_time),
            (None, Close::Skipped { record, .. }) => (record.step_id, 0, cx.now.wall),
            (None, Close::Completed { .. } | Close::Awaiting { .. } | Close::Failed { .. }) => {
                let step_id = match live.turns[index as usize] {
                    Turn::Asking { step_id, .. } => step_id,
                    Turn::Idle
                    | Turn::KeyWait
                    | Turn::Resolving { .. }
                    | Turn::Queued { .. }
                    | Turn::Sent
                    | Turn::Backoff { .. } => cx.ids.next(),
                };
                (step_id, 0, cx.now.wall)
            }
        };
        let nanos = u64::try_from(cx.now.wall.0.saturating_sub(start_time.0)).unwrap_or(0);
        let duration = Duration::from_nanos(nanos);
        let finished = |ending| CallFinished { index, step_id, attempts, duration, ending };
        let (ending, full, payload, usage) = match close {
            Close::Completed { result, usage } => {
                let ending = Ending::Completed { result: mark(live, result.bytes) };
                (ending.clone(), ending, Some(result), usage)
            }
            Close::Awaiting { await_id, result, usage } => {
                let ending = Ending::Awaiting { await_id, result: mark(live, result.bytes) };
                (ending.clone(), ending, Some(result), usage)
            }
            Close::Failed { error, usage } => {
                (Ending::Failed(for_event(error.clone())), Ending::Failed(error), None, usage)
            }
            Close::Skipped { record, args_changed } => {
                let ending = skipped(live, &record, args_changed);
                live.log(Event::CallFinished(finished(ending)), cx.now, out);
                *live.turn(index) = Turn::Idle;
                return;
            }
        };
        let base = live.running(index).map(|running| (running.base_tool.clone(), running.backend.clone()));
        let (base_tool, backend) =
            base.unwrap_or_else(|| (cx.tools.base_tool(&live.spec.agent_id, &live.call(index).tool), String::new()));
        live.log(Event::CallFinished(finished(ending.clone())), cx.now, out);
        *live.turn(index) = Turn::Idle;
        self.resolving.remove(&(batch, index));
        let end = StepEnd { time: cx.now.wall, finished: finished(full), result: payload, usage };
        let step = StepRecord { step_id, index, base_tool, backend, attempts, start_time, end: Some(end) };
        self.record_key(at, &step, &ending, cx, out);
        out.steps.push((batch, step));
        self.release_key(at);
    }

    /// What the key's record says from now on. A call that was not sent while its key's outcome was open leaves it open.
    fn record_key(&mut self, at: CallRef, step: &StepRecord, ending: &Ending, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return };
        let (task, Some(key)) = (live.task, live.call(index).key.clone()) else { return };
        let before = self.keys.record(live.task, &key).map_or(0, |record| record.generation);
        let (state, generation) = match ending {
            Ending::Completed { result } => {
                (KeyState::Completed { result_bytes: result.bytes, await_id: None }, before)
            }
            Ending::Awaiting { await_id, result } => {
                (KeyState::Completed { result_bytes: result.bytes, await_id: Some(await_id.clone()) }, before)
            }
            Ending::Failed(error) if error.outcome_unknown && step.attempts == 0 => return,
            Ending::Failed(error) if error.outcome_unknown => (KeyState::Unknown, before),
            Ending::Failed(_) => (KeyState::Failed, before + 1),
            Ending::Skipped { .. } => return,
        };
        let record = KeyRecord {
            state,
            step_id: step.step_id,
            base_tool: step.base_tool.clone(),
            args_digest: json::digest(&live.call(index).args),
            generation,
            update_time: cx.now.wall,
            settled_by: None,
        };
        self.put_key(task, key, record, out);
    }

    pub(super) fn put_key(&mut self, task: TaskNo, key: Arc<str>, record: KeyRecord, out: &mut Output) {
        let is_first = self.keys.put(task, &key, record.clone());
        out.keys.push(KeyChange { task, key, record, is_first });
    }
}

/// Whether events carry a result of that length: decided here, once (R6).
fn mark(live: &Live, bytes: u64) -> ResultMark {
    let inlined = live.spec.options.include_results
        && bytes < INLINE_RESULT_BELOW
        && live.state.inlined_bytes + bytes < INLINE_TOTAL_BELOW;
    ResultMark { bytes, inlined }
}

fn skipped(live: &Live, record: &KeyRecord, args_changed: bool) -> Ending {
    match &record.state {
        KeyState::Completed { result_bytes, await_id } if !args_changed => {
            Ending::Skipped { result: Some(mark(live, *result_bytes)), await_id: await_id.clone(), args_changed }
        }
        KeyState::Completed { .. } | KeyState::Failed | KeyState::Unknown => {
            Ending::Skipped { result: None, await_id: None, args_changed }
        }
    }
}

fn tool_error(message: String, code: String, retryable: bool) -> CallError {
    CallError { reason: Reason::ToolFailed, message, outcome_unknown: false, retryable, code }
}

fn for_event(mut error: CallError) -> CallError {
    let end = error.message.floor_char_boundary(EVENT_MESSAGE_MAX);
    error.message.truncate(end);
    error
}

fn later(time: Timestamp, wait: Duration) -> Timestamp {
    Timestamp(time.0.saturating_add(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX)))
}

/// The wait before the attempt that follows `retries` earlier repeats.
fn backoff(policy: &RetryPolicy, retries: u32) -> Duration {
    let factor = policy.backoff_multiplier.powi(i32::try_from(retries).unwrap_or(i32::MAX));
    let seconds = policy.initial_backoff.as_secs_f64() * factor;
    let max = policy.max_backoff.as_secs_f64();
    Duration::from_secs_f64(if seconds.is_finite() { seconds.min(max) } else { max })
}
