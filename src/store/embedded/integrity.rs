//! Notices records that sled lost without a word (RELIABILITY.md 0.2). Every group, as a task is, has a count and a digest of its
//! records, and the store has one of everything that is in no group, those counts included. Both change in the same journal frame as the records.

use std::collections::{BTreeMap, btree_map::Entry};

use bytes::{BufMut as _, Bytes, BytesMut};
use sha2::{Digest as _, Sha256};

use super::{overlay::Records, seal::bytes_at};
use crate::store::{Error, group, group_name};

/// The keys of the tasks' tallies: this byte, then the task's number.
pub(super) const TALLY_PREFIX: u8 = b'G';

/// The version of a task's stored tally.
const VERSION: u8 = 1;

/// The length of a task's tally in a commit, key and value.
pub(super) const TALLY_RECORD: usize = 9 + 1 + Tally::LENGTH;

/// How many records a set has, and a digest of them that does not depend on their order: the sum of their fingerprints, so a
/// record is added and taken away without a look at the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) digest: u128,
}

impl Tally {
    /// The length of an encoded tally.
    pub(super) const LENGTH: usize = 24;

    // Both wrap: a tally that lost records were once taken out of must not match by accident, nor stop the store.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.digest = self.digest.wrapping_add(fingerprint(key, value));
    }

    fn take(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.digest = self.digest.wrapping_sub(fingerprint(key, value));
    }

    pub(super) fn replace(&mut self, key: &[u8], old: Option<&Bytes>, new: Option<&Bytes>) {
        if let Some(old) = old {
            self.take(key, old);
        }
        if let Some(new) = new {
            self.add(key, new);
        }
    }

    pub(super) fn encode(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.count.to_be_bytes());
        bytes[8..].copy_from_slice(&self.digest.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let count = u64::from_be_bytes(bytes_at(bytes, 0)?);
        Some(Self { count, digest: u128::from_be_bytes(bytes_at(bytes, 8)?) })
    }
}

fn fingerprint(key: &[u8], value: &[u8]) -> u128 {
    let mut hasher = Sha256::new();
    hasher.update((key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update((value.len() as u64).to_be_bytes());
    hasher.update(value);
    let hash = hasher.finalize();
    hash.iter().take(16).fold(0, |digest, byte| digest << 8 | u128::from(*byte))
}

/// The key of a task's tally.
pub(super) fn tally_key(number: u64) -> [u8; 9] {
    let mut key = [TALLY_PREFIX; 9];
    key[1..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A task's tally from its record; the empty one where there is none.
pub(super) fn stored_tally(number: u64, record: Option<&Bytes>) -> Result<Tally, Error> {
    let Some(record) = record else { return Ok(Tally::default()) };
    let tally = record.split_first().filter(|(version, _)| **version == VERSION).map(|(_, rest)| Tally::decode(rest));
    tally.flatten().ok_or_else(|| {
        Error::Damaged(format!(
            "{}: the count of the records is not readable; restore the whole folder from a backup",
            group_name(number)
        ))
    })
}

fn tally_record(tally: Tally) -> Option<Bytes> {
    // Only a tally that is empty in both parts belongs to a task without records: another one tells of damage, and stays.
    if tally == Tally::default() {
        return None;
    }
    let mut record = BytesMut::with_capacity(1 + Tally::LENGTH);
    record.put_u8(VERSION);
    record.put_slice(&tally.encode());
    Some(record.freeze())
}

/// What a commit comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Account {
    /// The tally of everything above the tasks after it.
    pub(super) globals: Tally,
    /// Bytes of keys and values that it deletes.
    pub(super) dropped: u64,
}

/// Adds the changed tallies of the tasks to a commit's records. `read` gives what a key has had so far.
pub(super) fn account(
    ops: &mut Records,
    mut globals: Tally,
    read: impl Fn(&[u8]) -> Result<Option<Bytes>, Error>,
) -> Result<Account, Error> {
    let mut dropped = 0;
    let mut tasks: BTreeMap<u64, (Option<Bytes>, Tally)> = BTreeMap::new();
    for (key, new) in &*ops {
        let old = read(key)?;
        let tally = match group(key) {
            None => &mut globals,
            Some(number) => match tasks.entry(number) {
                Entry::Occupied(task) => &mut task.into_mut().1,
                Entry::Vacant(task) => {
                    let record = read(&tally_key(number))?;
                    let tally = stored_tally(number, record.as_ref())?;
                    &mut task.insert((record, tally)).1
                }
            },
        };
        tally.replace(key, old.as_ref(), new.as_ref());
        if let (Some(old), None) = (&old, new) {
            dropped += (key.len() + old.len()) as u64;
        }
    }
    for (number, (old, tally)) in tasks {
        let (key, new) = (tally_key(number), tally_record(tally));
        if old != new {
            globals.replace(&key, old.as_ref(), new.as_ref());
            ops.insert(Bytes::copy_from_slice(&key), new);
        }
    }
    Ok(Account { globals, dropped })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(stored: &mut BTreeMap<Bytes, Bytes>, globals: &mut Tally, ops: &[(&'static [u8], Option<&'static str>)]) {
        let mut ops: Records = ops.iter().map(|(key, value)| ((*key).into(), value.map(Bytes::from))).collect();
        *globals = account(&mut ops, *globals, |key| Ok(stored.get(key).cloned())).unwrap().globals;
        for (key, value) in ops {
            match value {
                Some(value) => stored.insert(key, value),
                None => stored.remove(&key),
            };
        }
    }

    fn counted(stored: &BTreeMap<Bytes, Bytes>, which: Option<u64>) -> Tally {
        let mut tally = Tally::default();
        stored.iter().filter(|(key, _)| group(key) == which).for_each(|(key, value)| tally.add(key, value));
        tally
    }

    #[test]
    fn tallies_follow_every_change_and_end_with_their_task() {
        let (mut stored, mut globals) = (BTreeMap::new(), Tally::default());
        let (one, two, other): (&[u8], &[u8], &[u8]) =
            (b"T\0\0\0\0\0\0\0\x01a", b"T\0\0\0\0\0\0\0\x01b", b"T\0\0\0\0\0\0\0\x02a");
        let steps: [&[(&[u8], Option<&str>)]; 5] = [
            &[(one, Some("x")), (two, Some("y")), (b"K", Some("k"))],
            &[(one, Some("z")), (other, Some("y"))],
            &[(two, None), (b"K", None), (b"never there", None)],
            &[(one, None)],
            &[(other, None)],
        ];
        for (at, step) in steps.iter().enumerate() {
            apply(&mut stored, &mut globals, step);
            for number in [1, 2] {
                let record = stored.get(&tally_key(number)[..]);
                assert_eq!(stored_tally(number, record).unwrap(), counted(&stored, Some(number)), "step {at}");
            }
            assert_eq!(globals, counted(&stored, None), "step {at}");
        }
        assert!(stored.is_empty());
    }

    #[test]
    fn a_digest_depends_on_what_the_records_are_and_not_on_their_order() {
        let (mut forth, mut back) = (Tally::default(), Tally::default());
        forth.add(b"ab", b"c");
        forth.add(b"d", b"e");
        back.add(b"d", b"e");
        back.add(b"ab", b"c");
        assert_eq!(forth, back);
        let mut shifted = Tally::default();
        shifted.add(b"a", b"bc");
        shifted.add(b"d", b"e");
        assert_ne!(forth, shifted);
        assert_eq!(Tally::decode(&forth.encode()), Some(forth));
    }

    #[test]
    fn an_unreadable_tally_is_damage() {
        let unknown_version = Bytes::from(vec![9; 25]);
        assert!(
            matches!(stored_tally(5, Some(&unknown_version)), Err(Error::Damaged(text)) if text.contains("task 5"))
        );
        assert!(stored_tally(5, Some(&Bytes::new())).is_err());
    }
}
