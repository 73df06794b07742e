//! The system calls that change the store's files, in one place, so that a test can make any one of them fail.
#![cfg_attr(not(test), expect(unused_variables, reason = "only a test's faults ask which file it is"))]

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::Path,
};

#[cfg(test)]
use super::fault::{self, Call};

/// Writes all bytes at a place of a file.
pub(super) fn write_at(file: &File, path: &Path, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Write(&mut |length| file.write_all_at(&bytes[..length.min(bytes.len())], at)))?;
    file.write_all_at(bytes, at)
}

/// Makes a file's content durable, and its length.
pub(super) fn sync_data(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Sync)?;
    file.sync_data()
}

/// Makes a file's content and metadata, or a folder's names, durable.
pub(super) fn sync_all(file: &File, path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Sync)?;
    file.sync_all()
}

/// Cuts a file to a length, or makes it longer.
pub(super) fn set_len(file: &File, path: &Path, length: u64) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Other)?;
    file.set_len(length)
}

/// Opens a file for reading and writing; `create` makes it if it is not there.
pub(super) fn open(path: &Path, create: bool) -> io::Result<File> {
    #[cfg(test)]
    fault::strike(path, Call::Other)?;
    File::options().read(true).write(true).create(create).truncate(false).open(path)
}

/// Gives a file or folder another name.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(to, Call::Other)?;
    fs::rename(from, to)
}

/// Makes a folder.
pub(super) fn create_dir(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Other)?;
    fs::create_dir(path)
}

/// Deletes a file, or a folder with all that is in it.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Other)?;
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Stands before a write whose system calls are not made here: sled's.
#[allow(clippy::unnecessary_wraps, reason = "tests make it fail")]
pub(super) fn before_foreign_write(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    fault::strike(path, Call::Other)?;
    Ok(())
}
