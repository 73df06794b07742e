//! One commit in the journal.
//!
//! ```text
//! length u32, checksum u32, lsn u64, generation u64, checksum of these u32, mark u32 | tally of the globals, then for each record:
//! length of the key u32, of the value u32 (all ones: deleted), key, value | zeros up to a multiple of 8
//! ```
//! Numbers are big-endian. The head has a checksum of its own, so that a frame whose rest is damaged is still known to have been
//! there, and so that looking for frames costs little where there are none.

use bytes::{BufMut as _, Bytes};

use super::{
    integrity::Tally,
    overlay::Records,
    seal::{Seal, bytes_at},
};
use crate::seeded::{self, Bug};

/// The length of a frame's head.
pub(super) const HEAD: usize = 32;

/// Frames begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

/// Stands at the end of each head; says "here may be a frame" before any checksum is made.
const MARK: [u8; 4] = *b"TBf1";

/// The length that says that a record is deleted.
const DELETED: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    length: u32,
    checksum: u32,
    /// The commit's number: one more than the one before, from 1.
    pub(super) lsn: u64,
    /// Rises at every opening, so that what a crash left behind never passes for something newer.
    pub(super) generation: u64,
}

impl Head {
    /// The head that begins at `at`, if one does.
    pub(super) fn at(bytes: &[u8], at: usize, seal: Seal) -> Option<Self> {
        if bytes_at(bytes, at + 28)? != MARK {
            return None;
        }
        let number = |offset| bytes_at(bytes, at + offset).map(u32::from_be_bytes);
        let long = |offset| bytes_at(bytes, at + offset).map(u64::from_be_bytes);
        let head = Self { length: number(0)?, checksum: number(4)?, lsn: long(8)?, generation: long(16)? };
        (number(24)? == seal.over(&[bytes.get(at..at + 24)?])).then_some(head)
    }

    /// The length of the whole frame.
    pub(super) fn frame_length(&self) -> usize {
        HEAD + (self.length as usize).next_multiple_of(ALIGNMENT)
    }

    /// The frame's content, if it is there and unchanged.
    pub(super) fn payload<'a>(&self, bytes: &'a [u8], at: usize, seal: Seal) -> Option<&'a [u8]> {
        let start = at + HEAD;
        let payload = bytes.get(start..start.checked_add(self.length as usize)?)?;
        (bytes.len() - at >= self.frame_length()
            && (seal.over(&[payload]) == self.checksum || seeded::has(Bug::TornCommitCounts)))
        .then_some(payload)
    }
}

/// Writes a frame into an empty buffer.
pub(super) fn encode(buffer: &mut Vec<u8>, seal: Seal, lsn: u64, generation: u64, globals: Tally, ops: &Records) {
    buffer.clear();
    buffer.resize(HEAD, 0);
    buffer.put_slice(&globals.encode());
    for (key, value) in ops {
        buffer.put_u32(short(key.len()));
        buffer.put_u32(value.as_ref().map_or(DELETED, |value| short(value.len())));
        buffer.put_slice(key);
        buffer.put_slice(value.as_deref().unwrap_or_default());
    }
    let length = short(buffer.len() - HEAD);
    let checksum = seal.over(&[&buffer[HEAD..]]);
    buffer.resize(buffer.len().next_multiple_of(ALIGNMENT), 0);
    let mut head = Vec::with_capacity(HEAD);
    head.put_u32(length);
    head.put_u32(checksum);
    head.put_u64(lsn);
    head.put_u64(generation);
    head.put_u32(seal.over(&[&head]));
    head.put_slice(&MARK);
    buffer[..HEAD].copy_from_slice(&head);
}

fn short(length: usize) -> u32 {
    u32::try_from(length).expect("a commit's bounds are far below 4 GiB")
}

/// What a payload says; `None` where it is not what [`encode`] writes.
pub(super) fn decode(mut payload: &[u8]) -> Option<(Tally, Records)> {
    let mut take = |length: usize| payload.split_off(..length);
    let globals = Tally::decode(take(Tally::LENGTH)?)?;
    let mut ops = Records::new();
    while let Some(key_length) = take(4) {
        let key_length = u32::from_be_bytes(key_length.try_into().ok()?);
        let value_length = u32::from_be_bytes(take(4)?.try_into().ok()?);
        // Copies: a slice would keep the whole journal file in memory.
        let key = Bytes::copy_from_slice(take(key_length as usize)?);
        let value = match value_length {
            DELETED => None,
            length => Some(Bytes::copy_from_slice(take(length as usize)?)),
        };
        ops.insert(key, value);
    }
    payload.is_empty().then_some((globals, ops))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Seal, Tally, Records, Vec<u8>) {
        let seal = Seal::of(&[3; 16]);
        let globals = Tally { count: 5, digest: 1 << 100 };
        let ops: Records = [("a", Some("value")), ("b", None), ("c", Some(""))]
            .map(|(key, value)| (Bytes::from(key), value.map(Bytes::from)))
            .into();
        let mut buffer = b"left over from the frame before".to_vec();
        encode(&mut buffer, seal, 7, 2, globals, &ops);
        (seal, globals, ops, buffer)
    }

    #[test]
    fn what_is_written_is_read() {
        let (seal, globals, ops, frame) = sample();
        let head = Head::at(&frame, 0, seal).unwrap();
        assert_eq!((head.lsn, head.generation, head.frame_length()), (7, 2, frame.len()));
        assert_eq!(decode(head.payload(&frame, 0, seal).unwrap()), Some((globals, ops)));
        assert_eq!(Head::at(&frame, 0, Seal::of(&[4; 16])), None);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let (seal, _, _, frame) = sample();
        let head = Head::at(&frame, 0, seal).unwrap();
        let payload_end = HEAD + head.length as usize;
        for at in 0..payload_end {
            let mut bad = frame.clone();
            bad[at] ^= 0x10;
            let whole = Head::at(&bad, 0, seal).and_then(|head| head.payload(&bad, 0, seal).map(<[u8]>::to_vec));
            assert_eq!(whole, None, "byte {at}");
        }
        for length in 0..frame.len() {
            let cut = &frame[..length];
            assert_eq!(Head::at(cut, 0, seal).and_then(|head| head.payload(cut, 0, seal)), None, "length {length}");
        }
    }

    #[test]
    fn a_payload_of_another_shape_is_none() {
        let (seal, _, _, frame) = sample();
        let payload = Head::at(&frame, 0, seal).unwrap().payload(&frame, 0, seal).unwrap();
        for length in (0..Tally::LENGTH).chain([payload.len() - 1]) {
            assert_eq!(decode(&payload[..length]), None, "length {length}");
        }
    }
}
