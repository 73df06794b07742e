//! The store as a whole: crashes, damage and refusals. What single files do is tested beside them.

mod pages;
mod space;

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use proptest::prelude::*;
use tempfile::TempDir;

use super::{room::Mark, *};
use crate::store::{TASK_PREFIX, group};

type Model = BTreeMap<Bytes, Bytes>;

/// Sizes so small that a few commits fill the journal several times over.
fn small() -> Options {
    Options {
        journal_file: 16 << 10,
        journal_files: 3,
        checkpoint: 4 << 10,
        lock_wait: Duration::ZERO,
        blob_file: 1 << 20,
        sled_cache: 1 << 20,
        compact_from: 256 << 10,
        reserve: Mark { bytes: 0, share: 1 },
        new_work: Mark { bytes: 0, share: 1 },
        journal_share: 4 << 10,
        ..Options::default()
    }
}

/// No checkpoint unless asked for.
fn no_checkpoints() -> Options {
    Options { journal_file: 1 << 20, checkpoint: usize::MAX, ..small() }
}

impl Embedded {
    /// Opens a store whose journal is short, yet takes the largest commit.
    pub(in crate::store) fn open_small(dir: &Path) -> Self {
        let options = Options { journal_file: 5 << 20, checkpoint: 16 << 10, ..small() };
        Self::open_with(dir, &options).unwrap()
    }

    /// Stops without a last checkpoint.
    pub(in crate::store) fn crash(mut self) {
        // A checkpoint that failed before is no matter of the crash.
        let _earlier = self.checkpointer.stop(Ending::Abrupt);
    }

    fn checkpoint(&self) {
        self.supply.ask_and_wait();
    }
}

fn task_key(task_seq: u64, at: u64) -> Bytes {
    [&[TASK_PREFIX][..], &task_seq.to_be_bytes(), &at.to_be_bytes()].concat().into()
}

/// Commits values of 100 bytes under the keys of some tasks and above them, 8 records at a time.
fn fill(store: &Embedded, model: &mut Model, rounds: Range<u64>) {
    for round in rounds {
        let value = Bytes::from(format!("{round:0100}"));
        let mut ops: Vec<_> = (0..5).map(|task| (task_key(task, round), Some(value.clone()))).collect();
        ops.push((Bytes::from(format!("key{round}")), Some(value.clone())));
        ops.push((Bytes::from_static(b"last"), Some(value.clone())));
        ops.push((task_key(1, round.wrapping_sub(10)), None));
        for (key, value) in ops.clone() {
            match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
        }
        store.commit(Commit { ops, ..Commit::default() }).unwrap();
    }
}

fn content(store: &Embedded) -> Model {
    store.scan(b"\0"..b"\xff", Order::Ascending, usize::MAX).unwrap().into_iter().collect()
}

fn copy(from: &Path) -> TempDir {
    let to = tempfile::tempdir().unwrap();
    copy_into(from, to.path());
    to
}

fn copy_into(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x20], at).unwrap();
}

fn damage_of(dir: &Path) -> String {
    match Embedded::open_with(dir, &no_checkpoints()) {
        Err(Error::Damaged(text)) => text,
        Err(error) => panic!("another error: {error}"),
        Ok(store) => panic!("opened with {:?}", store.stats()),
    }
}

/// All that was stored, or an error that says so: never less without a word.
fn all_or_damage(dir: &Path, model: &Model) -> bool {
    let store = match Embedded::open_with(dir, &no_checkpoints()) {
        Ok(store) => store,
        Err(Error::Damaged(_) | Error::Failed(_)) => return false,
        Err(error) => panic!("another error: {error}"),
    };
    let mut whole = true;
    let verified: Vec<bool> = (0..5).map(|task_seq| store.verify(task_seq).is_ok()).collect();
    for (key, value) in model {
        match store.get(key) {
            Ok(found) if group(key).is_none_or(|task| verified[usize::try_from(task).unwrap()]) => {
                assert_eq!(found.as_ref(), Some(value), "{}", key.escape_ascii());
            }
            Ok(_) | Err(_) => whole = false,
        }
    }
    if whole {
        assert_eq!(content(&store), *model);
    }
    whole
}

#[test]
fn a_crash_loses_nothing_and_a_close_leaves_nothing_to_replay() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    fill(&store, &mut model, 0..20);
    store.crash();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    assert_eq!((store.stats().lsn, store.stats().checkpointed_lsn), (20, 0));
    assert_eq!(content(&store), model);
    fill(&store, &mut model, 20..25);
    store.close().unwrap();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    let stats = store.stats();
    assert_eq!((stats.lsn, stats.checkpointed_lsn, stats.overlay_records, stats.journal_bytes), (25, 25, 0, 0));
    assert_eq!(content(&store), model);
    drop(store);
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn journal_files_are_used_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    for round in 0..4 {
        let store = Embedded::open_with(dir.path(), &small()).unwrap();
        // 60 commits of some 1.2 KB: more than the three files hold.
        fill(&store, &mut model, round * 60..(round + 1) * 60);
        assert_eq!(content(&store), model);
        assert!(store.stats().checkpointed_lsn > round * 60);
        if round % 2 == 0 { store.crash() } else { store.close().unwrap() }
    }
    assert!(disk::names(&dir.path().join("journal")).unwrap().len() <= 4, "three files and the mark");
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn a_copy_of_the_folder_is_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    fill(&store, &mut model, 0..10);
    store.checkpoint();
    fill(&store, &mut model, 10..20);
    assert_eq!(store.stats().checkpointed_lsn, 10);
    let copied = copy(dir.path());
    assert!(all_or_damage(copied.path(), &model));
}

#[test]
fn largest_records_make_no_files_inside_sled() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(dir.path()).unwrap();
    let value = Bytes::from(vec![9; crate::store::MAX_VALUE]);
    for round in 0..6 {
        let key = |at: u32| Bytes::from(format!("{:>1$}", at * 7 % 400, crate::store::MAX_KEY));
        let ops = (0..400).map(|at| (key(at), Some(value.slice(round..)))).collect();
        store.commit(Commit { ops, ..Commit::default() }).unwrap();
        store.checkpoint();
    }
    assert_eq!(disk::names(&dir.path().join("sled/blobs")).unwrap(), Vec::<String>::new());
}

/// A store with commits 1 to 10 in sled and 11 to 20 in the journal only, and where each of its frames begins.
fn with_journal() -> (TempDir, Model, Vec<u64>) {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    let (mut starts, mut at, mut before) = (Vec::new(), seal::HEAD, 0);
    for round in 0..20 {
        fill(&store, &mut model, round..round + 1);
        starts.push(at as u64);
        let bytes = store.stats().journal_bytes;
        at += bytes - before;
        before = bytes;
        if round == 9 {
            store.checkpoint();
            before = 0;
        }
    }
    store.crash();
    (dir, model, starts)
}

#[test]
fn a_commit_that_was_never_whole_is_dropped_alone() {
    let (dir, _, starts) = with_journal();
    for at in [0, 5, 12, 25, 33, 200, 700] {
        let torn = copy(dir.path());
        // Power went before the last commit's sync ended, so nothing says that it was acknowledged.
        fs::remove_file(torn.path().join("journal/acked")).unwrap();
        flip(&torn.path().join("journal/0"), starts[19] + at);
        let store = Embedded::open_with(torn.path(), &no_checkpoints());
        let store = store.unwrap_or_else(|error| panic!("what was never whole is no damage: byte {at}: {error}"));
        assert_eq!(store.stats().lsn, 19, "what was never whole is dropped: byte {at}");
        let mut model = Model::new();
        let other = tempfile::tempdir().unwrap();
        fill(&Embedded::open_with(other.path(), &no_checkpoints()).unwrap(), &mut model, 0..19);
        assert_eq!(content(&store), model, "byte {at}");
        // Its number is used again, and what is left of it does not come back.
        fill(&store, &mut model, 30..33);
        store.crash();
        assert!(all_or_damage(torn.path(), &model), "byte {at}");
    }
}

#[test]
fn an_acknowledged_end_that_is_gone_is_damage() {
    let (dir, ..) = with_journal();
    let starts = with_journal().2;
    flip(&dir.path().join("journal/0"), starts[19] + 40);
    assert!(damage_of(dir.path()).contains("ends here with commit 19, but commit 20 was acknowledged"));

    let (dir, ..) = with_journal();
    OpenOptions::new().write(true).open(dir.path().join("journal/0")).unwrap().set_len(starts[15]).unwrap();
    assert!(damage_of(dir.path()).contains("ends here with commit 15, but commit 20 was acknowledged"));
    fs::remove_file(dir.path().join("journal/acked")).unwrap();
    OpenOptions::new().write(true).open(dir.path().join("journal/0")).unwrap().set_len(starts[5]).unwrap();
    assert!(damage_of(dir.path()).contains("ends here with commit 5, but sled has commit 10"));
}

#[test]
fn a_damaged_middle_is_named_and_what_sled_has_is_not_missed() {
    let (dir, model, starts) = with_journal();
    for (commit, start) in (1..).zip(&starts).take(19) {
        for at in [3, 14, 30, 300] {
            let damaged = copy(dir.path());
            flip(&damaged.path().join("journal/0"), start + at);
            if commit <= 10 {
                assert!(all_or_damage(damaged.path(), &model), "commit {commit}, byte {at}");
            } else {
                let text = damage_of(damaged.path());
                let place = format!("journal/0 at byte {start}: commit {commit} is damaged");
                assert!(text.contains(&place), "{text}");
            }
        }
    }
}

#[test]
fn a_missing_or_foreign_journal_is_refused() {
    let (dir, ..) = with_journal();
    let (other, ..) = with_journal();
    let path = dir.path().join("journal/0");
    fs::copy(other.path().join("journal/0"), &path).unwrap();
    assert!(damage_of(dir.path()).contains("belongs to another store"));
    fs::rename(&path, dir.path().join("journal/1")).unwrap();
    flip(&dir.path().join("journal/1"), 3);
    assert!(damage_of(dir.path()).contains("journal/1 at byte 0 has a damaged head"));
    fs::remove_file(dir.path().join("journal/1")).unwrap();
    assert!(damage_of(dir.path()).contains("holds no journal file"));
    fs::remove_dir_all(dir.path().join("journal")).unwrap();
    assert!(damage_of(dir.path()).contains("journal is missing"));
}

#[test]
fn a_missing_emptied_or_foreign_sled_is_refused() {
    let (dir, ..) = with_journal();
    let (other, ..) = with_journal();
    let db = dir.path().join("sled/db");
    let good = fs::read(&db).unwrap();
    File::create(&db).unwrap();
    assert!(damage_of(dir.path()).contains("sled/db is missing or empty"));
    fs::remove_file(&db).unwrap();
    assert!(damage_of(dir.path()).contains("sled/db is missing or empty"));
    for name in disk::names(&dir.path().join("sled")).unwrap().iter().filter(|name| name.starts_with("snap.")) {
        fs::remove_file(dir.path().join("sled").join(name)).unwrap();
    }
    for zeros in [1, 4_096, good.len()] {
        fs::write(&db, vec![0; zeros]).unwrap();
        assert!(!damage_of(dir.path()).is_empty(), "{zeros} zeros");
    }
    for name in disk::names(&dir.path().join("sled")).unwrap().iter().filter(|name| name.starts_with("snap.")) {
        fs::remove_file(dir.path().join("sled").join(name)).unwrap();
    }
    fs::remove_dir_all(dir.path().join("sled")).unwrap();
    assert!(damage_of(dir.path()).contains("sled is missing"));
    fs::create_dir(dir.path().join("sled")).unwrap();
    copy_into(&other.path().join("sled"), &dir.path().join("sled"));
    assert!(damage_of(dir.path()).contains("belongs to another store"));
}

#[test]
fn an_older_sled_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    fill(&store, &mut model, 0..3);
    store.checkpoint();
    let old = copy(dir.path());
    fill(&store, &mut model, 3..80);
    store.close().unwrap();
    fs::remove_dir_all(dir.path().join("sled")).unwrap();
    fs::rename(old.path().join("sled"), dir.path().join("sled")).unwrap();
    assert!(damage_of(dir.path()).contains("commit 4 is damaged or missing"));
}

#[test]
fn bad_snapshots_are_made_again() {
    let (dir, model, _) = with_journal();
    let sled = dir.path().join("sled");
    fs::write(sled.join("snap.0000000000FFFFFF.generating"), [7; 100]).unwrap();
    assert!(all_or_damage(dir.path(), &model));
    let snapshots: Vec<PathBuf> = disk::names(&sled)
        .unwrap()
        .iter()
        .filter(|name| name.starts_with("snap."))
        .map(|name| sled.join(name))
        .collect();
    assert_eq!(snapshots.len(), 1);
    for bad in [&b""[..], &[7; 100]] {
        let copied = copy(dir.path());
        fs::write(copied.path().join("sled").join(snapshots[0].file_name().unwrap()), bad).unwrap();
        assert!(all_or_damage(copied.path(), &model));
    }
}

/// A store whose first commits are in sled alone: the journal files that held them were used again.
fn with_reused_journal() -> (TempDir, Model) {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    fill(&store, &mut model, 0..100);
    store.supply.settle();
    store.crash();
    (dir, model)
}

fn forget_snapshots(dir: &Path) {
    let sled = dir.join("sled");
    for name in disk::names(&sled).unwrap().iter().filter(|name| name.starts_with("snap.")) {
        fs::remove_file(sled.join(name)).unwrap();
    }
}

#[test]
fn damage_anywhere_in_sled_is_never_passed_over() {
    let (dir, model) = with_reused_journal();
    let length = fs::metadata(dir.path().join("sled/db")).unwrap().len();
    for snapshot in [true, false] {
        let mut found_out = 0;
        for at in (0..length).step_by(usize::try_from(length / 60).unwrap() | 1) {
            let damaged = copy(dir.path());
            if !snapshot {
                forget_snapshots(damaged.path());
            }
            flip(&damaged.path().join("sled/db"), at);
            found_out += usize::from(!all_or_damage(damaged.path(), &model));
        }
        assert!(found_out > 0, "none of the flipped bytes mattered, with a snapshot: {snapshot}");
    }
}

#[test]
fn a_sled_that_was_cut_is_never_passed_over() {
    let (dir, model) = with_reused_journal();
    let length = fs::metadata(dir.path().join("sled/db")).unwrap().len();
    let whole = |eighths: u64| {
        let cut = copy(dir.path());
        let file = OpenOptions::new().write(true).open(cut.path().join("sled/db")).unwrap();
        file.set_len(length * eighths / 8).unwrap();
        all_or_damage(cut.path(), &model)
    };
    assert!(whole(8));
    let found_out = (0..8).filter(|eighths| !whole(*eighths)).count();
    assert!(found_out > 0, "a sled without its end is no loss: the journal had everything");
}

#[expect(clippy::disallowed_methods, reason = "damage is what the store itself must not do")]
/// Changes the page that a record is in behind the store's back, as sled would if it lost or mixed up one. Gives the page's key.
fn change_page(dir: &Path, key: &[u8], change: impl FnOnce(&[u8], &[u8]) -> Option<(Bytes, Vec<u8>)>) -> Bytes {
    let db = index::open_db(&dir.join("sled"), 1 << 20).unwrap();
    let (first, page) = db.range(..=key).next_back().expect("the record is there").unwrap();
    db.remove(&first).unwrap();
    if let Some((first, page)) = change(&first, &page) {
        db.insert(&first[..], page).unwrap();
    }
    db.flush().unwrap();
    Bytes::copy_from_slice(&first)
}

/// Changes one record in its page, all checksums included: the store's own digests alone can tell.
fn change_in_sled(dir: &Path, key: &[u8], value: Option<&'static [u8]>) {
    change_page(dir, key, |first, page| {
        let mut records: Vec<(Bytes, Bytes)> = page::records(first, &page[4..])
            .map(Option::unwrap)
            .map(|record| (record.key(), Bytes::copy_from_slice(record.value)))
            .collect();
        let place = records.iter().position(|(found, _)| found == key).expect("the record is there");
        match value {
            Some(value) => records[place].1 = Bytes::from_static(value),
            None => drop(records.remove(place)),
        }
        let first = records.first()?.0.clone();
        let page = page::encode(records.iter().map(|(key, value)| (key, value)));
        Some((first.clone(), index::with_checksum(&first, &page)))
    });
}

#[test]
fn a_record_that_sled_lost_or_changed_is_named() {
    let (dir, model) = with_reused_journal();
    let key = task_key(3, 5);
    let count = model.keys().filter(|key| group(key) == Some(3)).count();

    let lost = copy(dir.path());
    change_in_sled(lost.path(), &key, None);
    let store = Embedded::open_with(lost.path(), &small()).unwrap();
    let expected = format!("task 3: {count} records were written, {} are there", count - 1);
    assert!(matches!(store.verify(3), Err(Error::Damaged(text)) if text.contains(&expected)));
    assert_eq!([0, 1, 2, 4].map(|task_seq| store.verify(task_seq)), [const { Ok(()) }; 4]);

    // A value that was there once, with its checksum: only the digest knows better.
    let stale = copy(dir.path());
    change_in_sled(stale.path(), &key, Some(b"older"));
    let store = Embedded::open_with(stale.path(), &small()).unwrap();
    assert_eq!(store.get(&key), Ok(Some("older".into())));
    let expected = format!("task 3: its {count} records are not those that were written");
    assert!(matches!(store.verify(3), Err(Error::Damaged(text)) if text.contains(&expected)));

    let garbled = copy(dir.path());
    let page = change_page(garbled.path(), &key, |first, old| {
        Some((Bytes::copy_from_slice(first), old.iter().map(|byte| byte ^ 1).collect()))
    });
    let store = Embedded::open_with(garbled.path(), &small()).unwrap();
    let shown = page.escape_ascii().to_string();
    assert!(matches!(store.get(&key), Err(Error::Damaged(text)) if text.contains(&shown)));
    assert!(matches!(store.verify(3), Err(Error::Damaged(text)) if text.contains("task 3") && text.contains(&shown)));
}

#[test]
fn what_finds_steps_is_verified_when_it_is_needed_and_not_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    let key = |time: u32, rest: u8| Bytes::from([&b"I"[..], &time.to_be_bytes(), &[rest; 12]].concat());
    let ops = (0..20).map(|rest| (key(u32::from(rest) / 10, rest), Some("here".into()))).collect();
    store.commit(Commit { ops, ..Commit::default() }).unwrap();
    assert_eq!(store.stats().global_records, 2, "two counts of ten");
    store.close().unwrap();
    change_in_sled(dir.path(), &key(1, 15), None);
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    let group_of = |key: Bytes| group(&key).unwrap();
    assert_eq!(store.verify(group_of(key(0, 0))), Ok(()));
    let lost = store.verify(group_of(key(1, 0)));
    let expected = "steps whose ids begin with 00000001: 10 records were written, 9 are there";
    assert!(matches!(&lost, Err(Error::Damaged(text)) if text.contains(expected)), "{lost:?}");
}

#[test]
fn what_sled_lost_above_the_tasks_is_noticed_at_the_start() {
    let (dir, _) = with_reused_journal();
    for key in [&b"key5"[..], &integrity::tally_key(3)] {
        let lost = copy(dir.path());
        change_in_sled(lost.path(), key, None);
        let text = damage_of(lost.path());
        assert!(text.contains("records above the tasks were written"), "{}: {text}", key.escape_ascii());
    }
    let lost = copy(dir.path());
    change_in_sled(lost.path(), b"!ckpt", None);
    assert!(damage_of(lost.path()).contains("does not say where it stands"));
}

#[test]
fn a_store_without_its_sentinel_or_of_a_newer_format_is_refused() {
    let (dir, ..) = with_journal();
    let path = dir.path().join("STORE");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("format 1", "format 2")).unwrap();
    assert!(matches!(Embedded::open(dir.path()), Err(Error::Newer(text)) if text.contains("format 2")));
    fs::remove_file(&path).unwrap();
    assert!(damage_of(dir.path()).contains("the file STORE beside it is missing"));
    fs::rename(with_journal().0.path().join("STORE"), &path).unwrap();
    assert!(damage_of(dir.path()).contains("belongs to another store"));
}

#[test]
fn a_making_that_was_interrupted_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    sentinel::draft_new(dir.path()).unwrap();
    fs::create_dir(dir.path().join("journal")).unwrap();
    fs::write(dir.path().join("journal/0.new"), b"half").unwrap();
    fs::create_dir(dir.path().join("sled")).unwrap();
    fs::write(dir.path().join("sled/db"), b"half").unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    fill(&store, &mut model, 0..3);
    store.crash();
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn one_process_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    let second = Embedded::open_with(dir.path(), &small()).unwrap_err();
    let holder = format!("{} is in use by pid {}", dir.path().display(), std::process::id());
    assert!(matches!(&second, Error::InUse(text) if text.contains(&holder)), "{second}");
    drop(store);
    Embedded::open_with(dir.path(), &small()).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), b"").unwrap();
    let below = dir.path().join("file/data");
    let error = Embedded::open(&below).unwrap_err();
    assert!(error.to_string().contains(&below.display().to_string()), "{error}");
}

#[test]
fn a_full_disk_refuses_the_commit_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    fill(&store, &mut model, 0..3);
    let one = || Commit { ops: vec![("x".into(), Some("y".into()))], ..Commit::default() };
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let file = store.writer().unwrap().journal().swap(full);
    for _ in 0..2 {
        assert!(matches!(store.commit(one()), Err(Error::Full(text)) if text.contains("journal/0")));
        assert_eq!(content(&store), model);
    }
    store.writer().unwrap().journal().swap(file);
    fill(&store, &mut model, 3..6);
    store.crash();
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn after_a_failed_sync_nothing_is_committed_and_all_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &no_checkpoints()).unwrap();
    fill(&store, &mut model, 0..3);
    let one = || Commit { ops: vec![("x".into(), Some("y".into()))], ..Commit::default() };
    // It takes every write and cannot be synced.
    let file = store.writer().unwrap().journal().swap(OpenOptions::new().write(true).open("/dev/null").unwrap());
    assert!(matches!(store.commit(one()), Err(Error::Failed(text)) if text.contains("cannot sync")));
    store.writer().unwrap().journal().swap(file);
    assert!(matches!(store.commit(one()), Err(Error::Failed(text)) if text.contains("an earlier commit failed")));
    assert_eq!(content(&store), model);
    store.crash();
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn commits_go_on_without_checkpoints_until_the_journal_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    store.layers.index().break_it();
    // Two files of 16 KiB hold some 25 such commits; the third takes the rest.
    fill(&store, &mut model, 0..25);
    let refused = (25..60).find_map(|round: u64| {
        let before = model.clone();
        let value = Bytes::from(vec![0; 1_000]);
        let ops = vec![(Bytes::from(format!("more{round}")), Some(value.clone()))];
        let outcome = store.commit(Commit { ops: ops.clone(), ..Commit::default() });
        if outcome.is_ok() {
            model.insert(ops[0].0.clone(), value);
        } else {
            model = before;
        }
        outcome.err()
    });
    assert!(
        matches!(&refused, Some(Error::Failed(text)) if text.contains("all journal files are in use")),
        "{refused:?}"
    );
    assert_eq!(content(&store), model);
    assert!(store.close().is_err());
    assert!(all_or_damage(dir.path(), &model));
}

#[test]
fn a_disk_without_room_for_checkpoints_costs_no_read_and_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    // No disk is free as a whole.
    let without_room = Options { reserve: Mark { bytes: u64::MAX, share: 1 }, ..small() };
    let store = Embedded::open_with(dir.path(), &without_room).unwrap();
    fill(&store, &mut model, 0..25);
    let value = Bytes::from(vec![0; 1_000]);
    let refused = (0..60).find_map(|round| {
        let key = Bytes::from(format!("more{round}"));
        let ops = vec![(key.clone(), Some(value.clone()))];
        let outcome = store.commit(Commit { ops, ..Commit::default() });
        if outcome.is_ok() {
            model.insert(key, value.clone());
        }
        outcome.err()
    });
    assert!(matches!(&refused, Some(Error::Full(text)) if text.contains("free bytes for a checkpoint")), "{refused:?}");
    for purpose in [RoomFor::NewWork, RoomFor::Deletions] {
        let refused = store.check_room(purpose);
        assert!(
            matches!(&refused, Err(Error::Full(text)) if text.contains("is kept for what is running")),
            "{refused:?}"
        );
    }
    assert_eq!((content(&store), store.stats().checkpointed_lsn), (model.clone(), 0));
    assert!(matches!(store.close(), Err(Error::Full(_))));
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    fill(&store, &mut model, 25..60);
    assert_eq!(content(&store), model);
    store.close().unwrap();
}

#[test]
fn new_work_is_refused_while_what_runs_can_still_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    assert_eq!(store.check_room(RoomFor::NewWork), Ok(()));
    drop(store);
    let low = Options { new_work: Mark { bytes: u64::MAX, share: 1 }, ..small() };
    let store = Embedded::open_with(dir.path(), &low).unwrap();
    let refused = store.check_room(RoomFor::NewWork);
    assert!(matches!(&refused, Err(Error::Full(text)) if text.contains("free some space")), "{refused:?}");
    assert_eq!(store.check_room(RoomFor::Deletions), Ok(()));
    let mut model = Model::new();
    fill(&store, &mut model, 0..30);
    assert_eq!(content(&store), model);
    drop(store);
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    store.layers.index().break_it();
    fill(&store, &mut model, 30..31);
    store.checkpoint();
    let refused = store.check_room(RoomFor::NewWork);
    assert!(matches!(&refused, Err(Error::Failed(text)) if text.contains("start again")), "{refused:?}");
    fill(&store, &mut model, 31..32);
    assert_eq!(content(&store), model);
}

#[test]
fn a_number_of_a_blob_file_is_never_used_twice() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    let old = store.write_blob(b"content").unwrap();
    store.crash();
    for name in disk::names(&dir.path().join("blobs")).unwrap() {
        fs::remove_file(dir.path().join("blobs").join(name)).unwrap();
    }
    let store = Embedded::open_with(dir.path(), &small()).unwrap();
    let new = store.write_blob(b"content").unwrap();
    assert!(new.file > old.file);
    assert_eq!(store.read_blob(new, 0, 9).unwrap(), "content");
    assert!(matches!(store.read_blob(old, 0, 9), Err(Error::Damaged(text)) if text.contains("the file is gone")));
}

/// What the property test does to a store.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(u8, Option<u8>)>),
    Checkpoint,
    LookAtACopy,
    Crash,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let op = (0_u8..40, proptest::option::weighted(0.7, any::<u8>()));
    let step = prop_oneof![
        12 => proptest::collection::vec(op, 1..12).prop_map(Step::Commit),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::LookAtACopy),
        1 => Just(Step::Crash),
        1 => Just(Step::Close),
    ];
    proptest::collection::vec(step, 1..60)
}

fn model_key(number: u8) -> Bytes {
    match number {
        0..30 => task_key(u64::from(number / 6), u64::from(number)),
        30.. => Bytes::from(format!("key{number}")),
    }
}

fn play(steps: Vec<Step>, options: &Options) {
    let dir = tempfile::tempdir().unwrap();
    let open = || Embedded::open_with(dir.path(), options).unwrap();
    let (mut store, mut model) = (open(), Model::new());
    for step in steps {
        match step {
            Step::Commit(ops) => {
                let value = |seed: u8| Bytes::from(vec![seed; usize::from(seed)]);
                let ops: Vec<_> = ops.into_iter().map(|(key, seed)| (model_key(key), seed.map(value))).collect();
                store.commit(Commit { ops: ops.clone(), ..Commit::default() }).unwrap();
                for (key, value) in ops {
                    match value {
                        Some(value) => model.insert(key, value),
                        None => model.remove(&key),
                    };
                }
            }
            Step::Checkpoint => store.checkpoint(),
            Step::LookAtACopy => {
                store.supply.settle();
                let copied = copy(dir.path());
                assert!(all_or_damage(copied.path(), &model));
            }
            Step::Crash => {
                store.crash();
                store = open();
            }
            Step::Close => {
                store.close().unwrap();
                store = open();
            }
        }
        assert_eq!(content(&store), model);
    }
    for task_seq in 0..6 {
        store.verify(task_seq).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_map_whatever_happens(steps in steps()) {
        play(steps, &small());
    }
}
