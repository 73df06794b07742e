//! Files and folders whose names survive loss of power, and what the system's errors mean for the store.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::Path,
};

use super::syscall;
use crate::store::Error;

/// Says which file, what was tried and what to do; `doing` reads like "cannot read".
pub(super) fn failure(doing: &str, path: &Path, error: &io::Error) -> Error {
    let what = format!("{doing} {}: {error}", path.display());
    let kind = error.kind();
    if is_full(kind) {
        Error::Full(format!("{what}; free some space on that disk"))
    } else if matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) {
        Error::NotWritable(format!("{what}; make it writable for this user, or choose another data_dir"))
    } else {
        Error::Failed(format!("{what}; look for disk errors in the system's log, then start again"))
    }
}

/// Whether there is no space for a write.
pub(super) fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(path: &Path) -> Result<(), Error> {
    let synced = File::open(path).and_then(|dir| syscall::sync_all(&dir, path));
    synced.map_err(|error| failure("cannot sync the folder", path, &error))
}

/// Makes a folder, and those above it, with durable names.
pub(super) fn create_dir(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    create_dir(parent)?;
    match syscall::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(failure("cannot make the folder", path, &error)),
        Ok(()) | Err(_) => sync_dir(parent),
    }
}

/// Opens a file for reading and writing; `create` makes it if it is not there.
pub(super) fn open(path: &Path, create: bool) -> Result<File, Error> {
    syscall::open(path, create).map_err(|error| failure("cannot open", path, &error))
}

/// Writes a file from its beginning, drops what it held before, and makes its content durable, but not its name.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<File, Error> {
    let file = open(path, true)?;
    let written = syscall::set_len(&file, path, 0)
        .and_then(|()| syscall::write_at(&file, path, content, 0))
        .and_then(|()| syscall::sync_all(&file, path));
    written.map_err(|error| failure("cannot write", path, &error))?;
    Ok(file)
}

/// Deletes a file or folder, if there is one.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    match syscall::remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failure("cannot delete", path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The names in a folder that are text; others are not ours.
pub(super) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let read = || fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let names = read().map_err(|error| failure("cannot read the folder", path, &error))?;
    Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
}
