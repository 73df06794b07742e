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
    /// Places in `ops`: puts under keys that nothing was ever stored under, so that the store need not look what they replace. One that
    /// replaces something is a mistake of the caller, which later reads as damage; builds with debug assertions refuse it.
    pub new: Vec<usize>,
}

impl Commit {
    /// The keys that nothing was ever stored under.
    pub fn new_keys(&self) -> impl Iterator<Item = &Bytes> {
        self.new.iter().filter_map(|place| self.ops.get(*place)).map(|(key, _)| key)
    }
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
/// while it waits, except by the engine, which may commit in place (docs/adr/0003).
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

    /// Checks that all records of a group (see [`group`]) that were ever acknowledged, and not deleted since, are there, unchanged.
    fn verify(&self, group: u64) -> Result<(), Error>;
}

/// The first byte of every key that belongs to one task; the task's number, big-endian, below 2^63, follows it.
pub const TASK_PREFIX: u8 = b'T';

/// The first byte of every key that finds a step; the step's id follows it, which begins with the time it was made.
pub const STEP_PREFIX: u8 = b'I';

/// Set in the number of a group of steps' keys.
const STEPS: u64 = 1 << 63;

/// Which group a key belongs to. A group is verified when it is first needed; what belongs to none, at every start.
///
/// A task's records are a group, whose number is the task's. What finds steps is cut into groups by the first four bytes of their
/// ids, some 65 s each: there are as many as there are calls, too many to read at a start.
#[must_use]
pub fn group(key: &[u8]) -> Option<u64> {
    match key.split_first()? {
        (&TASK_PREFIX, rest) => Some(u64::from_be_bytes(*rest.first_chunk()?)).filter(|number| number & STEPS == 0),
        (&STEP_PREFIX, rest) => Some(STEPS | u64::from(u32::from_be_bytes(*rest.first_chunk()?))),
        _ => None,
    }
}

/// The first key of a group, and the first one after all of its keys.
#[must_use]
pub fn group_keys(group: u64) -> (Vec<u8>, Vec<u8>) {
    let (prefix, number) = if group & STEPS == 0 {
        (TASK_PREFIX, group.to_be_bytes().to_vec())
    } else {
        (STEP_PREFIX, group.to_be_bytes()[4..].to_vec())
    };
    let first = [&[prefix][..], &number].concat();
    // The next number, or the next prefix behind the highest one.
    let mut behind = first.clone();
    while let Some(last) = behind.pop() {
        if let Some(next) = last.checked_add(1) {
            behind.push(next);
            break;
        }
    }
    (first, behind)
}

/// A group's name in messages.
fn group_name(group: u64) -> String {
    if group & STEPS == 0 {
        format!("task {group}")
    } else {
        format!("steps whose ids begin with {:08x}", group & !STEPS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_group_is_in_its_range_and_no_other() {
        let keys: [(&[u8], u64, &str); 5] = [
            (b"T\0\0\0\0\0\0\0\x07H", 7, "task 7"),
            (b"T\0\0\0\0\0\0\x01\xff", 0x1ff, "task 511"),
            (b"T\x7f\xff\xff\xff\xff\xff\xff\xff\xff", u64::MAX >> 1, "task 9223372036854775807"),
            (b"I\x01\x9a\xd1\xf2abcdefghijkl", STEPS | 0x019a_d1f2, "steps whose ids begin with 019ad1f2"),
            (b"I\xff\xff\xff\xffabcdefghijkl", STEPS | 0xffff_ffff, "steps whose ids begin with ffffffff"),
        ];
        for (key, number, name) in keys {
            assert_eq!((group(key), group_name(number).as_str()), (Some(number), name));
            for (other, of, _) in keys {
                let (first, behind) = group_keys(number);
                assert_eq!((&first[..]..&behind[..]).contains(&other), of == number, "{}", other.escape_ascii());
            }
        }
        for key in [&b"T1234567"[..], b"T\x80\0\0\0\0\0\0\0", b"I123", b"N", b""] {
            assert_eq!(group(key), None);
        }
    }
}
