//! What a batch's log adds up to. The same fold serves the live batch, recovery, and whoever asks for the batch later.

use super::event::{BatchStatus, CallError, CallFinished, Ending, Entry, Event, StepId, StopReason, Timestamp};
use crate::seeded::{self, Bug};

/// The fold over a batch's log up to some entry.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// One for each call of the spec, by index.
    pub calls: Vec<CallState>,
    /// The bytes of results inlined so far, which R6 bounds.
    pub inlined_bytes: u64,
    /// The sequence number of the last entry; 0 before the first.
    pub last_sequence: u64,
    /// When the batch was accepted.
    pub start_time: Timestamp,
    /// Why no further call may start, because of the first failure under `stop_on_error` or a call that waits for a review:
    /// whichever came first.
    pub stopped: Option<StopReason>,
    /// How it ended, once it has.
    pub end: Option<End>,
    stop_on_error: bool,
}

/// One call's life: `Waiting` → `Running` → `Ended`, or straight from `Waiting` to `Ended` where nothing is sent.
#[derive(Clone, Debug, PartialEq)]
pub enum CallState {
    /// Its turn has not come.
    Waiting,
    /// At least one attempt was about to leave.
    Running(Running),
    /// It never runs again in this batch.
    Ended(CallFinished),
}

/// A call between its first attempt and its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// The same for all attempts.
    pub step_id: StepId,
    /// The latest attempt, from 1.
    pub attempt: u32,
    /// How many attempts the retry policy has repeated; reruns after an interruption do not count.
    pub retries: u32,
    /// When the first attempt was about to leave.
    pub start_time: Timestamp,
    /// What the tool resolved to.
    pub base_tool: String,
    /// Where the latest attempt went.
    pub backend: String,
    /// The key's generation that the idempotency key is derived from.
    pub generation: u64,
    /// An attempt before the latest one may have taken effect; once so, it stays so.
    pub in_doubt: bool,
    /// Where the latest attempt stands.
    pub phase: Phase,
}

/// Where a running call's latest attempt stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// It was about to leave, and nothing was heard since. At recovery this is what "in flight" means.
    Sent,
    /// It failed and will be repeated.
    Backoff {
        /// How it failed.
        error: CallError,
        /// When the next attempt is due.
        retry_time: Timestamp,
    },
    /// A crash cut it off: it may have taken effect.
    InDoubt,
}

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Over all calls.
    pub status: BatchStatus,
    /// Set only where a call was not run.
    pub stop_reason: Option<StopReason>,
    /// When.
    pub time: Timestamp,
}

/// An entry that cannot follow what the log says so far: the log is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("entry {sequence} does not fit the log before it: {reason}")]
pub struct Misfit {
    /// The entry's sequence number.
    pub sequence: u64,
    /// What does not fit.
    pub reason: &'static str,
}

impl State {
    /// A batch before its first entry.
    #[must_use]
    pub fn new(total: usize, stop_on_error: bool) -> Self {
        Self {
            calls: vec![CallState::Waiting; total],
            inlined_bytes: 0,
            last_sequence: 0,
            start_time: Timestamp::default(),
            stopped: None,
            end: None,
            stop_on_error,
        }
    }

    /// Takes in the next entry. On a misfit nothing is changed.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Misfit> {
        let misfit = |reason| Misfit { sequence: entry.sequence, reason };
        if entry.sequence != self.last_sequence + 1 {
            return Err(misfit("its sequence number is not the next one"));
        }
        if self.end.is_some() {
            return Err(misfit("the batch has ended"));
        }
        match &entry.event {
            Event::BatchStarted => self.start_time = entry.time,
            Event::CallStarted { index, step_id, attempt, in_doubt, base_tool, backend, generation } => {
                let call = self.call(*index).ok_or_else(|| misfit("there is no such call"))?;
                let (start_time, retries, was_in_doubt) = match call {
                    CallState::Waiting => (entry.time, 0, false),
                    CallState::Running(running) => (running.start_time, running.retries, running.in_doubt),
                    CallState::Ended(_) => return Err(misfit("the call has ended")),
                };
                *call = CallState::Running(Running {
                    step_id: *step_id,
                    attempt: *attempt,
                    retries,
                    start_time,
                    base_tool: base_tool.clone(),
                    backend: backend.clone(),
                    generation: *generation,
                    in_doubt: was_in_doubt || *in_doubt,
                    phase: Phase::Sent,
                });
            }
            Event::CallRetrying { index, error, retry_time, .. } => {
                let running = self.running(*index).ok_or_else(|| misfit("the call is not running"))?;
                running.retries += 1;
                running.phase = Phase::Backoff { error: error.clone(), retry_time: *retry_time };
            }
            Event::CallFinished(finished) => {
                let call = self.call(finished.index).ok_or_else(|| misfit("there is no such call"))?;
                if matches!(call, CallState::Ended(_)) {
                    return Err(misfit("the call has ended"));
                }
                *call = CallState::Ended(finished.clone());
                self.inlined_bytes += inlined_bytes(&finished.ending);
                self.stopped = self.stopped.or(self.stop_after(&finished.ending));
            }
            Event::BatchResumed { in_doubt } => {
                if in_doubt.iter().any(|index| self.running(*index).is_none()) {
                    return Err(misfit("a call in doubt was not running"));
                }
                for index in in_doubt {
                    if let Some(running) = self.running(*index) {
                        running.phase = Phase::InDoubt;
                    }
                }
            }
            Event::BatchFinished { status, stop_reason, .. } => {
                self.end = Some(End { status: *status, stop_reason: *stop_reason, time: entry.time });
            }
        }
        if !matches!(entry.event, Event::CallRetrying { .. } if seeded::has(Bug::SequenceReused)) {
            self.last_sequence = entry.sequence;
        }
        Ok(())
    }

    /// The calls in flight: what `BatchResumed` must name.
    #[must_use]
    pub fn in_flight(&self) -> Vec<u32> {
        let sent = |call: &CallState| match call {
            CallState::Running(running) => match running.phase {
                Phase::Sent | Phase::InDoubt => true,
                Phase::Backoff { .. } => false,
            },
            CallState::Waiting | CallState::Ended(_) => false,
        };
        (0..).zip(&self.calls).filter(|(_, call)| sent(call)).map(|(index, _)| index).collect()
    }

    fn stop_after(&self, ending: &Ending) -> Option<StopReason> {
        match ending {
            Ending::Awaiting { .. } => Some(StopReason::AwaitingReview),
            Ending::Failed(_) => self.stop_on_error.then_some(StopReason::CallFailed),
            Ending::Completed { .. } | Ending::Skipped { .. } => None,
        }
    }

    fn call(&mut self, index: u32) -> Option<&mut CallState> {
        self.calls.get_mut(index as usize)
    }

    fn running(&mut self, index: u32) -> Option<&mut Running> {
        match self.call(index)? {
            CallState::Running(running) => Some(running),
            CallState::Waiting | CallState::Ended(_) => None,
        }
    }
}

impl CallState {
    /// How the call ended, once it has.
    #[must_use]
    pub fn finished(&self) -> Option<&CallFinished> {
        match self {
            Self::Ended(finished) => Some(finished),
            Self::Waiting | Self::Running(_) => None,
        }
    }
}

fn inlined_bytes(ending: &Ending) -> u64 {
    match ending {
        Ending::Completed { result }
        | Ending::Awaiting { result, .. }
        | Ending::Skipped { result: Some(result), .. } => {
            if result.inlined {
                result.bytes
            } else {
                0
            }
        }
        Ending::Failed(_) | Ending::Skipped { result: None, .. } => 0,
    }
}
