//! All that happens in a world, in one order. What was durable, what had reached the backend and what clients had been told at some
//! moment is what stands before it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{Entry, Timestamp},
        key::KeyRecord,
        sim::plan::Deed,
    },
    clock::Clock,
    engine::read::LogLine,
    store::{
        BlobRef, Commit, Error, Memory, Order, RoomFor, Store, TASK_PREFIX, layout,
        records::{self, BatchRecord, OpenBatch, Task},
    },
};

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Happened {
    /// A commit became durable.
    Committed(Vec<Fact>),
    /// An attempt reached the backend.
    Ran(Execution),
    /// The backend was asked what became of an attempt.
    Asked(Question),
    /// A client was told of an entry of a batch's log.
    Told { batch: usize, line: LogLine },
    /// A client was told that what it wanted is done.
    Acknowledged(Ack),
    /// The server was gone, and another one started.
    Crashed,
}

/// What a commit says, as far as the promises are concerned.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Task(TaskNo, Task),
    Head(TaskNo, BatchNo, BatchRecord),
    Open(OpenBatch),
    Closed(BatchNo),
    Entry(BatchNo, Entry),
    Key(TaskNo, String, KeyRecord),
}

/// One execution of one attempt.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) batch: usize,
    pub(super) index: u32,
    pub(super) attempt: u32,
    pub(super) step_id: String,
    pub(super) key: String,
    pub(super) idempotency_key: String,
    pub(super) in_doubt: bool,
    /// What it did, whether or not anyone hears of it.
    pub(super) deed: Option<Deed>,
}

impl Execution {
    /// Whether a repeat would be a second effect.
    pub(super) fn took_effect(&self) -> bool {
        match self.deed {
            Some(Deed::Completed { .. } | Deed::Awaiting { .. }) => true,
            Some(Deed::Failed { .. }) | None => false,
        }
    }
}

/// One `LookupCall` and its answer.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) batch: usize,
    pub(super) index: u32,
    pub(super) answer: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Landed,
    NotLanded,
    CannotTell,
}

/// What a client wanted, and was told is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ack {
    /// The stop of this number in the plan.
    Stopped(usize),
    /// The settlement of this number in the plan settled a key of a task.
    Settled { number: usize, task: u8, key: String },
}

/// A world up to some moment.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub(super) store: Memory,
    pub(super) happened: Vec<(Timestamp, Happened)>,
}

impl World {
    /// The world as it is after a crash behind the first `length` things that happened.
    pub(super) fn crashed(&self, length: usize) -> Self {
        let mut happened = self.happened[..length].to_vec();
        let commits = happened.iter().filter(|(_, what)| matches!(what, Happened::Committed(_))).count();
        happened.push((happened.last().map_or(START, |(time, _)| *time), Happened::Crashed));
        Self { store: self.store.at(commits), happened }
    }

    /// What a crash can leave behind: for each commit, in order, that nothing which it allowed was done, and that all of it was.
    pub(super) fn cuts(&self) -> Vec<(usize, usize)> {
        let commits = (0..self.happened.len()).filter(|&at| matches!(self.happened[at].1, Happened::Committed(_)));
        let commits: Vec<usize> = commits.collect();
        let after = std::iter::once(0).chain(commits.iter().map(|at| at + 1));
        after.zip(commits.iter().copied().chain([self.happened.len()])).collect()
    }
}

/// When every world begins, by the wall clock.
pub(super) const START: Timestamp = Timestamp(1_700_000_000_000_000_000);

/// The order of things, while a server runs.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    pub(super) clock: Clock,
    happened: Arc<Mutex<Vec<(Timestamp, Happened)>>>,
}

impl Timeline {
    pub(super) fn new(clock: Clock, happened: Vec<(Timestamp, Happened)>) -> Self {
        Self { clock, happened: Arc::new(Mutex::new(happened)) }
    }

    pub(super) fn push(&self, what: Happened) {
        let now = self.clock.now().wall;
        self.so_far().push((now, what));
    }

    pub(super) fn so_far(&self) -> MutexGuard<'_, Vec<(Timestamp, Happened)>> {
        self.happened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Vec<(Timestamp, Happened)> {
        std::mem::take(&mut *self.so_far())
    }
}

/// The memory store, with its commits on the timeline.
pub(super) struct Witness {
    pub(super) store: Memory,
    pub(super) timeline: Timeline,
}

impl Store for Witness {
    fn commit(&self, commit: Commit) -> Result<(), Error> {
        let facts = commit.ops.iter().filter_map(|(key, value)| fact(key, value.as_ref())).collect();
        let before = self.store.commits();
        let outcome = self.store.commit(commit);
        if self.store.commits() > before {
            self.timeline.push(Happened::Committed(facts));
        }
        outcome
    }

    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.store.get(key)
    }

    fn scan(&self, range: std::ops::Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.store.scan(range, order, limit)
    }

    fn write_blob(&self, content: &[u8]) -> Result<BlobRef, Error> {
        self.store.write_blob(content)
    }

    fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        self.store.read_blob(blob, offset, max)
    }

    fn closed_blob_files(&self) -> Result<Vec<u32>, Error> {
        self.store.closed_blob_files()
    }

    fn remove_blob_file(&self, file: u32) -> Result<(), Error> {
        self.store.remove_blob_file(file)
    }

    fn check_room(&self, purpose: RoomFor) -> Result<(), Error> {
        self.store.check_room(purpose)
    }

    fn verify(&self, task_seq: u64) -> Result<(), Error> {
        self.store.verify(task_seq)
    }
}

fn fact(key: &Bytes, value: Option<&Bytes>) -> Option<Fact> {
    let readable = "what is committed can be read";
    let batch = || layout::batch_of(key).expect(readable);
    match (key.first(), value) {
        (Some(b'A'), Some(value)) => Some(Fact::Open(records::decode(value).expect(readable))),
        (Some(b'A'), None) => Some(Fact::Closed(batch())),
        (Some(&TASK_PREFIX), Some(value)) => {
            let task = TaskNo(crate::store::group(key)?);
            match layout::kind_in_task(key)? {
                b'H' => Some(Fact::Task(task, records::decode(value).expect(readable))),
                b'B' => Some(Fact::Head(task, batch(), records::decode_batch(value).expect(readable))),
                b'E' => {
                    let sequence = layout::sequence_of(key).expect(readable);
                    let entry = records::decode_entry(sequence, value).expect(readable);
                    Some(Fact::Entry(layout::entry_batch_of(key).expect(readable), entry))
                }
                b'K' => {
                    let (name, record) = records::decode_key(value).expect(readable);
                    Some(Fact::Key(task, name, record))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
