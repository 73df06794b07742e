//! sled, and what has to be done so that it loses nothing (STORE.md 2). No other file touches it.
//!
//! The rules: one batch between two syncs and nothing else that writes; a sync of our own, as sled's `flush` is none; half-made
//! snapshots are deleted before it opens; it opens on a thread of its own, since damage makes it panic; each record has a
//! checksum; the record `!ckpt` says where sled stands, and what it must hold. Records are packed into pages.

use std::{
    any::Any,
    collections::VecDeque,
    fs::{self, File},
    io,
    ops::{Bound, Deref, RangeBounds},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use bytes::Bytes;
use sled::IVec;

use super::{
    caught::caught,
    disk,
    integrity::Tally,
    options::Options,
    overlay::{Layered, Records},
    pack::Packer,
    page,
    room::{Mark, Room},
    seal::bytes_at,
    syscall,
};
use crate::{
    seeded::{self, Bug},
    store::{Error, Order, STEP_PREFIX, TASK_PREFIX},
};

/// Where sled stands: written with every batch.
const CHECKPOINT_KEY: &[u8] = b"!ckpt";

/// The version of that record.
const VERSION: u8 = 1;

/// What sled may write for a byte of records: a page for each change somewhere in a large task, and a leaf of pages anew for every tenth.
const AMPLIFICATION: u64 = 6;

/// Pauses before sled is opened again while an earlier handle of its file is not gone yet, and how often: 5 s, as for our own lock.
const RETRY: Duration = Duration::from_millis(50);
const RETRIES: u32 = 100;

/// What sled holds as of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The last commit in it.
    pub(super) lsn: u64,
    /// The tally of everything above the tasks.
    pub(super) globals: Tally,
    /// Bytes that were deleted since it was last made anew, or looked at for that.
    pub(super) dropped: u64,
}

pub(super) struct Index {
    db: Db,
    /// Our own handle of sled's file, to sync it.
    file: File,
    dir: PathBuf,
    store_id: [u8; 16],
    /// Free space that a checkpoint leaves.
    reserve: Mark,
    /// Set by an error that leaves sled in an unknown state: nothing more is written to it.
    broken: AtomicBool,
}

/// sled's handle. Its drop writes and syncs, and panics where that fails: nothing depends on it, as the journal has what sled lacks.
pub(super) struct Db(Option<sled::Db>);

impl Deref for Db {
    type Target = sled::Db;

    fn deref(&self) -> &sled::Db {
        self.0.as_ref().expect("it is taken only by the drop")
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        let db = self.0.take();
        if caught(|| drop(db)).is_err() {
            tracing::warn!("sled could not write its end; the next start does it from the journal");
        }
    }
}

/// A range of keys.
pub(super) type Span<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

impl Index {
    /// Makes the index of a new store.
    pub(super) fn create(dir: &Path, store_id: [u8; 16], options: &Options) -> Result<(), Error> {
        disk::create_dir(dir)?;
        let index = Self::over(open_db(dir, options.sled_cache)?, dir, store_id, options)?;
        index.apply(&Records::new(), Checkpoint::default())?;
        index.sync()?;
        for name in ["conf", "db"] {
            let path = dir.join(name);
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|error| disk::failure("cannot sync", &path, &error))?;
        }
        disk::sync_dir(&dir.join("blobs"))?;
        disk::sync_dir(dir)
    }

    /// Opens what [`Index::create`] made, and checks that everything above the tasks is as it was at the last checkpoint.
    pub(super) fn open(dir: &Path, store_id: [u8; 16], options: &Options) -> Result<(Self, Checkpoint), Error> {
        let (index, checkpoint) = Self::open_unchecked(dir, store_id, options)?;
        index.check_globals(&checkpoint)?;
        Ok((index, checkpoint))
    }

    /// The same without that check.
    pub(super) fn open_unchecked(
        dir: &Path,
        store_id: [u8; 16],
        options: &Options,
    ) -> Result<(Self, Checkpoint), Error> {
        let cache = options.sled_cache;
        for name in disk::names(dir)? {
            // Killed while it wrote one, sled would take it for the newest snapshot and not open. The one before is still there.
            if name.starts_with("snap.") && name.ends_with(".generating") {
                disk::remove(&dir.join(name))?;
            }
        }
        for name in ["conf", "db"] {
            // sled would begin anew without them, and without a word.
            let path = dir.join(name);
            if fs::metadata(&path).map_or(0, |file| file.len()) == 0 {
                return Err(damaged(&path, "is missing or empty"));
            }
        }
        let db = match open_db(dir, cache) {
            Err(Error::Damaged(cause)) if set_snapshots_aside(dir)? => {
                tracing::warn!(cause, "sled did not open; it is opened again from its log, without its snapshot");
                open_db(dir, cache)?
            }
            opened => opened?,
        };
        let index = Self::over(db, dir, store_id, options)?;
        let checkpoint = index.checkpoint()?;
        Ok((index, checkpoint))
    }

    fn check_globals(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let found = self.globals()?;
        if found != checkpoint.globals {
            let expected = checkpoint.globals.count;
            let what = match found.count {
                count if count == expected => {
                    format!("the {count} records above the tasks are not those that were written")
                }
                count => format!("{expected} records above the tasks were written, {count} are there"),
            };
            return Err(damaged(&self.dir, &what));
        }
        Ok(())
    }

    /// Opens what [`Index::create`] made a moment ago.
    pub(super) fn reopen(dir: &Path, store_id: [u8; 16], options: &Options) -> Result<Self, Error> {
        Self::over(open_db(dir, options.sled_cache)?, dir, store_id, options)
    }

    /// Whether a key is that of the record which only this file writes.
    pub(super) fn is_own(key: &[u8]) -> bool {
        key == CHECKPOINT_KEY
    }

    fn over(db: Db, dir: &Path, store_id: [u8; 16], options: &Options) -> Result<Self, Error> {
        let path = dir.join("db");
        let file = File::open(&path).map_err(|error| disk::failure("cannot open", &path, &error))?;
        let (reserve, broken) = (options.reserve, AtomicBool::new(false));
        Ok(Self { db, file, dir: dir.to_owned(), store_id, reserve, broken })
    }

    /// Where it stands.
    pub(super) fn checkpoint(&self) -> Result<Checkpoint, Error> {
        let record = self.get(CHECKPOINT_KEY)?;
        let record = record.ok_or_else(|| damaged(&self.dir, "does not say where it stands: its content is lost"))?;
        let parse = || {
            let (&VERSION, rest) = record.split_first()? else { return None };
            let lsn = u64::from_be_bytes(bytes_at(rest, 16)?);
            let dropped = u64::from_be_bytes(bytes_at(rest, 24 + Tally::LENGTH)?);
            Some((bytes_at(rest, 0)?, Checkpoint { lsn, globals: Tally::decode(rest.get(24..)?)?, dropped }))
        };
        let (store_id, checkpoint): ([u8; 16], _) =
            parse().ok_or_else(|| damaged(&self.dir, "has an unreadable record of where it stands"))?;
        if store_id != self.store_id {
            return Err(damaged(&self.dir, "belongs to another store than the file STORE beside it"));
        }
        Ok(checkpoint)
    }

    /// Counts what is there above the tasks.
    fn globals(&self) -> Result<Tally, Error> {
        let mut globals = Tally::default();
        // Between and around the groups.
        let ranges: [Span<'_>; 3] = [
            (Bound::Unbounded, Bound::Excluded(&[STEP_PREFIX])),
            (Bound::Included(&[STEP_PREFIX + 1]), Bound::Excluded(&[TASK_PREFIX])),
            (Bound::Included(&[TASK_PREFIX + 1]), Bound::Unbounded),
        ];
        for record in ranges.into_iter().flat_map(|range| self.range(range, Order::Ascending)) {
            if let (key, Some(value)) = record?
                && key != CHECKPOINT_KEY
            {
                globals.add(&key, &value);
            }
        }
        Ok(globals)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let Some((first, page)) = self.page_of(key)? else { return Ok(None) };
        for record in page::records(&first, &page) {
            let record = record.ok_or_else(|| self.unreadable(&first))?;
            if record.has_key(key) {
                return Ok(Some(Bytes::copy_from_slice(record.value)));
            }
        }
        Ok(None)
    }

    /// The page that a record is in, if it is there, with its key.
    pub(super) fn page_of(&self, key: &[u8]) -> Result<Option<(Bytes, Bytes)>, Error> {
        let span: Span<'_> = (Bound::Unbounded, Bound::Included(key));
        let found = self.guard("read", || self.db.range::<&[u8], Span<'_>>(span).next_back().transpose())?;
        let Some((first, page)) = found.filter(|(first, _)| page::may_share(first, key)) else { return Ok(None) };
        Ok(Some((Bytes::copy_from_slice(&first), self.checked(&first, &page)?)))
    }

    /// The key of the first page that begins after a key.
    pub(super) fn next_page(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let span: Span<'_> = (Bound::Excluded(key), Bound::Unbounded);
        let found = self.guard("read", || self.db.range::<&[u8], Span<'_>>(span).next().transpose())?;
        Ok(found.map(|(first, _)| Bytes::copy_from_slice(&first)))
    }

    /// The records of a page.
    pub(super) fn unpack(&self, first: &Bytes, page: &Bytes) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let records = page::records(first, page);
        let records = records.map(|record| record.map(|it| (it.key(), Bytes::copy_from_slice(it.value))));
        records.collect::<Option<_>>().ok_or_else(|| self.unreadable(first))
    }

    fn unreadable(&self, first: &[u8]) -> Error {
        damaged(&self.dir, &format!("has an unreadable page at key {}", first.escape_ascii()))
    }

    /// The pages that records of a range can be in.
    fn pages(&self, span: Span<'_>) -> Result<sled::Iter, Error> {
        let low = match span.0 {
            Bound::Included(key) | Bound::Excluded(key) => self.page_of(key)?.map(|(first, _)| first),
            Bound::Unbounded => None,
        };
        let low = low.as_ref().map_or(span.0, |first| Bound::Included(&first[..]));
        Ok(self.db.range::<&[u8], Span<'_>>((low, span.1)))
    }

    /// The records of a range. A checkpoint meanwhile may cut pages in two that were read whole: what comes twice by that is passed
    /// over, and nothing is missed, as records never move to a page before their own.
    pub(super) fn range<'a>(&'a self, span: Span<'a>, order: Order) -> impl Iterator<Item = Layered> + 'a {
        let (mut pages, mut records) = (None, VecDeque::new());
        let (mut page_before, mut last): (Option<Bytes>, Option<Bytes>) = (None, None);
        let mut read = move || {
            loop {
                if let Some(record) = records.pop_front() {
                    return Ok(Some(record));
                }
                let pages = match &mut pages {
                    Some(pages) => pages,
                    none => none.insert(self.pages(span)?),
                };
                let next = || match order {
                    Order::Ascending => pages.next().transpose(),
                    Order::Descending => pages.next_back().transpose(),
                };
                let Some((first, page)) = self.guard("read", next)? else { return Ok(None) };
                let first = Bytes::copy_from_slice(&first);
                let page = self.checked(&first, &page)?;
                let in_order = |before: Bytes| match order {
                    Order::Ascending => before < first,
                    Order::Descending => before > first,
                };
                if !page_before.replace(first.clone()).is_none_or(in_order) {
                    return Err(damaged(&self.dir, &format!("has key {} out of order", first.escape_ascii())));
                }
                let found = self.unpack(&first, &page)?.into_iter().filter(|(key, _)| within(span, key));
                match order {
                    Order::Ascending => {
                        records.extend(found.filter(|(key, _)| last.as_ref().is_none_or(|last| key > last)));
                    }
                    Order::Descending => found.for_each(|record| records.push_front(record)),
                }
                last = records.back().map(|(key, _)| key.clone()).or(last.take());
            }
        };
        std::iter::from_fn(move || match read() {
            Ok(record) => record.map(|(key, value)| Ok((key, Some(value)))),
            Err(error) => Some(Err(error)),
        })
    }

    /// The length of sled's file, in bytes.
    pub(super) fn length(&self) -> Result<u64, Error> {
        let found = self.file.metadata().map_err(|error| disk::failure("cannot look at", &self.dir.join("db"), &error));
        Ok(found?.len())
    }

    /// Refuses a batch of so many bytes where it might not fit on the disk. A batch that fails midway is worse than none: even
    /// sled's reads write then, as they go on with what it began, and fail until the next start.
    pub(super) fn check_room(&self, bytes: usize) -> Result<(), Error> {
        let room = Room::of(&self.file, &self.dir)?;
        let reserve = room.mark(self.reserve);
        let needed = (bytes as u64).saturating_mul(AMPLIFICATION).saturating_add(reserve);
        if room.free >= needed {
            return Ok(());
        }
        let (dir, free) = (self.dir.display(), room.free);
        Err(Error::Full(format!(
            "{dir} needs {needed} free bytes for a checkpoint, {free} are there; free some space on that disk"
        )))
    }

    /// Writes the records of a checkpoint; durable only after [`Index::sync`].
    pub(super) fn apply(&self, records: &Records, checkpoint: Checkpoint) -> Result<(), Error> {
        if self.broken.load(Ordering::Relaxed) {
            let dir = self.dir.display();
            return Err(Error::Failed(format!("{dir} failed before; start again")));
        }
        let mut record = vec![VERSION];
        record.extend_from_slice(&self.store_id);
        record.extend_from_slice(&checkpoint.lsn.to_be_bytes());
        record.extend_from_slice(&checkpoint.globals.encode());
        record.extend_from_slice(&checkpoint.dropped.to_be_bytes());
        let own = (Bytes::from_static(CHECKPOINT_KEY), Bytes::from(record));
        let below = records.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(CHECKPOINT_KEY)));
        let above = records.range::<[u8], _>((Bound::Excluded(CHECKPOINT_KEY), Bound::Unbounded));
        let mut packer = Packer::new(self);
        let [below, above] = [below, above].map(|range| range.map(|(key, value)| (key, value.as_ref())));
        for (key, value) in below.chain([(&own.0, Some(&own.1))]).chain(above) {
            packer.change(key, value)?;
        }
        let batch = packer.finish();
        self.guard("write", || {
            syscall::before_foreign_write(&self.dir)?;
            self.db.apply_batch(batch.clone())
        })
    }

    /// Makes what was applied durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.guard("write", || self.db.flush())?;
        if seeded::has(Bug::CheckpointNotSynced) {
            return Ok(());
        }
        let path = self.dir.join("db");
        syscall::sync_data(&self.file, &path).map_err(|error| {
            self.broken.store(true, Ordering::Relaxed);
            disk::failure("cannot sync", &path, &error)
        })
    }

    /// Makes every later checkpoint fail.
    #[cfg(test)]
    pub(super) fn break_it(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    fn checked(&self, key: &[u8], stored: &IVec) -> Result<Bytes, Error> {
        let value = stored.split_first_chunk().filter(|(crc, value)| **crc == checksum(key, value));
        value.map(|(_, value)| Bytes::copy_from_slice(value)).ok_or_else(|| {
            damaged(&self.dir, &format!("has another content at key {} than was written", key.escape_ascii()))
        })
    }

    /// Runs something of sled's, and makes an error of a panic.
    fn guard<T>(&self, what: &str, run: impl FnOnce() -> sled::Result<T>) -> Result<T, Error> {
        let error = match caught(run) {
            Ok(Ok(done)) => return Ok(done),
            // One page that cannot be read says nothing about the others.
            Ok(Err(error @ sled::Error::Corruption { .. })) => return Err(meaning(&self.dir, what, &error)),
            Ok(Err(error)) => meaning(&self.dir, what, &error),
            Err(panic) => panicked(&self.dir, panic.as_ref()),
        };
        self.broken.store(true, Ordering::Relaxed);
        Err(error)
    }
}

fn within(span: Span<'_>, key: &[u8]) -> bool {
    RangeBounds::<[u8]>::contains(&span, key)
}

pub(super) fn with_checksum(key: &[u8], value: &[u8]) -> Vec<u8> {
    [&checksum(key, value), value].concat()
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(value);
    hasher.finalize().to_be_bytes()
}

/// sled itself, once earlier handles of this process have let go of it.
pub(super) fn open_db(dir: &Path, cache: u64) -> Result<Db, Error> {
    let config = sled::Config::new().path(dir).cache_capacity(cache).flush_every_ms(None);
    let mut left = RETRIES;
    loop {
        let config = config.clone();
        let opening = thread::Builder::new().name("store-open".to_owned()).spawn(move || caught(|| config.open()));
        let opening = opening.map_err(|error| disk::failure("cannot start a thread to open", dir, &error))?;
        match opening.join().flatten() {
            Ok(Ok(db)) => return Ok(Db(Some(db))),
            // An earlier handle of this process goes only when sled's own threads have let go of it.
            Ok(Err(sled::Error::Io(error))) if left > 0 && error.to_string().contains("could not acquire lock") => {
                left -= 1;
                thread::sleep(RETRY);
            }
            Ok(Err(error)) => return Err(meaning(dir, "open", &error)),
            Err(panic) => return Err(panicked(dir, panic.as_ref())),
        }
    }
}

/// Renames snapshots so that sled makes them again from its log. Says whether there were any.
fn set_snapshots_aside(dir: &Path) -> Result<bool, Error> {
    let mut any = false;
    for name in disk::names(dir)?.into_iter().filter(|name| name.starts_with("snap.")) {
        let path = dir.join(name);
        let renamed = fs::rename(&path, dir.join("unusable-snapshot"));
        renamed.map_err(|error| disk::failure("cannot rename", &path, &error))?;
        any = true;
    }
    Ok(any)
}

fn meaning(dir: &Path, what: &str, error: &sled::Error) -> Error {
    match error {
        sled::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            damaged(dir, &format!("cannot be read to its end ({error})"))
        }
        sled::Error::Io(error) => disk::failure(&format!("cannot {what}"), dir, error),
        sled::Error::Corruption { .. }
        | sled::Error::CollectionNotFound(_)
        | sled::Error::Unsupported(_)
        | sled::Error::ReportableBug(_) => damaged(dir, &format!("does not {what}: {error}")),
    }
}

fn panicked(dir: &Path, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    damaged(dir, &format!("makes sled panic: {}", text.unwrap_or("no reason given")))
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::Damaged(format!("{} {what}; restore the whole folder from a backup", path.display()))
}
