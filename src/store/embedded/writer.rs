//! The commit: conditions, accounts, journal, and then the readers.

use std::collections::HashSet;

use bytes::Bytes;

use super::{integrity::account, journal::Journal, layers::Layers, overlay::Records, supply::Supply};
use crate::{
    seeded::{self, Bug},
    store::{Commit, Error, bounds::not_new},
};

/// Makes commits one after the other.
#[derive(Debug)]
pub(super) struct Writer {
    journal: Journal,
    /// A checkpoint is asked for after so many bytes of journal.
    checkpoint: usize,
    /// Why there is no other commit until the next start.
    failed: Option<String>,
}

impl Writer {
    pub(super) fn new(journal: Journal, checkpoint: usize) -> Self {
        Self { journal, checkpoint, failed: None }
    }

    /// Checks a commit's conditions and writes it.
    pub(super) fn commit(&mut self, layers: &Layers, supply: &Supply, commit: Commit) -> Result<(), Error> {
        self.usable()?;
        for (key, expected) in &commit.expect {
            if layers.get(key)? != *expected {
                return Err(Error::Conflict(key.clone()));
            }
        }
        let new: HashSet<Bytes> = commit.new_keys().cloned().collect();
        // This check stops the server at that bug; a release would go on with it, and is what the suite is for.
        if cfg!(debug_assertions) && !seeded::has(Bug::KeysNotReadOnResume) {
            for key in &new {
                if layers.get(key)?.is_some() {
                    return Err(not_new(key));
                }
            }
        }
        self.append(layers, supply, commit.ops.into_iter().collect(), &new)
    }

    /// Writes records, durable on return.
    pub(super) fn write(&mut self, layers: &Layers, supply: &Supply, ops: Records) -> Result<(), Error> {
        self.usable()?;
        self.append(layers, supply, ops, &HashSet::new())
    }

    fn append(
        &mut self,
        layers: &Layers,
        supply: &Supply,
        mut ops: Records,
        new: &HashSet<Bytes>,
    ) -> Result<(), Error> {
        if ops.is_empty() {
            return Ok(());
        }
        let before = layers.overlay().globals;
        let account = account(&mut ops, before, |key| if new.contains(key) { Ok(None) } else { layers.get(key) })?;
        let appended = self.journal.append(supply, account.globals, &ops);
        if let Err(error) = &appended
            && !matches!(error, Error::Full(_))
        {
            self.failed = Some(error.to_string());
        }
        let (lsn, length) = appended?;
        let since_checkpoint = layers.publish(ops, lsn, account, length);
        // Once more after as many bytes again: a checkpoint that was put off may pass by then.
        if since_checkpoint / self.checkpoint > (since_checkpoint - length) / self.checkpoint {
            supply.ask();
        }
        Ok(())
    }

    /// How much fits behind what is in the current journal file.
    pub(super) fn left(&self) -> usize {
        self.journal.left()
    }

    #[cfg(test)]
    pub(super) fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    fn usable(&self) -> Result<(), Error> {
        match &self.failed {
            None => Ok(()),
            Some(cause) => Err(Error::Failed(format!("an earlier commit failed, so this one was not tried: {cause}"))),
        }
    }
}
