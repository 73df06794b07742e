//! The file `journal/acked`: the last commit that was acknowledged, as far as known. It is written after each sync and not synced
//! itself, so it costs a microsecond; it may lag behind, but it never runs ahead. A killed process leaves it exact: then it tells a
//! journal that lost acknowledged commits from one that ends in a commit that was never whole.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use super::{
    disk,
    seal::{Seal, bytes_at},
    syscall,
};
use crate::store::Error;

/// A slot: lsn u64, checksum u32, zeros. Odd and even commits take turns, so a torn write leaves the one before.
const SLOT: usize = 16;

#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    file: Option<File>,
    seal: Seal,
}

impl Mark {
    pub(super) fn path(journal: &Path) -> PathBuf {
        journal.join("acked")
    }

    /// What to write into the file when it is made.
    pub(super) const EMPTY: [u8; 2 * SLOT] = [0; 2 * SLOT];

    /// Opens the file, made anew if it is gone, and gives the last commit it knows of.
    pub(super) fn open(journal: &Path, seal: Seal) -> Result<(Self, u64), Error> {
        let path = Self::path(journal);
        let file = disk::open(&path, true)?;
        let mut slots = Self::EMPTY;
        // Too short, as a new one is, means that nothing is known, just as wrong checksums do.
        let known = match file.read_exact_at(&mut slots, 0) {
            Ok(()) => [0, SLOT].into_iter().filter_map(|at| slot(&slots, at, seal)).max().unwrap_or(0),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(disk::failure("cannot read", &path, &error)),
        };
        Ok((Self { path, file: Some(file), seal }, known))
    }

    /// Notes an acknowledged commit. A failure takes away evidence and nothing else: the commit itself is durable.
    pub(super) fn note(&mut self, lsn: u64) {
        let Some(file) = &self.file else { return };
        let number = lsn.to_be_bytes();
        let mut slot = [0; SLOT];
        slot[..8].copy_from_slice(&number);
        slot[8..12].copy_from_slice(&self.seal.over(&[&number]).to_be_bytes());
        if let Err(error) = syscall::write_at(file, &self.path, &slot, (lsn % 2) * SLOT as u64) {
            tracing::warn!(%error, file = %self.path.display(), "acknowledged commits are no longer noted");
            self.file = None;
        }
    }
}

fn slot(slots: &[u8], at: usize, seal: Seal) -> Option<u64> {
    let lsn: [u8; 8] = bytes_at(slots, at)?;
    (bytes_at(slots, at + 8)? == seal.over(&[&lsn]).to_be_bytes()).then_some(u64::from_be_bytes(lsn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_note_that_is_whole_counts() {
        let (dir, seal) = (tempfile::tempdir().unwrap(), Seal::of(&[1; 16]));
        let (mut mark, known) = Mark::open(dir.path(), seal).unwrap();
        assert_eq!(known, 0);
        for lsn in 1..=9 {
            mark.note(lsn);
        }
        assert_eq!(Mark::open(dir.path(), seal).unwrap().1, 9);
        assert_eq!(Mark::open(dir.path(), Seal::of(&[2; 16])).unwrap().1, 0);
        mark.file.as_ref().unwrap().write_all_at(b"torn", SLOT as u64 + 6).unwrap();
        assert_eq!(Mark::open(dir.path(), seal).unwrap().1, 8);
    }
}
