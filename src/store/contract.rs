//! What every store promises, checked against each of them.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use bytes::Bytes;
use tempfile::TempDir;

use super::{
    BlobRef, Commit, Embedded, Error, MAX_COMMIT_BYTES, MAX_KEY, MAX_VALUE, Memory, OP_OVERHEAD, Order, Store,
    TASK_PREFIX,
};

/// The highest number that a task can have.
const HIGHEST_TASK: u64 = u64::MAX >> 1;

/// A store that can be stopped and started again onto the same content.
trait Setup {
    fn store(&self) -> &dyn Store;
    fn restart(&mut self);
}

struct InMemory(Memory);

impl Setup for InMemory {
    fn store(&self) -> &dyn Store {
        &self.0
    }

    fn restart(&mut self) {
        self.0 = self.0.clone();
    }
}

struct OnDisk {
    store: Option<Embedded>,
    stop: fn(Embedded),
    dir: TempDir,
}

impl OnDisk {
    fn new(stop: fn(Embedded)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { store: Some(Embedded::open_small(dir.path())), stop, dir }
    }
}

impl Setup for OnDisk {
    fn store(&self) -> &dyn Store {
        self.store.as_ref().unwrap()
    }

    fn restart(&mut self) {
        (self.stop)(self.store.take().unwrap());
        self.store = Some(Embedded::open_small(self.dir.path()));
    }
}

macro_rules! every_store {
    ($($test:ident,)*) => {
        mod memory {
            $(#[test] fn $test() { super::$test(&mut super::InMemory(super::Memory::new())); })*
        }
        mod embedded_that_is_closed {
            $(#[test] fn $test() { super::$test(&mut super::OnDisk::new(|store| store.close().unwrap())); })*
        }
        mod embedded_that_crashes {
            $(#[test] fn $test() { super::$test(&mut super::OnDisk::new(super::Embedded::crash)); })*
        }
    };
}

every_store!(
    what_is_committed_is_there,
    the_last_of_several_changes_of_a_key_counts,
    a_condition_that_does_not_hold_stops_the_commit,
    a_range_is_scanned_in_both_directions,
    an_empty_range_has_nothing,
    what_breaks_a_bound_is_refused_and_leaves_no_trace,
    what_fits_exactly_is_stored,
    the_stores_own_records_are_not_seen,
    a_restart_changes_nothing,
    a_task_is_verified_all_its_life,
    a_new_record_counts_like_any_other,
    tasks_side_by_side_do_not_mix,
    blobs_are_read_back_in_parts,
    a_blob_that_was_never_written_is_damage,
    a_reader_sees_all_of_a_commit_or_nothing,
);

const EVERYTHING: Range<&[u8]> = b"\0"..b"\xff";

fn commit(store: &dyn Store, ops: &[(&str, Option<&str>)]) {
    let ops = ops.iter().map(|(key, value)| (Bytes::copy_from_slice(key.as_bytes()), value.map(own)));
    store.commit(Commit { ops: ops.collect(), ..Commit::default() }).unwrap();
}

fn own(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn task_key(task_seq: u64, rest: &str) -> Bytes {
    [&[TASK_PREFIX][..], &task_seq.to_be_bytes(), rest.as_bytes()].concat().into()
}

fn shown(records: Vec<(Bytes, Bytes)>) -> String {
    let record = |(key, value): (Bytes, Bytes)| format!("{}={}", key.escape_ascii(), value.escape_ascii());
    records.into_iter().map(record).collect::<Vec<_>>().join(" ")
}

fn everything(store: &dyn Store) -> String {
    shown(store.scan(EVERYTHING, Order::Ascending, usize::MAX).unwrap())
}

fn what_is_committed_is_there(setup: &mut dyn Setup) {
    let store = setup.store();
    assert_eq!(store.get(b"a"), Ok(None));
    commit(store, &[("a", Some("1")), ("b", Some("")), ("\u{0}\u{7f}", Some("x"))]);
    assert_eq!(store.get(b"a"), Ok(Some("1".into())));
    assert_eq!(store.get(b"b"), Ok(Some("".into())));
    commit(store, &[("a", Some("2")), ("b", None), ("never there", None)]);
    assert_eq!(everything(store), r"\x00\x7f=x a=2");
}

fn the_last_of_several_changes_of_a_key_counts(setup: &mut dyn Setup) {
    let store = setup.store();
    commit(store, &[("a", Some("1")), ("b", Some("1")), ("a", Some("2")), ("b", None), ("c", None), ("c", Some("3"))]);
    assert_eq!(everything(store), "a=2 c=3");
}

fn a_condition_that_does_not_hold_stops_the_commit(setup: &mut dyn Setup) {
    let store = setup.store();
    commit(store, &[("a", Some("1"))]);
    let attempt = |expect: &[(&str, Option<&str>)]| {
        let expect = expect.iter().map(|(key, value)| (own(key), value.map(own))).collect();
        store.commit(Commit { expect, ops: vec![("b".into(), Some("2".into()))], ..Commit::default() })
    };
    assert_eq!(attempt(&[("a", Some("1")), ("b", Some("1"))]), Err(Error::Conflict("b".into())));
    assert_eq!(attempt(&[("a", None)]), Err(Error::Conflict("a".into())));
    assert_eq!(attempt(&[("a", Some("10"))]), Err(Error::Conflict("a".into())));
    assert_eq!(everything(store), "a=1");
    assert_eq!(attempt(&[("a", Some("1")), ("b", None)]), Ok(()));
    assert_eq!(attempt(&[("b", None)]), Err(Error::Conflict("b".into())));
    let only_asked = Commit { expect: vec![("b".into(), Some("2".into()))], ..Commit::default() };
    assert_eq!(store.commit(only_asked), Ok(()));
}

fn a_range_is_scanned_in_both_directions(setup: &mut dyn Setup) {
    for round in ["first", "after a restart"] {
        let store = setup.store();
        commit(store, &[("a", Some("1")), ("ab", Some("2")), ("b", Some("3")), ("c", Some("4")), ("d", Some("5"))]);
        commit(store, &[("ab", None), ("c", Some("6"))]);
        let scan = |range: Range<&[u8]>, order, limit| shown(store.scan(range, order, limit).unwrap());
        assert_eq!(scan(b"a"..b"d", Order::Ascending, 9), "a=1 b=3 c=6", "{round}");
        assert_eq!(scan(b"a"..b"d", Order::Descending, 9), "c=6 b=3 a=1", "{round}");
        assert_eq!(scan(b"a"..b"d", Order::Ascending, 2), "a=1 b=3", "{round}");
        assert_eq!(scan(b"a"..b"d", Order::Descending, 2), "c=6 b=3", "{round}");
        assert_eq!(scan(b"aa"..b"d\0", Order::Descending, 9), "d=5 c=6 b=3", "{round}");
        assert_eq!(scan(b"a"..b"d", Order::Ascending, 0), "", "{round}");
        setup.restart();
    }
}

fn an_empty_range_has_nothing(setup: &mut dyn Setup) {
    let store = setup.store();
    commit(store, &[("a", Some("1")), ("b", Some("2"))]);
    for order in [Order::Ascending, Order::Descending] {
        assert_eq!(store.scan(b"a"..b"a", order, 9), Ok(Vec::new()));
        assert_eq!(store.scan(b"b"..b"a", order, 9), Ok(Vec::new()));
        assert_eq!(store.scan(b"c"..b"d", order, 9), Ok(Vec::new()));
    }
}

fn what_breaks_a_bound_is_refused_and_leaves_no_trace(setup: &mut dyn Setup) {
    let store = setup.store();
    let long_value = Bytes::from(vec![0; MAX_VALUE + 1]);
    for bad in [
        ("b".into(), Some(long_value)),
        (Bytes::from(vec![b'k'; MAX_KEY + 1]), None),
        (Bytes::new(), None),
        ("!ckpt".into(), Some("x".into())),
        ("G1234567".into(), None),
        ("T1234567".into(), Some("x".into())),
    ] {
        let ops = vec![("a".into(), Some("1".into())), bad];
        assert!(matches!(store.commit(Commit { ops, ..Commit::default() }), Err(Error::Refused(_))));
    }
    assert_eq!(everything(store), "");
    commit(store, &[("a", Some("2"))]);
    assert_eq!(everything(store), "a=2");
}

fn what_fits_exactly_is_stored(setup: &mut dyn Setup) {
    let value = Bytes::from(vec![7; MAX_VALUE]);
    let width = MAX_KEY - OP_OVERHEAD;
    let key = |at: usize| Bytes::from(format!("{at:0width$}"));
    let ops: Vec<_> = (0..MAX_COMMIT_BYTES / (MAX_KEY + MAX_VALUE)).map(|at| (key(at), Some(value.clone()))).collect();
    setup.store().commit(Commit { ops: ops.clone(), ..Commit::default() }).unwrap();
    setup.restart();
    let found = setup.store().scan(EVERYTHING, Order::Ascending, usize::MAX).unwrap();
    assert!(found.into_iter().map(|(key, value)| (key, Some(value))).eq(ops));
}

fn the_stores_own_records_are_not_seen(setup: &mut dyn Setup) {
    let key = task_key(1, "a");
    setup.store().commit(Commit { ops: vec![(key.clone(), Some("1".into()))], ..Commit::default() }).unwrap();
    setup.store().write_blob(b"content").unwrap();
    for round in ["first", "after a restart"] {
        let store = setup.store();
        assert_eq!(everything(store), format!("{}=1", key.escape_ascii()), "{round}");
        for own in [&b"!ckpt"[..], b"!blobs", b"G\0\0\0\0\0\0\0\x01"] {
            assert_eq!(store.get(own), Ok(None), "{round}");
        }
        setup.restart();
    }
}

fn a_restart_changes_nothing(setup: &mut dyn Setup) {
    for round in 0..5 {
        let (mine, last) = (format!("key{round}"), format!("key{}", round + 10));
        commit(setup.store(), &[(&mine, Some("1")), ("all", Some(&mine)), (&last, Some("2"))]);
        commit(setup.store(), &[(&last, None)]);
        let before = everything(setup.store());
        setup.restart();
        assert_eq!(everything(setup.store()), before);
    }
    assert_eq!(everything(setup.store()), "all=key4 key0=1 key1=1 key2=1 key3=1 key4=1");
}

fn a_task_is_verified_all_its_life(setup: &mut dyn Setup) {
    assert_eq!(setup.store().verify(7), Ok(()));
    for value in [Some("1"), Some("2"), None] {
        for key in ["a", "b", "c"] {
            let ops = vec![(task_key(7, key), value.map(own)), (own(key), value.map(own))];
            setup.store().commit(Commit { ops, ..Commit::default() }).unwrap();
            assert_eq!(setup.store().verify(7), Ok(()));
        }
        setup.restart();
        assert_eq!(setup.store().verify(7), Ok(()));
    }
}

fn a_new_record_counts_like_any_other(setup: &mut dyn Setup) {
    let put = |key: &str, value: &str| (task_key(7, key), Some(own(value)));
    let ops = vec![put("a", "1"), put("b", "1"), put("c", "1"), put("b", "2"), (task_key(7, "c"), None)];
    let first = Commit { ops, new: vec![0, 1, 2], ..Commit::default() };
    setup.store().commit(first).unwrap();
    for _ in 0..2 {
        assert_eq!(setup.store().get(&task_key(7, "a")), Ok(Some(own("1"))));
        assert_eq!(setup.store().get(&task_key(7, "b")), Ok(Some(own("2"))), "the later write wins");
        assert_eq!(setup.store().get(&task_key(7, "c")), Ok(None));
        assert_eq!(setup.store().verify(7), Ok(()));
        setup.restart();
    }
    let again = Commit { ops: vec![put("d", "1"), put("a", "3")], new: vec![0, 1], ..Commit::default() };
    assert!(matches!(setup.store().commit(again), Err(Error::Refused(text)) if text.contains("was to be new")));
    assert_eq!(setup.store().get(&task_key(7, "d")), Ok(None), "nothing was written");
    assert_eq!(setup.store().verify(7), Ok(()));
}

fn tasks_side_by_side_do_not_mix(setup: &mut dyn Setup) {
    let tasks = [0, 1, 255, 256, HIGHEST_TASK - 1, HIGHEST_TASK];
    let ops =
        tasks.iter().flat_map(|task_seq| ["", "a", "\u{7f}"].map(|rest| (task_key(*task_seq, rest), Some(own(rest)))));
    setup.store().commit(Commit { ops: ops.collect(), ..Commit::default() }).unwrap();
    commit(setup.store(), &[("S", Some("1")), ("U", Some("1"))]);
    for round in ["first", "after a restart"] {
        for task_seq in tasks {
            assert_eq!(setup.store().verify(task_seq), Ok(()), "task {task_seq}, {round}");
        }
        setup.restart();
    }
}

fn blobs_are_read_back_in_parts(setup: &mut dyn Setup) {
    let content: Vec<u8> = (0..700_000_u32).map(|at| at.to_be_bytes()[3] ^ at.to_be_bytes()[2]).collect();
    let (long, empty, short) = {
        let store = setup.store();
        (store.write_blob(&content).unwrap(), store.write_blob(b"").unwrap(), store.write_blob(b"short").unwrap())
    };
    assert_eq!((long.bytes, empty.bytes, short.bytes), (700_000, 0, 5));
    for round in ["first", "after a restart"] {
        let read = |blob, offset, max| setup.store().read_blob(blob, offset, max).unwrap();
        assert_eq!(read(long, 0, usize::MAX), content, "{round}");
        assert_eq!(read(long, 262_100, 100), content[262_100..262_200], "{round}");
        assert_eq!(read(long, 699_999, 100), content[699_999..], "{round}");
        assert_eq!(read(long, 700_000, 100), "", "{round}");
        assert_eq!(read(long, u64::MAX, 100), "", "{round}");
        assert_eq!(read(long, 5, 0), "", "{round}");
        assert_eq!(read(empty, 0, 100), "", "{round}");
        assert_eq!(read(short, 1, 3), "hor", "{round}");
        setup.restart();
    }
    let another = setup.store().write_blob(b"after").unwrap();
    assert_eq!(setup.store().read_blob(another, 0, 9).unwrap(), "after");
    assert_eq!(setup.store().read_blob(short, 0, 9).unwrap(), "short");
}

fn a_blob_that_was_never_written_is_damage(setup: &mut dyn Setup) {
    let blob = setup.store().write_blob(b"content").unwrap();
    for bad in [
        BlobRef { file: blob.file + 1, ..blob },
        BlobRef { offset: blob.offset + 1, ..blob },
        BlobRef { bytes: blob.bytes + 1, ..blob },
    ] {
        assert!(matches!(setup.store().read_blob(bad, 0, 7), Err(Error::Damaged(_))), "{bad:?}");
    }
}

fn a_reader_sees_all_of_a_commit_or_nothing(setup: &mut dyn Setup) {
    let (store, done) = (setup.store(), AtomicBool::new(false));
    thread::scope(|scope| {
        let reader = |order| {
            let done = &done;
            move || {
                let mut rounds = 0;
                while !done.load(Ordering::Relaxed) || rounds == 0 {
                    let records = store.scan(b"k"..b"l", order, usize::MAX).unwrap();
                    assert!(records.windows(2).all(|pair| pair[0].1 == pair[1].1), "{records:?}");
                    assert!(records.is_empty() || records.len() == 20, "{records:?}");
                    store.verify(1).unwrap();
                    rounds += 1;
                }
            }
        };
        let readers = [scope.spawn(reader(Order::Ascending)), scope.spawn(reader(Order::Descending))];
        for round in 0..300_u32 {
            let value = (round % 3 > 0).then(|| Bytes::from(round.to_string()));
            let shared = (0..20).map(|at| (Bytes::from(format!("k{at:02}")), value.clone()));
            let of_task = (0..3).map(|at| (task_key(1, &format!("{at}")), value.clone()));
            store.commit(Commit { ops: shared.chain(of_task).collect(), ..Commit::default() }).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}
