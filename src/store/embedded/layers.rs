//! The records as readers see them: the overlay in front of sled.

use std::{
    ops::{Bound, Range},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use bytes::Bytes;

use super::{
    index::{Checkpoint, Index},
    integrity::{Account, Tally, stored_tally, tally_key},
    overlay::{Layered, Overlay, Records, merge},
};
use crate::store::{Error, Order, bounds::is_reserved, group_keys, group_name};

/// All keys.
const ALL: &Range<&[u8]> = &Range { start: b"\0", end: b"\xff" };

pub(super) struct Layers {
    overlay: RwLock<Overlay>,
    index: Index,
    /// Held by whoever walks through sled, and by the checkpoint while it writes into it: a walk that began without the frozen
    /// overlay must not meet its records in sled.
    walks: RwLock<()>,
    /// Held by a checkpoint, and by whoever copies sled's files.
    still: Mutex<()>,
}

impl Layers {
    pub(super) fn new(overlay: Overlay, index: Index) -> Self {
        Self { overlay: RwLock::new(overlay), index, walks: RwLock::new(()), still: Mutex::new(()) }
    }

    // No code panics between two changes of an overlay that belong together.
    pub(super) fn overlay(&self) -> RwLockReadGuard<'_, Overlay> {
        self.overlay.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    fn overlay_mut(&self) -> RwLockWriteGuard<'_, Overlay> {
        self.overlay.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        let above = self.overlay().get(key);
        above.map_or_else(|| self.index.get(key), Ok)
    }

    /// At most `limit` records of a range that is not empty.
    pub(super) fn scan(&self, range: &Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let _walk = self.walks.read().unwrap_or_else(PoisonError::into_inner);
        let above = self.overlay().collect(range, order, limit);
        let records = self.below(above, range, order).filter_map(|record| match record {
            Ok((key, Some(value))) if !is_reserved(&key) => Some(Ok((key, value))),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        });
        records.take(limit).collect()
    }

    /// No checkpoint begins while this is held.
    pub(super) fn hold_still(&self) -> MutexGuard<'_, ()> {
        self.still.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every record, the store's own included.
    pub(super) fn all(&self) -> impl Iterator<Item = Layered> {
        let above = self.overlay().collect(ALL, Order::Ascending, usize::MAX);
        self.below(above, ALL, Order::Ascending)
    }

    /// Checks a group's records against its tally.
    pub(super) fn verify(&self, number: u64) -> Result<(), Error> {
        let (start, end) = group_keys(number);
        let (range, key) = (&start[..]..&end[..], tally_key(number));
        let _walk = self.walks.read().unwrap_or_else(PoisonError::into_inner);
        // Of the same moment, and sled does not change during the walk.
        let (above, tally) = {
            let overlay = self.overlay();
            (overlay.collect(&range, Order::Ascending, usize::MAX), overlay.get(&key))
        };
        let check = || {
            let record = tally.map_or_else(|| self.index.get(&key), Ok)?;
            let (expected, mut found) = (stored_tally(number, record.as_ref())?, Tally::default());
            for record in self.below(above, &range, Order::Ascending) {
                if let (key, Some(value)) = record? {
                    found.add(&key, &value);
                }
            }
            compare(expected, found)
        };
        check().map_err(|error| of_group(number, error))
    }

    /// A range's records from the overlay, already in order, and from sled. Deletions come along.
    fn below<'a>(
        &'a self,
        above: Vec<Layered>,
        range: &Range<&'a [u8]>,
        order: Order,
    ) -> impl Iterator<Item = Layered> + use<'a> {
        let span = (Bound::Included(range.start), Bound::Excluded(range.end));
        merge(above.into_iter(), self.index.range(span, order), order)
    }

    /// Shows a durable commit to readers, all of it at once. Gives the journal's length since the last checkpoint began.
    pub(super) fn publish(&self, ops: Records, lsn: u64, account: Account, journal_bytes: usize) -> usize {
        let mut overlay = self.overlay_mut();
        overlay.active.extend(ops);
        overlay.lsn = lsn;
        overlay.globals = account.globals;
        overlay.dropped += account.dropped;
        overlay.journal_bytes += journal_bytes;
        overlay.journal_bytes
    }

    /// Whether the disk has room for a checkpoint of what is in the overlay now.
    pub(super) fn check_room(&self) -> Result<(), Error> {
        let bytes = self.overlay().journal_bytes;
        if bytes == 0 { Ok(()) } else { self.index.check_room(bytes) }
    }

    /// Writes what is in the overlay into sled. Gives the last commit that sled has then, if there was anything to write.
    ///
    /// After an error the records stay in the overlay, and the journal keeps their commits: nothing is lost, but there must not be
    /// another checkpoint on this handle.
    pub(super) fn checkpoint(&self) -> Result<Option<u64>, Error> {
        let _not_copied = self.hold_still();
        let Some((frozen, checkpoint)) = self.freeze() else { return Ok(None) };
        {
            let _no_walk = self.walks.write().unwrap_or_else(PoisonError::into_inner);
            self.index.apply(&frozen, checkpoint)?;
        }
        self.index.sync()?;
        let done = self.overlay_mut().frozen.take();
        // Freed outside of the lock: it may be many megabytes.
        drop(done);
        Ok(Some(checkpoint.lsn))
    }

    fn freeze(&self) -> Option<(Arc<Records>, Checkpoint)> {
        let mut overlay = self.overlay_mut();
        if overlay.active.is_empty() {
            return None;
        }
        let frozen = Arc::new(std::mem::take(&mut overlay.active));
        overlay.frozen = Some(Arc::clone(&frozen));
        overlay.journal_bytes = 0;
        Some((frozen, overlay.checkpoint()))
    }
}

pub(super) fn compare(expected: Tally, found: Tally) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    let detail = match (expected.count, found.count) {
        (expected, found) if expected == found => format!("its {found} records are not those that were written"),
        (expected, found) => format!("{expected} records were written, {found} are there"),
    };
    Err(Error::Damaged(format!("{detail}; restore the whole folder from a backup to have it back")))
}

pub(super) fn of_group(number: u64, error: Error) -> Error {
    match error {
        Error::Damaged(text) => Error::Damaged(format!("{}: {text}", group_name(number))),
        Error::Full(_)
        | Error::Failed(_)
        | Error::InUse(_)
        | Error::Newer(_)
        | Error::NotWritable(_)
        | Error::Conflict(_)
        | Error::Refused(_) => error,
    }
}
