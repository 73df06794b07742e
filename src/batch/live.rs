//! A batch that runs: its fold, and what only a running server knows of its calls.

use std::{sync::Arc, time::Duration};

use super::{
    core::{Attempt, BatchNo, Begin, Output, TaskNo},
    event::{CallError, Entry, Event, Now, StepId, StopReason},
    key,
    spec::{CallSpec, Spec},
    state::{CallState, Phase, Running, State},
    tools::Target,
};
use crate::seeded::{self, Bug};

/// A batch that runs.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) batch: BatchNo,
    pub(super) task: TaskNo,
    pub(super) tenant: Arc<str>,
    pub(super) batch_id: Arc<str>,
    pub(super) spec: Arc<Spec>,
    pub(super) state: State,
    /// It was told to start no further call.
    pub(super) stop: Option<StopReason>,
    /// Its task has ended, or it is parked: what an interruption cut off is not taken up again (R9).
    pub(super) closed: bool,
    pub(super) turns: Vec<Turn>,
    /// All calls before this one have ended.
    ended_before: usize,
    /// By index: the call was in flight at an interruption, so its backend may still be starting.
    pub(super) resumed: Vec<bool>,
}

/// What a call is doing at the moment. Together with its [`CallState`] this is all there is to know of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Turn {
    /// Nothing: its turn has not come, or it has ended.
    Idle,
    /// It waits for a call of another batch that runs under its key. It keeps its lane and holds no slot.
    KeyWait,
    /// It waits for its tool to appear. It holds lane, slot and key.
    Resolving {
        until: Duration,
        /// What it fails with then.
        error: CallError,
        then: Plan,
    },
    /// It waits for its backend to take one more call. It holds lane, slot and key.
    Queued {
        /// Before which gate.
        gate: usize,
        /// Where its backend is out of reach: how long it waits.
        until: Option<Duration>,
        then: Plan,
    },
    /// Its backend is asked what became of an earlier attempt. It holds lane, slot and key.
    Asking {
        attempt: u32,
        step_id: StepId,
        /// How this attempt's answer got lost; `None` where an interruption or an earlier batch left it open.
        lost: Option<CallError>,
    },
    /// An attempt is under way. It holds lane, slot and key.
    Sent,
    /// It waits for its next attempt. It holds lane, slot and key.
    Backoff { due: Duration },
}

/// What a call does once its tool is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Send it.
    Send {
        /// An earlier attempt may have taken effect.
        in_doubt: bool,
    },
    /// Ask first what became of an earlier batch's attempt.
    Ask,
}

impl Plan {
    /// Whether the call may have taken effect already, whatever becomes of it now.
    pub(super) fn may_have_landed(self) -> bool {
        match self {
            Self::Send { in_doubt } => in_doubt,
            Self::Ask => true,
        }
    }
}

impl Live {
    pub(super) fn new(begin: Begin, state: State, stop: Option<StopReason>) -> Self {
        let total = begin.spec.calls.len();
        Self {
            batch: begin.batch,
            task: begin.task,
            tenant: begin.tenant,
            batch_id: begin.batch_id,
            spec: begin.spec,
            state,
            stop,
            closed: matches!(stop, Some(StopReason::TaskEnded | StopReason::Parked)),
            turns: vec![Turn::Idle; total],
            ended_before: 0,
            resumed: vec![false; total],
        }
    }

    /// Writes an event to the log and takes it into the state.
    pub(super) fn log(&mut self, event: Event, now: Now, out: &mut Output) {
        let entry = Entry { sequence: self.state.last_sequence + 1, time: now.wall, event };
        let fits = self.state.apply(&entry);
        debug_assert_eq!(fits, Ok(()), "the core writes only what fits");
        out.entries.push((self.batch, entry));
    }

    /// Why no further call may start, if none may.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        self.stop.or(self.state.stopped)
    }

    /// Whether the call may still begin an attempt: in a stopped batch only one that was in flight at an interruption, and not
    /// where the task has ended (R9).
    pub(super) fn may_go_on(&self, index: u32) -> bool {
        self.stop_reason().is_none() || (!self.closed && self.interrupted(index))
    }

    /// Whether the log has the call in flight: outside of [`Turn::Sent`] and [`Turn::Asking`] an interruption left it so.
    pub(super) fn interrupted(&self, index: u32) -> bool {
        self.running(index).is_some_and(|running| match running.phase {
            Phase::Sent | Phase::InDoubt => true,
            Phase::Backoff { .. } => false,
        })
    }

    /// The first call that has not ended; the number of calls, where all have.
    pub(super) fn first_not_ended(&mut self) -> u32 {
        while matches!(self.state.calls.get(self.ended_before), Some(CallState::Ended(_))) {
            self.ended_before += 1;
        }
        u32::try_from(self.ended_before).unwrap_or(u32::MAX)
    }

    pub(super) fn call(&self, index: u32) -> &CallSpec {
        &self.spec.calls[index as usize]
    }

    pub(super) fn turn(&mut self, index: u32) -> &mut Turn {
        &mut self.turns[index as usize]
    }

    pub(super) fn running(&self, index: u32) -> Option<&Running> {
        match &self.state.calls[index as usize] {
            CallState::Running(running) => Some(running),
            CallState::Waiting | CallState::Ended(_) => None,
        }
    }

    /// Whether something is under way whose end will come as an input.
    pub(super) fn is_busy(&self) -> bool {
        self.turns.iter().any(|turn| matches!(turn, Turn::Sent | Turn::Asking { .. }))
    }

    /// The slots that are taken.
    pub(super) fn slots_taken(&self) -> usize {
        let leaves = |turn: &Turn| matches!(turn, Turn::Backoff { .. } if seeded::has(Bug::BackoffFreesSlot));
        self.turns.iter().filter(|turn| !matches!(turn, Turn::Idle | Turn::KeyWait) && !leaves(turn)).count()
    }

    /// Names the call towards its backend.
    pub(super) fn idempotency_key(&self, index: u32, generation: u64) -> String {
        match &self.call(index).key {
            Some(key) => key::keyed_idempotency_key(&self.tenant, &self.spec.task_id, key, generation),
            None => key::unkeyed_idempotency_key(&self.tenant, &self.batch_id, index),
        }
    }

    /// An attempt of the call, as a wish.
    pub(super) fn attempt(
        &self,
        index: u32,
        attempt: u32,
        step_id: StepId,
        target: Target,
        generation: u64,
    ) -> Attempt {
        let generation =
            generation + u64::from(seeded::has(Bug::KeyOfEachAttempt)) * u64::from(attempt.saturating_sub(1));
        Attempt {
            batch: self.batch,
            index,
            attempt,
            step_id,
            target,
            idempotency_key: self.idempotency_key(index, generation),
            in_doubt: false,
            resumed: self.resumed[index as usize],
        }
    }
}
