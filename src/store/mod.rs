//! The ordered key-value store: one seam, two implementations ([`embedded`] and [`memory`]), one contract suite.
//!
//! The store knows bytes. What the bytes mean stands in `layout` (keys) and `records` (values).

mod bounds;
pub mod check;
#[cfg(test)]
mod contract;
pub mod embedded;
pub mod layout;
pub mod memory;
pub mod records;

use std::ops::Range;

use bytes::Bytes;

pub use self::{embedded::Embedded, memory::Memory};
pub use crate::batch::outcome::BlobRef;

/// The longest key. It keeps a leaf of sled, 17 records and more, below the 131,052 bytes from which leaves become files that nothing syncs.
pub const MAX_KEY: usize = 1_024;

/// The longest value a commit may hold. Larger things are blobs: sled moves large leaves to files that nothing syncs (STORE.md 1.1).
pub const MAX_VALUE: usize = 4_096;

/// The most bytes of keys and values in one commit, with [`OP_OVERHEAD`] for each record: what sled takes as one batch without
/// holding up its readers for long (STORE.md 2), and a quarter of a journal file.
pub const MAX_COMMIT_BYTES: usize = 4 << 20;

/// The most records in one commit. Each may touch another task, whose count the store then writes too, in the same journal frame.
pub const MAX_COMMIT_OPS: usize = 65_536;

/// What each record of a commit costs besides its key and value.
pub const OP_OVERHEAD: usize = 8;

/// No key may begin with these bytes: the store keeps its own records there.
pub const RESERVED_PREFIXES: [u8; 2] = *b"!G";

/// Every way a store can fail. Each message names the folder or file, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No space, found before anything of the commit was written. The store stays usable: reads go on, and a later commit may pass.
    #[error("the store is full: {0}")]
    Full(String),
    /// An I/O error. After a failed commit this is final: what is on disk is known only after a new start.
    #[error("the store failed: {0}")]
    Failed(String),
    /// Something that was stored is gone or changed.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// Another process holds the folder.
    #[error("the store is in use: {0}")]
    InUse(String),
    /// It was written by a newer version.
    #[error("the store is newer than this program: {0}")]
    Newer(String),
    /// The folder cannot be written.
    #[error("the store is not writable: {0}")]
    NotWritable(String),
    /// A condition of the commit does not hold; nothing was written.
    #[error("a condition of the commit does not hold at key {0:02x?}")]
    Conflict(Bytes),
    /// The commit breaks a bound of the store: a mistake of the caller. Nothing was written and the store stays usable.
    #[error("the store refuses the commit: {0}")]
    Refused(String),
}

/// Records that are written together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// What must hold: the key has exactly this value, or none. Checked before anything is written.
    pub expect: Vec<(Bytes, Option<Bytes>)>,
    /// Puts (`Some`, at most [`MAX_VALUE`] bytes) and deletions (`None`). A later one of the same key wins.
    pub ops: Vec<(Bytes, Option<Bytes>)>,
}

/// Which end of a range a scan begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the lowest key.
    Ascending,
    /// From the highest key.
    Descending,
}

/// What a caller needs room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomFor {
    /// Work that has not begun. It may be refused, so that what runs can end.
    NewWork,
    /// Deletions: they need a little room themselves, and give back more.
    Deletions,
}

/// An ordered map from keys to small values, with blobs beside it.
///
/// All calls block for as long as a disk takes and are safe from any thread; none may be made on a thread that serves others
/// while it waits, except by the engine, which commits in place by design.
pub trait Store: Send + Sync + 'static {
    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error>;

    /// At most `limit` records of a range, in `order`.
    fn scan(&self, range: Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error>;

    /// Writes records: atomic, conditional, and durable (it survives loss of power) on return. A reader sees all of them or none.
    fn commit(&self, commit: Commit) -> Result<(), Error>;

    /// Writes a blob; durable on return. It costs space until a record that refers to it is dropped.
    fn write_blob(&self, content: &[u8]) -> Result<BlobRef, Error>;

    /// At most `max` bytes of a blob from `offset`, checked against what was written. Empty at and after its end.
    fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error>;

    /// The numbers of the files ([`BlobRef::file`]) that no blob is written to any more, in order.
    fn closed_blob_files(&self) -> Result<Vec<u32>, Error>;

    /// Deletes such a file, and gives its space back. Nothing may refer to it any more, durably. One that is just being copied
    /// stays for now.
    fn remove_blob_file(&self, file: u32) -> Result<(), Error>;

    /// Whether there is room. Refused with [`Error::Full`] long before a commit is, so that what is running can be written down to
    /// its end; with [`Error::Failed`] where the store has failed in part, and only what runs is still to be written.
    fn check_room(&self, purpose: RoomFor) -> Result<(), Error>;

    /// Checks that all records of a task (see [`group`]) that were ever acknowledged, and not deleted since, are there, unchanged.
    fn verify(&self, task_seq: u64) -> Result<(), Error>;
}

/// The first byte of every key that belongs to one task; the task's number, big-endian, follows it.
pub const TASK_PREFIX: u8 = b'T';

/// Which task a key belongs to; `None` for the records above all tasks, which are verified at every start.
#[must_use]
pub fn group(key: &[u8]) -> Option<u64> {
    let (&TASK_PREFIX, rest) = key.split_first()? else { return None };
    Some(u64::from_be_bytes(rest.get(..8)?.try_into().ok()?))
}
