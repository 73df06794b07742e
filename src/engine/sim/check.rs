//! The promises (docs/reliability.md), held against all that happened in a world, in the order in which it did.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use super::{
    backend,
    clients::TENANT,
    plan::Plan,
    timeline::{Ack, Execution, Fact, Happened, Question, World},
    track::{Keys, Place, Track},
};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{CallFinished, Ending, Event, StopReason},
        key::KeyState,
        sim::plan::Deed,
        spec::InDoubtPolicy,
    },
    engine::read::{Located, LogLine, Reader},
    store::{
        Order, Store as _, layout,
        records::{self, BatchRecord, OpenBatch, Task},
    },
};

/// At so many crashes in a row a batch is parked.
const PARKED_AT: u32 = 3;

/// What is known of a world by now.
struct Checker<'a> {
    plan: &'a Plan,
    /// By number in the plan.
    tracks: BTreeMap<usize, Track>,
    numbers: BTreeMap<BatchNo, usize>,
    keys: Keys,
    ended_tasks: HashSet<TaskNo>,
    runs: Vec<&'a Execution>,
    /// By batch, since the latest crash: how much of its log its client was told.
    told: BTreeMap<usize, usize>,
}

/// Checks a world whose last server had all the time that it wanted. Panics where a promise is broken.
pub(super) fn check(plan: &Plan, world: &World) {
    let mut checker = Checker {
        plan,
        tracks: BTreeMap::new(),
        numbers: BTreeMap::new(),
        keys: Keys::new(),
        ended_tasks: HashSet::new(),
        runs: Vec::new(),
        told: BTreeMap::new(),
    };
    for (_, what) in &world.happened {
        match what {
            Happened::Committed(facts) => {
                for fact in facts {
                    checker.learn(fact);
                }
            }
            Happened::Ran(ran) => checker.ran(ran),
            Happened::Asked(question) => checker.asked(question),
            Happened::Told { batch, line } => checker.told(*batch, line),
            Happened::Acknowledged(ack) => checker.acknowledged(ack),
            Happened::Crashed => checker.crashed(),
        }
    }
    for (number, track) in &checker.tracks {
        assert!(track.over, "I20: every batch ends: batch {number} is at {:?}", track.calls);
        let gone = track.spec.direct && world.happened.iter().any(|(_, what)| matches!(what, Happened::Crashed));
        let told = checker.told.get(number);
        assert!(gone || told == Some(&track.log.len()), "I13: batch {number} is told to its end");
    }
    for number in (0..plan.batches.len()).filter(|number| !checker.tracks.contains_key(number)) {
        let task_id = Plan::task_id(plan.batches[number].task);
        let ended = |track: &Track| checker.ended_tasks.contains(&track.task) && track.spec.task_id == task_id;
        assert!(checker.tracks.values().any(ended), "I20: every batch is taken in: batch {number}");
    }
    checker.stored(world);
}

impl<'a> Checker<'a> {
    fn learn(&mut self, fact: &Fact) {
        match fact {
            Fact::Task(task, record) => self.task(*task, record),
            Fact::Head(task, no, head) => self.head(*task, *no, head),
            Fact::Open(open) => self.open(open),
            Fact::Closed(no) => assert!(self.of(*no).over, "I20: only what has ended is closed: {no:?}"),
            Fact::Entry(no, entry) => {
                let number = self.numbers[no];
                let mut track = self.tracks.remove(&number).expect("a batch's head stands before its log");
                let ended = matches!(entry.event, Event::BatchStarted) && self.ended_tasks.contains(&track.task);
                assert!(!ended, "I12: no batch begins in an ended task: batch {number}");
                let (task, tracks) = (track.task, &self.tracks);
                let held = |key: &str| {
                    tracks.values().filter(|other| other.task == task).any(|other| {
                        let mut calls = other.spec.calls.iter().enumerate();
                        calls.any(|(index, call)| call.key.as_deref() == Some(key) && other.runs(index))
                    })
                };
                track.observe(entry, &self.keys, &held);
                if let Event::CallFinished(finished) = &entry.event {
                    self.agrees(&track, finished);
                }
                self.tracks.insert(number, track);
                // Whether a call is still at its backend, or that is being asked about it, is not in the log.
                let asks = |track: &Track| track.spec.options.in_doubt == InDoubtPolicy::Lookup;
                let calls = self.tracks.values().filter(|track| !asks(track)).flat_map(|track| &track.calls);
                let sent = calls.filter(|call| call.place == Place::Sent).count();
                let places = self.plan.places as usize;
                assert!(places == 0 || sent <= places, "I10: the backend takes {places} calls at once, and has {sent}");
            }
            Fact::Key(task, name, record) => {
                let before = self.keys.insert((*task, name.clone()), record.clone());
                let before = before.map(|before| before.state);
                let done = matches!(before, Some(KeyState::Completed { .. }));
                assert!(!done, "I1: what is known of a completed key stays: {name} becomes {record:?}");
                if record.settled_by.is_some() && before != Some(KeyState::Failed) {
                    assert_eq!(before, Some(KeyState::Unknown), "only an unknown key is settled: {name}");
                }
            }
        }
    }

    fn of(&self, no: BatchNo) -> &Track {
        &self.tracks[&self.numbers[&no]]
    }

    fn task(&mut self, task: TaskNo, record: &Task) {
        if record.end_time == 0 {
            return assert!(!self.ended_tasks.contains(&task), "an ended task stays ended: {task:?}");
        }
        self.ended_tasks.insert(task);
        for track in self.tracks.values_mut().filter(|track| track.task == task && !track.over) {
            track.causes.push(StopReason::TaskEnded);
            track.closed = true;
        }
    }

    fn head(&mut self, task: TaskNo, no: BatchNo, head: &BatchRecord) {
        let number = Plan::number(&head.batch_id);
        self.numbers.insert(no, number);
        let plan = self.plan;
        let track = self.tracks.entry(number).or_insert_with(|| Track::new(no, task, plan.spec(number)));
        assert_eq!((track.no, track.task), (no, task), "a batch is one batch: {number}");
        track.causes.extend(head.stop);
        if let Some(end) = &head.end {
            let last = track.log.last().map(|entry| (entry.sequence, entry.time, &entry.event));
            let event =
                Event::BatchFinished { status: end.end.status, counts: end.counts, stop_reason: end.end.stop_reason };
            assert_eq!(last, Some((end.last_sequence, end.end.time, &event)), "I14: the head's end is the log's");
        }
    }

    /// A row of crashes is counted right, and parks the batch once it is long enough.
    fn open(&mut self, open: &OpenBatch) {
        let number = self.numbers.get(&BatchNo(open.batch)).copied();
        // It comes before the batch's head.
        let Some(track) = number.and_then(|number| self.tracks.get_mut(&number)) else {
            return assert_eq!(open.crashes, 0, "a batch begins without crashes");
        };
        let progress = track.ended() > track.ended_calls;
        let expected = if progress { 1 } else { track.crashes + 1 };
        assert!(track.interrupted, "crashes are counted at a start");
        assert_eq!(open.crashes, expected, "crashes without progress are counted: batch {number:?}");
        (track.crashes, track.ended_calls) = (open.crashes, track.ended());
        let ended = self.ended_tasks.contains(&track.task);
        if !ended && track.causes.last() != Some(&StopReason::Parked) {
            track.closed = false;
        }
        if open.crashes >= PARKED_AT && !ended {
            track.causes.push(StopReason::Parked);
            track.closed = true;
        }
    }

    fn ran(&mut self, ran: &'a Execution) {
        let track = self.tracks.get_mut(&ran.batch).unwrap_or_else(|| panic!("I3: nothing is durable of {ran:?}"));
        let (call, _) = track.call(ran.index);
        let sent = call.place == Place::Sent || call.cut_off;
        assert!(sent && call.starts == ran.attempt, "I3: its CallStarted is durable: {ran:?}");
        assert!(call.reached < ran.attempt, "I4: an attempt is sent once: {ran:?}");
        assert_eq!(call.step.as_ref(), Some(&ran.step_id), "I3: it is the log's step: {ran:?}");
        assert_eq!(call.in_doubt, ran.in_doubt, "I5: the backend is told of doubt as the log has it: {ran:?}");
        let idempotency_key = track.idempotency_key(ran.index, call.generation);
        assert_eq!(ran.idempotency_key, idempotency_key, "I5: the call has one idempotency key: {ran:?}");
        if call.cut_off {
            // It was on its way when it was aborted, and whatever came of that since counts on it.
            return self.runs.push(ran);
        }
        let record = self.keys.get(&(track.task, ran.key.clone()));
        let done = record.is_some_and(|record| matches!(record.state, KeyState::Completed { .. }));
        assert!(!done, "I1: a completed key runs never again: {ran:?}");
        let landed = |other: &&&Execution| other.idempotency_key == ran.idempotency_key && other.took_effect();
        let earlier = self.runs.iter().find(landed);
        assert!(ran.in_doubt || earlier.is_none(), "I5: a repeat of {earlier:?} does not say so: {ran:?}");
        track.calls[ran.index as usize].reached = ran.attempt;
        self.runs.push(ran);
    }

    fn asked(&mut self, question: &Question) {
        let track = self.tracks.get_mut(&question.batch).unwrap_or_else(|| panic!("I3: nothing is durable of it"));
        assert_eq!(track.spec.options.in_doubt, InDoubtPolicy::Lookup, "I5: only LOOKUP asks: {question:?}");
        let call = &mut track.calls[question.index as usize];
        let open = [Place::Sent, Place::InDoubt, Place::Waiting].contains(&call.place);
        assert!(open || call.cut_off, "I5: what is open is asked about: {question:?}");
        call.word = Some(question.answer);
    }

    /// What a call's end says is what the backend did.
    fn agrees(&self, track: &Track, finished: &CallFinished) {
        let (call, spec) = track.call(finished.index);
        let key = spec.key.as_ref().and_then(|key| self.keys.get(&(track.task, key.to_string())));
        let generation = if call.starts > 0 { call.generation } else { key.map_or(0, |key| key.generation) };
        let idempotency_key = track.idempotency_key(finished.index, generation);
        let mut runs = self.runs.iter().filter(|ran| ran.idempotency_key == idempotency_key);
        let deed = match &finished.ending {
            Ending::Completed { result } => Deed::Completed { bytes: result.bytes },
            Ending::Awaiting { result, .. } => Deed::Awaiting { bytes: result.bytes },
            Ending::Failed(error) => {
                let sure = !error.outcome_unknown && !call.doubted && call.starts > 0;
                let effect = runs.find(|ran| ran.took_effect());
                assert!(!sure || effect.is_none(), "I14: {finished:?} failed for certain, and yet {effect:?}");
                return;
            }
            Ending::Skipped { .. } => return,
        };
        assert!(runs.any(|ran| ran.deed == Some(deed)), "I14: the backend did what the log says: {finished:?}");
    }

    fn told(&mut self, number: usize, line: &LogLine) {
        let told = self.told.entry(number).or_default();
        let sequence = line.entry.sequence;
        assert_eq!(sequence, *told as u64 + 1, "I13: a stream has no gap and no double: batch {number}");
        let entry = self.tracks.get(&number).and_then(|track| track.log.get(*told));
        assert_eq!(entry, Some(&line.entry), "I2: what is told is durable: batch {number} entry {sequence}");
        *told += 1;
    }

    fn acknowledged(&self, ack: &Ack) {
        match ack {
            Ack::Stopped(number) => {
                let stop = &self.plan.stops[*number];
                if stop.reason == StopReason::TaskEnded {
                    let task_id = Plan::task_id(self.plan.batches[stop.batch].task);
                    let task = self.tracks.values().find(|track| track.spec.task_id == task_id).map(|track| track.task);
                    let ended = task.is_some_and(|task| self.ended_tasks.contains(&task));
                    return assert!(ended, "I12: a task's end is durable before it is told: {stop:?}");
                }
                let track = &self.tracks[&stop.batch];
                assert!(track.over || !track.causes.is_empty(), "I12: a stop is durable before it is told: {stop:?}");
            }
            Ack::Settled { task, key, .. } => {
                let task_id = Plan::task_id(*task);
                let track = self.tracks.values().find(|track| track.spec.task_id == task_id);
                let record = track.and_then(|track| self.keys.get(&(track.task, key.clone())));
                let settled = record.is_some_and(|record| record.settled_by.is_some());
                assert!(settled, "a verdict is durable before it is told: {key} is {record:?}");
            }
        }
    }

    fn crashed(&mut self) {
        self.told.clear();
        for track in self.tracks.values_mut().filter(|track| !track.over) {
            track.interrupted = true;
        }
    }

    /// What is stored at the end is what happened.
    fn stored(&self, world: &World) {
        let reader = Reader::new(Arc::new(world.store.clone()));
        let open = world.store.scan(b"A"..b"B", Order::Ascending, 1).expect("memory can be read").len();
        assert_eq!(open, 0, "I20: nothing is left open");
        for (number, track) in &self.tracks {
            let at = Located { task: track.task, batch: track.no };
            let found = reader.locate(TENANT, &format!("batch {number}")).expect("memory can be read");
            assert_eq!(found, (!track.spec.direct).then_some(at), "a batch is found, and a direct step is none");
            let mut lines: Vec<LogLine> = Vec::new();
            loop {
                let page = reader.lines(at, lines.len() as u64).expect("a log can be read");
                if page.is_empty() {
                    break;
                }
                lines.extend(page);
            }
            let log: Vec<_> = lines.iter().map(|line| &line.entry).collect();
            assert_eq!(log, track.log.iter().collect::<Vec<_>>(), "I2: the log is what was committed: batch {number}");
            let view = reader.batch(at).expect("a batch can be shown");
            assert_eq!(view.state.end, view.head.end.map(|end| end.end), "I14: GetBatch agrees: batch {number}");
            for line in &lines {
                let Event::CallFinished(finished) = &line.entry.event else { continue };
                let shown = view.state.calls[finished.index as usize].finished();
                assert_eq!(shown, Some(finished), "I14: GetBatch shows the log's ends: batch {number}");
                self.result(&reader, track, finished, line);
            }
        }
        self.variables(world, &reader);
        for ((task, name), record) in &self.keys {
            let key =
                world.store.get(&layout::task_key(*task, name)).expect("memory can be read").expect("it is there");
            assert_eq!(&crate::engine::keys::key_record(&key, name).expect("it is a key"), record, "key {name}");
        }
    }

    /// Each direct step that has a result has it in a variable of its own, and there are no others.
    fn variables(&self, world: &World, reader: &Reader) {
        let mut kept = BTreeMap::new();
        for track in self.tracks.values() {
            for entry in &track.log {
                let Event::CallFinished(finished) = &entry.event else { continue };
                if matches!(finished.ending, Ending::Skipped { .. }) {
                    continue;
                }
                let (_, record) = reader.step_record(track.task, finished.step_id).expect("a step can be read");
                let head = reader.head(Located { task: track.task, batch: track.no }).expect("a head can be read");
                let has_result = matches!(finished.ending, Ending::Completed { .. } | Ending::Awaiting { .. });
                assert_eq!(head.variable.is_some(), track.spec.direct && has_result, "results are kept: {finished:?}");
                if let (Some(number), Some(result)) = (head.variable, record.end.and_then(|end| end.result)) {
                    let other = kept.insert((track.task, format!("VAR_{number}")), result);
                    assert_eq!(other, None, "a result has a variable of its own: {finished:?}");
                }
            }
        }
        for task in self.tracks.values().map(|track| track.task).collect::<HashSet<_>>() {
            let names = layout::variables(task);
            let rows =
                world.store.scan(&names.start..&names.end, Order::Ascending, usize::MAX).expect("it can be read");
            for (key, value) in &rows {
                let name = layout::variable_of(key).expect("it has a name").to_owned();
                let variable = records::decode_variable(value).expect("it can be read");
                assert_eq!(kept.remove(&(task, name)), Some(variable.value), "a variable is its step's result");
            }
            let last = reader.task_head(task).expect("it can be read").last_variable;
            assert_eq!(last, rows.len() as u64, "variables are counted without gap");
        }
        assert!(kept.is_empty(), "no step's variable is lost: {kept:?}");
    }

    fn result(&self, reader: &Reader, track: &Track, finished: &CallFinished, line: &LogLine) {
        let result = match &finished.ending {
            Ending::Completed { result }
            | Ending::Awaiting { result, .. }
            | Ending::Skipped { result: Some(result), .. } => result,
            Ending::Skipped { result: None, .. } | Ending::Failed(_) => return,
        };
        let (_, record) = reader.step_record(track.task, finished.step_id).expect("a step can be read");
        let payload = record.end.and_then(|end| end.result).expect("it has a result");
        let text = reader.payload(&payload, 0, payload.bytes).expect("a result can be read");
        let mut answers = self
            .runs
            .iter()
            .filter(|ran| ran.took_effect())
            .map(|ran| backend::result(&ran.idempotency_key, result.bytes));
        assert!(answers.any(|answer| answer == text), "I14: a result is the backend's, byte for byte");
        assert_eq!(line.result.as_ref(), result.inlined.then_some(&text), "I14: events show it: {finished:?}");
    }
}
