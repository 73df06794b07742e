//! Which calls may start now (R4), when a batch is over (R7), and what the passing of time brings.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use super::{
    core::{BatchNo, Begin, CallRef, Context, Core, Effect, Output, Resumed},
    event::{CallError, Event, Reason, StopReason},
    gate::Arrival,
    keys::Claim,
    live::{Live, Plan, Turn},
    settle::Close,
    spec::{InDoubtPolicy, Mode},
    state::{CallState, Phase, State},
    summary::Counts,
};
use crate::seeded::{self, Bug};

impl Core {
    pub(super) fn start(&mut self, begin: Begin, cx: &mut Context<'_>, out: &mut Output) {
        let state = State::new(begin.spec.calls.len(), begin.spec.options.stop_on_error);
        let batch = self.enter(begin, state, None);
        if let Some(live) = self.batches.get_mut(&batch) {
            live.log(Event::BatchStarted, cx.now, out);
        }
        self.dirty.push_back(batch);
    }

    /// Takes batches up where their logs end: what was in flight follows the policy, what was in backoff goes on. Nothing starts
    /// before all are in, or a call could run under a key that a call of a later batch still holds.
    pub(super) fn resume(&mut self, batches: Vec<Resumed>, cx: &mut Context<'_>, out: &mut Output) {
        let mut interrupted = Vec::with_capacity(batches.len());
        for Resumed { begin, mut state, stop } in batches {
            let in_doubt = state.in_flight();
            let stop = stop.filter(|_| !seeded::has(Bug::CancelForgottenOnResume));
            state.stopped = state.stopped.filter(|_| !seeded::has(Bug::FailureForgottenOnResume));
            let batch = self.enter(begin, state, stop);
            self.take_hold(batch, &in_doubt, cx, out);
            interrupted.push((batch, in_doubt));
        }
        for (batch, in_doubt) in interrupted {
            for index in in_doubt {
                self.follow_policy(CallRef { batch, index }, cx, out);
            }
            self.dirty.push_back(batch);
        }
    }

    /// Gives the calls of a resumed batch back what they held: keys, and the rest of their backoff.
    fn take_hold(&mut self, batch: BatchNo, in_doubt: &[u32], cx: &mut Context<'_>, out: &mut Output) {
        let Some(live) = self.batches.get_mut(&batch) else { return };
        live.log(Event::BatchResumed { in_doubt: in_doubt.to_vec() }, cx.now, out);
        for index in in_doubt {
            live.resumed[*index as usize] = true;
        }
        let max_backoff = live.spec.options.retry.max_backoff;
        for index in (0..).take(live.turns.len()) {
            let Some(running) = live.running(index) else { continue };
            if let Phase::Backoff { retry_time, .. } = &running.phase {
                let wait = u64::try_from(retry_time.0.saturating_sub(cx.now.wall.0)).unwrap_or(0);
                let due = cx.now.mono + std::time::Duration::from_nanos(wait).min(max_backoff);
                *live.turn(index) = Turn::Backoff { due };
                self.timers.push(Reverse((due, batch, index)));
            }
            if let Some(key) = live.call(index).key.as_ref().filter(|_| !seeded::has(Bug::ResumedLeavesKey)) {
                self.keys.claim(live.task, key, batch, index);
            }
        }
    }

    /// A call that was in flight at the interruption: runs again, is asked about, or fails.
    fn follow_policy(&mut self, at: CallRef, cx: &mut Context<'_>, out: &mut Output) {
        let Some(live) = self.batches.get(&at.batch) else { return };
        let policy = if live.closed { InDoubtPolicy::Fail } else { live.spec.options.in_doubt };
        match policy {
            InDoubtPolicy::Fail if seeded::has(Bug::FailReruns) => {
                self.proceed(at, Plan::Send { in_doubt: true }, cx, out);
            }
            InDoubtPolicy::Rerun => {
                self.proceed(at, Plan::Send { in_doubt: !seeded::has(Bug::RerunNotInDoubt) }, cx, out);
            }
            InDoubtPolicy::Lookup => self.ask_again(at, None, out),
            InDoubtPolicy::Fail => {
                let error = cut_off_error(live.stop, live.spec.direct);
                self.finish(at, Close::failed(error), cx, out);
            }
        }
    }

    fn enter(&mut self, begin: Begin, state: State, stop: Option<StopReason>) -> BatchNo {
        let (batch, task) = (begin.batch, begin.task);
        let mut stored: std::collections::HashMap<_, _> = begin.keys.iter().cloned().collect();
        for key in begin.spec.calls.iter().filter_map(|call| call.key.as_ref()) {
            self.keys.enter(task, key, stored.remove(key));
        }
        self.batches.insert(batch, Live::new(begin, state, stop));
        batch
    }

    /// Starts what may start, stops what must not, and ends the batch once nothing is left to do.
    pub(super) fn look_over(&mut self, batch: BatchNo, cx: &mut Context<'_>, out: &mut Output) {
        let Some(live) = self.batches.get(&batch) else { return };
        if live.stop_reason().is_some() {
            self.halt(batch, cx, out);
        } else if !self.draining {
            self.start_calls(batch, cx, out);
        }
        self.end_if_done(batch, cx, out);
    }

    /// Starts calls in the order given, as far as slots, lanes and keys allow.
    fn start_calls(&mut self, batch: BatchNo, cx: &mut Context<'_>, out: &mut Output) {
        let mut lanes: HashSet<Arc<str>> = HashSet::new();
        let Some(mut index) = self.batches.get_mut(&batch).map(Live::first_not_ended) else { return };
        loop {
            let Some(live) = self.batches.get_mut(&batch) else { return };
            let (width, in_order) = match live.spec.options.mode {
                Mode::Sequential { .. } => (1, true),
                Mode::Parallel { max_concurrency } => (max_concurrency as usize, false),
            };
            let Some(state) = live.state.calls.get(index as usize) else { return };
            let lane = live.call(index).lane.clone();
            let free_lane = lane.as_ref().is_none_or(|lane| !lanes.contains(lane));
            if matches!(state, CallState::Waiting)
                && matches!(live.turns[index as usize], Turn::Idle | Turn::KeyWait)
                && free_lane
            {
                if live.slots_taken() >= width {
                    return;
                }
                self.begin(CallRef { batch, index }, cx, out);
            }
            let Some(live) = self.batches.get(&batch) else { return };
            if live.stop_reason().is_some() {
                self.dirty.push_back(batch);
                return;
            }
            if !matches!(live.state.calls[index as usize], CallState::Ended(_)) {
                if in_order {
                    return;
                }
                let leaves = matches!(live.turns[index as usize], Turn::Backoff { .. } if seeded::has(Bug::RetryLeavesLane))
                    || (live.resumed[index as usize] && seeded::has(Bug::ResumedLeavesLane));
                lanes.extend(lane.filter(|_| !leaves));
            }
            index += 1;
        }
    }

    /// Takes back what has not left: waiting calls are not run, and a call in backoff ends with its last failure, since a
    /// stopped batch starts no attempt. A call in flight at an interruption follows its policy to the end (R9).
    fn halt(&mut self, batch: BatchNo, cx: &mut Context<'_>, out: &mut Output) {
        let Some(live) = self.batches.get_mut(&batch) else { return };
        for index in (0..).take(live.turns.len()) {
            let Some(live) = self.batches.get_mut(&batch) else { return };
            match live.turns[index as usize].clone() {
                Turn::KeyWait => *live.turn(index) = Turn::Idle,
                Turn::Resolving { error, then, .. } if !live.may_go_on(index) => {
                    self.take_back(CallRef { batch, index }, then, error, cx, out);
                }
                Turn::Queued { then, .. } if !live.may_go_on(index) => {
                    self.take_back(CallRef { batch, index }, then, held_back_error(), cx, out);
                }
                Turn::Backoff { .. } => {
                    if let Some(error) = backoff_error(live, index) {
                        self.finish(CallRef { batch, index }, Close::failed(error), cx, out);
                    }
                }
                Turn::Idle | Turn::Resolving { .. } | Turn::Queued { .. } | Turn::Asking { .. } | Turn::Sent => {}
            }
        }
    }

    /// A call that waits to be sent is not. `not_sent`: how one ends that was in flight at an interruption and did not land.
    fn take_back(&mut self, at: CallRef, then: Plan, not_sent: CallError, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let error = match live.running(index).map(|running| &running.phase) {
            Some(Phase::Backoff { error, .. }) => error.clone(),
            Some(Phase::Sent | Phase::InDoubt) if then.may_have_landed() => in_doubt_error(),
            Some(Phase::Sent | Phase::InDoubt) => not_sent,
            None => {
                *live.turn(index) = Turn::Idle;
                self.resolving.remove(&(batch, index));
                return self.release_key(at);
            }
        };
        self.finish(at, Close::failed(error), cx, out);
    }

    fn end_if_done(&mut self, batch: BatchNo, cx: &mut Context<'_>, out: &mut Output) {
        let Some(live) = self.batches.get_mut(&batch) else { return };
        if !live.turns.iter().all(|turn| matches!(turn, Turn::Idle)) {
            return;
        }
        let (counts, reason) = (Counts::of(&live.state), live.stop_reason());
        if counts.waiting > 0 && (reason.is_none() || seeded::has(Bug::StoppedNeverEnds)) {
            return;
        }
        let (status, stop_reason) = (counts.status(), counts.stop_reason(reason));
        live.log(Event::BatchFinished { status, counts, stop_reason }, cx.now, out);
        if let Some(live) = self.batches.remove(&batch) {
            for key in live.spec.calls.iter().filter_map(|call| call.key.as_ref()) {
                self.keys.leave(live.task, key);
            }
        }
    }

    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        if self.draining {
            return;
        }
        while let Some(&Reverse((due, batch, index))) = self.timers.peek() {
            if due > cx.now.mono {
                return;
            }
            self.timers.pop();
            let Some(live) = self.batches.get_mut(&batch).filter(|live| live.may_go_on(index)) else { continue };
            match live.turn(index).clone() {
                Turn::Backoff { due: current } if current == due => {
                    let in_doubt = live.running(index).is_some_and(|running| running.in_doubt);
                    self.proceed(CallRef { batch, index }, Plan::Send { in_doubt }, cx, out);
                }
                Turn::Resolving { until, mut error, then } if until == due => {
                    error.outcome_unknown = then.may_have_landed();
                    self.finish(CallRef { batch, index }, Close::failed(error), cx, out);
                }
                Turn::Queued { gate, until: Some(until), then } if until == due => {
                    self.give_up_waiting(CallRef { batch, index }, gate, then, cx, out);
                }
                Turn::Idle
                | Turn::KeyWait
                | Turn::Resolving { .. }
                | Turn::Queued { .. }
                | Turn::Asking { .. }
                | Turn::Sent
                | Turn::Backoff { .. } => continue,
            }
            self.dirty.push_back(batch);
        }
    }

    pub(super) fn retry_resolving(&mut self, cx: &mut Context<'_>, out: &mut Output) {
        if self.draining {
            return;
        }
        for (batch, index) in std::mem::take(&mut self.resolving) {
            let Some(live) = self.batches.get_mut(&batch).filter(|live| live.may_go_on(index)) else { continue };
            if let Turn::Resolving { then, .. } = live.turn(index).clone() {
                self.proceed(CallRef { batch, index }, then, cx, out);
                self.dirty.push_back(batch);
            }
        }
    }

    pub(super) fn stop(
        &mut self,
        batches: &[BatchNo],
        reason: StopReason,
        abort: bool,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        for batch in batches {
            let Some(live) = self.batches.get_mut(batch) else { continue };
            live.stop = live.stop_reason().or(Some(reason));
            live.closed |= reason == StopReason::TaskEnded;
            self.dirty.push_back(*batch);
        }
        if abort {
            for batch in batches {
                self.abort(*batch, cx, out);
            }
        }
    }

    /// Cuts off what a stopped batch has under way.
    fn abort(&mut self, batch: BatchNo, cx: &mut Context<'_>, out: &mut Output) {
        let total = self.batches.get(&batch).map_or(0, |live| live.turns.len());
        for index in (0..).take(total) {
            let Some(live) = self.batches.get(&batch) else { return };
            let may_have_landed = match &live.turns[index as usize] {
                Turn::Sent => {
                    self.left(CallRef { batch, index }, Arrival::Unclear, cx);
                    out.effects.push(Effect::Abort { batch, index });
                    true
                }
                Turn::Asking { .. } => {
                    out.effects.push(Effect::Abort { batch, index });
                    true
                }
                Turn::Resolving { then, .. } | Turn::Queued { then, .. } if live.may_go_on(index) => {
                    then.may_have_landed()
                }
                // While draining: the backend has said that it did not land.
                Turn::Backoff { .. } if live.interrupted(index) => false,
                Turn::Idle | Turn::KeyWait | Turn::Resolving { .. } | Turn::Queued { .. } | Turn::Backoff { .. } => {
                    continue;
                }
            };
            self.finish(CallRef { batch, index }, Close::failed(aborted_error(may_have_landed)), cx, out);
        }
    }

    /// Gives the call's key back and has the batches that waited for it looked over.
    pub(super) fn release_key(&mut self, at: CallRef) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return };
        if let Some(key) = &live.call(index).key {
            self.dirty.extend(self.keys.release(live.task, key, batch, index));
        }
    }

    /// What the key's record says, seen by a call that wants to run under it.
    pub(super) fn claim_of(&self, live: &Live, index: u32) -> Claim<'_> {
        match &live.call(index).key {
            Some(key) => self.keys.look(live.task, key),
            None => Claim::Free(None),
        }
    }
}

/// A call that was in flight at an interruption, did not land, and waited to be sent again when its batch was stopped.
fn held_back_error() -> CallError {
    CallError {
        message: "the call was in flight when the server was interrupted; its backend says that it did not take effect, and it waited \
                  to be sent again when its batch was stopped"
            .into(),
        outcome_unknown: false,
        ..in_doubt_error()
    }
}

fn backoff_error(live: &Live, index: u32) -> Option<CallError> {
    match &live.running(index)?.phase {
        Phase::Backoff { error, .. } => Some(error.clone()),
        Phase::Sent | Phase::InDoubt => None,
    }
}

/// A call that was in flight at an interruption and is not taken up again.
fn cut_off_error(stop: Option<StopReason>, direct: bool) -> CallError {
    let why = match stop {
        Some(StopReason::TaskEnded) => "its task has ended, so it is not run again",
        Some(StopReason::Parked) if direct => {
            "whoever called is gone, so it is not run again by itself: repeat the call under its key, or settle that"
        }
        Some(StopReason::Parked) => {
            "its batch was running at several crashes of the server in a row and is parked, so it is not run again: find out what \
             became of it and settle its key; what is sent again may crash the server again"
        }
        Some(StopReason::CallFailed | StopReason::AwaitingReview | StopReason::Cancelled) | None => {
            return in_doubt_error();
        }
    };
    let message = format!("the call was in flight when the server was interrupted, so it may have taken effect; {why}");
    CallError { message, ..in_doubt_error() }
}

pub(super) fn in_doubt_error() -> CallError {
    CallError {
        reason: Reason::InDoubt,
        message: "the call was in flight when the server was interrupted, so it may have taken effect; the batch's in_doubt \
                  policy is not to run it again: find out what became of it, then settle its key or call it under another"
            .into(),
        outcome_unknown: true,
        retryable: false,
        code: String::new(),
    }
}

fn aborted_error(outcome_unknown: bool) -> CallError {
    let what = if outcome_unknown { "it may have taken effect" } else { "it did not take effect" };
    CallError {
        reason: Reason::Cancelled,
        message: format!("the batch was cancelled with abort_running while the call was running: {what}"),
        outcome_unknown,
        retryable: false,
        code: String::new(),
    }
}
