//! Reading what is stored: batches, logs, steps. Everything here blocks for as long as a disk takes.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::{Bytes, BytesMut};

use super::{error::Error, intake::Intake, leases::Leases, retention::Dropping};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{CallFinished, Ending, Entry, Event, StepId},
        outcome::{Body, Payload},
        spec::{Options, Spec},
        state::State,
        step::StepRecord,
    },
    store::{
        self, MAX_VALUE, Order, Store, layout,
        records::{self, BatchRecord, Locator, Outline, Task},
    },
};

/// How many log entries are read at once: enough to make a replay fast, few enough for a reader to cost little.
const LOG_PAGE: usize = 64;

/// How many groups of steps are remembered as verified: a month of them. A client can ask for any, one id at a time.
const VERIFIED_STEPS_MAX: usize = 40_000;

/// A batch by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its task's number.
    pub task: TaskNo,
    /// Its own.
    pub batch: BatchNo,
}

/// An entry of a log, with the result that it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// The entry.
    pub entry: Entry,
    /// The result's JSON text, where the entry is a `CallFinished` that inlines one.
    pub result: Option<Bytes>,
}

/// A batch as a whole.
#[derive(Clone, Debug)]
pub struct BatchView {
    /// Its head.
    pub head: BatchRecord,
    /// Its calls, without their args.
    pub outline: Outline,
    /// The fold over its log.
    pub state: State,
    /// By index: the results that are inlined.
    pub results: Vec<Option<Bytes>>,
}

/// A step as a whole.
#[derive(Clone, Debug)]
pub struct StepView {
    /// The batch that the call belongs to.
    pub head: BatchRecord,
    /// That batch's calls, without their args.
    pub outline: Arc<Outline>,
    /// The record.
    pub record: StepRecord,
}

/// A page of things, and where the next one begins.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The things.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end.
    pub next: Option<Bytes>,
}

/// Reads the store.
pub struct Reader {
    pub(super) store: Arc<dyn Store>,
    /// The tasks whose records were found whole since the start. Held while one is verified, so that nothing is written to a task
    /// while its records are counted: whoever wants to write to it has to be here first.
    verified: Mutex<HashSet<TaskNo>>,
    /// The same of the groups of keys that find steps.
    verified_steps: Mutex<HashSet<u64>>,
    pub(super) dropping: Dropping,
    pub(super) leases: Leases,
    pub(super) intake: Intake,
}

impl Reader {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            verified: Mutex::default(),
            verified_steps: Mutex::default(),
            dropping: Dropping::default(),
            leases: Leases::default(),
            intake: Intake::default(),
        }
    }

    /// Makes sure that a task's records are whole, the first time that anyone touches it.
    pub(super) fn verify(&self, task: TaskNo) -> Result<(), Error> {
        let mut verified = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if !verified.contains(&task) {
            self.store.verify(task.0)?;
            verified.insert(task);
        }
        Ok(())
    }

    /// Makes sure that what finds steps is whole around a key, the first time that one is not found there.
    fn verify_steps(&self, key: &[u8]) -> Result<(), Error> {
        let Some(group) = store::group(key) else { return Ok(()) };
        let mut verified = self.verified_steps.lock().unwrap_or_else(PoisonError::into_inner);
        if !verified.contains(&group) {
            self.store.verify(group)?;
            if verified.len() >= VERIFIED_STEPS_MAX {
                verified.clear();
            }
            verified.insert(group);
        }
        Ok(())
    }

    /// Whether a task is there for readers: not one that is being dropped. Verifies it.
    pub(super) fn is_here(&self, task: TaskNo) -> Result<bool, Error> {
        if self.dropping.has(task) {
            return Ok(false);
        }
        self.verify(task)?;
        Ok(true)
    }

    /// A task that is dropped needs no verification any more.
    pub(super) fn forget(&self, task: TaskNo) {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }

    /// A task that is about to be written for the first time: there is nothing to verify.
    pub(super) fn trust(&self, task: TaskNo) {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).insert(task);
    }

    /// Finds a batch by its id. A direct step is none.
    pub fn locate(&self, tenant: &str, batch_id: &str) -> Result<Option<Located>, Error> {
        let Some(value) = self.store.get(&layout::batch_locator(tenant, batch_id))? else { return Ok(None) };
        let located = located(&records::decode::<Locator>(&value)?);
        Ok(self.is_here(located.task)?.then_some(located))
    }

    /// Finds a batch by its id, or says that there is none.
    pub fn find(&self, tenant: &str, batch_id: &str) -> Result<Located, Error> {
        self.locate(tenant, batch_id)?.ok_or_else(|| Error::NotFound { kind: "batch", id: batch_id.into() })
    }

    /// Finds a task by its id.
    pub fn task(&self, tenant: &str, task_id: &str) -> Result<Option<(TaskNo, Task)>, Error> {
        let Some(value) = self.store.get(&layout::task_locator(tenant, task_id))? else { return Ok(None) };
        let task = TaskNo(records::decode::<Locator>(&value)?.task);
        if !self.is_here(task)? {
            return Ok(None);
        }
        Ok(Some((task, self.task_head(task)?)))
    }

    /// A task's number, or that there is none: a task begins with its first batch or variable.
    pub fn known_task(&self, tenant: &str, task_id: &str) -> Result<TaskNo, Error> {
        let found = self.task(tenant, task_id)?;
        Ok(found.ok_or_else(|| Error::NotFound { kind: "task", id: task_id.into() })?.0)
    }

    pub(super) fn task_head(&self, task: TaskNo) -> Result<Task, Error> {
        Ok(records::decode(&self.must(&layout::task(task), "a task's head")?)?)
    }

    /// A batch's head.
    pub fn head(&self, at: Located) -> Result<BatchRecord, Error> {
        self.must_be_here(at)?;
        Ok(records::decode_batch(&self.must(&layout::batch(at.task, at.batch), "a batch's head")?)?)
    }

    /// A batch's calls, without their args.
    pub fn outline(&self, head: &BatchRecord) -> Result<Outline, Error> {
        Ok(Outline::read(self.payload(&head.content, 0, head.outline_bytes)?)?)
    }

    /// The args of one call, byte for byte.
    pub fn args(&self, head: &BatchRecord, outline: &Outline, index: u32) -> Result<Bytes, Error> {
        let missing = || store::Error::Damaged(format!("call {index} is not in its batch's content"));
        let (offset, bytes) = outline.args_range(index).ok_or_else(missing)?;
        self.payload(&head.content, head.outline_bytes.saturating_add(offset), bytes)
    }

    pub(super) fn spec(&self, head: &BatchRecord) -> Result<Spec, Error> {
        let args = self.payload(&head.content, head.outline_bytes, head.content.bytes - head.outline_bytes)?;
        let spec = self.outline(head)?.spec(&head.batch_id, head.content_digest, &args)?;
        Ok(Spec { direct: head.direct, ..spec })
    }

    /// A batch that was found earlier may have been dropped since.
    fn must_be_here(&self, at: Located) -> Result<(), Error> {
        if self.dropping.has(at.task) {
            return Err(Error::NotFound { kind: "batch", id: format!("number {}", at.batch.0) });
        }
        Ok(())
    }

    /// The entries of a batch's log after a sequence number, a page of them.
    pub(super) fn entries(&self, at: Located, after: u64) -> Result<Vec<Entry>, Error> {
        self.must_be_here(at)?;
        let first = layout::entry(at.task, at.batch, after.saturating_add(1));
        let end = layout::entry(at.task, at.batch, u64::MAX);
        let rows = self.store.scan(&first..&end, Order::Ascending, LOG_PAGE)?;
        let mut entries = Vec::with_capacity(rows.len());
        for (key, value) in rows {
            let sequence = layout::sequence_of(&key).unwrap_or_default();
            if sequence != after + 1 + entries.len() as u64 {
                return Err(store::Error::Damaged(format!("a batch's log has no entry before {sequence}")).into());
            }
            entries.push(records::decode_entry(sequence, &value)?);
        }
        Ok(entries)
    }

    /// The same, with the results that the entries show.
    pub(super) fn lines(&self, at: Located, after: u64) -> Result<Vec<LogLine>, Error> {
        let entries = self.entries(at, after)?;
        entries.into_iter().map(|entry| Ok(LogLine { result: self.shown(at.task, &entry)?, entry })).collect()
    }

    /// The result that an entry shows.
    pub(super) fn shown(&self, task: TaskNo, entry: &Entry) -> Result<Option<Bytes>, Error> {
        match &entry.event {
            Event::CallFinished(finished) => self.inlined(task, finished),
            Event::BatchStarted
            | Event::CallStarted { .. }
            | Event::CallRetrying { .. }
            | Event::BatchResumed { .. }
            | Event::BatchFinished { .. } => Ok(None),
        }
    }

    fn inlined(&self, task: TaskNo, finished: &CallFinished) -> Result<Option<Bytes>, Error> {
        if !shows_result(finished) {
            return Ok(None);
        }
        let (_, step) = self.step_record(task, finished.step_id)?;
        let result = step.end.and_then(|end| end.result);
        let result = result.ok_or_else(|| store::Error::Damaged(format!("step {} has no result", finished.step_id)))?;
        Ok(Some(self.payload(&result, 0, result.bytes)?))
    }

    /// The fold over a batch's log so far.
    pub fn state(&self, at: Located, total: usize, options: &Options) -> Result<State, Error> {
        let mut state = State::new(total, options.stop_on_error);
        loop {
            let entries = self.entries(at, state.last_sequence)?;
            if entries.is_empty() {
                return Ok(state);
            }
            for entry in &entries {
                state.apply(entry)?;
            }
        }
    }

    /// A batch as a whole: the fold over its log so far, with the results that it shows.
    pub fn batch(&self, at: Located) -> Result<BatchView, Error> {
        let head = self.head(at)?;
        let outline = self.outline(&head)?;
        let state = self.state(at, outline.calls.len(), &outline.options)?;
        let results = state.calls.iter().map(|call| match call.finished() {
            Some(finished) => self.inlined(at.task, finished),
            None => Ok(None),
        });
        let results = results.collect::<Result<_, _>>()?;
        Ok(BatchView { head, outline, state, results })
    }

    /// The task and batch of a call's step.
    pub fn locate_step(&self, tenant: &str, step_id: &str) -> Result<(Located, StepId), Error> {
        let absent = || Error::NotFound { kind: "step", id: step_id.into() };
        let step = uuid::Uuid::try_parse(step_id).map(StepId).map_err(|_| absent())?;
        let key = layout::step_locator(step);
        let Some(value) = self.store.get(&key)? else {
            // Only where nothing that finds steps was lost can this be said.
            self.verify_steps(&key)?;
            return Err(absent());
        };
        let at = located(&records::decode::<Locator>(&value)?);
        if self.is_here(at.task)? && self.task_head(at.task)?.tenant == tenant { Ok((at, step)) } else { Err(absent()) }
    }

    /// A step's record.
    pub fn step_record(&self, task: TaskNo, step: StepId) -> Result<(BatchNo, StepRecord), Error> {
        let mut parts = BytesMut::new();
        for part in 0..=u8::MAX {
            let Some(value) = self.store.get(&layout::step(task, step, part))? else { break };
            parts.extend_from_slice(&value);
            // Only a full part has one behind it.
            if value.len() < MAX_VALUE {
                break;
            }
        }
        if parts.is_empty() {
            return Err(store::Error::Damaged(format!("the record of step {step} is gone")).into());
        }
        Ok(records::decode_step(step, &parts.freeze())?)
    }

    /// How many parts a step's record has.
    pub(super) fn step_parts(&self, task: TaskNo, step: StepId) -> Result<usize, Error> {
        let (first, last) = (layout::step(task, step, 0), layout::step(task, step, u8::MAX));
        Ok(self.store.scan(&first..&last, Order::Ascending, usize::from(u8::MAX))?.len())
    }

    /// Bytes of a payload, from `offset`, exactly `bytes` of them.
    pub fn payload(&self, payload: &Payload, offset: u64, bytes: u64) -> Result<Bytes, Error> {
        let cut = || store::Error::Damaged("a payload is shorter than its record says".into());
        let bytes = usize::try_from(bytes).map_err(|_| cut())?;
        match &payload.body {
            Body::Inline(content) => {
                let start = usize::try_from(offset).map_err(|_| cut())?;
                let end = start.checked_add(bytes).filter(|&end| end <= content.len()).ok_or_else(cut)?;
                Ok(content.slice(start..end))
            }
            Body::Blob(blob) => {
                let piece = self.store.read_blob(*blob, offset, bytes)?;
                if piece.len() == bytes {
                    return Ok(piece);
                }
                let mut content = BytesMut::from(piece);
                while content.len() < bytes {
                    let at = offset + content.len() as u64;
                    let piece = self.store.read_blob(*blob, at, bytes - content.len())?;
                    if piece.is_empty() {
                        return Err(cut().into());
                    }
                    content.extend_from_slice(&piece);
                }
                Ok(content.freeze())
            }
        }
    }

    pub(super) fn must(&self, key: &[u8], what: &str) -> Result<Bytes, Error> {
        let value = self.store.get(key)?;
        Ok(value.ok_or_else(|| store::Error::Damaged(format!("{what} is gone (key {key:02x?})")))?)
    }
}

/// Whether events and summary show the call's result (R6).
pub(super) fn shows_result(finished: &CallFinished) -> bool {
    let mark = match &finished.ending {
        Ending::Completed { result } | Ending::Awaiting { result, .. } => Some(result),
        Ending::Skipped { result, .. } => result.as_ref(),
        Ending::Failed(_) => None,
    };
    mark.is_some_and(|mark| mark.inlined)
}

pub(super) fn located(locator: &Locator) -> Located {
    Located { task: TaskNo(locator.task), batch: BatchNo(locator.batch) }
}
