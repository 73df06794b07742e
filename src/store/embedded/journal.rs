//! The journal: where a commit becomes durable. Its files are filled with zeros and synced when they are made, so that a commit is
//! one write and one fdatasync which changes no metadata, and needs no space on the disk.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::{
    disk, frame,
    index::Checkpoint,
    integrity::Tally,
    mark::Mark,
    overlay::Records,
    replay::{Image, Replay, replay},
    seal::{HEAD, Head, Seal},
    supply::Supply,
    syscall,
};
use crate::{
    seeded::{self, Bug},
    store::Error,
};

/// What a journal file is and its format's version.
const KIND: [u8; 8] = *b"TBJRNL01";

/// Ends the name of a file that is still being made.
const DRAFT: &str = ".new";

/// A larger buffer is given back after the commit that needed it.
const BUFFER_KEPT: usize = 1 << 20;

/// How much of a new file is filled at a time.
const FILL: usize = 1 << 20;

/// One file of the journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    path: PathBuf,
    number: u32,
    /// Its length; it never grows.
    pub(super) capacity: usize,
    /// The last commit in it: when sled has that durably, the file may be written from its beginning again.
    pub(super) last_lsn: u64,
}

impl JournalFile {
    /// Makes a file that is whole once it has its name.
    pub(super) fn create(dir: &Path, store_id: &[u8; 16], number: u32, capacity: usize) -> Result<Self, Error> {
        let (path, draft) = (dir.join(number.to_string()), dir.join(format!("{number}{DRAFT}")));
        let head = Head { kind: KIND, store_id: *store_id, number };
        let made = fill(&draft, &head, capacity).and_then(|file| syscall::rename(&draft, &path).map(|()| file));
        let file = made.map_err(|error| {
            // What could not be finished must not keep its space.
            let failure = disk::failure("cannot make the journal file", &path, &error);
            disk::remove(&draft).err().unwrap_or(failure)
        })?;
        disk::sync_dir(dir)?;
        Ok(Self { file, path, number, capacity, last_lsn: 0 })
    }
}

fn fill(path: &Path, head: &Head, capacity: usize) -> io::Result<File> {
    let file = syscall::open(path, true)?;
    syscall::set_len(&file, path, 0)?;
    let zeros = vec![0; FILL.min(capacity)];
    let mut at = 0;
    while at < capacity {
        let part = FILL.min(capacity - at);
        syscall::write_at(&file, path, &zeros[..part], at as u64)?;
        at += part;
    }
    syscall::write_at(&file, path, &head.encode(), 0)?;
    syscall::sync_all(&file, path)?;
    Ok(file)
}

/// The journal's end, where commits are appended.
#[derive(Debug)]
pub(super) struct Journal {
    seal: Seal,
    current: JournalFile,
    /// Where in the current file the next frame goes.
    position: usize,
    lsn: u64,
    generation: u64,
    mark: Mark,
    buffer: Vec<u8>,
}

/// A journal that was read.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) journal: Journal,
    /// Its files besides the one that it goes on in.
    pub(super) idle: Vec<JournalFile>,
    /// Above the numbers of all files.
    pub(super) next_number: u32,
    pub(super) replay: Replay,
}

impl Journal {
    /// Makes the journal of a new store.
    pub(super) fn create(dir: &Path, store_id: &[u8; 16], capacity: usize) -> Result<(), Error> {
        disk::create_dir(dir)?;
        disk::write_file(&Mark::path(dir), &Mark::EMPTY)?;
        JournalFile::create(dir, store_id, 0, capacity)?;
        Ok(())
    }

    /// Makes the journal of a copy: what sled lacks of it, in as many commits as it takes.
    pub(super) fn create_with(
        dir: &Path,
        store_id: &[u8; 16],
        capacity: usize,
        (checkpoint, commits): (Checkpoint, &[(Tally, Records)]),
    ) -> Result<(), Error> {
        disk::create_dir(dir)?;
        disk::write_file(&Mark::path(dir), &Mark::EMPTY)?;
        let (seal, mut frames, mut frame) = (Seal::of(store_id), Vec::new(), Vec::new());
        if checkpoint.lsn > 0 {
            // sled's last commit itself stands in the journal, too, as a sign that the journal has its end.
            frame::encode(&mut frame, seal, checkpoint.lsn, 1, checkpoint.globals, &Records::new());
            frames.extend_from_slice(&frame);
        }
        for (lsn, (globals, records)) in (checkpoint.lsn + 1..).zip(commits) {
            frame::encode(&mut frame, seal, lsn, 1, *globals, records);
            frames.extend_from_slice(&frame);
        }
        let capacity = capacity.max(HEAD + frames.len());
        let JournalFile { file, path, .. } = JournalFile::create(dir, store_id, 0, capacity)?;
        let written = syscall::write_at(&file, &path, &frames, HEAD as u64);
        let synced = written.and_then(|()| syscall::sync_all(&file, &path));
        synced.map_err(|error| disk::failure("cannot write", &path, &error))
    }

    /// Reads what sled lacks since `checkpoint`, and changes nothing.
    pub(super) fn look(dir: &Path, store_id: &[u8; 16], checkpoint: u64) -> Result<Replay, Error> {
        let seal = Seal::of(store_id);
        let (_, images) = read_files(dir, store_id)?;
        let (_, acked) = Mark::open(dir, seal)?;
        replay(&images, seal, checkpoint, acked)
    }

    /// Reads the journal, and what sled lacks since `checkpoint`.
    pub(super) fn open(dir: &Path, store_id: &[u8; 16], checkpoint: u64) -> Result<Opened, Error> {
        let seal = Seal::of(store_id);
        let (mut files, images) = read_files(dir, store_id)?;
        let (mark, acked) = Mark::open(dir, seal)?;
        let found = replay(&images, seal, checkpoint, acked)?;
        for (file, last_lsn) in files.iter_mut().zip(&found.last_lsns) {
            file.last_lsn = *last_lsn;
        }
        let (image, position) = match found.last_frame {
            None => (0, HEAD),
            Some((place, end)) => {
                // A process that was killed, or whose sync failed, may have left the last frame in the system's cache only. It is
                // about to count as stored: written once more, it goes to the disk for certain. The bytes are the same, so
                // nothing is lost if the power goes meanwhile.
                let file = &files[place.image];
                let frame = &images[place.image].bytes[place.offset..end];
                let written = syscall::write_at(&file.file, &file.path, frame, place.offset as u64);
                let synced = written.and_then(|()| syscall::sync_data(&file.file, &file.path));
                synced.map_err(|error| disk::failure("cannot write", &file.path, &error))?;
                (place.image, end)
            }
        };
        let next_number = files.iter().map(|file| file.number.saturating_add(1)).max().unwrap_or(0);
        let current = files.remove(image);
        let generation = found.generation + 1;
        let journal = Self { seal, current, position, lsn: found.lsn, generation, mark, buffer: Vec::new() };
        Ok(Opened { journal, idle: files, next_number, replay: found })
    }

    /// Writes one commit, durable on return. Gives its number and its length.
    ///
    /// [`Error::Full`] leaves the journal as it was. After any other error what the disk holds is unknown.
    pub(super) fn append(&mut self, supply: &Supply, globals: Tally, ops: &Records) -> Result<(u64, usize), Error> {
        let lsn = self.lsn + 1;
        frame::encode(&mut self.buffer, self.seal, lsn, self.generation, globals, ops);
        let length = self.buffer.len();
        if self.position + length > self.current.capacity {
            let mut full = std::mem::replace(&mut self.current, supply.take(length)?);
            full.last_lsn = self.lsn;
            supply.give_back(full);
            self.position = HEAD;
        }
        if seeded::has(Bug::NotedBeforeWritten) {
            self.mark.note(lsn);
        }
        let JournalFile { file, path, .. } = &self.current;
        if let Err(error) = syscall::write_at(file, path, &self.buffer, self.position as u64) {
            // A part of the frame may be there. Of a higher generation, the next frame with this number takes its place for good.
            self.generation += 1;
            return Err(disk::failure("cannot write", path, &error));
        }
        if !seeded::has(Bug::JournalNotSynced)
            && let Err(error) = syscall::sync_data(file, path)
        {
            // Even one for lack of space is final: the system may have dropped what it could not write.
            let path = path.display();
            return Err(Error::Failed(format!("cannot sync {path}: {error}; look at the disk, then start again")));
        }
        self.mark.note(lsn);
        self.lsn = lsn;
        self.position += length;
        self.buffer.shrink_to(BUFFER_KEPT);
        Ok((lsn, length))
    }

    /// How much fits behind what is in the current file.
    pub(super) fn left(&self) -> usize {
        self.current.capacity - self.position
    }

    /// Writes to another file from now on, to see what comes of its errors.
    #[cfg(test)]
    pub(super) fn swap(&mut self, file: File) -> File {
        std::mem::replace(&mut self.current.file, file)
    }
}

/// A file's content. What is blank in it, most of it as a rule, is left as the system hands out memory, and takes none.
fn image(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut bytes = vec![0; length];
    let mut read = vec![0; FILL.min(length)];
    for part in bytes.chunks_mut(FILL) {
        let read = &mut read[..part.len()];
        file.read_exact(read)?;
        if read.iter().any(|byte| *byte != 0) {
            part.copy_from_slice(read);
        }
    }
    Ok(bytes)
}

fn read_files(dir: &Path, store_id: &[u8; 16]) -> Result<(Vec<JournalFile>, Vec<Image>), Error> {
    let (mut files, mut images) = (Vec::new(), Vec::new());
    let mut numbers = Vec::new();
    for name in disk::names(dir)? {
        if let Ok(number) = name.parse::<u32>() {
            numbers.push(number);
        } else if name.strip_suffix(DRAFT).is_some() {
            disk::remove(&dir.join(name))?;
        }
    }
    numbers.sort_unstable();
    for number in numbers {
        let path = dir.join(number.to_string());
        let file = disk::open(&path, false)?;
        let bytes = image(&path).map_err(|error| disk::failure("cannot read", &path, &error))?;
        if let Some(fault) = (Head { kind: KIND, store_id: *store_id, number }).fault(&bytes) {
            let path = path.display();
            return Err(Error::Damaged(format!("{path} at byte 0 {fault}; restore the whole folder from a backup")));
        }
        files.push(JournalFile { file, path: path.clone(), number, capacity: bytes.len(), last_lsn: 0 });
        images.push(Image { path, bytes });
    }
    if files.is_empty() {
        let dir = dir.display();
        return Err(Error::Damaged(format!("{dir} holds no journal file; restore the whole folder from a backup")));
    }
    Ok((files, images))
}
