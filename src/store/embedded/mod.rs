//! The embedded store: a journal in which commits become durable, sled behind it, and files for blobs (STORE.md 5).
//!
//! ```text
//! commit ─▶ journal (one write, one fdatasync) ─▶ overlay ──checkpoint──▶ sled
//! read   ─▶ overlay ─▶ what a checkpoint is writing ─▶ sled
//! ```
//! `LOCK` keeps other processes out; `STORE` says that a store is here and which. A commit is in the journal until a checkpoint has
//! put it into sled and synced it, so a crash at any moment loses nothing that was acknowledged.

mod blobs;
mod caught;
mod checkpoint;
mod compact;
mod disk;
#[cfg(test)]
mod fault;
#[cfg(test)]
mod fault_tests;
mod frame;
mod index;
mod inspect;
mod integrity;
mod journal;
mod layers;
mod lock;
mod mark;
mod options;
mod overlay;
mod pack;
mod page;
mod replay;
mod room;
mod seal;
mod sentinel;
mod snapshot;
mod supply;
mod syscall;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    fmt,
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, RwLock},
    thread,
};

use bytes::Bytes;

use self::{
    blobs::Blobs,
    checkpoint::{Checkpointer, Maker},
    index::Index,
    journal::{Journal, Opened},
    layers::Layers,
    lock::Lock,
    options::Options,
    overlay::{Overlay, Records},
    room::Room,
    sentinel::Found,
    supply::{Ending, Supply},
    writer::Writer,
};
pub use self::{
    inspect::Inspection,
    snapshot::{Copied, Progress, restore},
};
use super::{BlobRef, Commit, Error, Order, RoomFor, Store, bounds};
use crate::clock::Clock;

/// The highest number of a blob file, kept so that none is used twice.
const BLOB_FILES_KEY: &[u8] = b"!blobs";

/// A store in a folder of this machine. Dropping it writes a last checkpoint, which makes the next opening faster and nothing else.
pub struct Embedded {
    // Dropped in this order: the lock goes last.
    checkpointer: Checkpointer,
    layers: Arc<Layers>,
    supply: Arc<Supply>,
    writer: Mutex<Writer>,
    blobs: Blobs,
    /// The folder itself, to see the free space of its disk.
    dir: (PathBuf, File),
    options: Options,
    /// Held by whoever copies blob files: none of them is deleted meanwhile.
    copied: RwLock<()>,
    _lock: Lock,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// How a store stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// The number of the last commit; 0 before the first.
    pub lsn: u64,
    /// The last commit that sled has durably.
    pub checkpointed_lsn: u64,
    /// Bytes of journal since the last checkpoint began.
    pub journal_bytes: usize,
    /// Records, deletions included, that are committed and not in sled yet.
    pub overlay_records: usize,
    /// Records above the tasks, the tasks' own counts included.
    pub global_records: u64,
}

impl Embedded {
    /// Opens the store in a folder, or makes a new one where there is none. Waits up to 4 s for another process to let go of it.
    ///
    /// # Errors
    /// [`Error::InUse`], [`Error::Newer`], [`Error::NotWritable`], [`Error::Full`]; [`Error::Damaged`] where something that was stored
    /// is gone or changed; [`Error::Failed`] for any other I/O error.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        Self::open_with(dir, &Options::default())
    }

    fn open_with(dir: &Path, options: &Options) -> Result<Self, Error> {
        let clock = Clock::start();
        disk::create_dir(dir)?;
        let lock = Lock::take(dir, options.lock_wait)?;
        compact::finish(dir)?;
        let store_id = match sentinel::look(dir)? {
            Found::Store(store_id) => store_id,
            Found::Nothing => create(dir, options)?,
        };
        let opened = Index::open(&dir.join("sled"), store_id, options)?;
        let (index, checkpoint) = compact::if_worth_it(dir, opened, store_id, options)?;
        let journal_dir = dir.join("journal");
        let Opened { journal, idle, next_number, replay } = Journal::open(&journal_dir, &store_id, checkpoint.lsn)?;
        let mut overlay = Overlay { lsn: replay.lsn, globals: checkpoint.globals, ..Overlay::default() };
        overlay.dropped = checkpoint.dropped;
        overlay.journal_bytes = replay.bytes;
        let replayed = replay.commits.len();
        for (globals, ops) in replay.commits {
            overlay.globals = globals;
            overlay.active.extend(ops);
        }
        let layers = Arc::new(Layers::new(overlay, index));
        let blobs = Blobs::open(
            &dir.join("blobs"),
            store_id,
            last_blob_file(&layers)?,
            (options.blob_file, options.blob_file_age),
        )?;
        let supply = Supply::new(idle, next_number, checkpoint.lsn, options.journal_files, options.journal_wait);
        let supply = Arc::new(supply);
        let maker = Maker { dir: journal_dir, store_id, capacity: options.journal_file };
        let checkpointer = Checkpointer::start(Arc::clone(&layers), Arc::clone(&supply), maker)
            .map_err(|error| disk::failure("cannot start the checkpoint thread of", dir, &error))?;
        if replay.bytes >= options.checkpoint {
            supply.ask();
        }
        let writer = Mutex::new(Writer::new(journal, options.checkpoint));
        let folder = File::open(dir).map_err(|error| disk::failure("cannot open", dir, &error))?;
        let (dir, options) = ((dir.to_owned(), folder), options.clone());
        let store =
            Self { checkpointer, layers, supply, writer, blobs, dir, options, copied: RwLock::default(), _lock: lock };
        let (stats, ms) = (store.stats(), clock.now().mono.as_millis());
        tracing::info!(dir = %store.dir.0.display(), records = stats.global_records, lsn = stats.lsn, replayed, ms, "store opened");
        Ok(store)
    }

    /// Writes a last checkpoint and lets go of the folder.
    ///
    /// # Errors
    /// The checkpoint that failed, now or earlier. Nothing is lost by that: the journal has what sled lacks.
    pub fn close(mut self) -> Result<(), Error> {
        self.checkpointer.stop(Ending::Clean)
    }

    /// How the store stands now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let checkpointed_lsn = self.supply.durable();
        let overlay = self.layers.overlay();
        Stats {
            lsn: overlay.lsn,
            checkpointed_lsn,
            journal_bytes: overlay.journal_bytes,
            overlay_records: overlay.active.len() + overlay.frozen.as_ref().map_or(0, |frozen| frozen.len()),
            global_records: overlay.globals.count,
        }
    }

    fn writer(&self) -> Result<MutexGuard<'_, Writer>, Error> {
        let panicked = |_| Error::Failed("a thread panicked in a commit; start again".to_owned());
        self.writer.lock().map_err(panicked)
    }

    /// Keeps the number of a blob file that is about to be made.
    fn reserve_blob_file(&self, number: u32) -> Result<(), Error> {
        let mut writer = self.writer()?;
        // Another thread may have kept a higher one meanwhile.
        if last_blob_file(&self.layers)? >= number {
            return Ok(());
        }
        let value = Bytes::copy_from_slice(&number.to_be_bytes());
        let record = Records::from([(Bytes::from_static(BLOB_FILES_KEY), Some(value))]);
        writer.write(&self.layers, &self.supply, record)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // What went wrong was said when it did.
        let _told = self.checkpointer.stop(Ending::Clean);
    }
}

/// Makes a new store. The file `STORE` comes last: before it is there, nothing was acknowledged.
fn create(dir: &Path, options: &Options) -> Result<[u8; 16], Error> {
    let store_id = sentinel::draft_new(dir)?;
    // Side by side, as both mostly wait for the disk: the journal is long, and sled has many files to sync.
    thread::scope(|scope| {
        let journal = scope.spawn(|| Journal::create(&dir.join("journal"), &store_id, options.journal_file));
        let index = Index::create(&dir.join("sled"), store_id, options);
        let panicked = |_| Err(Error::Failed("a thread panicked while it made the journal; start again".to_owned()));
        journal.join().unwrap_or_else(panicked).and(index)
    })?;
    disk::create_dir(&dir.join("blobs"))?;
    disk::sync_dir(dir)?;
    sentinel::finish(dir)?;
    Ok(store_id)
}

fn last_blob_file(layers: &Layers) -> Result<u32, Error> {
    let Some(record) = layers.get(BLOB_FILES_KEY)? else { return Ok(0) };
    let number = record.as_ref().try_into().map(u32::from_be_bytes);
    number.map_err(|_| Error::Damaged("the highest number of a blob file is not readable".to_owned()))
}

impl Store for Embedded {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        if bounds::is_reserved(key) {
            return Ok(None);
        }
        self.layers.get(key)
    }

    fn scan(&self, range: Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.layers.scan(&range, order, limit)
    }

    fn commit(&self, commit: Commit) -> Result<(), Error> {
        bounds::check(&commit)?;
        self.writer()?.commit(&self.layers, &self.supply, commit)
    }

    fn write_blob(&self, content: &[u8]) -> Result<BlobRef, Error> {
        self.blobs.write(content, |number| self.reserve_blob_file(number))
    }

    fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        self.blobs.read(blob, offset, max)
    }

    fn closed_blob_files(&self) -> Result<Vec<u32>, Error> {
        self.blobs.closed()
    }

    fn remove_blob_file(&self, file: u32) -> Result<(), Error> {
        match self.copied.try_write() {
            Ok(_nobody_copies) => self.blobs.remove(file),
            Err(_) => Ok(()),
        }
    }

    fn check_room(&self, purpose: RoomFor) -> Result<(), Error> {
        let (dir, folder) = &self.dir;
        let (stuck, empty) = self.supply.stuck();
        if purpose == RoomFor::NewWork {
            if let Some(trouble) = self.supply.trouble() {
                return Err(Error::Failed(format!("{trouble}; only what is running is written; start again")));
            }
            let room = Room::of(folder, dir)?;
            let mark = room.mark(self.options.new_work);
            if room.free < mark {
                let (dir, free) = (dir.display(), room.free);
                return Err(Error::Full(format!(
                    "the disk of {dir} has {free} free bytes, and new work needs {mark}; free some space on that disk"
                )));
            }
        }
        let left = self.writer()?.left() + empty;
        match stuck {
            Some(cause) if left < self.options.journal_share => {
                // There may be space by now: this finds out.
                self.supply.ask();
                Err(Error::Full(format!("the rest of the journal is kept for what is running: {cause}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn verify(&self, group: u64) -> Result<(), Error> {
        self.layers.verify(group)
    }
}
