//! Sizes and times of the embedded store. Only tests change them.

use std::time::Duration;

use super::{
    frame,
    integrity::{TALLY_RECORD, Tally},
    room::Mark,
    seal,
};
use crate::store::{MAX_COMMIT_BYTES, MAX_COMMIT_OPS, OP_OVERHEAD};

/// The length of a journal file. It takes four checkpoints, so a slow one holds up no commit.
const JOURNAL_FILE: usize = 16 << 20;

// The largest commit fits, even if each of its records belongs to another task, whose tally comes along.
const _: () = assert!(
    seal::HEAD + frame::HEAD + Tally::LENGTH + MAX_COMMIT_BYTES + MAX_COMMIT_OPS * (OP_OVERHEAD + TALLY_RECORD)
        < JOURNAL_FILE
);

#[derive(Clone, Debug)]
pub(super) struct Options {
    /// The length of a journal file.
    pub(super) journal_file: usize,
    /// The most journal files. Commits go on while checkpoints fail until all are in use: 64 MiB, some 60,000 calls.
    pub(super) journal_files: usize,
    /// A checkpoint is due after this many bytes of journal: some 16,000 records, which sled takes in about 15 ms (STORE.md 5.3).
    pub(super) checkpoint: usize,
    /// How long a commit waits for a journal file when all are in use: a hundred usual checkpoints.
    pub(super) journal_wait: Duration,
    /// How long opening waits for the lock: after a kill -9 the old process needs a moment to go, and a second server is to say
    /// within 5 s that the folder is in use (RELIABILITY.md I25).
    pub(super) lock_wait: Duration,
    /// A blob file takes no further blob from this length on, so that files die whole as what they hold expires.
    pub(super) blob_file: u64,
    /// A blob file takes no further blob from this age on, for the same reason.
    pub(super) blob_file_age: Duration,
    /// What sled keeps of its files in memory, in their length on disk; as records it is several times that (STORE.md 2). At 64 MiB a
    /// store of a million calls took 360 to 410 MB, with more read at its start.
    pub(super) sled_cache: u64,
    /// From this length on sled's file is looked at for what it could give back: below it there is little to win.
    pub(super) compact_from: u64,
    /// Free space on the disk below which no checkpoint begins, besides what it writes: what the running calls need to end
    /// (RELIABILITY.md I22).
    pub(super) reserve: Mark,
    /// Free space on the disk below which no new work is taken: the rest of the journal's files, and results of running calls.
    pub(super) new_work: Mark,
    /// The part of the journal that is kept for what runs when no file can be made or emptied: some 4,000 calls.
    pub(super) journal_share: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            journal_file: JOURNAL_FILE,
            journal_files: 4,
            checkpoint: 4 << 20,
            journal_wait: Duration::from_secs(10),
            lock_wait: Duration::from_secs(4),
            blob_file: 64 << 20,
            blob_file_age: Duration::from_hours(1),
            sled_cache: 16 << 20,
            compact_from: 64 << 20,
            reserve: Mark { bytes: 64 << 20, share: 32 },
            new_work: Mark { bytes: 256 << 20, share: 8 },
            journal_share: JOURNAL_FILE / 4,
        }
    }
}
