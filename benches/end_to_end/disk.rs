//! Durable writes as the floor makes them: one pwrite and one fdatasync in a file that has its space already.

use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

/// What a call's facts take at least.
const RECORD: usize = 256;
/// As long as a file of the server's journal.
const LENGTH: usize = 16 << 20;

/// A preallocated file.
#[derive(Debug)]
pub(crate) struct Disk {
    file: File,
    at: usize,
}

impl Disk {
    pub(crate) fn open(path: &Path) -> Self {
        std::fs::write(path, vec![0; LENGTH]).expect("a file");
        let file = File::options().write(true).open(path).expect("a file");
        file.sync_all().expect("a sync");
        Self { file, at: 0 }
    }

    /// One write of 256 bytes, durable on return.
    pub(crate) fn write(&mut self) {
        self.at = (self.at + RECORD) % (LENGTH - RECORD);
        self.file.write_all_at(&[7; RECORD], self.at as u64).expect("a write");
        self.file.sync_data().expect("a sync");
    }
}
