//! Places at backends: a call waits in line before its backend's gate, which lets it in when its turn comes.

use std::{cmp::Reverse, time::Duration};

use super::{
    core::{CallRef, Context, Core, Output},
    event::{CallError, Reason},
    gate::Arrival,
    live::{Plan, Turn},
    outcome::Outcome,
    settle::Close,
    wait::{REACH_WAIT, REACH_WAIT_RESUMED},
};

impl Core {
    /// Whether the call may be sent to this backend now; where not, it waits in line. `held`: the gate that it was called up to.
    pub(super) fn has_place(
        &mut self,
        at: CallRef,
        backend: &str,
        held: Option<usize>,
        plan: Plan,
        cx: &Context<'_>,
    ) -> bool {
        let gate = self.gates.of(backend, cx.tools.limits(backend));
        if held == Some(gate) {
            return true;
        }
        self.vacate(held, cx);
        let enters = self.gates.gate(gate).enter(cx.now.mono);
        if !enters {
            self.wait_in_line(at, gate, plan, cx);
        }
        enters
    }

    /// Gives back a place that a call was called up to and does not use.
    pub(super) fn vacate(&mut self, place: Option<usize>, cx: &Context<'_>) {
        if let Some(gate) = place {
            self.gates.gate(gate).give_back(cx.now.mono);
        }
    }

    fn wait_in_line(&mut self, at: CallRef, gate: usize, then: Plan, cx: &Context<'_>) {
        let Some(live) = self.batches.get_mut(&at.batch) else { return };
        let agent = (live.tenant.clone(), live.spec.agent_id.clone());
        *live.turn(at.index) = Turn::Queued { gate, until: None, then };
        self.gates.gate(gate).wait(agent, at);
        if self.gates.gate(gate).is_shut() {
            self.bound_wait(at, cx.now.mono);
        }
    }

    /// A call that waits while its backend is out of reach waits as long as for one that is not reachable at all (R8).
    fn bound_wait(&mut self, at: CallRef, now: Duration) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let wait = if live.resumed[index as usize] { REACH_WAIT_RESUMED } else { REACH_WAIT };
        if let Turn::Queued { until, .. } = live.turn(index) {
            *until = Some(now + wait);
            self.timers.push(Reverse((now + wait, batch, index)));
        }
    }

    /// An attempt has ended at its backend, or was cut off: whoever waits may come.
    pub(super) fn left(&mut self, at: CallRef, arrival: Arrival, cx: &Context<'_>) {
        let running = self.batches.get(&at.batch).and_then(|live| live.running(at.index));
        let Some(gate) = running.and_then(|running| self.gates.known(&running.backend)) else { return };
        if gate.leave(arrival, cx.now.mono) {
            for waiting in gate.waiting() {
                self.bound_wait(waiting, cx.now.mono);
            }
        }
    }

    /// Its outcome says whether it arrived.
    pub(super) fn left_with(&mut self, at: CallRef, outcome: &Outcome, cx: &Context<'_>) {
        self.left(at, Arrival::of(outcome), cx);
    }

    /// Lets in whoever may come now; tells whether anyone did.
    pub(super) fn open_gates(&mut self, cx: &mut Context<'_>, out: &mut Output) -> bool {
        let mut any = false;
        if self.draining {
            return any;
        }
        for number in self.gates.waiting() {
            let gate = self.gates.gate(number);
            gate.limits = cx.tools.limits(gate.backend());
            while let Some((at, then)) = self.call_up(number, cx) {
                any = true;
                self.proceed_from(at, then, Some(number), cx, out);
                self.dirty.push_back(at.batch);
            }
        }
        any
    }

    /// The next call that a gate lets in, and what it does then.
    fn call_up(&mut self, gate: usize, cx: &Context<'_>) -> Option<(CallRef, Plan)> {
        let batches = &self.batches;
        // One whose batch has stopped a moment ago is taken back when that is looked over.
        let live = |at: CallRef| batches.get(&at.batch).filter(|live| live.may_go_on(at.index));
        let plan = |at: CallRef| match live(at)?.turns[at.index as usize] {
            Turn::Queued { gate: before, then, .. } if before == gate => Some(then),
            // It has given up.
            Turn::Queued { .. }
            | Turn::Idle
            | Turn::KeyWait
            | Turn::Resolving { .. }
            | Turn::Asking { .. }
            | Turn::Sent
            | Turn::Backoff { .. } => None,
        };
        let at = self.gates.gate(gate).call_up(cx.now.mono, |at| plan(at).is_some())?;
        Some((at, plan(at)?))
    }

    /// The wait of a call is over; where its backend is still out of reach, the call is, too.
    pub(super) fn give_up_waiting(
        &mut self,
        at: CallRef,
        gate: usize,
        then: Plan,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        if !self.gates.gate(gate).is_shut() {
            return;
        }
        let backend = self.gates.gate(gate).backend();
        let message = format!(
            "backend `{backend}` is out of reach: attempts to call it got lost one after the other, so this one was held back, and \
             nothing was sent within the time that a call waits for its backend"
        );
        let error = CallError {
            reason: Reason::BackendUnavailable,
            message,
            outcome_unknown: then.may_have_landed(),
            retryable: true,
            code: String::new(),
        };
        self.finish(at, Close::failed(error), cx, out);
    }
}
