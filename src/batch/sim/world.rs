//! A world around the core: clock, commits, backends, crashes. One thread, virtual time, no chance but the plan's.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    backend::{Execution, Ids, Journal, Toolbox},
    check::{Checker, Seen},
    plan::{Answer, CrashPlan, CrashPoint, Deed, Plan, Script, TOOLS, View},
};
use crate::batch::{
    core::{Attempt, BatchNo, Begin, Context, Core, Effect, Input, Output, Resumed, TaskNo},
    event::{Now, StopReason, Timestamp},
    outcome::{BlobRef, Body, Fate, Outcome, Payload},
    spec::Spec,
};

pub(super) const MS: u64 = 1_000_000;
/// Far more than any plan needs: a world that takes more runs in circles.
const STEPS_MAX: usize = 20_000;
/// The wall clock at the world's beginning.
const WALL: i64 = 1_750_000_000_000_000_000;

/// What is going to happen, apart from timers.
#[derive(Clone, Debug)]
enum Happening {
    Start(usize),
    /// An attempt's answer; `echo` is one that was given before.
    Answer {
        batch: BatchNo,
        index: u32,
        attempt: u32,
        outcome: Outcome,
        echo: bool,
    },
    Told {
        batch: BatchNo,
        index: u32,
        attempt: u32,
        fate: Fate,
    },
    View {
        tool: usize,
        view: View,
    },
    Stop(usize),
    Drain(usize),
    GiveUp,
}

/// An open group: steps whose facts are not durable yet.
#[derive(Default)]
struct Group {
    inputs: usize,
    effects: Vec<Effect>,
    /// Answers that the server has taken in.
    heard: Vec<(BatchNo, u32, u32)>,
    /// What clients repeat if the group is lost.
    requests: Vec<Happening>,
    /// Everything durable as it was before.
    before: Option<Checker>,
}

pub(super) struct World {
    plan: Arc<Plan>,
    specs: Vec<Arc<Spec>>,
    core: Core,
    ids: Ids,
    tools: Toolbox,
    /// What each tool comes to once its backend is reached.
    wanted: Vec<View>,
    pub(super) checker: Checker,
    pub(super) journal: Journal,
    queue: BTreeMap<(u64, u64), Happening>,
    queued: u64,
    group: Group,
    ended_tasks: Vec<u8>,
    time: u64,
    boot: u64,
    /// How often a process has started: two can at the same time.
    boots: u32,
    /// The wall clock's error.
    skew: i64,
    draining: Option<usize>,
    steps: usize,
    crashes: std::vec::IntoIter<CrashPlan>,
    next_crash: Option<CrashPlan>,
    /// What backends said when they were asked, and how many answers came for nobody.
    pub(super) told: Vec<Fate>,
    pub(super) stale: usize,
}

/// Lives a plan to its end. Panics where a rule is broken.
pub(super) fn live(plan: Plan) -> World {
    let mut world = World::new(plan);
    while world.turn() {}
    world.checker.is_over(&world.journal);
    world
}

impl World {
    fn new(plan: Plan) -> Self {
        let specs = plan.batches.iter().enumerate().map(|(number, batch)| Arc::new(batch.spec(number))).collect();
        let wanted: Vec<_> = plan.tools.iter().map(|tool| tool.first).collect();
        let mut crashes = plan.crashes.clone().into_iter();
        let next_crash = crashes.next();
        let mut world = Self {
            specs,
            core: Core::default(),
            ids: Ids::default(),
            tools: Toolbox(wanted.clone(), plan.places),
            wanted,
            checker: Checker::default(),
            journal: Journal::default(),
            queue: BTreeMap::new(),
            queued: 0,
            group: Group::default(),
            ended_tasks: Vec::new(),
            time: 0,
            boot: 0,
            boots: 0,
            skew: 0,
            draining: None,
            steps: 0,
            crashes,
            next_crash,
            told: Vec::new(),
            stale: 0,
            plan: Arc::new(plan),
        };
        world.schedule();
        world
    }

    fn schedule(&mut self) {
        let plan = Arc::clone(&self.plan);
        for (number, batch) in plan.batches.iter().enumerate() {
            self.at(batch.at_ms * MS, Happening::Start(number));
        }
        for (tool, views) in plan.tools.iter().enumerate() {
            for (at, view) in &views.changes {
                self.at(at * MS, Happening::View { tool, view: *view });
            }
        }
        for (number, stop) in plan.stops.iter().enumerate() {
            self.at(stop.at_ms * MS, Happening::Stop(number));
        }
        for (number, (at, _, _)) in plan.drains.iter().enumerate() {
            self.at(at * MS, Happening::Drain(number));
        }
    }

    fn at(&mut self, time: u64, happening: Happening) {
        self.queued += 1;
        self.queue.insert((time, self.queued), happening);
    }

    fn now(&self) -> Now {
        let wall = WALL + i64::try_from(self.time).expect("worlds are short") + self.skew;
        Now { wall: Timestamp(wall), mono: Duration::from_nanos(self.time - self.boot) }
    }

    /// The next thing that happens; false once nothing is left.
    fn turn(&mut self) -> bool {
        if self.draining.is_some() && !self.core.is_busy() && self.group.inputs == 0 {
            self.drained();
            return true;
        }
        let due = self.core.next_due().map(|due| self.boot + u64::try_from(due.as_nanos()).expect("worlds are short"));
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        let Some(at) = due.into_iter().chain(next).min() else {
            let open = self.group.inputs > 0;
            self.commit();
            return open;
        };
        if at > self.time && self.group.inputs > 0 {
            self.commit();
            return true;
        }
        self.time = self.time.max(at);
        if next.is_some_and(|next| due.is_none_or(|due| next <= due)) {
            let (_, happening) = self.queue.pop_first().expect("it was seen above");
            self.happen(happening);
        } else {
            let boots = self.boots;
            self.step(&Input::Tick, false);
            let over = self.core.next_due().is_none_or(|due| due > self.now().mono);
            assert!(over || boots != self.boots, "timers: a tick must leave no timer that is due");
        }
        if self.group.inputs >= self.plan.group {
            self.commit();
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening.clone() {
            Happening::Start(number) => {
                if self.draining.is_some() {
                    // The client is told UNAVAILABLE, and comes again.
                    return self.at(self.time + 50 * MS, happening);
                }
                if self.ended_tasks.contains(&self.plan.batches[number].task) {
                    return;
                }
                self.group.requests.push(happening);
                let begin = self.begin(number);
                self.step(&Input::Start(begin), false);
            }
            Happening::Answer { batch, index, attempt, outcome, echo } => {
                self.journal.close(batch, index, attempt, self.time);
                if !echo {
                    self.group.heard.push((batch, index, attempt));
                }
                let stale = echo || !self.checker.awaits(batch, index, attempt);
                self.step(&Input::Outcome { batch, index, attempt, outcome }, stale);
            }
            Happening::Told { batch, index, attempt, fate } => {
                let stale = !self.checker.asks(batch, index, attempt);
                self.step(&Input::Fate { batch, index, attempt, fate }, stale);
            }
            Happening::View { tool, view } => {
                self.wanted[tool] = view;
                if self.time >= self.boot + self.reconnect(tool) {
                    self.tools.0[tool] = view;
                }
                self.step(&Input::ToolsChanged, false);
            }
            Happening::Stop(number) => self.stop(number, happening),
            Happening::Drain(number) => {
                if self.draining.is_none() {
                    self.draining = Some(number);
                    self.at(self.time + self.plan.drains[number].1 * MS, Happening::GiveUp);
                    self.step(&Input::Drain, false);
                }
            }
            Happening::GiveUp => {
                if self.draining.is_some() {
                    self.commit();
                    self.drained();
                }
            }
        }
    }

    fn stop(&mut self, number: usize, happening: Happening) {
        let plan = self.plan.stops[number].clone();
        let task = self.plan.batches.get(plan.batch).map(|batch| batch.task);
        self.group.requests.push(happening);
        if plan.reason == StopReason::TaskEnded
            && let Some(task) = task
        {
            self.ended_tasks.push(task);
        }
        let stops = |other: &usize| {
            let of_task = || Some(self.plan.batches[*other].task) == task;
            *other == plan.batch || (plan.reason == StopReason::TaskEnded && of_task())
        };
        let batches = (0..self.plan.batches.len()).filter(stops).map(batch_no).collect();
        self.step(&Input::Stop { batches, reason: plan.reason, abort: plan.abort }, false);
    }

    fn begin(&self, number: usize) -> Begin {
        let spec = Arc::clone(&self.specs[number]);
        let task = task_no(self.plan.batches[number].task);
        let stored = |key: &Arc<str>| Some((key.clone(), self.checker.stored_key(task, key)?.clone()));
        let named = spec.calls.iter().filter_map(|call| call.key.as_ref());
        let keys = named.filter(|key| !self.core.knows_key(task, key)).filter_map(stored).collect();
        let batch_id = spec.batch_id.as_deref().unwrap_or_default().into();
        Begin { batch: batch_no(number), task, tenant: "tenant".into(), batch_id, spec, keys }
    }

    /// One step of the core, checked; then the crash that the plan has for this moment.
    fn step(&mut self, input: &Input, stale: bool) {
        self.steps += 1;
        self.stale += usize::from(stale);
        assert!(self.steps < STEPS_MAX, "every batch ends: this world goes on and on");
        if self.group.inputs == 0 && self.next_crash.is_some() {
            self.group.before = Some(self.checker.clone());
        }
        self.group.inputs += 1;
        let now = self.now();
        let mut out = Output::default();
        let mut context = Context { now, ids: &mut self.ids, tools: &self.tools };
        self.core.step(input.clone(), &mut context, &mut out);
        let seen = Seen {
            input,
            stale,
            out: &out,
            now,
            time: self.time,
            tools: &self.tools,
            core: &self.core,
            draining: self.draining.is_some(),
        };
        self.checker.step(&seen);
        self.group.effects.extend(out.effects);
        if let Some(crash) = self.next_crash.take_if(|crash| crash.step <= self.steps) {
            self.next_crash = self.crashes.next();
            self.crash(&crash);
        }
    }

    /// The group's facts are durable; its wishes are carried out.
    fn commit(&mut self) {
        for effect in self.settle() {
            match effect {
                Effect::Send(attempt) => self.send(&attempt),
                Effect::Lookup(attempt) => self.lookup(&attempt),
                Effect::Abort { batch, index } => self.journal.abandon(batch, index, self.time),
            }
        }
    }

    fn settle(&mut self) -> Vec<Effect> {
        let group = std::mem::take(&mut self.group);
        for (batch, index, attempt) in group.heard {
            let same = |line: &&mut Execution| (line.batch, line.index, line.attempt) == (batch, index, attempt);
            let lost =
                matches!(self.script(batch, index, attempt).map(|script| &script.answer), Some(Answer::Lost(..)));
            if let Some(line) = self.journal.0.iter_mut().rev().find(same) {
                line.heard = !lost;
            }
        }
        group.effects
    }

    fn crash(&mut self, crash: &CrashPlan) {
        match crash.point {
            CrashPoint::BeforeCommit => {
                let group = std::mem::take(&mut self.group);
                self.checker = group.before.expect("a group before a crash keeps what was before it");
                for request in group.requests {
                    self.at(self.time, request);
                }
            }
            CrashPoint::AfterCommit { reached } => {
                let mut place = 0_u32;
                for effect in self.settle() {
                    match effect {
                        Effect::Send(attempt) => {
                            if reached & (1 << (place % 16)) != 0 {
                                self.send(&attempt);
                            }
                            place += 1;
                        }
                        // It stands before what may start in its place.
                        Effect::Abort { batch, index } => self.journal.abandon(batch, index, self.time),
                        Effect::Lookup(_) => {}
                    }
                }
            }
        }
        self.skew += crash.jump_ms * 1_000_000;
        self.boot(crash.away_ms);
    }

    fn drained(&mut self) {
        let Some(number) = self.draining else { return };
        self.boot(self.plan.drains[number].2);
    }

    /// The process is gone; another one starts a while later and takes up what is unfinished.
    fn boot(&mut self, away_ms: u64) {
        self.journal.close_all(self.time);
        self.queue.retain(|_, happening| match happening {
            Happening::Answer { .. } | Happening::Told { .. } | Happening::GiveUp => false,
            Happening::Start(_) | Happening::View { .. } | Happening::Stop(_) | Happening::Drain(_) => true,
        });
        self.time += away_ms * MS;
        self.boot = self.time;
        self.boots += 1;
        self.draining = None;
        self.core = Core::default();
        self.group = Group::default();
        for tool in 0..TOOLS.len() {
            let reconnect = self.reconnect(tool);
            self.tools.0[tool] = if reconnect > 0 { View::NotYet } else { self.wanted[tool] };
            if reconnect > 0 {
                let view = self.wanted[tool];
                self.at(self.boot + reconnect, Happening::View { tool, view });
            }
        }
        self.checker.rebooted();
        let unfinished: Vec<_> = self.checker.unfinished().collect();
        let resumed = unfinished.into_iter().map(|batch| {
            let number = usize::try_from(batch.0).expect("batches are few");
            let (state, stop) = self.checker.recovered(batch);
            Resumed { begin: self.begin(number), state, stop }
        });
        let resumed = resumed.collect();
        self.step(&Input::Resume(resumed), false);
    }

    fn reconnect(&self, tool: usize) -> u64 {
        if self.boot == 0 { 0 } else { self.plan.tools[tool].reconnect_ms * MS }
    }

    fn script(&self, batch: BatchNo, index: u32, attempt: u32) -> Option<&Script> {
        let call = &self.plan.batches.get(usize::try_from(batch.0).ok()?)?.calls[index as usize];
        Some(call.attempt(attempt.saturating_sub(1) as usize))
    }

    fn send(&mut self, attempt: &Attempt) {
        let Attempt { batch, index, .. } = *attempt;
        let number = attempt.attempt;
        let script = self.script(batch, index, number).expect("the core sends only what the plan holds").clone();
        if let Some(deed) = script.answer.deed() {
            let spec = &self.specs[usize::try_from(batch.0).expect("batches are few")];
            let call = &spec.calls[index as usize];
            let line = Execution {
                batch,
                task: self.checker.task_of(batch),
                index,
                key: call.key.as_deref().map(str::to_owned),
                lane: call.lane.as_deref().map(str::to_owned),
                attempt: number,
                idempotency_key: attempt.idempotency_key.clone(),
                in_doubt: attempt.in_doubt,
                end: None,
                deed,
                heard: false,
            };
            self.checker.executes(&self.journal, &line);
            self.journal.0.push(line);
        }
        let outcome = match &script.answer {
            Answer::Heard(deed) => outcome_of(*deed, batch, index, number),
            Answer::NotSent(reason) => Outcome::NotSent { reason: *reason, message: "it never left".into() },
            Answer::Lost(reason, _) => Outcome::Unknown { reason: *reason, message: "no answer came".into() },
        };
        let answer = Happening::Answer { batch, index, attempt: number, outcome, echo: false };
        self.at(self.time + script.ms * MS, answer);
        if let Some(echo_ms) = script.echo_ms {
            let outcome = outcome_of(Deed::Completed { bytes: 7 }, batch, index, number);
            let echo = Happening::Answer { batch, index, attempt: number, outcome, echo: true };
            self.at(self.time + (script.ms + echo_ms) * MS, echo);
        }
    }

    fn lookup(&mut self, asked: &Attempt) {
        let Attempt { batch, index, attempt, .. } = *asked;
        let script = self.script(batch, index, attempt).expect("the core asks only for what the plan holds").clone();
        let fate = match self.journal.landed(asked) {
            Some(_) | None if !script.can_tell => Fate::Unknown { message: "the backend keeps no records".into() },
            Some(deed) => Fate::Landed(outcome_of(deed, batch, index, attempt)),
            None => Fate::NotLanded,
        };
        self.told.push(fate.clone());
        self.at(self.time + script.tell_ms * MS, Happening::Told { batch, index, attempt, fate });
    }
}

pub(super) fn batch_no(number: usize) -> BatchNo {
    BatchNo(number as u64)
}

fn task_no(task: u8) -> TaskNo {
    TaskNo(u64::from(task))
}

fn outcome_of(deed: Deed, batch: BatchNo, index: u32, attempt: u32) -> Outcome {
    // Where the result is tells whose it is, so that a mix-up shows.
    let payload = |bytes| {
        let at = BlobRef { file: u32::try_from(batch.0).unwrap_or(u32::MAX), offset: u64::from(index), bytes };
        Payload { bytes, body: Body::Blob(at) }
    };
    match deed {
        Deed::Completed { bytes } => Outcome::Completed { result: payload(bytes), usage: Vec::new() },
        Deed::Awaiting { bytes } => Outcome::Awaiting {
            await_id: format!("review of {}/{index} after {attempt}", batch.0),
            result: payload(bytes),
            usage: Vec::new(),
        },
        Deed::Failed { retryable, message } => Outcome::Failed {
            // A character of two bytes at an odd place: a cut must not split it.
            message: format!("x{}", "é".repeat(message / 2)),
            code: "E1".into(),
            retryable,
            usage: Vec::new(),
        },
    }
}
