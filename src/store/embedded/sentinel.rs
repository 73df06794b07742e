//! The file `STORE`: says that the folder holds a store, in which format, and which one. It is written last, so a folder that has
//! it has all the rest, and one that has the rest without it lost something.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{disk, syscall};
use crate::{
    seeded::{self, Bug},
    store::Error,
};

/// Rises when an older program could misread what a newer one wrote.
const FORMAT: u32 = 1;

/// What makes up a store, besides `LOCK` and `STORE`.
pub(super) const PARTS: [&str; 3] = ["journal", "sled", "blobs"];

/// How a folder was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole store with this id.
    Store([u8; 16]),
    /// No store: there never was one, or its making was interrupted and what it left is now gone.
    Nothing,
}

/// Looks at a folder, and refuses it where only a part of a store is there.
pub(super) fn look(dir: &Path) -> Result<Found, Error> {
    let path = dir.join("STORE");
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return without_sentinel(dir),
        Err(error) => return Err(disk::failure("cannot read", &path, &error)),
    };
    let id = parse(&String::from_utf8_lossy(&text), &path)?;
    match PARTS.iter().find(|part| !dir.join(part).is_dir()) {
        None => Ok(Found::Store(id)),
        Some(part) => Err(Error::Damaged(format!(
            "{} says that a store is here, but {} is missing; restore the whole folder from a backup",
            path.display(),
            dir.join(part).display()
        ))),
    }
}

fn without_sentinel(dir: &Path) -> Result<Found, Error> {
    let interrupted = draft(dir).exists();
    for part in PARTS.map(|part| dir.join(part)).iter().filter(|part| part.exists()) {
        if !interrupted {
            return Err(Error::Damaged(format!(
                "{} is there, but the file STORE beside it is missing; restore the whole folder from a backup, or choose \
                 an empty data_dir",
                part.display()
            )));
        }
        disk::remove(part)?;
    }
    Ok(Found::Nothing)
}

/// Begins the making of a store: as long as only the draft is there, nothing was ever acknowledged. Gives the new store's id.
pub(super) fn draft_new(dir: &Path) -> Result<[u8; 16], Error> {
    // std seeds each of these from the system's random numbers; the id has to be unique and unknown to clients, no more.
    let mut id = [0; 16];
    id[..8].copy_from_slice(&RandomState::new().hash_one(0).to_be_bytes());
    id[8..].copy_from_slice(&RandomState::new().hash_one(1).to_be_bytes());
    draft_of(dir, &id)?;
    Ok(id)
}

/// The same for a copy of a store.
pub(super) fn draft_of(dir: &Path, id: &[u8; 16]) -> Result<(), Error> {
    disk::write_file(&draft(dir), text(id).as_bytes())?;
    disk::sync_dir(dir)
}

/// The id of the store in a folder. Unlike [`look`], it changes nothing.
pub(super) fn read(dir: &Path) -> Result<[u8; 16], Error> {
    must_be(dir)?;
    match look(dir)? {
        Found::Store(id) => Ok(id),
        Found::Nothing => Err(none(dir)),
    }
}

/// Says so where a folder holds no store.
pub(super) fn must_be(dir: &Path) -> Result<(), Error> {
    if dir.join("STORE").is_file() { Ok(()) } else { Err(none(dir)) }
}

fn none(dir: &Path) -> Error {
    let dir = dir.display();
    Error::Damaged(format!("{dir} holds no store, or one whose file STORE is missing; name the data_dir of a server"))
}

/// Ends the making of a store.
pub(super) fn finish(dir: &Path) -> Result<(), Error> {
    let path = dir.join("STORE");
    syscall::rename(&draft(dir), &path).map_err(|error| disk::failure("cannot write", &path, &error))?;
    disk::sync_dir(dir)
}

fn draft(dir: &Path) -> PathBuf {
    dir.join(if seeded::has(Bug::StoreMarkedBeforeMade) { "STORE" } else { "STORE.new" })
}

fn text(id: &[u8; 16]) -> String {
    let body = format!("toolbatch store\nformat {FORMAT}\nid {:032x}\n", u128::from_be_bytes(*id));
    let crc = crc32fast::hash(body.as_bytes());
    format!("{body}crc {crc:08x}\n")
}

fn parse(text: &str, path: &Path) -> Result<[u8; 16], Error> {
    let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    // A newer format may have another checksum: its number counts without one.
    if let Some(format) = line("format").and_then(|format| format.parse::<u32>().ok())
        && format > FORMAT
    {
        return Err(Error::Newer(format!(
            "{} has format {format}, this program knows up to {FORMAT}; use the program that wrote it, or a newer one",
            path.display()
        )));
    }
    let id = line("id").and_then(|id| u128::from_str_radix(id, 16).ok()).map(u128::to_be_bytes);
    match id {
        Some(id) if self::text(&id) == text => Ok(id),
        Some(_) | None => Err(Error::Damaged(format!(
            "{} is not what was written there; restore the whole folder from a backup",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (tempfile::TempDir, [u8; 16]) {
        let dir = tempfile::tempdir().unwrap();
        let id = draft_new(dir.path()).unwrap();
        for part in PARTS {
            fs::create_dir(dir.path().join(part)).unwrap();
        }
        (dir, id)
    }

    #[test]
    fn what_was_made_is_found() {
        let (dir, id) = made();
        finish(dir.path()).unwrap();
        assert_eq!(look(dir.path()), Ok(Found::Store(id)));
        assert_ne!(made().1, id);
    }

    #[test]
    fn an_interrupted_making_starts_again() {
        let (dir, _) = made();
        assert_eq!(look(dir.path()), Ok(Found::Nothing));
        assert!(PARTS.iter().all(|part| !dir.path().join(part).exists()));
    }

    #[test]
    fn half_a_store_is_refused_by_name() {
        for part in PARTS {
            let (dir, _) = made();
            finish(dir.path()).unwrap();
            fs::remove_dir(dir.path().join(part)).unwrap();
            let missing = format!("{} is missing", dir.path().join(part).display());
            assert!(matches!(look(dir.path()), Err(Error::Damaged(text)) if text.contains(&missing)));

            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join(part)).unwrap();
            let there = format!("{} is there", dir.path().join(part).display());
            assert!(matches!(look(dir.path()), Err(Error::Damaged(text)) if text.contains(&there)));
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (dir, _) = made();
        finish(dir.path()).unwrap();
        let path = dir.path().join("STORE");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(matches!(look(dir.path()), Err(Error::Damaged(_))), "byte {at}");
        }
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert!(matches!(look(dir.path()), Err(Error::Damaged(_))), "length {length}");
        }
    }

    #[test]
    fn a_newer_format_is_told_apart() {
        let (dir, _) = made();
        finish(dir.path()).unwrap();
        fs::write(dir.path().join("STORE"), "toolbatch store\nformat 2\nsomething new\n").unwrap();
        assert!(matches!(look(dir.path()), Err(Error::Newer(text)) if text.contains("format 2")));
    }
}
