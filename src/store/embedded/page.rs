//! A page: consecutive records that are one record of sled, under the key of the first. sled writes a leaf of sixteen records anew for
//! every tenth change of it, so what it costs is counted in its records, whatever their size.
//!
//! ```text
//! for each record: bytes of its key that are the page's key's too u8, bytes of its key that follow u16, bytes of its value u16, both
//! ```
//! Numbers are big-endian.

use bytes::{BufMut as _, Bytes};

use super::seal::bytes_at;
use crate::store::group;

/// Records are packed up to this length: large enough that a batch of 200 calls is some hundred of sled's records instead of a
/// thousand, small enough that a change somewhere in a large task writes little. A longer record has a page of its own.
pub(super) const PAGE: usize = 2_048;

/// What a record takes in a page besides its value and the end of its key.
pub(super) const OVERHEAD: usize = 5;

/// Whether two records may share a page: those of one group, or of one kind above the groups, so that damage stays where it is.
pub(super) fn may_share(one: &[u8], other: &[u8]) -> bool {
    one.first() == other.first() && group(one) == group(other)
}

/// Packs records, which are in order and begin with that of the page's key.
pub(super) fn encode<'a>(records: impl Iterator<Item = (&'a Bytes, &'a Bytes)>) -> Vec<u8> {
    let (mut page, mut first) = (Vec::with_capacity(PAGE), None);
    for (key, value) in records {
        let first: &Bytes = first.get_or_insert(key);
        let shared = first.iter().zip(key).take(usize::from(u8::MAX)).take_while(|(one, other)| one == other).count();
        page.put_u8(u8::try_from(shared).unwrap_or(u8::MAX));
        page.put_u16(short(key.len() - shared));
        page.put_u16(short(value.len()));
        page.put_slice(&key[shared..]);
        page.put_slice(value);
    }
    page
}

fn short(length: usize) -> u16 {
    u16::try_from(length).expect("keys and values are at most some KiB long")
}

/// A record in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    /// The part of its key that is the page's key's, too.
    shared: &'a [u8],
    rest: &'a [u8],
    pub(super) value: &'a [u8],
}

impl Record<'_> {
    pub(super) fn key(&self) -> Bytes {
        [self.shared, self.rest].concat().into()
    }

    /// Whether it has this key; a page is searched by that, without a copy of each key.
    pub(super) fn has_key(&self, key: &[u8]) -> bool {
        key.strip_prefix(self.shared) == Some(self.rest)
    }
}

/// The records of a page, in order, its key being the first one's; ends with `None` where it is not what [`encode`] writes.
pub(super) fn records<'a>(first: &'a [u8], mut page: &'a [u8]) -> impl Iterator<Item = Option<Record<'a>>> {
    std::iter::from_fn(move || {
        if page.is_empty() {
            return None;
        }
        let record = next(first, &mut page);
        if record.is_none() {
            page = &[];
        }
        Some(record)
    })
}

fn next<'a>(first: &'a [u8], page: &mut &'a [u8]) -> Option<Record<'a>> {
    let shared = usize::from(*page.first()?);
    let rest = usize::from(u16::from_be_bytes(bytes_at(page, 1)?));
    let length = usize::from(u16::from_be_bytes(bytes_at(page, 3)?));
    let mut take = |length: usize| page.split_off(..length);
    take(OVERHEAD)?;
    Some(Record { shared: first.get(..shared)?, rest: take(rest)?, value: take(length)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(list: &[(&'static str, &'static str)]) -> Vec<u8> {
        let list: Vec<(Bytes, Bytes)> = list.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        encode(list.iter().map(|(key, value)| (key, value)))
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let list = [("Tabc", "one"), ("Tabcd", ""), ("Tabd", "three"), ("Tb", "four")];
        let page = pack(&list);
        let found: Vec<_> = records(b"Tabc", &page).map(Option::unwrap).collect();
        assert_eq!(found.len(), 4);
        for (record, (key, value)) in found.iter().zip(list) {
            assert_eq!((record.key(), record.value), (Bytes::from(key), value.as_bytes()));
            assert_eq!(found.iter().filter(|record| record.has_key(key.as_bytes())).count(), 1);
        }
        assert_eq!(page.len(), 4 * OVERHEAD + "one".len() + "d".len() + "dthree".len() + "bfour".len());
    }

    #[test]
    fn a_page_that_is_cut_ends_with_none() {
        let page = pack(&[("Tabc", "one"), ("Tabd", "three")]);
        for length in 1..page.len() {
            let last = records(b"Tabc", &page[..length]).last().unwrap();
            assert_eq!(last.is_none(), length != OVERHEAD + 3, "length {length}");
        }
        assert_eq!(records(b"", &page).next(), Some(None), "it shares more than its key has");
    }

    #[test]
    fn records_share_a_page_within_a_group_or_a_kind() {
        assert!(may_share(b"T\0\0\0\0\0\0\0\x01E", b"T\0\0\0\0\0\0\0\x01K"));
        assert!(!may_share(b"T\0\0\0\0\0\0\0\x01E", b"T\0\0\0\0\0\0\0\x02E"));
        assert!(may_share(b"tx", b"ty"));
        assert!(!may_share(b"tx", b"by"));
    }
}
