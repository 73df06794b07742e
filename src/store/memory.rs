//! A store that forgets everything when it is dropped, for tests and simulations. It can be told to fail, and it remembers every
//! commit, so that a crash after any of them can be played.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Bound, Range},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::{BlobRef, Commit, Error, Order, RoomFor, Store, bounds, group_name};

/// A handle on the content. Clones share it: a server that "restarts" in a test is given another clone.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    content: Arc<Mutex<Content>>,
}

/// What became of the commit that a fault hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Nothing of it was stored.
    Lost,
    /// It was stored although it was reported as failed, as when the power goes between the sync and the answer.
    Kept,
}

#[derive(Clone, Debug)]
struct Fault {
    /// How many more commits pass.
    passes: usize,
    error: Error,
    landing: Landing,
}

#[derive(Debug, Default)]
struct Content {
    records: BTreeMap<Bytes, Bytes>,
    /// One to a file; none where its file was deleted.
    blobs: Vec<Option<Bytes>>,
    /// The operations of every commit so far, oldest first.
    history: Vec<Vec<(Bytes, Option<Bytes>)>>,
    fault: Option<Fault>,
    /// Why there is no room for new work.
    no_room: Option<Error>,
    damaged: BTreeSet<u64>,
}

impl Content {
    fn apply(&mut self, ops: Vec<(Bytes, Option<Bytes>)>) {
        for (key, value) in &ops {
            match value {
                Some(value) => self.records.insert(key.clone(), value.clone()),
                None => self.records.remove(key),
            };
        }
        self.history.push(ops);
    }
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many commits it holds. Those that only check conditions do not count.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.content().history.len()
    }

    /// A store of its own with what was there after the first `commits` commits, and with all blobs, since they are written ahead
    /// of the commits that refer to them.
    #[must_use]
    pub fn at(&self, commits: usize) -> Self {
        let content = self.content();
        let mut past = Content { blobs: content.blobs.clone(), damaged: content.damaged.clone(), ..Content::default() };
        content.history.iter().take(commits).for_each(|ops| past.apply(ops.clone()));
        Self { content: Arc::new(Mutex::new(past)) }
    }

    /// A store of its own with what is there now.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.at(usize::MAX)
    }

    /// Every commit fails with this error from now on, and stores nothing.
    pub fn fail_commits_with(&self, error: Error) {
        self.content().fault = Some(Fault { passes: 0, error, landing: Landing::Lost });
    }

    /// The next `commits` commits pass, and all after them fail with [`Error::Failed`], as if the machine had stopped there.
    /// `landing` tells what becomes of the first that fails; the later ones are lost.
    pub fn fail_after(&self, commits: usize, landing: Landing) {
        let error = Error::Failed("the test stopped the store here".to_owned());
        self.content().fault = Some(Fault { passes: commits, error, landing });
    }

    /// There is no room for new work from now on; commits pass.
    pub fn refuse_new_work_with(&self, error: Error) {
        self.content().no_room = Some(error);
    }

    /// Commits pass again, and there is room.
    pub fn heal(&self) {
        let mut content = self.content();
        (content.fault, content.no_room) = (None, None);
    }

    /// [`Store::verify`] calls this task damaged from now on.
    pub fn damage(&self, task_seq: u64) {
        self.content().damaged.insert(task_seq);
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.content().records.get(key).cloned())
    }

    fn scan(&self, range: Range<&[u8]>, order: Order, limit: usize) -> Result<Vec<(Bytes, Bytes)>, Error> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let content = self.content();
        let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
        let records = content.records.range::<[u8], _>(bounds).map(|(key, value)| (key.clone(), value.clone()));
        Ok(match order {
            Order::Ascending => records.take(limit).collect(),
            Order::Descending => records.rev().take(limit).collect(),
        })
    }

    fn commit(&self, commit: Commit) -> Result<(), Error> {
        bounds::check(&commit)?;
        let mut content = self.content();
        for (key, expected) in &commit.expect {
            if content.records.get(key) != expected.as_ref() {
                return Err(Error::Conflict(key.clone()));
            }
        }
        if commit.ops.is_empty() {
            return Ok(());
        }
        if let Some(key) = commit.new_keys().find(|key| content.records.contains_key(*key)) {
            return Err(bounds::not_new(key));
        }
        if let Some(fault) = &mut content.fault {
            if fault.passes == 0 {
                let error = fault.error.clone();
                if std::mem::replace(&mut fault.landing, Landing::Lost) == Landing::Kept {
                    content.apply(commit.ops);
                }
                return Err(error);
            }
            fault.passes -= 1;
        }
        content.apply(commit.ops);
        Ok(())
    }

    fn write_blob(&self, content: &[u8]) -> Result<BlobRef, Error> {
        let mut inner = self.content();
        let file = u32::try_from(inner.blobs.len()).map_err(|_| Error::Full("4,294,967,296 blobs".to_owned()))?;
        inner.blobs.push(Some(Bytes::copy_from_slice(content)));
        Ok(BlobRef { file, offset: 0, bytes: content.len() as u64 })
    }

    fn read_blob(&self, blob: BlobRef, offset: u64, max: usize) -> Result<Bytes, Error> {
        let inner = self.content();
        let content = usize::try_from(blob.file).ok().and_then(|file| inner.blobs.get(file)?.as_ref());
        let Some(content) = content.filter(|content| content.len() as u64 == blob.bytes && blob.offset == 0) else {
            return Err(Error::Damaged(format!("there is no blob {blob:?}")));
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        Ok(content.slice(start..start.saturating_add(max).min(content.len())))
    }

    fn closed_blob_files(&self) -> Result<Vec<u32>, Error> {
        let content = self.content();
        Ok((0..).zip(&content.blobs).filter(|(_, blob)| blob.is_some()).map(|(file, _)| file).collect())
    }

    fn remove_blob_file(&self, file: u32) -> Result<(), Error> {
        let mut content = self.content();
        if let Some(blob) = usize::try_from(file).ok().and_then(|file| content.blobs.get_mut(file)) {
            *blob = None;
        }
        Ok(())
    }

    fn check_room(&self, purpose: RoomFor) -> Result<(), Error> {
        match purpose {
            RoomFor::NewWork => self.content().no_room.clone().map_or(Ok(()), Err),
            RoomFor::Deletions => Ok(()),
        }
    }

    fn verify(&self, group: u64) -> Result<(), Error> {
        if self.content().damaged.contains(&group) {
            return Err(Error::Damaged(format!("{}: the test damaged it", group_name(group))));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(store: &Memory, key: &'static str) -> Result<(), Error> {
        store.commit(Commit { ops: vec![(key.into(), Some("v".into()))], ..Commit::default() })
    }

    fn keys(store: &Memory) -> Vec<Bytes> {
        let records = store.scan(b"a"..b"z", Order::Ascending, 100).unwrap();
        records.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_crash_after_any_commit_can_be_played() {
        let store = Memory::new();
        for key in ["a", "b", "c"] {
            put(&store, key).unwrap();
        }
        assert_eq!(keys(&store.at(0)), Vec::<Bytes>::new());
        assert_eq!(keys(&store.at(2)), ["a", "b"]);
        let fork = store.fork();
        put(&store, "d").unwrap();
        assert_eq!((fork.commits(), keys(&fork)), (3, vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!((store.commits(), keys(&store).len()), (4, 4));
    }

    #[test]
    fn it_fails_as_told_until_it_is_healed() {
        let store = Memory::new();
        store.fail_commits_with(Error::Full("test".to_owned()));
        assert_eq!(put(&store, "a"), Err(Error::Full("test".to_owned())));
        store.fail_after(1, Landing::Lost);
        put(&store, "b").unwrap();
        assert!(matches!(put(&store, "c"), Err(Error::Failed(_))));
        store.fail_after(0, Landing::Kept);
        assert!(matches!(put(&store, "d"), Err(Error::Failed(_))));
        assert!(matches!(put(&store, "e"), Err(Error::Failed(_))));
        let restarted = store.clone();
        restarted.heal();
        put(&restarted, "f").unwrap();
        assert_eq!(keys(&store), ["b", "d", "f"]);
    }

    #[test]
    fn a_task_is_damaged_on_request() {
        let store = Memory::new();
        store.damage(7);
        assert!(matches!(store.verify(7), Err(Error::Damaged(text)) if text.contains("task 7")));
        assert_eq!(store.verify(8), Ok(()));
    }
}
