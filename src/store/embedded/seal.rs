//! Checksums that only this store can have made.

/// CRC32 that begins with a value of this store's id. What another store wrote does not pass, and a client cannot prepare a value
/// that looks like a frame, since it does not know the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seal(u32);

impl Seal {
    pub(super) fn of(store_id: &[u8; 16]) -> Self {
        Self(crc32fast::hash(store_id))
    }

    /// The checksum of the parts, one after the other.
    pub(super) fn over(self, parts: &[&[u8]]) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        for part in parts {
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// The first `N` bytes from `at`, if there are so many.
pub(super) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The length of a file's head.
pub(super) const HEAD: usize = 32;

/// The head of a journal or blob file: what it is, whose, and which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// What kind of file, with its format's version.
    pub(super) kind: [u8; 8],
    pub(super) store_id: [u8; 16],
    pub(super) number: u32,
}

impl Head {
    pub(super) fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&self.kind);
        bytes[8..24].copy_from_slice(&self.store_id);
        bytes[24..28].copy_from_slice(&self.number.to_be_bytes());
        let crc = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_be_bytes());
        bytes
    }

    /// What is wrong with a file's beginning, if anything.
    pub(super) fn fault(&self, found: &[u8]) -> Option<&'static str> {
        let Some(found) = bytes_at::<HEAD>(found, 0) else { return Some("is cut off in its head") };
        let crc = crc32fast::hash(&found[..28]).to_be_bytes();
        if found[28..] != crc {
            return Some("has a damaged head");
        }
        if found[..8] != self.kind {
            return Some("is another kind of file, or of another version");
        }
        if found[8..24] != self.store_id {
            return Some("belongs to another store");
        }
        (found[24..28] != self.number.to_be_bytes()).then_some("was renamed: its head has another number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_store_makes_another_checksum() {
        let (ours, other) = (Seal::of(&[1; 16]), Seal::of(&[2; 16]));
        assert_eq!(ours.over(&[b"ab", b"c"]), ours.over(&[b"abc"]));
        assert_ne!(ours.over(&[b"abc"]), other.over(&[b"abc"]));
    }

    #[test]
    fn a_head_tells_what_is_wrong_with_a_file() {
        let head = Head { kind: *b"TBTEST01", store_id: [5; 16], number: 3 };
        let bytes = head.encode();
        assert_eq!(head.fault(&bytes), None);
        assert!(head.fault(&bytes[..31]).unwrap().contains("cut off"));
        assert!(head.fault(&Head { kind: *b"TBTEST02", ..head }.encode()).unwrap().contains("another kind"));
        assert!(head.fault(&Head { store_id: [6; 16], ..head }.encode()).unwrap().contains("another store"));
        assert!(head.fault(&Head { number: 4, ..head }.encode()).unwrap().contains("renamed"));
        for at in 0..HEAD {
            let mut flipped = bytes;
            flipped[at] ^= 4;
            assert!(head.fault(&flipped).unwrap().contains("damaged head"), "byte {at}");
        }
    }
}
