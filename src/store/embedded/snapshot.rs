//! A copy of a store, taken while it is in use, and put back (docs/adr/0007).
//!
//! For as long as sled's files are copied, no checkpoint writes into them; what sled lacks at that moment comes from memory and
//! makes up the copy's journal. Commits go on meanwhile. Blobs come last: whatever the copied records refer to was written before
//! them, and no blob file is deleted while the copy is made.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::PoisonError,
};

use super::{
    Embedded, disk,
    integrity::Tally,
    journal::Journal,
    lock::Lock,
    options::Options,
    overlay::Records,
    sentinel::{self, PARTS},
};
use crate::store::{Error, MAX_COMMIT_BYTES, OP_OVERHEAD};

/// How much is copied at a time, between two looks at whether the copy is still wanted.
const PIECE: usize = 1 << 20;

/// What a copy came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its last commit.
    pub lsn: u64,
    /// Its length on the disk, in bytes.
    pub bytes: u64,
}

/// Told how many bytes are copied so far; an error ends the copy.
pub type Progress<'a> = &'a mut dyn FnMut(u64) -> Result<(), Error>;

impl Embedded {
    /// Copies the store as it is now into an empty or new folder; durable on return. Nothing stays there after an error.
    pub fn snapshot(&self, to: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
        let store_id = sentinel::read(&self.dir.0)?;
        let target = Target::claim(to, &self.dir.0, &store_id)?;
        let _blobs_stay = self.copied.read().unwrap_or_else(PoisonError::into_inner);
        let mut copying = Copying { bytes: 0, progress };
        let lsn = self.copy_records(&store_id, to, &mut copying)?;
        copying.folder(&self.dir.0.join("blobs"), &to.join("blobs"))?;
        target.finish()?;
        Ok(Copied { lsn, bytes: copying.bytes })
    }

    fn copy_records(&self, store_id: &[u8; 16], to: &Path, copying: &mut Copying<'_>) -> Result<u64, Error> {
        let (checkpoint, commits, lsn) = {
            let _still = self.layers.hold_still();
            if let Some(trouble) = self.supply.trouble() {
                return Err(Error::Failed(format!("{trouble}; start again before a backup is made")));
            }
            copying.folder(&self.dir.0.join("sled"), &to.join("sled"))?;
            let checkpoint = self.layers.index().checkpoint()?;
            let (globals, records, lsn) = {
                let overlay = self.layers.overlay();
                (overlay.globals, overlay.active.clone(), overlay.lsn)
            };
            (checkpoint, cut(globals, records), lsn)
        };
        let journal = to.join("journal");
        Journal::create_with(&journal, store_id, Options::default().journal_file, (checkpoint, &commits))?;
        Ok(lsn)
    }
}

/// Cuts records into commits that the journal takes.
fn cut(globals: Tally, records: Records) -> Vec<(Tally, Records)> {
    let mut commits: Vec<(Tally, Records)> = Vec::new();
    let mut bytes = usize::MAX;
    for (key, value) in records {
        let size = key.len() + value.as_ref().map_or(0, bytes::Bytes::len) + OP_OVERHEAD;
        if bytes.saturating_add(size) > MAX_COMMIT_BYTES {
            commits.push((globals, Records::new()));
            bytes = 0;
        }
        bytes += size;
        if let Some((_, commit)) = commits.last_mut() {
            commit.insert(key, value);
        }
    }
    commits
}

/// Puts a copy where a server will have its data: into an empty or new folder. Durable on return; nothing stays there after an
/// error.
pub fn restore(backup: &Path, dir: &Path, progress: Progress<'_>) -> Result<Copied, Error> {
    let store_id = sentinel::read(backup)?;
    // Somebody's server may run on it. A medium that cannot be written has none.
    let _lock = match Lock::take(backup, std::time::Duration::ZERO) {
        Err(Error::NotWritable(_)) => None,
        taken => Some(taken?),
    };
    let target = Target::claim(dir, backup, &store_id)?;
    let mut copying = Copying { bytes: 0, progress };
    for part in PARTS {
        copying.folder(&backup.join(part), &dir.join(part))?;
    }
    target.finish()?;
    Ok(Copied { lsn: 0, bytes: copying.bytes })
}

/// The folder of a copy that is being made. Dropped before its end, it is emptied.
struct Target {
    dir: PathBuf,
    finished: bool,
}

impl Target {
    fn claim(dir: &Path, from: &Path, store_id: &[u8; 16]) -> Result<Self, Error> {
        disk::create_dir(dir)?;
        let path = |path: &Path| fs::canonicalize(path).map_err(|error| disk::failure("cannot find", path, &error));
        let shown = dir.display();
        if path(dir)?.starts_with(path(from)?) {
            return Err(Error::Refused(format!(
                "{shown} lies inside the store that is copied; choose a folder elsewhere"
            )));
        }
        if !disk::names(dir)?.is_empty() {
            return Err(Error::Refused(format!("{shown} is not empty; choose a folder that is, or a new one")));
        }
        let target = Self { dir: dir.to_owned(), finished: false };
        sentinel::draft_of(dir, store_id)?;
        Ok(target)
    }

    fn finish(mut self) -> Result<(), Error> {
        disk::sync_dir(&self.dir)?;
        sentinel::finish(&self.dir)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.finished {
            for name in disk::names(&self.dir).unwrap_or_default() {
                // What stays is no store, as it has no STORE.
                let _ = disk::remove(&self.dir.join(name));
            }
        }
    }
}

struct Copying<'a> {
    bytes: u64,
    progress: Progress<'a>,
}

impl Copying<'_> {
    /// Copies a folder's files, and its folders; durable on return.
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        disk::create_dir(to)?;
        let mut names = disk::names(from)?;
        names.sort_unstable();
        for name in names {
            let (source, target) = (from.join(&name), to.join(&name));
            if source.is_dir() {
                self.folder(&source, &target)?;
            } else if !name.ends_with(".generating") {
                self.file(&source, &target)?;
            }
        }
        disk::sync_dir(to)
    }

    fn file(&mut self, source: &Path, target: &Path) -> Result<(), Error> {
        let mut from = match File::open(source) {
            Ok(file) => file,
            // A snapshot of sled's that a newer one replaced.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(disk::failure("cannot open", source, &error)),
        };
        let mut to = disk::open(target, true)?;
        let mut piece = vec![0; PIECE];
        loop {
            let length = from.read(&mut piece).map_err(|error| disk::failure("cannot read", source, &error))?;
            if length == 0 {
                break;
            }
            to.write_all(&piece[..length]).map_err(|error| disk::failure("cannot write", target, &error))?;
            self.bytes += length as u64;
            (self.progress)(self.bytes)?;
        }
        to.sync_all().map_err(|error| disk::failure("cannot sync", target, &error))
    }
}
