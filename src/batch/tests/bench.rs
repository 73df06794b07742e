//! A core on a bench: a test gives it inputs one by one, and reads its logs as short lines.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use uuid::Uuid;

use crate::batch::{
    core::{Attempt, BatchNo, Begin, Context, Core, Effect, Input, Output, Resumed, StepIds, TaskNo},
    event::{BatchStatus, CallError, CallFinished, Ending, Entry, Event, Now, Reason, StepId, StopReason, Timestamp},
    gate::Limits,
    key::KeyRecord,
    outcome::{BlobRef, Body, Fate, Outcome, Payload},
    spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
    state::State,
    tools::{Resolution, Target, Tools},
};

/// All tests play in one task.
const TASK: TaskNo = TaskNo(1);

#[derive(Default)]
struct Ids(u128);

impl StepIds for Ids {
    fn next(&mut self) -> StepId {
        self.0 += 1;
        StepId(Uuid::from_u128(self.0))
    }
}

/// Tools by name; all are there but those named here. "Book it" is another name of "book".
#[derive(Default)]
struct Shelf {
    limits: Limits,
    away: Vec<&'static str>,
    forbidden: Vec<&'static str>,
}

impl Tools for Shelf {
    fn resolve(&self, agent_id: &str, tool: &str, _args: &str, _direct: bool) -> Resolution {
        if self.away.contains(&tool) {
            return Resolution::NotYet(error(Reason::BackendUnavailable, "its backend was never reached"));
        }
        if self.forbidden.contains(&tool) {
            return Resolution::Refused(error(Reason::ToolNotAllowed, "it is not in the agent's tool list"));
        }
        Resolution::Ready(Target { base_tool: self.base_tool(agent_id, tool), backend: "erp".into(), timeout: None })
    }

    fn base_tool(&self, _agent_id: &str, tool: &str) -> String {
        if tool == "Book it" { "book".into() } else { tool.into() }
    }

    fn limits(&self, _backend: &str) -> Limits {
        self.limits
    }
}

/// A core, its surroundings, and what it has put on record.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) core: Core,
    ids: Ids,
    tools: Shelf,
    /// Milliseconds since the beginning; the wall clock shows the same.
    time: u64,
    boot: u64,
    specs: Vec<Arc<Spec>>,
    logs: BTreeMap<BatchNo, Vec<Entry>>,
    keys: HashMap<Arc<str>, KeyRecord>,
    sent: Vec<Attempt>,
    asked: Vec<Attempt>,
}

impl Bench {
    /// One whose backend takes no more than that.
    pub(super) fn with(limits: Limits) -> Self {
        Self { tools: Shelf { limits, ..Shelf::default() }, ..Self::default() }
    }

    pub(super) fn start(&mut self, list: List) -> BatchNo {
        let batch = BatchNo(self.specs.len() as u64);
        self.specs.push(Arc::new(list.0));
        self.logs.insert(batch, Vec::new());
        let begin = self.begin(batch);
        self.step(Input::Start(begin));
        batch
    }

    fn begin(&self, batch: BatchNo) -> Begin {
        let spec = Arc::clone(&self.specs[usize::try_from(batch.0).unwrap()]);
        let named = spec.calls.iter().filter_map(|call| call.key.clone());
        let stored = |key: Arc<str>| Some((key.clone(), self.keys.get(&key)?.clone()));
        let keys = named.filter(|key| !self.core.knows_key(TASK, key)).filter_map(stored).collect();
        let batch_id = format!("batch {}", batch.0).into();
        Begin { batch, task: TASK, tenant: "acme".into(), batch_id, spec, keys }
    }

    pub(super) fn step(&mut self, input: Input) -> Output {
        let wall = Timestamp(i64::try_from(self.time).unwrap() * 1_000_000);
        let now = Now { wall, mono: Duration::from_millis(self.time - self.boot) };
        let mut out = Output::default();
        self.core.step(input, &mut Context { now, ids: &mut self.ids, tools: &self.tools }, &mut out);
        for (batch, entry) in &out.entries {
            self.logs.get_mut(batch).unwrap().push(entry.clone());
        }
        self.keys.extend(out.keys.iter().map(|change| (change.key.clone(), change.record.clone())));
        for effect in &out.effects {
            match effect {
                Effect::Send(attempt) => self.sent.push(attempt.clone()),
                Effect::Lookup(attempt) => self.asked.push(attempt.clone()),
                Effect::Abort { .. } => {}
            }
        }
        out
    }

    /// The call's latest attempt ends.
    pub(super) fn answer(&mut self, batch: BatchNo, index: u32, outcome: Outcome) {
        let attempt = self.sends(batch, index).last().expect("it was sent").attempt;
        self.step(Input::Outcome { batch, index, attempt, outcome });
    }

    /// The backend says what became of the attempt that it was asked about last.
    pub(super) fn tell(&mut self, batch: BatchNo, index: u32, fate: Fate) {
        let attempt = self.questions(batch, index).last().expect("it was asked").attempt;
        self.step(Input::Fate { batch, index, attempt, fate });
    }

    pub(super) fn stop(&mut self, batch: BatchNo, reason: StopReason, abort: bool) {
        self.step(Input::Stop { batches: vec![batch], reason, abort });
    }

    /// Time passes; timers that come due meanwhile are kept.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.time + ms;
        while let Some(due) = self.core.next_due() {
            let due = self.boot + u64::try_from(due.as_millis()).unwrap();
            if due > end {
                break;
            }
            self.time = self.time.max(due);
            self.step(Input::Tick);
        }
        self.time = end;
    }

    /// The server is killed; another one takes up what the logs say is unfinished, with what it was told to stop.
    pub(super) fn restart(&mut self, stops: &[(BatchNo, StopReason)]) {
        self.core = Core::default();
        self.boot = self.time;
        let mut unfinished = Vec::new();
        for (batch, log) in &self.logs {
            let spec = &self.specs[usize::try_from(batch.0).unwrap()];
            let mut state = State::new(spec.calls.len(), spec.options.stop_on_error);
            for entry in log {
                state.apply(entry).unwrap();
            }
            if state.end.is_none() {
                let stop = stops.iter().find(|(stopped, _)| stopped == batch).map(|(_, reason)| *reason);
                unfinished.push(Resumed { begin: self.begin(*batch), state, stop });
            }
        }
        self.step(Input::Resume(unfinished));
    }

    pub(super) fn takes_away(&mut self, tool: &'static str) {
        self.tools.away.push(tool);
    }

    pub(super) fn brings_back(&mut self, tools: &[&str]) {
        self.tools.away.retain(|away| !tools.contains(away));
        self.step(Input::ToolsChanged);
    }

    pub(super) fn forbids(&mut self, tool: &'static str) {
        self.tools.forbidden.push(tool);
    }

    /// The batch's log, a line an entry.
    pub(super) fn log(&self, batch: BatchNo) -> Vec<String> {
        self.logs[&batch].iter().map(|entry| line(&entry.event)).collect()
    }

    pub(super) fn ends_with(&self, batch: BatchNo, lines: &[&str]) {
        let log = self.log(batch);
        assert!(log.len() >= lines.len() && log[log.len() - lines.len()..] == *lines, "{log:#?} ends with {lines:#?}");
    }

    pub(super) fn end(&self, batch: BatchNo, index: u32) -> &CallFinished {
        let ends = self.logs[&batch].iter().filter_map(|entry| {
            let Event::CallFinished(finished) = &entry.event else { return None };
            Some(finished)
        });
        ends.into_iter().find(|finished| finished.index == index).expect("the call has ended")
    }

    pub(super) fn error(&self, batch: BatchNo, index: u32) -> &CallError {
        let ending = &self.end(batch, index).ending;
        let Ending::Failed(error) = ending else { panic!("call {index} has not failed: {ending:?}") };
        error
    }

    pub(super) fn key(&self, key: &str) -> &KeyRecord {
        &self.keys[key]
    }

    pub(super) fn sends(&self, batch: BatchNo, index: u32) -> Vec<&Attempt> {
        self.sent.iter().filter(|sent| (sent.batch, sent.index) == (batch, index)).collect()
    }

    pub(super) fn questions(&self, batch: BatchNo, index: u32) -> Vec<&Attempt> {
        self.asked.iter().filter(|asked| (asked.batch, asked.index) == (batch, index)).collect()
    }
}

fn line(event: &Event) -> String {
    match event {
        Event::BatchStarted => "batch started".into(),
        Event::CallStarted { index, attempt, in_doubt, .. } => {
            let again = if *attempt > 1 { " again" } else { "" };
            let doubt = if *in_doubt { " in doubt" } else { "" };
            format!("{index} started{again}{doubt}")
        }
        Event::CallRetrying { index, .. } => format!("{index} retrying"),
        Event::CallFinished(finished) => {
            let how = match &finished.ending {
                Ending::Completed { .. } => "completed",
                Ending::Awaiting { .. } => "awaiting",
                Ending::Failed(CallError { outcome_unknown: true, .. }) => "failed, unknown",
                Ending::Failed(_) => "failed",
                Ending::Skipped { args_changed: true, .. } => "skipped, changed",
                Ending::Skipped { .. } => "skipped",
            };
            format!("{} {how}", finished.index)
        }
        Event::BatchResumed { in_doubt } => format!("resumed {in_doubt:?}"),
        Event::BatchFinished { status, stop_reason, .. } => {
            let status = match status {
                BatchStatus::Completed => "completed",
                BatchStatus::Partial => "partial",
                BatchStatus::Failed => "failed",
            };
            stop_reason.map_or(format!("batch {status}"), |reason| format!("batch {status}: {reason:?}"))
        }
    }
}

/// A batch's list and options; parallel and four wide unless said otherwise.
pub(super) struct List(Spec);

pub(super) fn list<const N: usize>(calls: [CallSpec; N]) -> List {
    List(Spec {
        task_id: "T".into(),
        agent_id: String::new(),
        batch_id: None,
        calls: calls.into(),
        options: Options {
            mode: Mode::Parallel { max_concurrency: 4 },
            serialize_on: String::new(),
            stop_on_error: true,
            include_results: true,
            call_timeout: None,
            retry: RetryPolicy::default(),
            in_doubt: InDoubtPolicy::Rerun,
        },
        direct: false,
        trace: None,
        content_digest: [0; 32],
    })
}

impl List {
    pub(super) fn sequential(mut self) -> Self {
        self.0.options.mode = Mode::Sequential { max_concurrency: 4 };
        self
    }

    pub(super) fn width(mut self, max_concurrency: u32) -> Self {
        self.0.options.mode = Mode::Parallel { max_concurrency };
        self
    }

    pub(super) fn agent(mut self, agent_id: &str) -> Self {
        agent_id.clone_into(&mut self.0.agent_id);
        self
    }

    pub(super) fn goes_on_after_errors(mut self) -> Self {
        self.0.options.stop_on_error = false;
        self
    }

    pub(super) fn in_doubt(mut self, policy: InDoubtPolicy) -> Self {
        self.0.options.in_doubt = policy;
        self
    }

    /// Up to `max_attempts`, 100 ms after the first one, then twice as long each time.
    pub(super) fn retries(mut self, max_attempts: u32) -> Self {
        self.0.options.retry.max_attempts = max_attempts;
        self
    }
}

pub(super) fn call(tool: &str) -> CallSpec {
    CallSpec { tool: tool.into(), args: "{}".into(), key: None, lane: None }
}

impl CallSpec {
    pub(super) fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    pub(super) fn lane(mut self, lane: &str) -> Self {
        self.lane = Some(lane.into());
        self
    }

    pub(super) fn args(mut self, args: &str) -> Self {
        self.args = args.into();
        self
    }
}

fn payload(bytes: u64) -> Payload {
    Payload { bytes, body: Body::Blob(BlobRef { file: 1, offset: 0, bytes }) }
}

pub(super) fn done() -> Outcome {
    Outcome::Completed { result: payload(10), usage: Vec::new() }
}

pub(super) fn review() -> Outcome {
    Outcome::Awaiting { await_id: "review 1".into(), result: payload(10), usage: Vec::new() }
}

pub(super) fn failure(retryable: bool) -> Outcome {
    Outcome::Failed { message: "the document is locked".into(), code: "LOCKED".into(), retryable, usage: Vec::new() }
}

pub(super) fn not_sent() -> Outcome {
    Outcome::NotSent { reason: Reason::BackendUnavailable, message: "connection refused".into() }
}

pub(super) fn lost() -> Outcome {
    Outcome::Unknown { reason: Reason::TimedOut, message: "no answer in 5 min".into() }
}

pub(super) fn cut() -> Outcome {
    Outcome::Unknown { reason: Reason::BackendUnavailable, message: "the connection was cut".into() }
}

fn error(reason: Reason, message: &str) -> CallError {
    CallError { reason, message: message.into(), outcome_unknown: false, retryable: false, code: String::new() }
}
