//! `toolbatch store check`: everything that is stored is read, and must add up.
//!
//! The store itself vouches for what was committed: checksums, counts, digests. Here each record is read for what it means, each
//! reference is followed, each log is folded, and each blob is read to its end.

mod global;
mod task;

use std::path::Path;

use bytes::Bytes;

use self::task::TaskCheck;
use super::{
    Error, TASK_PREFIX,
    embedded::Inspection,
    group, layout,
    records::{self, BatchRecord, Task},
};
use crate::batch::{
    core::{BatchNo, TaskNo},
    outcome::{Body, Payload},
};

/// How much of a blob is read at a time.
const PIECE: usize = 1 << 20;
/// How many records are read between two tellings of how it goes.
const TELL_EVERY: u64 = 1_000;

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Records.
    pub records: u64,
    /// Tasks.
    pub tasks: u64,
    /// Batches.
    pub batches: u64,
    /// Steps.
    pub steps: u64,
    /// Blobs that something refers to.
    pub blobs: u64,
    /// Their bytes.
    pub blob_bytes: u64,
    /// What does not add up.
    pub faults: u64,
}

/// Who is told how it goes.
pub trait Listener {
    /// Something does not add up: where, and what. One line.
    fn fault(&mut self, fault: &str);

    /// So much is looked at.
    fn progress(&mut self, checked: &Checked);
}

/// Looks at everything in a store that no server has open.
///
/// # Errors
/// What keeps it from being looked at at all.
pub fn check(dir: &Path, listener: &mut dyn Listener) -> Result<Checked, Error> {
    let inspection = Inspection::open(dir)?;
    // Both of the walk's functions add to it.
    let check =
        std::cell::RefCell::new(Check { store: &inspection, listener, checked: Checked::default(), task: None });
    inspection
        .walk(|key, value| check.borrow_mut().record(key, value), |fault| check.borrow_mut().fault(&fault.to_string()));
    let mut check = check.into_inner();
    check.end_task();
    check.listener.progress(&check.checked);
    Ok(check.checked)
}

struct Check<'a> {
    store: &'a Inspection,
    listener: &'a mut dyn Listener,
    checked: Checked,
    task: Option<TaskCheck>,
}

impl Check<'_> {
    fn record(&mut self, key: &Bytes, value: &Bytes) {
        self.checked.records += 1;
        if self.checked.records.is_multiple_of(TELL_EVERY) {
            self.listener.progress(&self.checked);
        }
        if key.first() == Some(&TASK_PREFIX) {
            self.task_record(key, value);
        } else {
            self.end_task();
            if let Err(what) = self.global_record(key, value) {
                self.fault(&format!("record {}: {what}", key.escape_ascii()));
            }
        }
    }

    fn fault(&mut self, fault: &str) {
        self.checked.faults += 1;
        self.listener.fault(fault);
    }

    fn task_record(&mut self, key: &Bytes, value: &Bytes) {
        let Some(number) = group(key).map(TaskNo) else {
            return self.fault(&format!("record {}: no task's number follows", key.escape_ascii()));
        };
        let mut task = match self.task.take() {
            Some(task) if task.number == number => task,
            other => {
                self.task = other;
                self.end_task();
                self.checked.tasks += 1;
                TaskCheck::begin(number, self)
            }
        };
        task.record(self, key, value);
        self.task = Some(task);
    }

    fn end_task(&mut self) {
        if let Some(task) = self.task.take() {
            task.end(self);
        }
    }

    /// A record that must be there.
    fn must(&self, key: &[u8], what: &str) -> Result<Bytes, String> {
        let value = self.store.get(key).map_err(|error| error.to_string())?;
        value.ok_or_else(|| format!("{what} is gone (record {})", key.escape_ascii()))
    }

    fn task_head(&self, task: TaskNo) -> Result<Task, String> {
        read(&self.must(&layout::task(task), &format!("the head of task {}", task.0))?)
    }

    fn batch_head(&self, task: TaskNo, batch: BatchNo) -> Result<BatchRecord, String> {
        let what = format!("the head of batch {} in task {}", batch.0, task.0);
        let value = self.must(&layout::batch(task, batch), &what)?;
        records::decode_batch(&value).map_err(|error| error.to_string())
    }

    /// Whether a task is being dropped: then what it refers to may be gone.
    fn is_dropped(&self, task: TaskNo) -> bool {
        matches!(self.store.get(&layout::dropped_task(task)), Ok(Some(_)))
    }

    /// All bytes of a payload, the first `keep` of which are given back.
    fn payload(&mut self, payload: &Payload, keep: u64) -> Result<Bytes, String> {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        match &payload.body {
            Body::Inline(content) => Ok(content.slice(..keep.min(content.len()))),
            Body::Blob(blob) => {
                self.checked.blobs += 1;
                let (mut kept, mut offset) = (bytes::BytesMut::new(), 0);
                loop {
                    let piece = self.store.read_blob(*blob, offset, PIECE).map_err(|error| error.to_string())?;
                    if piece.is_empty() {
                        break;
                    }
                    offset += piece.len() as u64;
                    self.checked.blob_bytes += piece.len() as u64;
                    kept.extend_from_slice(&piece[..piece.len().min(keep.saturating_sub(kept.len()))]);
                    self.listener.progress(&self.checked);
                }
                Ok(kept.freeze())
            }
        }
    }
}

/// Reads a record of one message.
fn read<M: prost::Message + Default>(value: &Bytes) -> Result<M, String> {
    records::decode(value).map_err(|error| error.to_string())
}
