//! The keys that live batches name: what is on record for each, who runs under it, and who waits for it.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use super::{
    core::{BatchNo, TaskNo},
    key::KeyRecord,
};

/// All keys of live batches. A key is here as long as a live batch names it, so that check and claim are one step.
#[derive(Debug, Default)]
pub(super) struct Keys {
    slots: HashMap<(TaskNo, Arc<str>), Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    record: Option<KeyRecord>,
    /// The call that runs under the key.
    holder: Option<(BatchNo, u32)>,
    /// Batches with a call that waits for the holder, first come first served.
    waiters: VecDeque<BatchNo>,
    /// How many live batches name the key.
    users: usize,
}

/// Whether a call may run under its key.
#[derive(Debug, PartialEq)]
pub(super) enum Claim<'a> {
    /// Another call runs under it.
    Held,
    /// Nobody does; this is what is on record.
    Free(Option<&'a KeyRecord>),
}

impl Keys {
    /// Whether a live batch names the key, so that its record here is newer than any on disk.
    pub(super) fn knows(&self, task: TaskNo, key: &Arc<str>) -> bool {
        self.slots.contains_key(&(task, Arc::clone(key)))
    }

    /// What is on record for a key that a live batch names.
    pub(super) fn record(&self, task: TaskNo, key: &Arc<str>) -> Option<&KeyRecord> {
        self.slots.get(&(task, Arc::clone(key)))?.record.as_ref()
    }

    /// The call that runs under the key.
    pub(super) fn holder(&self, task: TaskNo, key: &Arc<str>) -> Option<(BatchNo, u32)> {
        self.slots.get(&(task, Arc::clone(key)))?.holder
    }

    /// A batch that names the key goes live. `stored` is what the disk says; it counts only if no live batch knew the key.
    pub(super) fn enter(&mut self, task: TaskNo, key: &Arc<str>, stored: Option<KeyRecord>) {
        let slot =
            self.slots.entry((task, Arc::clone(key))).or_insert_with(|| Slot { record: stored, ..Slot::default() });
        slot.users += 1;
    }

    /// A batch that named the key has ended.
    pub(super) fn leave(&mut self, task: TaskNo, key: &Arc<str>) {
        let name = (task, Arc::clone(key));
        if let Some(slot) = self.slots.get_mut(&name) {
            slot.users -= 1;
            if slot.users == 0 {
                self.slots.remove(&name);
            }
        }
    }

    /// Whether a call may run under the key now.
    pub(super) fn look(&self, task: TaskNo, key: &Arc<str>) -> Claim<'_> {
        match self.slots.get(&(task, Arc::clone(key))) {
            Some(Slot { holder: Some(_), .. }) => Claim::Held,
            Some(slot) => Claim::Free(slot.record.as_ref()),
            None => Claim::Free(None),
        }
    }

    /// A call begins to run under the key, which [`Keys::look`] found free.
    pub(super) fn claim(&mut self, task: TaskNo, key: &Arc<str>, batch: BatchNo, index: u32) {
        if let Some(slot) = self.slots.get_mut(&(task, Arc::clone(key))) {
            debug_assert!(slot.holder.is_none(), "a key is claimed only where it is free");
            slot.holder = Some((batch, index));
        }
    }

    /// A call of the batch waits until the key is free.
    pub(super) fn wait(&mut self, task: TaskNo, key: &Arc<str>, batch: BatchNo) {
        if let Some(slot) = self.slots.get_mut(&(task, Arc::clone(key)))
            && !slot.waiters.contains(&batch)
        {
            slot.waiters.push_back(batch);
        }
    }

    /// What is on record changes. Gives whether this is certain to be the key's first record.
    pub(super) fn put(&mut self, task: TaskNo, key: &Arc<str>, record: KeyRecord) -> bool {
        match self.slots.get_mut(&(task, Arc::clone(key))) {
            Some(slot) => slot.record.replace(record).is_none(),
            None => false,
        }
    }

    /// The call runs no longer under the key: gives back the batches that waited, in the order they came.
    pub(super) fn release(&mut self, task: TaskNo, key: &Arc<str>, batch: BatchNo, index: u32) -> VecDeque<BatchNo> {
        match self.slots.get_mut(&(task, Arc::clone(key))) {
            Some(slot) if slot.holder == Some((batch, index)) => {
                slot.holder = None;
                std::mem::take(&mut slot.waiters)
            }
            Some(_) | None => VecDeque::new(),
        }
    }
}
