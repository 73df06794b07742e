//! What a durable commit costs over the raw floor of the same disk, in the same run: read the ratio.
//!
//! ```sh
//! cargo bench --bench store
//! ```

use std::{fs::File, os::unix::fs::FileExt as _};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use toolbatch::store::{Commit, Embedded, Store as _};

/// What one finished call comes to: about five records of 200 bytes.
const RECORDS: u64 = 5;
const BYTES: usize = 200;
/// The floor writes to a file that has its space already, as the journal does.
const FLOOR_FILE: usize = 16 << 20;

fn store(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = criterion.benchmark_group("five records of 200 bytes, durably");

    let path = folder.path().join("floor");
    std::fs::write(&path, vec![0; FLOOR_FILE]).expect("a file");
    let floor = File::options().write(true).open(&path).expect("a file");
    floor.sync_all().expect("a sync");
    let record = vec![7; BYTES * 5];
    let mut at = 0;
    group.bench_function("floor: pwrite and fdatasync", |bencher| {
        bencher.iter(|| {
            at = (at + record.len()) % (FLOOR_FILE - record.len());
            floor.write_all_at(&record, at as u64).expect("a write");
            floor.sync_data().expect("a sync");
        });
    });

    let store = Embedded::open(&folder.path().join("data")).expect("a store");
    let value = Bytes::from(vec![7; BYTES]);
    let mut number = 0_u64;
    group.bench_function("store: commit", |bencher| {
        bencher.iter(|| {
            let ops = (0..RECORDS).map(|record| {
                let key = [&b"T"[..], &1_u64.to_be_bytes(), &number.to_be_bytes(), &record.to_be_bytes()].concat();
                (Bytes::from(key), Some(value.clone()))
            });
            store.commit(Commit { ops: ops.collect(), ..Commit::default() }).expect("a commit");
            number += 1;
        });
    });
    group.finish();
}

criterion_group!(benches, store);
criterion_main!(benches);
