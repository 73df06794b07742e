//! A store as it lies on the disk, opened to be looked at: nothing is written to it, save that sled refreshes its own snapshot, and
//! what is damaged is told instead of ending the look.

use std::{path::Path, time::Duration};

use bytes::Bytes;

use super::{
    blobs::Blobs,
    compact,
    index::Index,
    integrity::{TALLY_PREFIX, Tally, stored_tally, tally_key},
    journal::Journal,
    layers::Layers,
    lock::Lock,
    options::Options,
    overlay::Overlay,
    sentinel,
};
use crate::store::{BlobRef, Error, bounds::is_reserved, group, group_keys, group_name};

/// A store that is being looked at. No server can have it meanwhile.
pub struct Inspection {
    layers: Layers,
    blobs: Blobs,
    /// The tally of everything above the tasks, as it was written; unknown where the journal cannot be read.
    globals: Option<Tally>,
    /// What is wrong with the journal.
    journal: Option<Error>,
    _lock: Lock,
}

/// What a walk through all records comes to, besides the records.
#[derive(Debug, Default)]
struct Counted {
    globals: Tally,
    group: Option<(u64, Tally)>,
}

impl Inspection {
    /// Opens the store in a folder, if no server has it.
    ///
    /// # Errors
    /// What keeps it from being looked at: no store is there, another process has it, sled does not open.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let options = Options::default();
        // Before a lock file is left in a folder that is no store's.
        sentinel::must_be(dir)?;
        let lock = Lock::take(dir, Duration::ZERO)?;
        compact::finish(dir)?;
        let store_id = sentinel::read(dir)?;
        let (index, checkpoint) = Index::open_unchecked(&dir.join("sled"), store_id, &options)?;
        let mut overlay = Overlay { lsn: checkpoint.lsn, globals: checkpoint.globals, ..Overlay::default() };
        let (globals, journal) = match Journal::look(&dir.join("journal"), &store_id, checkpoint.lsn) {
            Ok(replay) => {
                for (globals, records) in replay.commits {
                    overlay.globals = globals;
                    overlay.active.extend(records);
                }
                (Some(overlay.globals), None)
            }
            Err(error) => (None, Some(error)),
        };
        let blobs = Blobs::open(&dir.join("blobs"), store_id, 0, (options.blob_file, options.blob_file_age))?;
        Ok(Self { layers: Layers::new(overlay, index), blobs, globals, journal, _lock: lock })
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.layers.get(key)
    }

    /// At most `max` bytes of a blob from `offset`.
    pub fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        self.blobs.read(blob, offset, max)
    }

    /// Walks through all records in the order of their keys; `fault` is told what does not add up.
    pub fn walk(&self, mut record: impl FnMut(&Bytes, &Bytes), mut fault: impl FnMut(Error)) {
        if let Some(error) = &self.journal {
            fault(error.clone());
        }
        let mut counted = Counted::default();
        for read in self.layers.all() {
            match read {
                Ok((key, Some(value))) => {
                    self.count(&mut counted, &key, &value, &mut fault);
                    if !is_reserved(&key) {
                        record(&key, &value);
                    }
                }
                Ok((_, None)) => {}
                Err(error @ (Error::Damaged(_) | Error::Newer(_))) => fault(error),
                // sled gave up: there is nothing more to read.
                Err(error) => return fault(error),
            }
        }
        self.end_group(&mut counted, &mut fault);
        let expected = self.globals.filter(|globals| *globals != counted.globals);
        if let Some(expected) = expected {
            let (expected, found) = (expected.count, counted.globals.count);
            fault(Error::Damaged(format!(
                "sled: the {found} records above the tasks are not the {expected} that were written; restore the whole folder \
                 from a backup"
            )));
        }
    }

    fn count(&self, counted: &mut Counted, key: &Bytes, value: &Bytes, fault: &mut impl FnMut(Error)) {
        let of = group(key);
        if of != counted.group.map(|(number, _)| number) {
            self.end_group(counted, fault);
        }
        match of {
            Some(number) => counted.group.get_or_insert((number, Tally::default())).1.add(key, value),
            None if Index::is_own(key) => {}
            None => {
                counted.globals.add(key, value);
                self.missing_group(key, fault);
            }
        }
    }

    /// A count without a single record: all of them are gone.
    fn missing_group(&self, key: &[u8], fault: &mut impl FnMut(Error)) {
        let number = key.strip_prefix(&[TALLY_PREFIX]).and_then(|number| number.try_into().ok());
        let Some(number) = number.map(u64::from_be_bytes) else { return };
        let (first, behind) = group_keys(number);
        match self.layers.scan(&(&first[..]..&behind[..]), crate::store::Order::Ascending, 1) {
            Ok(found) if found.is_empty() => fault(Error::Damaged(format!(
                "{}: none of the records is there; restore the whole folder from a backup to have them back",
                group_name(number)
            ))),
            // What cannot be read is told where it stands.
            Ok(_) | Err(_) => {}
        }
    }

    fn end_group(&self, counted: &mut Counted, fault: &mut impl FnMut(Error)) {
        let Some((number, found)) = counted.group.take() else { return };
        let stored = self.layers.get(&tally_key(number)).and_then(|record| stored_tally(number, record.as_ref()));
        match stored {
            Ok(expected) => {
                if let Err(error) = super::layers::compare(expected, found) {
                    fault(super::layers::of_group(number, error));
                }
            }
            Err(error) => fault(error),
        }
    }
}
