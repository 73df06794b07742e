//! One process per folder: a lock on the file `LOCK`, which also names the holder.

use std::{
    fs::{self, File, TryLockError},
    io::Write as _,
    path::Path,
    process, thread,
    time::Duration,
};

use super::disk;
use crate::store::Error;

/// Short enough to be there soon after the old process is gone, long enough to cost nothing.
const RETRY: Duration = Duration::from_millis(50);

/// Held until it is dropped, or the process is gone.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the folder, or says who holds it after `wait`.
    pub(super) fn take(dir: &Path, wait: Duration) -> Result<Self, Error> {
        let path = dir.join("LOCK");
        let mut file = disk::open(&path, true)?;
        let mut left = wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if !left.is_zero() => {
                    let pause = left.min(RETRY);
                    thread::sleep(pause);
                    left -= pause;
                }
                Err(TryLockError::WouldBlock) => return Err(in_use(dir, &path)),
                Err(TryLockError::Error(error)) => return Err(disk::failure("cannot lock", &path, &error)),
            }
        }
        let noted = file.set_len(0).and_then(|()| writeln!(file, "{}", process::id()));
        noted.map_err(|error| disk::failure("cannot write", &path, &error))?;
        Ok(Self { _file: file })
    }
}

fn in_use(dir: &Path, path: &Path) -> Error {
    let holder = fs::read_to_string(path).unwrap_or_default();
    let holder = match holder.trim() {
        "" => "by another process".to_owned(),
        pid => format!("by pid {pid}"),
    };
    Error::InUse(format!("{} is in use {holder}; stop it, or choose another data_dir", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it_and_gets_it_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::take(dir.path(), Duration::ZERO).unwrap();
        let refused = Lock::take(dir.path(), Duration::from_millis(1)).unwrap_err();
        let expected = format!("is in use by pid {}", process::id());
        assert!(matches!(&refused, Error::InUse(text) if text.contains(&expected)), "{refused}");
        drop(first);
        Lock::take(dir.path(), Duration::ZERO).unwrap();
    }
}
