//! Blobs that are written and not referred to yet. As long as one is held, retention does not take its file for unused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use crate::store::{self, BlobRef, Store};

/// Which blob files have such blobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    held: Arc<Mutex<HashMap<u32, usize>>>,
    /// Held while a blob is written, until it is known here which file it went to.
    writes: Arc<RwLock<()>>,
}

/// Keeps a blob's file from the time it is written until the commit that refers to it. Dropped, it lets go.
#[derive(Debug)]
pub(super) struct Lease {
    file: u32,
    leases: Leases,
}

impl Leases {
    /// Writes a blob.
    pub(super) fn write(&self, store: &dyn Store, content: &[u8]) -> Result<(BlobRef, Lease), store::Error> {
        let _writing = self.writes.read().unwrap_or_else(PoisonError::into_inner);
        let blob = store.write_blob(content)?;
        *self.held().entry(blob.file).or_default() += 1;
        Ok((blob, Lease { file: blob.file, leases: self.clone() }))
    }

    /// Waits for the writes that are under way. A file that was closed before has all its leases then.
    pub(super) fn settle(&self) {
        drop(self.writes.write().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether a blob of this file is not referred to yet.
    pub(super) fn hold(&self, file: u32) -> bool {
        self.held().contains_key(&file)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut held = self.leases.held();
        if let Some(count) = held.get_mut(&self.file) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Memory;

    #[test]
    fn a_file_is_held_until_its_last_lease_is_dropped() {
        let (leases, store) = (Leases::default(), Memory::new());
        let (blob, lease) = leases.write(&store, b"content").unwrap();
        assert!(leases.hold(blob.file));
        assert!(!leases.hold(blob.file + 1));
        *leases.held().get_mut(&blob.file).unwrap() += 1;
        let second = Lease { file: blob.file, leases: leases.clone() };
        drop(lease);
        assert!(leases.hold(blob.file));
        drop(second);
        assert!(!leases.hold(blob.file));
        leases.settle();
    }
}
