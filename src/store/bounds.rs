//! What a commit may hold, for every store alike: a commit that passes in tests passes in production.

use bytes::Bytes;

use super::{
    Commit, Error, MAX_COMMIT_BYTES, MAX_COMMIT_OPS, MAX_KEY, MAX_VALUE, OP_OVERHEAD, RESERVED_PREFIXES, STEP_PREFIX,
    TASK_PREFIX, group,
};

/// Whether a key lies where the store keeps its own records.
pub(super) fn is_reserved(key: &[u8]) -> bool {
    key.first().is_some_and(|first| RESERVED_PREFIXES.contains(first))
}

/// Refuses a commit that breaks a bound.
pub(super) fn check(commit: &Commit) -> Result<(), Error> {
    let found = commit.ops.len();
    if found > MAX_COMMIT_OPS {
        return Err(Error::Refused(format!("{found} records in one commit, the most is {MAX_COMMIT_OPS}; split it")));
    }
    let mut bytes = 0;
    for (key, value) in &commit.ops {
        check_key(key)?;
        let length = value.as_ref().map_or(0, Bytes::len);
        if length > MAX_VALUE {
            let key = key.escape_ascii();
            return Err(Error::Refused(format!(
                "the value of key {key} has {length} bytes, the most is {MAX_VALUE}; write it as a blob"
            )));
        }
        bytes += key.len() + length + OP_OVERHEAD;
    }
    if bytes > MAX_COMMIT_BYTES {
        return Err(Error::Refused(format!("{bytes} bytes in one commit, the most is {MAX_COMMIT_BYTES}; split it")));
    }
    commit.expect.iter().try_for_each(|(key, _)| check_key(key))
}

/// The refusal of a new record that is none.
pub(super) fn not_new(key: &[u8]) -> Error {
    Error::Refused(format!("key {} was to be new, and has a value", key.escape_ascii()))
}

fn check_key(key: &[u8]) -> Result<(), Error> {
    let shown = key.escape_ascii();
    if key.is_empty() || key.len() > MAX_KEY {
        let length = key.len();
        return Err(Error::Refused(format!("a key of {length} bytes, expected 1 to {MAX_KEY}")));
    }
    if is_reserved(key) {
        return Err(Error::Refused(format!("key {shown} begins with a byte that the store keeps for itself")));
    }
    if matches!(key.first(), Some(&(TASK_PREFIX | STEP_PREFIX))) && group(key).is_none() {
        return Err(Error::Refused(format!(
            "key {shown} is a task's or a step's by its first byte, but no number follows"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &[u8], length: usize) -> Commit {
        Commit { ops: vec![(Bytes::copy_from_slice(key), Some(Bytes::from(vec![7; length])))], ..Commit::default() }
    }

    #[test]
    fn what_fits_exactly_is_taken() {
        assert_eq!(check(&put(&[b'k'; MAX_KEY], MAX_VALUE)), Ok(()));
        assert_eq!(check(&put(b"T\0\0\0\0\0\0\0\x01", 0)), Ok(()));
        let op = (Bytes::from(vec![b'k'; 16]), Some(Bytes::from(vec![0; 4_096 - 16 - OP_OVERHEAD])));
        let mut full = Commit { ops: vec![op; MAX_COMMIT_BYTES / 4_096], ..Commit::default() };
        assert_eq!(check(&full), Ok(()));
        full.ops.push((Bytes::from_static(b"k"), None));
        assert!(matches!(check(&full), Err(Error::Refused(text)) if text.contains("4194313 bytes")));
    }

    #[test]
    fn what_breaks_a_bound_is_refused_by_name() {
        let long_value = put(b"key", MAX_VALUE + 1);
        assert!(matches!(check(&long_value), Err(Error::Refused(text)) if text.contains("key key has 4097 bytes")));
        let many = Commit { ops: vec![(Bytes::from_static(b"k"), None); MAX_COMMIT_OPS + 1], ..Commit::default() };
        assert!(matches!(check(&many), Err(Error::Refused(text)) if text.contains("65537 records")));
        for key in [&b""[..], &[b'k'; MAX_KEY + 1], b"!ckpt", b"G", b"Gx", b"T", b"T1234567", b"I123"] {
            assert!(matches!(check(&put(key, 1)), Err(Error::Refused(_))), "{}", key.escape_ascii());
            let expect = Commit { expect: vec![(Bytes::copy_from_slice(key), None)], ..Commit::default() };
            assert!(matches!(check(&expect), Err(Error::Refused(_))), "{}", key.escape_ascii());
        }
    }
}
