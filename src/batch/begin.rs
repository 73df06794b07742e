//! A call's turn has come: its key (R5), its tool (R3), and the attempt that leaves.

use std::cmp::Reverse;

use super::{
    core::{CallRef, Context, Core, Effect, Output},
    event::{CallError, Event, Reason},
    key::{KeyRecord, KeyState},
    keys::Claim,
    live::{Plan, Turn},
    schedule::in_doubt_error,
    settle::Close,
    spec::InDoubtPolicy,
    state::CallState,
    step::StepRecord,
    tools::{Resolution, Target},
    wait::{REACH_WAIT, REACH_WAIT_RESUMED},
};
use crate::json;

impl Core {
    /// Begins a waiting call whose lane is free and for which there is a slot. It may have to wait for its key, or end at once.
    pub(super) fn begin(&mut self, at: CallRef, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return };
        let call = live.call(index);
        let (agent, args) = (&live.spec.agent_id, &call.args);
        let record = match self.claim_of(live, index) {
            Claim::Held => {
                if let Some(key) = &call.key {
                    self.keys.wait(live.task, key, batch);
                }
                if let Some(live) = self.batches.get_mut(&batch) {
                    *live.turn(index) = Turn::KeyWait;
                }
                return;
            }
            Claim::Free(record) => record.cloned(),
        };
        let differs = |record: &KeyRecord| {
            record.base_tool != cx.tools.base_tool(agent, &call.tool) || record.args_digest != json::digest(args)
        };
        let policy = live.spec.options.in_doubt;
        let plan = match &record {
            None => Plan::Send { in_doubt: false },
            Some(record) => match (&record.state, policy) {
                (KeyState::Completed { .. }, _) => {
                    let args_changed = differs(record);
                    let close = Close::Skipped { record: record.clone(), args_changed };
                    return self.finish(at, close, cx, out);
                }
                (KeyState::Failed, _) => Plan::Send { in_doubt: false },
                (KeyState::Unknown, _) if differs(record) => {
                    return self.finish(at, Close::failed(other_body_error()), cx, out);
                }
                (KeyState::Unknown, InDoubtPolicy::Fail) => {
                    return self.finish(at, Close::failed(in_doubt_key_error()), cx, out);
                }
                (KeyState::Unknown, InDoubtPolicy::Rerun) => Plan::Send { in_doubt: true },
                (KeyState::Unknown, InDoubtPolicy::Lookup) => Plan::Ask,
            },
        };
        let task = live.task;
        let next = record.filter(|record| record.is_for_other_body(differs(record)));
        if let Some(key) = call.key.clone() {
            self.keys.claim(task, &key, batch, index);
            if let Some(record) = next {
                let generation = record.generation + 1;
                self.put_key(task, key, KeyRecord { generation, ..record }, out);
            }
        }
        self.proceed(at, plan, cx, out);
    }

    /// Resolves the call's tool as it is now, and carries out the plan. The call holds its slot, lane and key from here on.
    pub(super) fn proceed(&mut self, at: CallRef, plan: Plan, cx: &mut Context<'_>, out: &mut Output) {
        self.proceed_from(at, plan, None, cx, out);
    }

    /// The same for a call that may hold a place at a gate, to which it was called up.
    pub(super) fn proceed_from(
        &mut self,
        at: CallRef,
        plan: Plan,
        place: Option<usize>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let call = live.call(index);
        match cx.tools.resolve(&live.spec.agent_id, &call.tool, &call.args, live.spec.direct) {
            Resolution::Ready(target) => match plan {
                Plan::Send { in_doubt } => {
                    if self.has_place(at, &target.backend, place, plan, cx) {
                        self.send(at, target, in_doubt, cx, out);
                    }
                }
                Plan::Ask => {
                    self.vacate(place, cx);
                    self.ask(at, target, cx, out);
                }
            },
            Resolution::Refused(mut error) => {
                self.vacate(place, cx);
                error.outcome_unknown |= plan.may_have_landed();
                self.finish(at, Close::failed(error), cx, out);
            }
            Resolution::NotYet(error) => {
                let wait = if live.resumed[index as usize] { REACH_WAIT_RESUMED } else { REACH_WAIT };
                let until = match live.turn(index) {
                    Turn::Resolving { until, .. } => *until,
                    Turn::Idle
                    | Turn::KeyWait
                    | Turn::Queued { .. }
                    | Turn::Asking { .. }
                    | Turn::Sent
                    | Turn::Backoff { .. } => {
                        let until = cx.now.mono + wait;
                        self.timers.push(Reverse((until, batch, index)));
                        until
                    }
                };
                *live.turn(index) = Turn::Resolving { until, error, then: plan };
                self.resolving.insert((batch, index));
                self.vacate(place, cx);
            }
        }
    }

    /// An attempt leaves, as soon as this is durable.
    fn send(&mut self, at: CallRef, target: Target, in_doubt: bool, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let generation = self.generation(at);
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let (step_id, attempt) = match live.running(index) {
            Some(running) => (running.step_id, running.attempt + 1),
            None => (cx.ids.next(), 1),
        };
        let started = Event::CallStarted {
            index,
            step_id,
            attempt,
            in_doubt,
            base_tool: target.base_tool.clone(),
            backend: target.backend.clone(),
            generation,
        };
        live.log(started, cx.now, out);
        *live.turn(index) = Turn::Sent;
        self.resolving.remove(&(batch, index));
        if let Some(running) = live.running(index) {
            let step = StepRecord {
                step_id,
                index,
                base_tool: running.base_tool.clone(),
                backend: running.backend.clone(),
                attempts: attempt,
                start_time: running.start_time,
                end: None,
            };
            out.steps.push((batch, step));
        }
        let mut wish = live.attempt(index, attempt, step_id, target, generation);
        wish.in_doubt = in_doubt;
        out.effects.push(Effect::Send(wish));
    }

    /// Asks the backend what became of an attempt that this batch sent.
    pub(super) fn ask_again(&mut self, at: CallRef, lost: Option<CallError>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let Some(running) = live.running(index) else { return };
        let (step_id, attempt, generation) = (running.step_id, running.attempt, running.generation);
        let target = Target { base_tool: running.base_tool.clone(), backend: running.backend.clone(), timeout: None };
        *live.turn(index) = Turn::Asking { attempt, step_id, lost };
        let wish = live.attempt(index, attempt, step_id, target, generation);
        out.effects.push(Effect::Lookup(wish));
    }

    /// Asks the backend what became of an attempt that an earlier batch sent under this call's key.
    fn ask(&mut self, at: CallRef, target: Target, cx: &mut Context<'_>, out: &mut Output) {
        let CallRef { batch, index } = at;
        let generation = self.generation(at);
        let Some(live) = self.batches.get_mut(&batch) else { return };
        let step_id = cx.ids.next();
        *live.turn(index) = Turn::Asking { attempt: 0, step_id, lost: None };
        self.resolving.remove(&(batch, index));
        let wish = live.attempt(index, 0, step_id, target, generation);
        out.effects.push(Effect::Lookup(wish));
    }

    /// The generation that the call's idempotency key is derived from: the one it began with, else its key's.
    fn generation(&self, at: CallRef) -> u64 {
        let CallRef { batch, index } = at;
        let Some(live) = self.batches.get(&batch) else { return 0 };
        if let CallState::Running(running) = &live.state.calls[index as usize] {
            return running.generation;
        }
        let record = live.call(index).key.as_ref().and_then(|key| self.keys.record(live.task, key));
        record.map_or(0, |record| record.generation)
    }
}

fn in_doubt_key_error() -> CallError {
    CallError {
        message:
            "an earlier call under this key may have taken effect, and the batch's in_doubt policy is not to run it \
                  again: find out what became of it and settle the key, or use the policy RERUN or LOOKUP"
                .into(),
        ..in_doubt_error()
    }
}

fn other_body_error() -> CallError {
    CallError {
        reason: Reason::InDoubt,
        message: "an earlier call under this key, with another tool or other args, may have taken effect: one key must not carry \
                  two different calls; settle the key first, or use another key"
            .into(),
        ..in_doubt_error()
    }
}
