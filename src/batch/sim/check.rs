//! What must be true after every step of the core, over all batches.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use super::{
    backend::{Execution, Journal, Toolbox, position, target},
    plan::{TOOLS, View},
    track::{Call, Expected, Place, Surroundings, Track, Word},
};
use crate::{
    batch::{
        core::{Attempt, BatchNo, Begin, Core, Effect, Input, KeyChange, Output, TaskNo},
        event::{CallFinished, Ending, Entry, Event, Now, Reason, StepId, StopReason},
        key::{self, KeyRecord, KeyState},
        outcome::{Body, Fate, Outcome, Payload},
        spec::{CallSpec, InDoubtPolicy, Spec},
        state::State,
        step::StepRecord,
        tools::Tools as _,
    },
    json,
};

/// One step, from outside.
pub(super) struct Seen<'a> {
    pub(super) input: &'a Input,
    /// It is an answer that must not count.
    pub(super) stale: bool,
    pub(super) out: &'a Output,
    pub(super) now: Now,
    /// The world's time, in nanoseconds.
    pub(super) time: u64,
    pub(super) tools: &'a Toolbox,
    pub(super) core: &'a Core,
    pub(super) draining: bool,
}

/// What the disk holds, and what each entry of the logs tells of the calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Checker {
    tracks: BTreeMap<BatchNo, Track>,
    records: HashMap<(TaskNo, Arc<str>), KeyRecord>,
    doubts: HashMap<String, bool>,
    used: HashSet<StepId>,
}

impl Seen<'_> {
    pub(super) fn view(&self, tool: &str) -> View {
        self.tools.0[position(tool)]
    }

    /// Whether the call is another one than its key ran with.
    pub(super) fn differs(&self, record: &KeyRecord, call: &CallSpec) -> bool {
        self.tools.base_tool("", &call.tool) != record.base_tool || json::digest(&call.args) != record.args_digest
    }

    /// The length of the result that the step was told of, if it was of this call.
    pub(super) fn heard(&self, of: BatchNo, call: u32) -> Option<u64> {
        Some(self.payload(of, call)?.bytes)
    }

    fn payload(&self, of: BatchNo, call: u32) -> Option<&Payload> {
        let own = |batch: &BatchNo, index: &u32| (*batch, *index) == (of, call);
        let outcome = match self.input {
            Input::Outcome { batch, index, outcome, .. }
            | Input::Fate { batch, index, fate: Fate::Landed(outcome), .. } => own(batch, index).then_some(outcome)?,
            Input::Fate { fate: Fate::NotLanded | Fate::Unknown { .. }, .. }
            | Input::Start(_)
            | Input::Resume(_)
            | Input::Tick
            | Input::ToolsChanged
            | Input::Stop { .. }
            | Input::KeySettled { .. }
            | Input::Drain => return None,
        };
        match outcome {
            Outcome::Completed { result, .. } | Outcome::Awaiting { result, .. } => Some(result),
            Outcome::Failed { .. } | Outcome::NotSent { .. } | Outcome::Unknown { .. } => None,
        }
    }
}

impl Checker {
    pub(super) fn stored_key(&self, task: TaskNo, key: &Arc<str>) -> Option<&KeyRecord> {
        self.records.get(&(task, key.clone()))
    }

    pub(super) fn task_of(&self, batch: BatchNo) -> TaskNo {
        self.tracks[&batch].task
    }

    /// Whether the attempt is under way, so that its outcome counts.
    pub(super) fn awaits(&self, batch: BatchNo, index: u32, attempt: u32) -> bool {
        self.tracks.get(&batch).is_some_and(|track| {
            let call = &track.calls[index as usize];
            call.place == Place::Sent && call.starts == attempt && call.asking.is_none()
        })
    }

    /// Whether a backend's word on the attempt counts.
    pub(super) fn asks(&self, batch: BatchNo, index: u32, attempt: u32) -> bool {
        self.tracks.get(&batch).is_some_and(|track| track.calls[index as usize].asking == Some(attempt))
    }

    /// Every entry of every log.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.tracks.values().flat_map(|track| &track.log)
    }

    pub(super) fn unfinished(&self) -> impl Iterator<Item = BatchNo> {
        self.tracks.values().filter(|track| !track.over).map(|track| track.batch)
    }

    pub(super) fn rebooted(&mut self) {
        for track in self.tracks.values_mut() {
            track.rebooted();
        }
    }

    /// What a restart reads of a batch: the fold over its log, and whether it was told to stop.
    pub(super) fn recovered(&self, batch: BatchNo) -> (State, Option<StopReason>) {
        let track = &self.tracks[&batch];
        let mut state = State::new(track.spec.calls.len(), track.spec.options.stop_on_error);
        for entry in &track.log {
            let fits = state.apply(entry);
            assert_eq!(fits, Ok(()), "a log can be folded again");
        }
        (state, track.stop)
    }

    /// Checks a step of the core, and takes it in. Panics where a rule is broken.
    pub(super) fn step(&mut self, seen: &Seen<'_>) {
        let out = seen.out;
        if seen.stale {
            let quiet = out.entries.is_empty() && out.steps.is_empty() && out.keys.is_empty() && out.effects.is_empty();
            assert!(quiet, "an answer that nobody waits for changes nothing: {:?} led to {out:?}", seen.input);
            return;
        }
        let expected = self.take_in(seen);
        let stopped: Vec<_> =
            self.tracks.values().filter(|track| track.cause.is_some()).map(|track| track.batch).collect();
        let first = out.entries.first();
        let (mut steps, mut keys) = (Vec::new(), Vec::new());
        for (batch, entry) in &out.entries {
            self.observe(*batch, entry, seen, &mut steps, &mut keys);
        }
        assert_eq!(keys, out.keys, "key records follow the calls' ends, in order, and nothing else");
        Self::steps_agree(&steps, &out.steps, seen);
        self.effects(seen, &stopped);
        self.answered(expected, first, seen);
        if let Input::Stop { batches, abort: true, .. } = seen.input {
            for batch in batches {
                self.aborted(*batch, seen);
            }
        }
        if let Input::Resume(resumed) = seen.input {
            for begin in resumed.iter().map(|resumed| &resumed.begin) {
                self.took_up(begin, seen);
            }
        }
        self.fold_agrees(seen);
        for (tool, _) in TOOLS {
            self.is_full(tool, seen);
        }
        for track in self.tracks.values().filter(|track| !track.over) {
            Self::rests(track, seen);
            self.wastes_nothing(track, seen);
        }
    }

    /// Notes what the input itself says, and what must come of it.
    fn take_in(&mut self, seen: &Seen<'_>) -> Option<(BatchNo, u32, Expected)> {
        match seen.input {
            Input::Start(begin) => {
                let track = Track::new(begin.batch, begin.task, begin.spec.clone());
                self.tracks.insert(begin.batch, track);
                None
            }
            Input::Stop { batches, reason, .. } => {
                for batch in batches {
                    let Some(track) = self.tracks.get_mut(batch).filter(|track| !track.over) else { continue };
                    track.cause = track.cause.or(Some(*reason));
                    if *reason == StopReason::TaskEnded || track.stop.is_none() {
                        track.stop = Some(*reason);
                    }
                }
                None
            }
            Input::Outcome { batch, index, outcome, .. } => {
                let track = self.tracks.get_mut(batch)?;
                let stopped = track.cause.is_some();
                let call = &mut track.calls[*index as usize];
                let expected = call.expects(outcome, &track.spec, stopped);
                if let Outcome::Unknown { reason, message } = outcome {
                    call.lost = Some(crate::batch::event::CallError {
                        reason: *reason,
                        message: message.clone(),
                        outcome_unknown: true,
                        retryable: false,
                        code: String::new(),
                    });
                }
                Some((*batch, *index, expected))
            }
            Input::Fate { batch, index, fate, .. } => {
                let track = self.tracks.get_mut(batch)?;
                let stopped = track.cause.is_some();
                let call = &mut track.calls[*index as usize];
                let expected = call.expects_of(fate, &track.spec, stopped);
                call.asking = if call.starts == 0 { call.asking } else { None };
                call.word = match fate {
                    Fate::Landed(_) => Some(Word::Landed),
                    Fate::NotLanded => Some(Word::NotLanded),
                    Fate::Unknown { .. } => None,
                };
                if matches!(fate, Fate::NotLanded) {
                    // As if it had never left.
                    call.asking = None;
                }
                Some((*batch, *index, expected))
            }
            Input::Resume(_) | Input::Tick | Input::ToolsChanged | Input::KeySettled { .. } | Input::Drain => None,
        }
    }

    /// Whether another call is under way, in doubt or in backoff under a key.
    fn holder(&self, task: TaskNo, key: &Arc<str>) -> bool {
        self.tracks.values().filter(|track| track.task == task).any(|track| {
            let calls = track.calls.iter().zip(&track.spec.calls);
            calls.into_iter().any(|(call, spec)| call.runs() && spec.key.as_ref() == Some(key))
        })
    }

    fn observe(
        &mut self,
        batch: BatchNo,
        entry: &Entry,
        seen: &Seen<'_>,
        steps: &mut Vec<StepRecord>,
        keys: &mut Vec<KeyChange>,
    ) {
        let mut track = self.tracks.remove(&batch).expect("only batches that were accepted have entries");
        let (task, spec) = (track.task, track.spec.clone());
        track.observe(
            entry,
            seen,
            &Surroundings {
                records: &self.records,
                held: &|key| self.holder(task, key),
                doubts: &self.doubts,
                idempotency_key: &|index, generation| idempotency_key(&spec, index, generation),
                used: &self.used,
            },
        );
        match &entry.event {
            Event::CallStarted { index, step_id, generation, .. } => {
                self.used.insert(*step_id);
                if track.calls[*index as usize].word.take() == Some(Word::NotLanded) {
                    self.doubts.insert(idempotency_key(&spec, *index, *generation), false);
                }
                steps.push(step_of(&track, *index, None, seen));
            }
            Event::CallFinished(finished) => {
                self.used.insert(finished.step_id);
                if !matches!(finished.ending, Ending::Skipped { .. }) {
                    steps.push(step_of(&track, finished.index, Some(finished), seen));
                    self.settles(&track, finished, seen, keys);
                }
            }
            Event::BatchResumed { in_doubt } => {
                for index in in_doubt {
                    let name = idempotency_key(&spec, *index, track.calls[*index as usize].generation);
                    self.doubts.insert(name, true);
                }
            }
            Event::BatchStarted | Event::CallRetrying { .. } | Event::BatchFinished { .. } => {}
        }
        self.tracks.insert(batch, track);
    }

    /// What a call's end means for its key, by R5.
    fn settles(&mut self, track: &Track, finished: &CallFinished, seen: &Seen<'_>, keys: &mut Vec<KeyChange>) {
        let call = &track.calls[finished.index as usize];
        let spec = &track.spec.calls[finished.index as usize];
        let (state, rises) = match &finished.ending {
            Ending::Completed { result } => (KeyState::Completed { result_bytes: result.bytes, await_id: None }, false),
            Ending::Awaiting { await_id, result } => {
                (KeyState::Completed { result_bytes: result.bytes, await_id: Some(await_id.clone()) }, false)
            }
            Ending::Failed(error) if error.outcome_unknown => {
                if call.starts == 0 {
                    return;
                }
                let name = idempotency_key(&track.spec, finished.index, call.generation);
                self.doubts.insert(name, true);
                (KeyState::Unknown, false)
            }
            Ending::Failed(_) => (KeyState::Failed, true),
            Ending::Skipped { .. } => return,
        };
        let Some(key) = &spec.key else { return };
        let before = self.stored_key(track.task, key).map_or(0, |record| record.generation);
        let record = KeyRecord {
            state,
            step_id: finished.step_id,
            base_tool: target(&spec.tool).base_tool,
            args_digest: json::digest(&spec.args),
            generation: before + u64::from(rises),
            update_time: seen.now.wall,
            settled_by: None,
        };
        let task = track.task;
        let is_first = self.records.insert((task, key.clone()), record.clone()).is_none();
        keys.push(KeyChange { task, key: key.clone(), record, is_first });
    }

    fn steps_agree(expected: &[StepRecord], found: &[(BatchNo, StepRecord)], seen: &Seen<'_>) {
        assert_eq!(expected.len(), found.len(), "every attempt and every end is on its step");
        for (expected, (batch, found)) in expected.iter().zip(found) {
            let mut cut = found.clone();
            if let Some(end) = &mut cut.end {
                if let Ending::Failed(error) = &mut end.finished.ending {
                    let kept = error.message.floor_char_boundary(2 * 1_024);
                    error.message.truncate(kept);
                }
                let whole = seen.payload(*batch, found.index);
                let results = matches!(end.finished.ending, Ending::Completed { .. } | Ending::Awaiting { .. });
                assert_eq!(end.result.as_ref(), whole.filter(|_| results), "the full result is on its step");
                if let Some(Payload { body: Body::Blob(at), .. }) = &end.result {
                    let own = (u64::from(at.file), at.offset) == (batch.0, u64::from(found.index));
                    assert!(own, "a result is its own call's: batch {batch:?} call {}", found.index);
                }
                end.result = None;
            }
            assert_eq!(&cut, expected, "the step says what the log says");
        }
    }

    /// One wish for each fact that asks for one, in the same order.
    fn effects(&mut self, seen: &Seen<'_>, stopped: &[BatchNo]) {
        let mut sends = seen.out.effects.iter().filter_map(|effect| match effect {
            Effect::Send(attempt) => Some(attempt),
            Effect::Lookup(_) | Effect::Abort { .. } => None,
        });
        for (batch, entry) in &seen.out.entries {
            let Event::CallStarted { index, step_id, attempt, in_doubt, generation, .. } = &entry.event else {
                continue;
            };
            let track = &self.tracks[batch];
            let expected = Attempt {
                batch: *batch,
                index: *index,
                attempt: *attempt,
                step_id: *step_id,
                target: target(&track.spec.calls[*index as usize].tool),
                idempotency_key: idempotency_key(&track.spec, *index, *generation),
                in_doubt: *in_doubt,
                resumed: track.calls[*index as usize].resumed,
            };
            assert_eq!(sends.next(), Some(&expected), "what is sent is what the log says");
        }
        assert_eq!(sends.next(), None, "nothing is sent that is not in the log");
        for effect in &seen.out.effects {
            if let Effect::Lookup(asked) = effect {
                self.asked(asked, stopped);
            }
        }
    }

    fn asked(&mut self, asked: &Attempt, stopped: &[BatchNo]) {
        let track = &self.tracks[&asked.batch];
        let call = &track.calls[asked.index as usize];
        assert_eq!(track.spec.options.in_doubt, InDoubtPolicy::Lookup, "only the policy LOOKUP asks: {asked:?}");
        assert_eq!(asked.attempt, call.starts, "the latest attempt is asked about: {asked:?}");
        let generation = if call.starts > 0 {
            assert!(
                matches!(call.place, Place::Sent | Place::InDoubt),
                "only an open attempt is asked about: {asked:?}"
            );
            call.generation
        } else {
            assert_eq!(call.place, Place::Waiting, "only an open call is asked about: {asked:?}");
            assert!(!stopped.contains(&asked.batch), "a stopped batch asks for no new call: {asked:?}");
            let key = track.spec.calls[asked.index as usize].key.as_ref().expect("only a key has a past");
            let record = self.stored_key(track.task, key).expect("only a key has a past");
            assert_eq!(record.state, KeyState::Unknown, "only an unknown key is asked about: {asked:?}");
            record.generation
        };
        let name = idempotency_key(&track.spec, asked.index, generation);
        assert_eq!(asked.idempotency_key, name, "a question names the call as its attempts did");
        let track = self.tracks.get_mut(&asked.batch).expect("it was seen above");
        track.calls[asked.index as usize].asking = Some(asked.attempt);
    }

    /// An answer that counted led to what it must lead to.
    fn answered(&self, expected: Option<(BatchNo, u32, Expected)>, first: Option<&(BatchNo, Entry)>, seen: &Seen<'_>) {
        let Some((batch, index, expected)) = expected else { return };
        let call = &self.tracks[&batch].calls[index as usize];
        let own = first.filter(|(of, _)| *of == batch).map(|(_, entry)| &entry.event);
        let ending = match own {
            Some(Event::CallFinished(finished)) if finished.index == index => Some(&finished.ending),
            _ => None,
        };
        let fits = match expected {
            Expected::Complete => matches!(ending, Some(Ending::Completed { .. })),
            Expected::Await => matches!(ending, Some(Ending::Awaiting { .. })),
            Expected::Fail { outcome_unknown } => {
                matches!(ending, Some(Ending::Failed(error)) if error.outcome_unknown == outcome_unknown)
            }
            Expected::Retry => matches!(own, Some(Event::CallRetrying { index: of, .. }) if *of == index),
            Expected::Question => call.asking == Some(call.starts),
            Expected::Begin { in_doubt } => {
                let spec = &self.tracks[&batch].spec.calls[index as usize];
                match (seen.view(&spec.tool), own) {
                    (_, Some(Event::CallFinished(finished)))
                        if self.tracks[&batch].stop == Some(StopReason::TaskEnded) =>
                    {
                        finished.index == index
                            && matches!(&finished.ending, Ending::Failed(error) if !error.outcome_unknown)
                    }
                    // It had stopped before the drain began, and this was the last that it waited for.
                    (_, Some(Event::BatchFinished { .. }))
                        if call.place == Place::Waiting && self.tracks[&batch].cause.is_some() =>
                    {
                        true
                    }
                    _ if seen.draining => own.is_none(),
                    // A call that never was this batch's is not run after a stop.
                    (_, Some(Event::BatchFinished { .. }) | None) if call.place == Place::Waiting => true,
                    (View::Ready, Some(Event::CallStarted { index: of, in_doubt: told, .. })) => {
                        (*of, *told) == (index, in_doubt)
                    }
                    (View::Refused(_), Some(Event::CallFinished(finished))) => finished.index == index,
                    (View::NotYet, None) => true,
                    (View::Ready, None) => self.is_full(&spec.tool, seen),
                    _ => false,
                }
            }
        };
        assert!(fits, "an answer has its due end: {:?} must lead to {expected:?}, led to {:?}", seen.input, seen.out);
    }

    fn aborted(&self, batch: BatchNo, seen: &Seen<'_>) {
        let Some(track) = self.tracks.get(&batch) else { return };
        let aborted = |of: u32| seen.out.effects.contains(&Effect::Abort { batch, index: of });
        for (index, call) in (0..).zip(&track.calls) {
            let open = matches!(call.place, Place::Sent | Place::InDoubt) || call.asking.is_some();
            assert!(!open, "abort leaves nothing under way: batch {batch:?} call {index}");
            if let Some(CallFinished { ending: Ending::Failed(error), .. }) = &call.end
                && aborted(index)
            {
                let told = error.reason == Reason::Cancelled && error.outcome_unknown;
                assert!(told, "what is cut off may have landed: batch {batch:?} call {index}: {error:?}");
            }
        }
    }

    /// What was in flight at the interruption follows the policy, in the very step that takes the batch up.
    fn took_up(&self, begin: &Begin, seen: &Seen<'_>) {
        let track = &self.tracks[&begin.batch];
        let named = seen
            .out
            .entries
            .iter()
            .any(|(batch, entry)| *batch == begin.batch && matches!(entry.event, Event::BatchResumed { .. }));
        assert!(named, "a restart shows in the log: batch {:?}", begin.batch);
        if track.stop == Some(StopReason::TaskEnded) {
            assert!(track.over, "an ended task's batch is closed at start: batch {:?}", begin.batch);
            let ran = track.calls.iter().any(|call| call.resumed && call.place != Place::Ended);
            assert!(!ran, "an ended task's calls in flight end in doubt: batch {:?}", begin.batch);
        }
        for (index, call) in (0..).zip(&track.calls).filter(|(_, call)| call.place == Place::InDoubt) {
            let fits = match track.spec.options.in_doubt {
                InDoubtPolicy::Rerun => {
                    let tool = &track.spec.calls[index].tool;
                    seen.view(tool) == View::NotYet || self.is_full(tool, seen)
                }
                InDoubtPolicy::Lookup => call.asking == Some(call.starts),
                InDoubtPolicy::Fail => false,
            };
            assert!(fits, "what was in flight follows its policy: batch {:?} call {index}", begin.batch);
        }
        for call in track.calls.iter().filter(|call| call.resumed && track.spec.options.in_doubt == InDoubtPolicy::Fail)
        {
            let failed = matches!(&call.end, Some(CallFinished { ending: Ending::Failed(error), .. })
                if error.reason == Reason::InDoubt && error.outcome_unknown);
            assert!(failed, "policy FAIL ends in doubt: batch {:?}: {call:?}", begin.batch);
        }
    }

    fn fold_agrees(&self, seen: &Seen<'_>) {
        let open = self.unfinished().count();
        assert_eq!(seen.core.open_batches(), open, "a batch is live until its log says that it is over");
        for track in self.tracks.values().filter(|track| !track.over) {
            let live = seen.core.batch(track.batch).map(|(_, state)| state);
            assert_eq!(live, Some(&track.state), "folding the log gives the live state: batch {:?}", track.batch);
            for key in track.spec.calls.iter().filter_map(|call| call.key.as_ref()) {
                assert!(seen.core.knows_key(track.task, key), "a live batch's keys are known: {key}");
                let (live, stored) = (seen.core.key_record(track.task, key), self.stored_key(track.task, key));
                assert_eq!(live, stored, "the core's record of a key is the one on disk: {key}");
            }
        }
        let busy = |track: &Track| track.calls.iter().any(|call| call.place == Place::Sent || call.asking.is_some());
        let busy = self.tracks.values().any(busy);
        assert_eq!(seen.core.is_busy(), busy, "a draining server waits for what is under way, and for nothing else");
    }

    /// What a batch looks like between steps.
    fn rests(track: &Track, seen: &Seen<'_>) {
        let in_backoff = || track.calls.iter().filter(|call| call.place == Place::Backoff);
        if track.cause.is_some() {
            assert_eq!(in_backoff().count(), 0, "a stopped batch keeps no call in backoff: batch {:?}", track.batch);
            let active = track.calls.iter().any(|call| call.runs() || call.asking.is_some());
            assert!(active, "a stopped batch ends once nothing runs: batch {:?}", track.batch);
        }
        if track.stop == Some(StopReason::TaskEnded) {
            let waits = track.calls.iter().any(|call| call.place == Place::InDoubt && call.asking.is_none());
            assert!(!waits || seen.draining, "nothing of an ended task is taken up again: batch {:?}", track.batch);
        }
        let next = seen.core.next_due();
        if seen.draining {
            assert_eq!(next, None, "a draining server waits for no timer");
        } else if let Some(due) = in_backoff().filter_map(|call| call.due).min() {
            let elapsed = u64::try_from(seen.now.mono.as_nanos()).unwrap();
            let next = next.map(|next| seen.time - elapsed + u64::try_from(next.as_nanos()).unwrap());
            let late = next.is_none_or(|next| next > due) && due > seen.time;
            assert!(!late, "a backoff has a timer: due {due}, next {next:?}, batch {:?}", track.batch);
        }
    }

    /// How many attempts a tool's backend has before it, and whether it takes no more.
    fn is_full(&self, tool: &str, seen: &Seen<'_>) -> bool {
        let backend = target(tool).backend;
        let there = |spec: &CallSpec, call: &Call| {
            call.place == Place::Sent && call.asking.is_none() && target(&spec.tool).backend == backend
        };
        let calls = self.tracks.values().flat_map(|track| track.spec.calls.iter().zip(&track.calls));
        let count = u32::try_from(calls.filter(|(spec, call)| there(spec, call)).count()).unwrap();
        let places = seen.tools.1;
        assert!(places == 0 || count <= places, "I10: `{backend}` takes {places} calls at once, and has {count}");
        places > 0 && count == places
    }

    /// A call that could run does: its lane and key are free, and a slot stands empty.
    fn wastes_nothing(&self, track: &Track, seen: &Seen<'_>) {
        if seen.draining || track.cause.is_some() {
            return;
        }
        let absent = |spec: &CallSpec| seen.view(&spec.tool) == View::NotYet || self.is_full(&spec.tool, seen);
        // A call that waits for its tool, or for a place, holds a slot, and one whose backend is asked; whether the former has begun is
        // not in the log.
        let taken = |track: &Track, index: usize| {
            let call = &track.calls[index];
            call.runs() || call.asking.is_some() || (call.place == Place::Waiting && absent(&track.spec.calls[index]))
        };
        let slots = (0..track.calls.len()).filter(|index| taken(track, *index)).count();
        if slots >= track.width() {
            return;
        }
        for (index, call) in track.calls.iter().enumerate() {
            if call.place != Place::Waiting || taken(track, index) || track.blocked(index) {
                continue;
            }
            let key = track.spec.calls[index].key.as_ref();
            let held = self.tracks.values().filter(|other| other.batch != track.batch && other.task == track.task).any(
                |other| {
                    let same = |of: &usize| key.is_some() && other.spec.calls[*of].key.as_ref() == key;
                    !other.over && (0..other.calls.len()).filter(same).any(|of| taken(other, of))
                },
            );
            assert!(held, "a slot stands empty while batch {:?} call {index} could run", track.batch);
        }
    }

    /// An attempt reaches its tool.
    pub(super) fn executes(&self, journal: &Journal, line: &Execution) {
        let track = &self.tracks[&line.batch];
        let own = || journal.open().filter(|other| other.batch == line.batch);
        assert!(own().count() < track.width(), "at most max_concurrency at the tools at once: {line:?}");
        assert!(!own().any(|other| other.index == line.index), "one call never twice at once: {line:?}");
        if let Some(lane) = &line.lane {
            let met = own().any(|other| other.lane.as_ref() == Some(lane));
            assert!(!met, "one lane never twice at once: {line:?}");
        }
        if let Some(key) = &line.key {
            let met = journal.open().any(|other| other.task == line.task && other.key.as_ref() == Some(key));
            assert!(!met, "one key never twice at once: {line:?}");
            let record = self.stored_key(line.task, &Arc::from(key.as_str()));
            let done = record.is_some_and(|record| matches!(record.state, KeyState::Completed { .. }));
            assert!(!done, "what is completed never runs again: {line:?}");
        }
    }

    /// The world has come to its end.
    pub(super) fn is_over(&self, journal: &Journal) {
        for track in self.tracks.values() {
            assert!(track.over, "every batch ends: batch {:?} stands at {:?}", track.batch, track.calls);
            for (index, call) in (0..).zip(&track.calls) {
                let own = |line: &&Execution| line.batch == track.batch && line.index == index;
                let lines = u32::try_from(journal.0.iter().filter(own).count()).unwrap();
                assert!(lines <= call.starts, "nothing runs that is not in the log: {call:?}");
                let most = u32::from(call.starts > 0) + call.retries + call.interruptions;
                assert!(call.starts <= most, "a call repeats for a retry or an interruption only: {call:?}");
            }
        }
        for (place, line) in journal.0.iter().enumerate() {
            let earlier = journal.0[..place].iter().filter(|other| other.idempotency_key == line.idempotency_key);
            self.repeats_as_agreed(earlier, line);
        }
    }

    /// An attempt of a logical call that others came before.
    fn repeats_as_agreed<'a>(&self, earlier: impl Iterator<Item = &'a Execution>, line: &Execution) {
        let policy = self.tracks[&line.batch].spec.options.in_doubt;
        for other in earlier {
            assert_eq!(
                (line.task, &line.key),
                (other.task, &other.key),
                "one idempotency key names one call: {line:?}"
            );
            let known = other.heard && !other.deed.landed();
            match policy {
                InDoubtPolicy::Fail => assert!(known, "policy FAIL repeats nothing: {line:?} after {other:?}"),
                InDoubtPolicy::Lookup => {
                    assert!(
                        !other.deed.landed(),
                        "policy LOOKUP repeats nothing that landed: {line:?} after {other:?}"
                    );
                }
                InDoubtPolicy::Rerun => {
                    assert!(known || line.in_doubt || !other.deed.landed(), "a repeat is marked in_doubt: {line:?}");
                }
            }
        }
    }
}

fn step_of(track: &Track, index: u32, end: Option<&CallFinished>, seen: &Seen<'_>) -> StepRecord {
    let call = &track.calls[index as usize];
    let target = target(&track.spec.calls[index as usize].tool);
    let sent = call.starts > 0;
    StepRecord {
        step_id: end.map_or_else(|| call.step.expect("a started call is a step"), |end| end.step_id),
        index,
        base_tool: target.base_tool,
        backend: if sent { target.backend } else { String::new() },
        attempts: call.starts,
        start_time: if sent { call.first_start } else { seen.now.wall },
        end: end.map(|finished| crate::batch::step::StepEnd {
            time: seen.now.wall,
            finished: finished.clone(),
            result: None,
            usage: Vec::new(),
        }),
    }
}

/// Names the call towards its backend, by R5.
fn idempotency_key(spec: &Spec, index: u32, generation: u64) -> String {
    match &spec.calls[index as usize].key {
        Some(key) => key::keyed_idempotency_key("tenant", &spec.task_id, key, generation),
        None => key::unkeyed_idempotency_key("tenant", spec.batch_id.as_deref().unwrap_or_default(), index),
    }
}
