//! Facts become records: what a step of the core brought about, as one group that is committed together.

use std::collections::HashMap;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    leases::Lease,
    read::{Located, LogLine, shows_result},
    run::Loop,
};
use crate::{
    batch::{
        core::{BatchNo, Effect, KeyChange, Output, TaskNo},
        event::{Entry, Event, StepId},
        outcome::{Body, Payload},
        state::End,
        step::StepRecord,
    },
    store::{
        MAX_VALUE, layout,
        records::{self, BatchEnd, Locator},
    },
};

/// What one commit makes durable, and what may happen only after it.
#[derive(Default)]
pub(super) struct Group {
    pub(super) ops: Vec<Op>,
    /// By key: its latest place in `ops`.
    latest: HashMap<Bytes, usize>,
    /// The bytes of `ops`.
    pub(super) bytes: usize,
    /// For those who follow.
    pub(super) lines: Vec<(BatchNo, LogLine)>,
    /// The tasks whose followers look for what is new.
    pub(super) rings: Vec<TaskNo>,
    /// The core's wishes.
    pub(super) effects: Vec<Effect>,
    /// Answers to those who wait for the commit.
    pub(super) replies: Vec<Box<dyn FnOnce()>>,
    /// Blobs that the commit refers to.
    pub(super) leases: Vec<Lease>,
}

/// A write of a group.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) key: Bytes,
    /// `None` deletes.
    pub(super) value: Option<Bytes>,
    /// Nothing was ever stored under the key (see [`Commit::new`]).
    pub(super) is_new: bool,
}

/// A record as an open group has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Written<'a> {
    Value(&'a Bytes),
    Deleted,
}

impl Group {
    pub(super) fn put(&mut self, key: Bytes, value: Bytes) {
        self.push(Op { key, value: Some(value), is_new: false });
    }

    /// Puts a record under a key that nothing was ever stored under, in this group neither.
    pub(super) fn put_new(&mut self, key: Bytes, value: Bytes) {
        self.push(Op { key, value: Some(value), is_new: true });
    }

    pub(super) fn delete(&mut self, key: Bytes) {
        self.push(Op { key, value: None, is_new: false });
    }

    fn push(&mut self, op: Op) {
        self.bytes += op.key.len() + op.value.as_ref().map_or(0, Bytes::len);
        self.latest.insert(op.key.clone(), self.ops.len());
        self.ops.push(op);
    }

    /// What is about to become of a record.
    pub(super) fn written(&self, key: &[u8]) -> Option<Written<'_>> {
        let op = self.ops.get(*self.latest.get(key)?)?;
        Some(op.value.as_ref().map_or(Written::Deleted, Written::Value))
    }
}

impl Loop {
    /// Answers once everything that has happened so far is durable.
    pub(super) fn answer_when_durable<T: 'static>(&mut self, reply: oneshot::Sender<T>, answer: T) {
        self.group.replies.push(Box::new(move || {
            // Whoever asked may be gone.
            let _ = reply.send(answer);
        }));
    }

    /// Adds a step's facts and wishes to the group.
    pub(super) fn persist(&mut self, out: Output) {
        let mut inline: HashMap<StepId, Bytes> = HashMap::new();
        for (batch, step) in out.steps {
            let Some(at) = self.live.get(&batch).map(|live| live.at) else { continue };
            if let Some(Body::Inline(bytes)) =
                step.end.as_ref().and_then(|end| end.result.as_ref()).map(|result| &result.body)
            {
                inline.insert(step.step_id, bytes.clone());
            }
            self.put_step(at, &step);
            self.keep_result(at, &step);
        }
        for KeyChange { task, key, record, is_first } in out.keys {
            let (at, value) = (layout::task_key(task, &key), records::encode_key(&key, &record));
            if is_first { self.group.put_new(at, value) } else { self.group.put(at, value) }
        }
        for (batch, entry) in out.entries {
            let Some(at) = self.live.get(&batch).map(|live| live.at) else { continue };
            self.group.put_new(layout::entry(at.task, batch, entry.sequence), records::encode_entry(&entry));
            let result = match &entry.event {
                Event::BatchFinished { .. } => {
                    self.put_end(at, &entry);
                    None
                }
                Event::CallFinished(finished) if shows_result(finished) => inline.get(&finished.step_id).cloned(),
                Event::CallFinished(_)
                | Event::BatchStarted
                | Event::CallStarted { .. }
                | Event::CallRetrying { .. }
                | Event::BatchResumed { .. } => None,
            };
            self.group.lines.push((batch, LogLine { entry, result }));
        }
        self.group.effects.extend(out.effects);
    }

    /// A step is cut into parts, since an error's full text may be longer than a value of the store.
    fn put_step(&mut self, at: Located, step: &StepRecord) {
        let is_new = if step.end.is_some() { step.attempts == 0 } else { step.attempts == 1 };
        if is_new {
            let here = records::encode(&Locator { task: at.task.0, batch: at.batch.0 });
            self.group.put_new(layout::step_locator(step.step_id), here);
        }
        self.put_parts(at, step, is_new);
    }

    /// A step's record in the place of one of `parts` parts.
    pub(super) fn replace_step(&mut self, at: Located, step: &StepRecord, parts: usize) {
        let written = self.put_parts(at, step, false);
        for part in written..u8::try_from(parts).unwrap_or(u8::MAX) {
            self.group.delete(layout::step(at.task, step.step_id, part));
        }
    }

    /// Gives back how many parts it took.
    fn put_parts(&mut self, at: Located, step: &StepRecord, is_new: bool) -> u8 {
        if let Some(result) = step.end.as_ref().and_then(|end| end.result.as_ref()) {
            self.refer(at.task, result);
        }
        let mut rest = records::encode_step(at.batch, step);
        let mut part = 0;
        loop {
            let piece = rest.split_to(rest.len().min(MAX_VALUE));
            let key = layout::step(at.task, step.step_id, part);
            if is_new {
                self.group.put_new(key, piece);
            } else {
                self.group.put(key, piece);
            }
            part += 1;
            if rest.is_empty() || part == u8::MAX {
                return part;
            }
        }
    }

    /// Notes that a task refers to a payload's file. Whatever writes a record with a payload comes here in the same group: without
    /// this note, the file would be deleted.
    pub(super) fn refer(&mut self, task: TaskNo, payload: &Payload) {
        if let Body::Blob(blob) = payload.body {
            self.group.put(layout::blob_user(blob.file, task), Bytes::new());
            self.group.put(layout::task_blob(task, blob.file), Bytes::new());
        }
    }

    /// The batch is over: its head says how it went, and nothing takes it up again.
    fn put_end(&mut self, at: Located, last: &Entry) {
        let Event::BatchFinished { status, counts, stop_reason } = last.event else { return };
        let Some(live) = self.live.get_mut(&at.batch) else { return };
        let end = End { status, stop_reason, time: last.time };
        live.head.end = Some(BatchEnd { end, counts, last_sequence: last.sequence });
        self.group.put(layout::batch(at.task, at.batch), records::encode_batch(&live.head));
        self.group.delete(layout::open_batch(at.batch));
        if let Some(task) = self.tasks.get_mut(&at.task) {
            task.record.active_time = last.time.0;
            task.record.active_age = self.age.now();
            self.group.put(layout::task(at.task), records::encode(&task.record));
        }
    }
}
