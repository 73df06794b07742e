//! Which key holds what. All numbers are big-endian, so that keys sort as they were made.
//!
//! | key | value |
//! | --- | --- |
//! | `N` | `Counters` |
//! | `t` hash(tenant, task id) | `Locator` of a task |
//! | `b` hash(tenant, batch id) | `Locator` of a batch |
//! | `I` step id | `Locator` of a call's batch |
//! | `L` hash(tenant), batch | `Locator` of a batch, newest last |
//! | `A` batch | `OpenBatch`: a batch that has not ended |
//! | `R` name | `Registration`: a backend that was registered |
//! | `X` age, task | `Locator` of a task that was last active at that age of the store, or later |
//! | `D` task | `Task` that is being dropped |
//! | `F` blob file, task | nothing: the task refers to the file |
//! | `T` task `H` | `Task` |
//! | `T` task `B` batch | `Batch` |
//! | `T` task `E` batch, sequence | `Entry` |
//! | `T` task `F` blob file | nothing: the task refers to the file |
//! | `T` task `K` hash(key) | `Key` |
//! | `T` task `S` step id, part | a part of a `Step` |
//! | `T` task `V` name | `Variable` |
//!
//! Hashes are the first 16 bytes of SHA-256 over length-prefixed parts, so ids can hold any character and never meet by
//! concatenation; the record that a hash leads to names what it is of. A variable's name is plain enough to stand in its key. Everything hot is time-ordered, as sled wants it
//! (STORE.md 2); a task's records are one range, so that they can be verified and dropped together.

use std::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};
use sha2::{Digest as _, Sha256};

use super::TASK_PREFIX;
use crate::batch::{
    core::{BatchNo, TaskNo},
    event::StepId,
};

/// The key of the counters.
pub const COUNTERS: &[u8] = b"N";

/// Where a task is.
#[must_use]
pub fn task_locator(tenant: &str, task_id: &str) -> Bytes {
    key(b"t", &[&hash(&[tenant, task_id])])
}

/// Where a batch is.
#[must_use]
pub fn batch_locator(tenant: &str, batch_id: &str) -> Bytes {
    key(b"b", &[&hash(&[tenant, batch_id])])
}

/// Where a step is.
#[must_use]
pub fn step_locator(step: StepId) -> Bytes {
    key(b"I", &[step.0.as_bytes()])
}

/// The id in a key made by [`step_locator`].
#[must_use]
pub fn step_id_of(key: &[u8]) -> Option<StepId> {
    Some(StepId(uuid::Uuid::from_bytes(key.strip_prefix(b"I")?.try_into().ok()?)))
}

/// A tenant's batch in the order of their numbers.
#[must_use]
pub fn tenant_batch(tenant: &str, batch: BatchNo) -> Bytes {
    key(b"L", &[&hash(&[tenant]), &batch.0.to_be_bytes()])
}

/// The number in a key made by [`tenant_batch`], [`open_batch`] or [`batch`].
#[must_use]
pub fn batch_of(key: &[u8]) -> Option<BatchNo> {
    Some(BatchNo(u64::from_be_bytes(*key.last_chunk()?)))
}

/// That a batch has not ended.
#[must_use]
pub fn open_batch(batch: BatchNo) -> Bytes {
    key(b"A", &[&batch.0.to_be_bytes()])
}

/// That a task was last active at this age of the store, in seconds, or later.
#[must_use]
pub fn aged_task(age: u64, task: TaskNo) -> Bytes {
    key(b"X", &[&age.to_be_bytes(), &task.0.to_be_bytes()])
}

/// Age and task in a key made by [`aged_task`].
#[must_use]
pub fn age_of(key: &[u8]) -> Option<(u64, TaskNo)> {
    let (age, task) = key.strip_prefix(b"X")?.split_first_chunk()?;
    Some((u64::from_be_bytes(*age), TaskNo(u64::from_be_bytes(task.try_into().ok()?))))
}

/// A task that is being dropped.
#[must_use]
pub fn dropped_task(task: TaskNo) -> Bytes {
    key(b"D", &[&task.0.to_be_bytes()])
}

/// The number in a key made by [`dropped_task`].
#[must_use]
pub fn dropped_of(key: &[u8]) -> Option<TaskNo> {
    Some(TaskNo(u64::from_be_bytes(*key.last_chunk()?)))
}

/// That a task refers to a blob file.
#[must_use]
pub fn blob_user(file: u32, task: TaskNo) -> Bytes {
    key(b"F", &[&file.to_be_bytes(), &task.0.to_be_bytes()])
}

/// File and task in a key made by [`blob_user`].
#[must_use]
pub fn blob_user_of(key: &[u8]) -> Option<(u32, TaskNo)> {
    let (file, task) = key.strip_prefix(b"F")?.split_first_chunk()?;
    Some((u32::from_be_bytes(*file), TaskNo(u64::from_be_bytes(task.try_into().ok()?))))
}

/// The same among the task's own records.
#[must_use]
pub fn task_blob(task: TaskNo, file: u32) -> Bytes {
    in_task(task, b'F', &[&file.to_be_bytes()])
}

/// The number in a key made by [`task_blob`].
#[must_use]
pub fn task_blob_of(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*key.last_chunk()?))
}

/// A registered backend.
#[must_use]
pub fn registration(name: &str) -> Bytes {
    key(b"R", &[name.as_bytes()])
}

/// All registered backends, by name.
#[must_use]
pub fn registrations() -> Range<Bytes> {
    Bytes::from_static(b"R")..Bytes::from_static(b"S")
}

/// The name in a key made by [`registration`].
#[must_use]
pub fn registration_of(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(b"R")?).ok()
}

/// All keys of a task: the first one, and the first one behind them.
#[must_use]
pub fn task_range(task: TaskNo) -> (Bytes, Bytes) {
    (in_task(task, 0, &[]), in_task(task, u8::MAX, &[]))
}

/// Which kind of a task's record a key is of: the letter behind the task's number.
#[must_use]
pub fn kind_in_task(key: &[u8]) -> Option<u8> {
    key.get(9).copied()
}

/// A task's head.
#[must_use]
pub fn task(task: TaskNo) -> Bytes {
    in_task(task, b'H', &[])
}

/// A batch's head.
#[must_use]
pub fn batch(task: TaskNo, batch: BatchNo) -> Bytes {
    in_task(task, b'B', &[&batch.0.to_be_bytes()])
}

/// An entry of a batch's log.
#[must_use]
pub fn entry(task: TaskNo, batch: BatchNo, sequence: u64) -> Bytes {
    in_task(task, b'E', &[&batch.0.to_be_bytes(), &sequence.to_be_bytes()])
}

/// The batch in a key made by [`entry`].
#[must_use]
pub fn entry_batch_of(key: &[u8]) -> Option<BatchNo> {
    batch_of(key.get(..key.len().checked_sub(8)?)?)
}

/// The sequence number in a key made by [`entry`].
#[must_use]
pub fn sequence_of(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.last_chunk()?))
}

/// A key of the task.
#[must_use]
pub fn task_key(task: TaskNo, name: &str) -> Bytes {
    in_task(task, b'K', &[&hash(&[name])])
}

/// The keys of a task after the one with this hash, or all of them.
#[must_use]
pub fn task_keys(task: TaskNo, after: Option<[u8; 16]>) -> Range<Bytes> {
    let start = match &after {
        Some(hash) => in_task(task, b'K', &[hash, &[0]]),
        None => in_task(task, b'K', &[]),
    };
    start..in_task(task, b'K' + 1, &[])
}

/// The hash in a key made by [`task_key`].
#[must_use]
pub fn key_hash_of(key: &[u8]) -> Option<[u8; 16]> {
    key.last_chunk().copied()
}

/// A part of a step.
#[must_use]
pub fn step(task: TaskNo, step: StepId, part: u8) -> Bytes {
    in_task(task, b'S', &[step.0.as_bytes(), &[part]])
}

/// Step id and part in a key made by [`step`].
#[must_use]
pub fn step_of(key: &[u8]) -> Option<(StepId, u8)> {
    let (&part, rest) = key.split_last()?;
    Some((StepId(uuid::Uuid::from_bytes(*rest.last_chunk()?)), part))
}

/// A variable of a task.
#[must_use]
pub fn variable(task: TaskNo, name: &str) -> Bytes {
    in_task(task, b'V', &[name.as_bytes()])
}

/// The variables of a task, by name.
#[must_use]
pub fn variables(task: TaskNo) -> Range<Bytes> {
    in_task(task, b'V', &[])..in_task(task, b'V' + 1, &[])
}

/// The name in a key made by [`variable`].
#[must_use]
pub fn variable_of(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.get(10..)?).ok()
}

fn in_task(task: TaskNo, kind: u8, parts: &[&[u8]]) -> Bytes {
    let mut key = BytesMut::with_capacity(32);
    key.put_u8(TASK_PREFIX);
    key.put_u64(task.0);
    key.put_u8(kind);
    for part in parts {
        key.put_slice(part);
    }
    key.freeze()
}

fn key(prefix: &[u8], parts: &[&[u8]]) -> Bytes {
    let mut key = BytesMut::with_capacity(32);
    key.put_slice(prefix);
    for part in parts {
        key.put_slice(part);
    }
    key.freeze()
}

fn hash(parts: &[&str]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_never_meet_by_concatenation() {
        assert_ne!(task_locator("a", "b/c"), task_locator("a/b", "c"));
        assert_ne!(task_locator("ab", "c"), task_locator("a", "bc"));
    }

    #[test]
    fn a_tasks_records_are_one_range() {
        let (this, next) = (TaskNo(7), TaskNo(8));
        let (low, high) = (in_task(this, 0, &[]), in_task(next, 0, &[]));
        let step_id = StepId(uuid::Uuid::max());
        for key in [
            task(this),
            batch(this, BatchNo(u64::MAX)),
            entry(this, BatchNo(1), u64::MAX),
            task_key(this, "k"),
            step(this, step_id, 255),
            task_blob(this, u32::MAX),
            variable(this, "VAR_1"),
        ] {
            let (first, behind) = task_range(this);
            assert!(first <= key && key < behind, "{key:?}");
            assert!(low <= key && key < high, "{key:?}");
            assert_eq!(super::super::group(&key), Some(7));
        }
    }

    #[test]
    fn numbers_are_read_back() {
        let step_id = StepId(uuid::Uuid::from_u128(42));
        assert_eq!(step_of(&step(TaskNo(1), step_id, 3)), Some((step_id, 3)));
        assert_eq!(sequence_of(&entry(TaskNo(1), BatchNo(2), 3)), Some(3));
        assert_eq!(entry_batch_of(&entry(TaskNo(1), BatchNo(2), 3)), Some(BatchNo(2)));
        assert_eq!(step_id_of(&step_locator(step_id)), Some(step_id));
        assert_eq!(batch_of(&open_batch(BatchNo(9))), Some(BatchNo(9)));
        assert_eq!(age_of(&aged_task(3, TaskNo(4))), Some((3, TaskNo(4))));
        assert_eq!(dropped_of(&dropped_task(TaskNo(4))), Some(TaskNo(4)));
        assert_eq!(blob_user_of(&blob_user(3, TaskNo(4))), Some((3, TaskNo(4))));
        assert_eq!(task_blob_of(&task_blob(TaskNo(4), 3)), Some(3));
        assert_eq!(kind_in_task(&task_blob(TaskNo(4), 3)), Some(b'F'));
        assert_eq!(variable_of(&variable(TaskNo(4), "VAR_1")), Some("VAR_1"));
        assert_eq!(registration_of(&registration("erp")), Some("erp"));
        assert!(registrations().contains(&registration(&"z".repeat(63))));
    }

    #[test]
    fn the_variables_of_a_task_are_one_range() {
        let range = variables(TaskNo(7));
        assert!(range.contains(&variable(TaskNo(7), "A")) && range.contains(&variable(TaskNo(7), &"z".repeat(256))));
        assert!(!range.contains(&variable(TaskNo(8), "A")));
        assert!(!range.contains(&step(TaskNo(7), StepId(uuid::Uuid::max()), 255)));
    }

    #[test]
    fn the_keys_of_a_task_are_one_range_that_can_be_begun_anywhere() {
        let key = task_key(TaskNo(7), "k");
        let hash = key_hash_of(&key).unwrap();
        let before = hash.map(|byte| byte.saturating_sub(1));
        assert!(task_keys(TaskNo(7), None).contains(&key) && task_keys(TaskNo(7), Some(before)).contains(&key));
        assert!(!task_keys(TaskNo(7), Some(hash)).contains(&key) && !task_keys(TaskNo(8), None).contains(&key));
        assert!(!task_keys(TaskNo(7), None).contains(&step(TaskNo(7), StepId(uuid::Uuid::nil()), 0)));
    }
}
