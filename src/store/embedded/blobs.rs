//! Large values, in append-only files beside sled, which would not sync them (STORE.md 1.1).
//!
//! A blob is a row of frames in one file: length u32, checksum u32, up to 256 KiB of content. All but its last are full, so the
//! place of each is known, and a part is checked without a look at the rest. The checksum covers the file's number, the blob's
//! offset in it and the frame's number, so that bytes from another place do not pass.
//!
//! A file is appended to only by the process that made it: behind what a crash left half-written, nothing is added.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};

use super::{
    disk,
    seal::{HEAD, Head, Seal},
    syscall,
};
use crate::{
    clock::Clock,
    seeded::{self, Bug},
    store::{BlobRef, Error},
};

/// What a blob file is and its format's version.
const KIND: [u8; 8] = *b"TBBLOB01";

/// The content of a full frame: what is read and checked to serve any part of it.
const FRAME: usize = 256 << 10;

/// Length and checksum.
const FRAME_HEAD: usize = 8;

/// How many blobs are written at once, each into a file of its own. More do not make the disk faster.
const WRITERS: usize = 4;

/// A file that blobs are appended to.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    number: u32,
    end: u64,
    /// When it was made, as the clock counts.
    born: Duration,
    /// Whether all that is in it up to its end is known to be there, and nothing behind.
    sound: bool,
}

#[derive(Debug)]
struct Pool {
    /// Files that nobody is writing to.
    idle: Vec<Open>,
    writing: usize,
    /// The numbers of the files that are being made or written to.
    busy: BTreeSet<u32>,
    next_number: u32,
}

#[derive(Debug)]
pub(super) struct Blobs {
    dir: PathBuf,
    store_id: [u8; 16],
    seal: Seal,
    clock: Clock,
    /// From this length or age on a file takes no further blob.
    full_length: u64,
    full_age: Duration,
    pool: Mutex<Pool>,
    changed: Condvar,
}

impl Blobs {
    /// `last_number` is the highest number that a file was ever made with, as far as the store's records know.
    pub(super) fn open(
        dir: &Path,
        store_id: [u8; 16],
        last_number: u32,
        (full_length, full_age): (u64, Duration),
    ) -> Result<Self, Error> {
        let present = disk::names(dir)?.iter().filter_map(|name| name.parse::<u32>().ok()).max().unwrap_or(0);
        let next_number = present.max(last_number).saturating_add(1);
        Ok(Self {
            dir: dir.to_owned(),
            store_id,
            seal: Seal::of(&store_id),
            clock: Clock::start(),
            full_length,
            full_age,
            pool: Mutex::new(Pool { idle: Vec::new(), writing: 0, busy: BTreeSet::new(), next_number }),
            changed: Condvar::new(),
        })
    }

    /// Writes a blob, durable on return. `reserve` is given the number of a new file before it is made, and keeps it, so that no
    /// number is used twice, even if files are deleted.
    pub(super) fn write(&self, content: &[u8], reserve: impl Fn(u32) -> Result<(), Error>) -> Result<BlobRef, Error> {
        let opened = self.take().map_or_else(|| self.make(reserve), Ok);
        let written = opened.map(|mut open| (self.append(&mut open, content), open));
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.writing -= 1;
        self.changed.notify_one();
        let (blob, open) = written?;
        pool.busy.remove(&open.number);
        if open.sound && open.end < self.full_length {
            pool.idle.push(open);
        }
        blob
    }

    /// An idle file, once fewer than [`WRITERS`] are at work; `None` if one has to be made.
    fn take(&self) -> Option<Open> {
        let pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = |pool: &mut Pool| pool.writing >= WRITERS;
        let mut pool = self.changed.wait_while(pool, busy).unwrap_or_else(PoisonError::into_inner);
        pool.writing += 1;
        self.close_old(&mut pool);
        let open = pool.idle.pop()?;
        pool.busy.insert(open.number);
        Some(open)
    }

    fn close_old(&self, pool: &mut Pool) {
        let oldest = self.clock.now().mono.saturating_sub(self.full_age);
        pool.idle.retain(|open| open.born >= oldest);
    }

    /// The numbers of the files that no blob is written to any more, in order.
    pub(super) fn closed(&self) -> Result<Vec<u32>, Error> {
        // First the list: a file that is made after it is not on it, and one that is written to by then may be, but is busy.
        let mut numbers: Vec<u32> = disk::names(&self.dir)?.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        self.close_old(&mut pool);
        numbers.retain(|number| !pool.busy.contains(number) && pool.idle.iter().all(|open| open.number != *number));
        Ok(numbers)
    }

    /// Deletes a file.
    pub(super) fn remove(&self, number: u32) -> Result<(), Error> {
        disk::remove(&self.path(number))
    }

    fn make(&self, reserve: impl Fn(u32) -> Result<(), Error>) -> Result<Open, Error> {
        let number = {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            let number = pool.next_number;
            pool.next_number =
                number.checked_add(1).ok_or_else(|| Error::Full("4,294,967,295 blob files".to_owned()))?;
            pool.busy.insert(number);
            number
        };
        let made = reserve(number).and_then(|()| self.make_file(number));
        if made.is_err() {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            pool.busy.remove(&number);
        }
        made
    }

    fn make_file(&self, number: u32) -> Result<Open, Error> {
        let path = self.path(number);
        let head = Head { kind: KIND, store_id: self.store_id, number };
        let file = disk::write_file(&path, &head.encode())?;
        if !seeded::has(Bug::BlobNameNotSynced) {
            disk::sync_dir(&self.dir)?;
        }
        Ok(Open { file, path, number, end: HEAD as u64, born: self.clock.now().mono, sound: true })
    }

    fn path(&self, number: u32) -> PathBuf {
        self.dir.join(format!("{number:010}"))
    }

    fn append(&self, open: &mut Open, content: &[u8]) -> Result<BlobRef, Error> {
        let blob = BlobRef { file: open.number, offset: open.end, bytes: content.len() as u64 };
        match self.write_frames(open, blob, content) {
            Ok(end) => {
                // A failed sync says nothing about what is on the disk, and is never asked again.
                open.sound = false;
                if !seeded::has(Bug::BlobNotSynced) {
                    syscall::sync_data(&open.file, &open.path)
                        .map_err(|error| disk::failure("cannot sync", &open.path, &error))?;
                }
                open.sound = true;
                open.end = end;
                Ok(blob)
            }
            Err(error) => {
                // What was written is of no use, and the space may be needed.
                open.sound = syscall::set_len(&open.file, &open.path, blob.offset).is_ok();
                Err(disk::failure("cannot write", &open.path, &error))
            }
        }
    }

    /// Gives the file's new end.
    fn write_frames(&self, open: &Open, blob: BlobRef, content: &[u8]) -> io::Result<u64> {
        let mut end = blob.offset;
        let mut frame = Vec::with_capacity(FRAME_HEAD + content.len().min(FRAME));
        for (number, content) in (0..).zip(content.chunks(FRAME)) {
            frame.clear();
            frame.extend_from_slice(&self.frame_head(blob, number, content));
            frame.extend_from_slice(content);
            syscall::write_at(&open.file, &open.path, &frame, end)?;
            end += frame.len() as u64;
        }
        Ok(end)
    }

    fn frame_head(&self, blob: BlobRef, number: u64, content: &[u8]) -> [u8; FRAME_HEAD] {
        let length = u32::try_from(content.len()).expect("a frame has at most 256 KiB").to_be_bytes();
        let (file, offset, number) = (blob.file.to_be_bytes(), blob.offset.to_be_bytes(), number.to_be_bytes());
        let checksum = self.seal.over(&[&file, &offset, &number, &length, content]);
        let mut head = [0; FRAME_HEAD];
        head[..4].copy_from_slice(&length);
        head[4..].copy_from_slice(&checksum.to_be_bytes());
        head
    }

    /// At most `max` bytes from `offset`, checked.
    pub(super) fn read(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        let end = blob.bytes.min(offset.saturating_add(max as u64));
        if offset >= end {
            return Ok(Bytes::new());
        }
        let path = self.path(blob.file);
        let file = File::open(&path).map_err(|error| {
            if error.kind() == ErrorKind::NotFound {
                return damaged(&path, blob.offset, "the file is gone");
            }
            disk::failure("cannot open", &path, &error)
        })?;
        let part = |number| {
            let content = self.read_frame((&file, &path), blob, number)?;
            let start = number * FRAME as u64;
            let within = |at: u64| usize::try_from(at.saturating_sub(start)).unwrap_or(FRAME).min(content.len());
            Ok(content.slice(within(offset)..within(end)))
        };
        let (first, last) = (offset / FRAME as u64, (end - 1) / FRAME as u64);
        if first == last {
            return part(first);
        }
        let mut found = BytesMut::new();
        for number in first..=last {
            found.extend_from_slice(&part(number)?);
        }
        Ok(found.freeze())
    }

    /// Reads and checks one frame, and gives its content.
    fn read_frame(&self, (file, path): (&File, &Path), blob: BlobRef, number: u64) -> Result<Bytes, Error> {
        let left = blob.bytes - number * FRAME as u64;
        let length = usize::try_from(left).map_or(FRAME, |left| left.min(FRAME));
        let at = number.checked_mul((FRAME_HEAD + FRAME) as u64).and_then(|before| before.checked_add(blob.offset));
        let at = at.ok_or_else(|| damaged(path, blob.offset, "no blob is that long"))?;
        let mut frame = vec![0; FRAME_HEAD + length];
        file.read_exact_at(&mut frame, at).map_err(|error| {
            if error.kind() == ErrorKind::UnexpectedEof {
                return damaged(path, at, "the file is cut off before the end of a blob");
            }
            disk::failure("cannot read", path, &error)
        })?;
        if frame[..FRAME_HEAD] != self.frame_head(blob, number, &frame[FRAME_HEAD..]) {
            return Err(damaged(path, at, "a part of a blob is not what was written there"));
        }
        Ok(Bytes::from(frame).slice(FRAME_HEAD..))
    }
}

fn damaged(path: &Path, at: u64, what: &str) -> Error {
    Error::Damaged(format!(
        "{} at byte {at}: {what}; restore the whole folder from a backup to have it back",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const AGE: Duration = Duration::from_hours(1);

    fn blobs(dir: &Path, full_length: u64) -> Blobs {
        Blobs::open(dir, [1; 16], 0, (full_length, AGE)).unwrap()
    }

    fn write(blobs: &Blobs, content: &[u8]) -> BlobRef {
        blobs.write(content, |_| Ok(())).unwrap()
    }

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from((at * 31 + at / 251) % 256).unwrap()).collect()
    }

    #[test]
    fn every_part_of_a_blob_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 64 << 20);
        for length in [0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME + 77] {
            let content = content(length);
            let blob = write(&blobs, &content);
            assert_eq!(blobs.read(blob, 0, usize::MAX).unwrap(), content, "length {length}");
            for (offset, max) in [(0, 10), (length / 2, FRAME), (FRAME - 3, 6), (length, 5), (length + 9, 5), (3, 0)] {
                let start = offset.min(length);
                let expected = &content[start..(start + max).min(length)];
                assert_eq!(blobs.read(blob, offset as u64, max).unwrap(), expected, "{length}: {offset}, {max}");
            }
            assert_eq!(blobs.read(blob, u64::MAX, usize::MAX).unwrap(), "");
        }
    }

    #[test]
    fn a_flipped_byte_is_found_where_it_is_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 64 << 20);
        let content = content(3 * FRAME);
        let blob = write(&blobs, &content);
        let path = blobs.path(blob.file);
        let good = fs::read(&path).unwrap();
        let second = HEAD + FRAME_HEAD + FRAME;
        for at in [0, 3, 4, 7, 8, FRAME / 2, FRAME_HEAD + FRAME - 1] {
            let mut bad = good.clone();
            bad[second + at] ^= 2;
            fs::write(&path, &bad).unwrap();
            let place = format!("{} at byte {second}", path.display());
            let whole = blobs.read(blob, 0, usize::MAX);
            assert!(matches!(whole, Err(Error::Damaged(text)) if text.contains(&place)), "byte {at}");
            assert_eq!(blobs.read(blob, 0, FRAME).unwrap(), content[..FRAME]);
            assert_eq!(blobs.read(blob, 2 * FRAME as u64, FRAME).unwrap(), content[2 * FRAME..]);
        }
        fs::write(&path, &good[..second + 100]).unwrap();
        assert!(matches!(blobs.read(blob, FRAME as u64, 1), Err(Error::Damaged(text)) if text.contains("cut off")));
        fs::remove_file(&path).unwrap();
        assert!(matches!(blobs.read(blob, 0, 1), Err(Error::Damaged(text)) if text.contains("gone")));
    }

    #[test]
    fn another_place_or_length_does_not_pass() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 64 << 20);
        let (first, second) = (write(&blobs, b"same content"), write(&blobs, b"same content"));
        let path = blobs.path(first.file);
        let mut bytes = fs::read(&path).unwrap();
        let (from, to) = (usize::try_from(first.offset).unwrap(), usize::try_from(second.offset).unwrap());
        bytes.copy_within(from..from + FRAME_HEAD + 12, to);
        fs::write(&path, bytes).unwrap();
        assert_eq!(blobs.read(first, 0, 12).unwrap(), "same content");
        assert!(matches!(blobs.read(second, 0, 12), Err(Error::Damaged(_))));
        for bytes in [11, 13, u64::MAX] {
            assert!(matches!(blobs.read(BlobRef { bytes, ..first }, 0, 1), Err(Error::Damaged(_))), "{bytes}");
        }
        let far = BlobRef { offset: u64::MAX - 3, ..first };
        assert!(matches!(blobs.read(far, 0, 1), Err(Error::Damaged(_) | Error::Failed(_))));
    }

    #[test]
    fn files_are_full_at_a_length_and_never_continued_after_a_start() {
        let dir = tempfile::tempdir().unwrap();
        let first = blobs(dir.path(), 100);
        let numbers: Vec<u32> = (0..4).map(|_| write(&first, &[0; 30]).file).collect();
        assert_eq!(numbers, [1, 1, 2, 2]);
        drop(first);
        let second = blobs(dir.path(), 100);
        assert_eq!(write(&second, b"x").file, 3);
        fs::remove_file(second.path(3)).unwrap();
        let third = Blobs::open(dir.path(), [1; 16], 3, (100, AGE)).unwrap();
        assert_eq!(write(&third, b"x").file, 4);
    }

    #[test]
    fn an_old_file_takes_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path(), [1; 16], 0, (100, Duration::ZERO)).unwrap();
        assert_ne!(write(&blobs, b"x").file, write(&blobs, b"x").file);
    }

    #[test]
    fn a_file_is_closed_once_nothing_is_written_to_it_any_more() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 100);
        assert_eq!(write(&blobs, &[0; 30]).file, 1);
        assert_eq!(blobs.closed().unwrap(), Vec::<u32>::new());
        write(&blobs, &[0; 30]);
        write(&blobs, &[0; 30]);
        assert_eq!(blobs.closed().unwrap(), [1]);
        blobs.remove(1).unwrap();
        blobs.remove(1).unwrap();
        drop(blobs);
        let blobs = Blobs::open(dir.path(), [1; 16], 2, (100, AGE)).unwrap();
        assert_eq!(blobs.closed().unwrap(), [2]);
        assert!(blobs.write(b"x", |_| Err(Error::Full("test".to_owned()))).is_err());
        assert_eq!(blobs.closed().unwrap(), [2]);
    }

    #[test]
    fn a_number_that_cannot_be_kept_makes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 100);
        let refused = blobs.write(b"x", |_| Err(Error::Full("test".to_owned())));
        assert_eq!(refused, Err(Error::Full("test".to_owned())));
        assert_eq!(disk::names(dir.path()).unwrap(), Vec::<String>::new());
        assert_eq!(write(&blobs, b"x").file, 2);
    }

    #[test]
    fn a_full_disk_refuses_the_blob_and_its_file_is_not_continued() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 1 << 20);
        let before = write(&blobs, b"before");
        // It takes no byte, and cannot be cut back either.
        let full = File::options().write(true).open("/dev/full").unwrap();
        blobs.pool.lock().unwrap().idle[0].file = full;
        let refused = blobs.write(b"content", |_| Ok(()));
        assert!(matches!(&refused, Err(Error::Full(text)) if text.contains("0000000001")), "{refused:?}");
        let after = write(&blobs, b"after");
        assert_eq!((before.file, after.file), (1, 2));
        assert_eq!(blobs.read(before, 0, 9).unwrap(), "before");
        assert_eq!(blobs.read(after, 0, 9).unwrap(), "after");
    }

    #[test]
    fn writers_at_once_do_not_mix() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = blobs(dir.path(), 1 << 20);
        std::thread::scope(|scope| {
            for writer in 0..2 * WRITERS {
                let blobs = &blobs;
                scope.spawn(move || {
                    for round in 0..5 {
                        let content = vec![u8::try_from(writer * 16 + round).unwrap(); FRAME / 2 + round];
                        let blob = write(blobs, &content);
                        assert_eq!(blobs.read(blob, 0, usize::MAX).unwrap(), content);
                    }
                });
            }
        });
    }
}
