//! The thread that moves commits from the journal into sled, and keeps a free journal file ready.

use std::{
    io,
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
};

use super::{
    journal::JournalFile,
    layers::Layers,
    supply::{Ending, Supply, Work},
};
use crate::store::Error;

/// Makes journal files.
#[derive(Debug)]
pub(super) struct Maker {
    pub(super) dir: PathBuf,
    pub(super) store_id: [u8; 16],
    pub(super) capacity: usize,
}

/// Ends its thread when it is told to, after a last checkpoint.
#[derive(Debug)]
pub(super) struct Checkpointer {
    thread: Option<JoinHandle<()>>,
    supply: Arc<Supply>,
}

impl Checkpointer {
    pub(super) fn start(layers: Arc<Layers>, supply: Arc<Supply>, maker: Maker) -> io::Result<Self> {
        let shared = Arc::clone(&supply);
        let run = move || work(&layers, &supply, &maker);
        let thread = thread::Builder::new().name("store-checkpoint".to_owned()).spawn(run)?;
        Ok(Self { thread: Some(thread), supply: shared })
    }

    /// Waits for the end of the thread. Gives the checkpoint that failed or is still put off, if one is.
    pub(super) fn stop(&mut self, ending: Ending) -> Result<(), Error> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.supply.end(ending);
        if thread.join().is_err() {
            return Err(Error::Failed("the checkpoint thread panicked; start again".to_owned()));
        }
        self.supply.unfinished().map_or(Ok(()), Err)
    }
}

fn work(layers: &Layers, supply: &Supply, maker: &Maker) {
    loop {
        match supply.next_work() {
            Work::Checkpoint => {
                checkpoint(layers, supply);
                keep_a_file_ready(supply, maker);
                supply.round_done();
            }
            Work::End(Ending::Clean) => return checkpoint(layers, supply),
            #[cfg(test)]
            Work::End(Ending::Abrupt) => return,
        }
    }
}

fn checkpoint(layers: &Layers, supply: &Supply) {
    // An error of sled's is final for its handle.
    if supply.trouble().is_some() {
        return;
    }
    if let Err(error) = layers.check_room() {
        tracing::warn!(%error, "a checkpoint is put off; commits go on until the journal is full");
        supply.put_off(error);
        return;
    }
    match layers.checkpoint() {
        Ok(None) => {}
        Ok(Some(lsn)) => {
            tracing::debug!(lsn, "checkpoint");
            supply.checkpointed(lsn);
        }
        Err(error) => {
            tracing::warn!(%error, "a checkpoint failed; commits go on until the journal is full");
            supply.failed(error);
        }
    }
}

fn keep_a_file_ready(supply: &Supply, maker: &Maker) {
    let Some(number) = supply.lacks(maker.capacity) else { return };
    let made = JournalFile::create(&maker.dir, &maker.store_id, number, maker.capacity);
    if let Err(error) = &made {
        tracing::warn!(%error, "no further journal file could be made");
    }
    supply.made(made);
}
