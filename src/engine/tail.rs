//! The latest lines of a live batch, kept in memory for those who follow it, and the doorbell that says there are more.
//!
//! One ring serves all readers, so a reader costs a cursor and a slow one costs nothing more: what has left the ring is read from
//! the store.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{broadcast, watch};

use super::read::LogLine;
use crate::{
    batch::event::{StepId, Timestamp},
    clock::Clock,
    dispatch,
    seeded::{self, Bug},
};

/// The most lines and bytes of results that a live batch keeps in memory: enough for a reader that keeps up, and little where
/// ten thousand batches are open.
const RING_LINES: usize = 64;
const RING_BYTES: usize = 64 * 1024;
/// Progress that a reader has not taken yet; older progress is dropped, as newer says more.
const PROGRESS_RING: usize = 16;

/// Progress of a running call: live only, never stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Which call.
    pub index: u32,
    /// Its step.
    pub step_id: StepId,
    /// How far.
    pub progress: f64,
    /// Of how much; 0 where the tool does not know.
    pub total: f64,
    /// In words.
    pub message: String,
    /// When it came.
    pub time: Timestamp,
}

/// Tells the readers of a live batch how far its calls are.
#[derive(Debug)]
pub(super) struct Reporter {
    progress: broadcast::Sender<Progress>,
    clock: Clock,
}

impl Reporter {
    pub(super) fn tell(&self, index: u32, step_id: StepId, news: dispatch::Progress) {
        let dispatch::Progress { progress, total, message } = news;
        let time = self.clock.now().wall;
        // Nobody may be following.
        let _ = self.progress.send(Progress { index, step_id, progress, total, message, time });
    }
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<LogLine>>,
    bytes: usize,
}

/// The engine's end. Dropping it tells the readers that nothing more will come.
#[derive(Debug)]
pub(super) struct TailWriter {
    ring: Arc<Mutex<Ring>>,
    bell: watch::Sender<u64>,
    progress: broadcast::Sender<Progress>,
}

/// A reader's end.
#[derive(Clone, Debug)]
pub struct TailReader {
    ring: Arc<Mutex<Ring>>,
    pub(super) bell: watch::Receiver<u64>,
    progress: broadcast::WeakSender<Progress>,
}

impl TailWriter {
    /// A tail for a batch whose log ends at `last`.
    pub(super) fn new(last: u64) -> Self {
        Self { ring: Arc::default(), bell: watch::Sender::new(last), progress: broadcast::Sender::new(PROGRESS_RING) }
    }

    pub(super) fn reader(&self) -> TailReader {
        TailReader { ring: Arc::clone(&self.ring), bell: self.bell.subscribe(), progress: self.progress.downgrade() }
    }

    pub(super) fn reporter(&self, clock: Clock) -> Reporter {
        Reporter { progress: self.progress.clone(), clock }
    }

    /// Adds lines that are durable, and rings.
    pub(super) fn push(&self, lines: impl IntoIterator<Item = LogLine>) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = None;
        for line in lines {
            last = Some(line.entry.sequence);
            ring.bytes += size(&line);
            ring.lines.push_back(Arc::new(line));
            while ring.lines.len() > RING_LINES || (ring.bytes > RING_BYTES && ring.lines.len() > 1) {
                let Some(old) = ring.lines.pop_front() else { break };
                ring.bytes -= size(&old);
            }
        }
        drop(ring);
        if let Some(last) = last {
            self.bell.send_replace(last);
        }
    }
}

impl TailReader {
    /// The lines after a sequence number, or `None` where the ring begins later.
    pub(super) fn after(&self, sequence: u64) -> Option<Vec<Arc<LogLine>>> {
        let last = *self.bell.borrow();
        if last <= sequence {
            return Some(Vec::new());
        }
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ring.lines.front()?.entry.sequence;
        let behind = seeded::has(Bug::BehindTheRingIsLost).then_some(0);
        let skip = usize::try_from((sequence + 1).checked_sub(first).or(behind)?).ok()?;
        Some(ring.lines.iter().skip(skip).cloned().collect())
    }

    /// Progress from now on; `None` once the batch is over.
    pub(super) fn progress(&self) -> Option<broadcast::Receiver<Progress>> {
        Some(self.progress.upgrade()?.subscribe())
    }
}

fn size(line: &LogLine) -> usize {
    line.result.as_ref().map_or(0, bytes::Bytes::len)
}
