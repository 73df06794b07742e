//! What the tests over random and damaged bytes share: how many cases they run, and how bytes are damaged.

use proptest::{collection::vec, prelude::*, sample::Index};

/// So many cases, or more where `PROPTEST_CASES` asks for more.
pub(crate) fn at_least(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig { cases: cases.max(asked.cases), ..asked }
}

/// Bytes that come up in protobuf and in JSON: field keys of each wire type, borders of varints, halves of characters.
const MARKS: &[u8] =
    b"\x00\x01\x08\x09\x0a\x0b\x0c\x0d\x10\x12\x1a\x22\x2a\x32\x3a\x42\x7f\x80\xc3\xed\xff{}[]\":,\\$0-e";

/// The largest number of protobuf: what is added to it overflows.
const LARGEST: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

/// One change of a text: where, what kind, with which byte.
pub(crate) type Damage = Vec<(Index, u8, u8)>;

/// Up to three changes, or none.
pub(crate) fn damage() -> impl Strategy<Value = Damage> {
    vec((any::<Index>(), any::<u8>(), any::<u8>()), 0..4)
}

/// `bytes` with some of them replaced, dropped, added, doubled or cut off.
pub(crate) fn damaged(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    for (index, kind, byte) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = index.index(bytes.len());
        let mark = MARKS[usize::from(*byte) % MARKS.len()];
        match kind % 9 {
            0 => bytes[at] = mark,
            1 => bytes[at] = *byte,
            2 => bytes[at] ^= 1 << (byte % 8),
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, mark),
            5 => bytes.extend_from_within(at..),
            6 => drop(bytes.drain(..at)),
            7 => drop(bytes.splice(at..=at, LARGEST)),
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// One of `valid`, damaged, or anything at all.
pub(crate) fn bytes_like(valid: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => (proptest::sample::select(valid), damage()).prop_map(|(bytes, damage)| damaged(bytes, &damage)),
        1 => vec(any::<u8>(), 0..64),
    ]
}
