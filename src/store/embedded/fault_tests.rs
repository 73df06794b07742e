//! Every single system call of a small workload fails once, in every way, while the store is made, used, opened and closed
//! (RELIABILITY.md I22): whatever was acknowledged is there afterwards, and nothing of what was not is there by half.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use tempfile::TempDir;

use super::{
    fault::{self, Fault, Plan},
    room::Mark,
    *,
};

const FAULTS: [Fault; 5] = [Fault::NoSpace, Fault::Io, Fault::Short, Fault::Sync, Fault::ReadOnly];

/// More calls than the workload makes: the last plan must not strike, which shows that every call had its turn.
const CALLS_MAX: usize = 400;

/// Rounds of the workload: enough for journal files to be filled, made and used again, and for checkpoints.
const ROUNDS: u32 = 24;

fn tiny() -> Options {
    Options {
        journal_file: 6 << 10,
        journal_files: 3,
        checkpoint: 2 << 10,
        journal_wait: Duration::from_mins(1),
        lock_wait: Duration::ZERO,
        blob_file: 900,
        sled_cache: 1 << 20,
        reserve: Mark { bytes: 0, share: 1 },
        ..Options::default()
    }
}

/// What the store must hold: after its last acknowledged commit, and after the one that was not answered well, if there is one.
#[derive(Default)]
struct Told {
    acked: BTreeMap<Bytes, Bytes>,
    perhaps: Option<BTreeMap<Bytes, Bytes>>,
    blobs: Vec<(BlobRef, Vec<u8>)>,
}

impl Told {
    /// Commits until something fails; gives that error.
    fn work(&mut self, store: &Embedded, rounds: std::ops::Range<u32>) -> Option<Error> {
        for round in rounds {
            if round % 4 == 0 {
                let content = vec![u8::try_from(round % 251).unwrap(); 300];
                match store.write_blob(&content) {
                    Ok(blob) => self.blobs.push((blob, content)),
                    Err(error) => return Some(error),
                }
            }
            let value = Bytes::from(format!("{round:0200}"));
            let key = [b"T\0\0\0\0\0\0\0".as_slice(), &[u8::try_from(round % 3).unwrap()], &round.to_be_bytes()];
            let ops =
                vec![(Bytes::from(key.concat()), Some(value.clone())), (Bytes::from_static(b"last"), Some(value))];
            let mut after = self.acked.clone();
            after.extend(ops.iter().map(|(key, value)| (key.clone(), value.clone().unwrap())));
            match store.commit(Commit { ops, ..Commit::default() }) {
                Ok(()) => self.acked = after,
                Err(error) => {
                    // Where there was no space, nothing of it may be there.
                    self.perhaps = (!matches!(error, Error::Full(_))).then_some(after);
                    return Some(error);
                }
            }
        }
        None
    }

    fn check(&self, store: &Embedded, of: &str) {
        let found: BTreeMap<_, _> =
            store.scan(b"\0"..b"\xff", Order::Ascending, usize::MAX).unwrap().into_iter().collect();
        assert!(found == self.acked || Some(&found) == self.perhaps.as_ref(), "{of}: {} records", found.len());
        for task_seq in 0..3 {
            store.verify(task_seq).unwrap_or_else(|error| panic!("{of}: {error}"));
        }
        for (blob, content) in &self.blobs {
            assert_eq!(store.read_blob(*blob, 0, usize::MAX).unwrap(), content, "{of}");
        }
    }
}

/// Makes, uses and closes a store while one call fails. Says whether one did.
fn struck(dir: &Path, fault: Fault, passes: usize) -> bool {
    let of = format!("{fault:?} at call {passes}");
    let mut told = Told::default();
    fault::plan(dir, Plan { fault, passes, strikes: 1 });
    if let Ok(store) = Embedded::open_with(dir, &tiny()) {
        let refused = told.work(&store, 0..ROUNDS);
        told.check(&store, &of);
        match &refused {
            // Space is there again: the same store goes on.
            Some(Error::Full(_)) => {
                let later = told.work(&store, ROUNDS..2 * ROUNDS);
                // What a lack of space did to sled, a new start mends.
                let of_sled = store.supply.trouble().is_some();
                assert!(later.is_none() || of_sled, "{of}: {later:?}");
            }
            Some(Error::Failed(_) | Error::NotWritable(_)) | None => {}
            Some(error) => panic!("{of}: {error}"),
        }
        told.check(&store, &of);
        if passes.is_multiple_of(2) { drop(store) } else { store.crash() }
    }
    let struck = fault::end(dir);
    let store = Embedded::open_with(dir, &tiny()).unwrap_or_else(|error| panic!("{of}: {error}"));
    told.check(&store, &of);
    told.perhaps = None;
    told.acked = store.scan(b"\0"..b"\xff", Order::Ascending, usize::MAX).unwrap().into_iter().collect();
    assert_eq!(told.work(&store, 100..104), None, "{of}");
    told.check(&store, &of);
    struck
}

fn every_call(fault: Fault) {
    for passes in 0.. {
        assert!(passes < CALLS_MAX, "{fault:?}: the workload makes more calls than expected");
        if !struck(tempfile::tempdir().unwrap().path(), fault, passes) {
            assert!(passes > 20, "{fault:?}: only {passes} calls could fail");
            return;
        }
    }
}

#[test]
fn no_call_that_finds_no_space_loses_anything() {
    every_call(Fault::NoSpace);
}

#[test]
fn no_call_that_fails_loses_anything() {
    every_call(Fault::Io);
}

#[test]
fn no_write_that_stops_midway_loses_anything() {
    every_call(Fault::Short);
}

#[test]
fn no_sync_that_fails_loses_anything() {
    every_call(Fault::Sync);
}

#[test]
fn no_folder_that_turns_read_only_loses_anything() {
    every_call(Fault::ReadOnly);
}

/// A store, closed, with all that it was told.
fn closed() -> (TempDir, Told) {
    let dir = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    let store = Embedded::open_with(dir.path(), &tiny()).unwrap();
    assert_eq!(told.work(&store, 0..10), None);
    store.crash();
    (dir, told)
}

#[test]
fn an_opening_that_fails_at_any_call_loses_nothing() {
    for fault in FAULTS {
        for passes in 0.. {
            let (dir, told) = closed();
            let of = format!("opening with {fault:?} at call {passes}");
            fault::plan(dir.path(), Plan { fault, passes, strikes: usize::MAX });
            let opened = Embedded::open_with(dir.path(), &tiny());
            fault::end(dir.path());
            let passed = opened.is_ok();
            drop(opened);
            let store = Embedded::open_with(dir.path(), &tiny()).unwrap_or_else(|error| panic!("{of}: {error}"));
            told.check(&store, &of);
            if passed {
                break;
            }
            assert!(passes < CALLS_MAX, "{of}");
        }
    }
}

#[test]
fn a_checkpoint_counts_once_sled_is_synced() {
    let dir = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    let store = Embedded::open_with(dir.path(), &Options { checkpoint: usize::MAX, ..tiny() }).unwrap();
    assert_eq!(told.work(&store, 0..4), None);
    fault::plan(&dir.path().join("sled"), Plan { fault: Fault::Sync, passes: 0, strikes: 1 });
    store.supply.ask_and_wait();
    assert!(fault::end(&dir.path().join("sled")), "a checkpoint syncs what it wrote into sled");
    assert_eq!(store.supply.durable(), 0, "what sled has not synced stays in the journal");
    told.check(&store, "a checkpoint that failed");
}

#[test]
fn a_disk_that_stays_full_refuses_and_serves_again_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let mut told = Told::default();
    let options = Options { reserve: Mark { bytes: 0, share: 1 }, ..tiny() };
    let store = Embedded::open_with(dir.path(), &options).unwrap();
    assert_eq!(told.work(&store, 0..4), None);
    store.supply.settle();
    fault::plan(dir.path(), Plan { fault: Fault::NoSpace, passes: 0, strikes: usize::MAX });
    for _ in 0..3 {
        assert!(matches!(told.work(&store, 4..5), Some(Error::Full(_))));
        told.check(&store, "full");
    }
    assert!(!fault::end(dir.path()));
    assert_eq!(told.work(&store, 4..10), None);
    told.check(&store, "space again");
    assert!(fs::read_dir(dir.path().join("journal")).unwrap().count() >= 2);
}
