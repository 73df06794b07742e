//! Records in pages.

use super::*;

/// Random changes over many checkpoints: pages are filled, cut, emptied and begun in front of others.
#[test]
fn pages_hold_what_a_map_would() {
    let mut dice = 0x9e37_79b9_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let dir = tempfile::tempdir().unwrap();
    let options = Options { journal_file: 1 << 20, checkpoint: usize::MAX, ..small() };
    let (mut store, mut model) = (Embedded::open_with(dir.path(), &options).unwrap(), Model::new());
    for round in 0..60 {
        for _ in 0..roll(40) {
            let ops: Vec<(Bytes, Option<Bytes>)> = (0..=roll(30))
                .map(|_| {
                    let key = match roll(3) {
                        0 => Bytes::from(format!("L{:03}", roll(400))),
                        _ => task_key(roll(4), roll(200)),
                    };
                    let value = (roll(3) > 0).then(|| Bytes::from(vec![7; usize::try_from(roll(600)).unwrap()]));
                    (key, value)
                })
                .collect();
            for (key, value) in &ops {
                match value {
                    Some(value) => model.insert(key.clone(), value.clone()),
                    None => model.remove(key),
                };
            }
            store.commit(Commit { ops, ..Commit::default() }).unwrap();
        }
        store.layers.checkpoint().unwrap();
        assert_eq!(content(&store), model, "round {round}");
        let keys: Vec<&Bytes> = model.keys().collect();
        for key in keys.iter().step_by(7) {
            assert_eq!(store.get(key).unwrap().as_ref(), model.get(*key), "round {round}");
            let from_here: Vec<Bytes> = model.range::<Bytes, _>(*key..).map(|(key, _)| key.clone()).take(25).collect();
            let found = store.scan(&key[..]..&b"\xff"[..], Order::Ascending, 25).unwrap();
            assert_eq!(found.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), from_here);
            let below: Vec<Bytes> =
                model.range::<Bytes, _>(..*key).rev().map(|(key, _)| key.clone()).take(25).collect();
            let found = store.scan(&b"A"[..]..&key[..], Order::Descending, 25).unwrap();
            assert_eq!(found.into_iter().map(|(key, _)| key).collect::<Vec<_>>(), below);
        }
        (0..4).for_each(|task| store.verify(task).unwrap());
        if round % 10 == 9 {
            store.close().unwrap();
            store = Embedded::open_with(dir.path(), &options).unwrap();
        }
    }
}
