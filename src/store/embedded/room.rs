//! How much of the disk is free, and how much of it is kept for what.

use std::{fs::File, path::Path};

use super::disk;
use crate::store::Error;

/// Space that is left free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// So many bytes,
    pub(super) bytes: u64,
    /// but at most the disk's size divided by this, so that a small disk is of use, too.
    pub(super) share: u64,
}

/// A disk's free space, for this user, and its size; bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) free: u64,
    size: u64,
}

impl Room {
    /// Looks at the disk that holds an open file or folder.
    pub(super) fn of(file: &File, path: &Path) -> Result<Self, Error> {
        let disk = rustix::fs::fstatvfs(file);
        let disk = disk.map_err(|error| disk::failure("cannot see the free space of", path, &error.into()))?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Self { free: bytes(disk.f_bavail), size: bytes(disk.f_blocks) })
    }

    /// The bytes of this disk that a mark leaves free.
    pub(super) fn mark(&self, mark: Mark) -> u64 {
        mark.bytes.min(self.size / mark.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_has_smaller_marks() {
        let room = |size| Room { free: 0, size };
        let mark = Mark { bytes: 256 << 20, share: 8 };
        assert_eq!(room(100 << 30).mark(mark), 256 << 20);
        assert_eq!(room(64 << 20).mark(mark), 8 << 20);
        let dir = tempfile::tempdir().unwrap();
        let here = Room::of(&File::open(dir.path()).unwrap(), dir.path()).unwrap();
        assert!(here.free > 0 && here.free <= here.size);
    }
}
