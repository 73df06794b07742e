//! Giving disk space back. sled uses the space of deleted records again and hardly ever gives any back (STORE.md 5.5), so where
//! much was deleted, its content is copied into a new sled when the store opens, and that takes the place of the old one.
//!
//! ```text
//! sled, sled.draft    the copy is being made: a crash leaves a draft to delete
//! sled, sled.whole    the copy is whole and durable: a crash leaves the exchange to finish
//! sled.old, sled.whole
//! sled, sled.old      a crash leaves the old one to delete
//! ```
//! Nothing is committed before the exchange is over, so both hold the same.

use std::{
    fs::File,
    ops::Bound,
    path::{Path, PathBuf},
};

use super::{
    disk,
    index::{Checkpoint, Index},
    integrity::Tally,
    options::Options,
    overlay::Records,
    room::Room,
    syscall,
};
use crate::store::{Error, MAX_COMMIT_BYTES, OP_OVERHEAD, Order, group};

/// sled takes up to 2.8 times what it holds in steady use (STORE.md 5.5). From this multiple on, a copy is worth its time.
const WORTH: u64 = 4;

/// What a copy may take on the disk, as a multiple of what it holds: it is written in order and once.
const COPY: u64 = 3;

fn draft(dir: &Path) -> PathBuf {
    dir.join("sled.draft")
}

fn whole(dir: &Path) -> PathBuf {
    dir.join("sled.whole")
}

fn old(dir: &Path) -> PathBuf {
    dir.join("sled.old")
}

/// Ends what a crash has cut off.
pub(super) fn finish(dir: &Path) -> Result<(), Error> {
    disk::remove(&draft(dir))?;
    if whole(dir).is_dir() {
        exchange(dir)?;
    }
    // With the new one in its place, or with nothing at all there, for whoever looks at what is missing.
    if dir.join("sled").is_dir() {
        disk::remove(&old(dir))?;
    }
    Ok(())
}

/// Makes sled anew where that gives much space back; gives back the one that is then in use.
pub(super) fn if_worth_it(
    dir: &Path,
    (index, checkpoint): (Index, Checkpoint),
    store_id: [u8; 16],
    options: &Options,
) -> Result<(Index, Checkpoint), Error> {
    let length = index.length()?;
    if length < options.compact_from || checkpoint.dropped < length / (2 * WORTH) {
        return Ok((index, checkpoint));
    }
    // Whatever comes of it, the next look is due when as much is deleted again.
    let checkpoint = Checkpoint { dropped: 0, ..checkpoint };
    let held = held_bytes(&index)?;
    if length < WORTH * held {
        return Ok((index, checkpoint));
    }
    let folder = File::open(dir).map_err(|error| disk::failure("cannot open", dir, &error))?;
    let room = Room::of(&folder, dir)?;
    if room.free < COPY * held + room.mark(options.reserve) {
        let (dir, free) = (dir.display(), room.free);
        tracing::warn!(%dir, free, held, "no room to give disk space back by a copy; it is tried again later");
        return Ok((index, checkpoint));
    }
    copy(dir, &index, checkpoint, store_id, options)?;
    drop(index);
    syscall::rename(&draft(dir), &whole(dir)).map_err(|error| disk::failure("cannot rename", &draft(dir), &error))?;
    disk::sync_dir(dir)?;
    exchange(dir)?;
    disk::remove(&old(dir))?;
    let (index, checkpoint) = Index::open(&dir.join("sled"), store_id, options)?;
    tracing::info!(dir = %dir.display(), before = length, after = index.length()?, held, "gave disk space back");
    Ok((index, checkpoint))
}

/// Puts the whole copy in the place of the old sled, wherever a crash cut this off before.
fn exchange(dir: &Path) -> Result<(), Error> {
    let place = dir.join("sled");
    let rename = |from: &Path, to: &Path| {
        syscall::rename(from, to).map_err(|error| disk::failure("cannot rename", from, &error))?;
        disk::sync_dir(dir)
    };
    if place.is_dir() {
        rename(&place, &old(dir))?;
    }
    rename(&whole(dir), &place)
}

/// The bytes of all that sled holds.
fn held_bytes(index: &Index) -> Result<u64, Error> {
    let mut bytes = 0;
    for record in index.range((Bound::Unbounded, Bound::Unbounded), Order::Ascending) {
        let (key, value) = record?;
        bytes += (key.len() + value.map_or(0, |value| value.len()) + OP_OVERHEAD) as u64;
    }
    Ok(bytes)
}

/// Copies all records, each checked as it is read, and all of them against the tallies. Durable on return.
fn copy(dir: &Path, from: &Index, checkpoint: Checkpoint, store_id: [u8; 16], options: &Options) -> Result<(), Error> {
    let place = draft(dir);
    Index::create(&place, store_id, options)?;
    let to = Index::reopen(&place, store_id, options)?;
    let (mut records, mut bytes) = (Records::new(), 0);
    let mut globals = Tally::default();
    for record in from.range((Bound::Unbounded, Bound::Unbounded), Order::Ascending) {
        let (key, value) = record?;
        if Index::is_own(&key) {
            continue;
        }
        if group(&key).is_none() {
            globals.add(&key, value.as_deref().unwrap_or_default());
        }
        bytes += key.len() + value.as_ref().map_or(0, bytes::Bytes::len) + OP_OVERHEAD;
        records.insert(key, value);
        if bytes >= MAX_COMMIT_BYTES / 2 {
            to.apply(&records, checkpoint)?;
            to.sync()?;
            (records, bytes) = (Records::new(), 0);
        }
    }
    if globals != checkpoint.globals {
        let dir = dir.join("sled");
        return Err(Error::Damaged(format!(
            "{} changed while it was copied: its records above the tasks do not add up; restore the whole folder from a backup",
            dir.display()
        )));
    }
    to.apply(&records, checkpoint)?;
    to.sync()
}
