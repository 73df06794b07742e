//! The space of deleted records.

use super::*;

fn delete_all_but_task_1(store: &Embedded, model: &mut Model) {
    let doomed: Vec<Bytes> = model.keys().filter(|key| group(key) != Some(1)).cloned().collect();
    for keys in doomed.chunks(100) {
        let ops = keys.iter().map(|key| (key.clone(), None)).collect();
        store.commit(Commit { ops, ..Commit::default() }).unwrap();
        model.retain(|key, _| !keys.contains(key));
    }
}

#[test]
fn space_of_deleted_records_is_given_back_at_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let options = Options { checkpoint: 64 << 10, journal_file: 1 << 20, ..small() };
    let store = Embedded::open_with(dir.path(), &options).unwrap();
    fill(&store, &mut model, 0..2_000);
    store.close().unwrap();
    let length = || fs::metadata(dir.path().join("sled/db")).unwrap().len();
    let full = length();
    let store = Embedded::open_with(dir.path(), &options).unwrap();
    delete_all_but_task_1(&store, &mut model);
    store.close().unwrap();
    assert!(length() >= full, "sled gives nothing back by itself");
    let store = Embedded::open_with(dir.path(), &options).unwrap();
    assert_eq!(content(&store), model);
    assert!(length() < full / 2, "{} of {full} bytes are left", length());
    fill(&store, &mut model, 2_000..2_100);
    (0..5).for_each(|task_seq| store.verify(task_seq).unwrap());
    store.crash();
    assert!(all_or_damage(dir.path(), &model));
}

/// A store that is worth making anew, and what is in it.
fn emptied() -> (TempDir, Model, Options) {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new();
    let options = Options { checkpoint: 64 << 10, journal_file: 1 << 20, compact_from: u64::MAX, ..small() };
    let store = Embedded::open_with(dir.path(), &options).unwrap();
    fill(&store, &mut model, 0..600);
    delete_all_but_task_1(&store, &mut model);
    store.close().unwrap();
    (dir, model, Options { compact_from: 64 << 10, ..options })
}

#[test]
fn a_crash_while_space_is_given_back_loses_nothing() {
    let (dir, model, options) = emptied();
    for passes in 0.. {
        let image = copy(dir.path());
        fault::plan(image.path(), fault::Plan { fault: fault::Fault::Io, passes, strikes: usize::MAX });
        let opened = Embedded::open_with(image.path(), &options);
        fault::end(image.path());
        let passed = opened.is_ok();
        drop(opened);
        let store =
            Embedded::open_with(image.path(), &options).unwrap_or_else(|error| panic!("call {passes}: {error}"));
        assert_eq!(content(&store), model, "call {passes}");
        assert!(disk::names(image.path()).unwrap().iter().all(|name| !name.starts_with("sled.")), "call {passes}");
        if passed {
            assert!(passes > 12, "only {passes} calls");
            return;
        }
    }
}
