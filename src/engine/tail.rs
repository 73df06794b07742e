//! The latest lines of a live batch, kept in memory for those who follow it, and the doorbell that says there are more.
//!
//! One ring serves all readers, so a reader costs a cursor and a slow one costs nothing more: what has left the ring is read from
//! the store.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::watch;

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
    /// An attempt that is given up may outlive its batch.
    tail: Weak<TailWriter>,
    clock: Clock,
}

impl Reporter {
    pub(super) fn tell(&self, index: u32, step_id: StepId, news: dispatch::Progress) {
        let dispatch::Progress { progress, total, message } = news;
        let time = self.clock.now().wall;
        if let Some(tail) = self.tail.upgrade() {
            tail.report(Progress { index, step_id, progress, total, message, time });
        }
    }
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<LogLine>>,
    bytes: usize,
    progress: VecDeque<Progress>,
    /// How much progress there was in all.
    reported: u64,
}

/// The engine's end. Dropping it tells the readers that nothing more will come.
#[derive(Debug)]
pub(super) struct TailWriter {
    ring: Arc<Mutex<Ring>>,
    bell: watch::Sender<u64>,
}

/// A reader's end.
#[derive(Clone, Debug)]
pub struct TailReader {
    ring: Arc<Mutex<Ring>>,
    pub(super) bell: watch::Receiver<u64>,
    /// How much progress this reader was told or has missed.
    heard: u64,
}

impl TailWriter {
    /// A tail for a batch whose log ends at `last`.
    pub(super) fn new(last: u64) -> Arc<Self> {
        Arc::new(Self { ring: Arc::default(), bell: watch::Sender::new(last) })
    }

    /// Reads lines from any place that the ring holds, and progress from now on.
    pub(super) fn reader(&self) -> TailReader {
        let heard = lock(&self.ring).reported;
        TailReader { ring: Arc::clone(&self.ring), bell: self.bell.subscribe(), heard }
    }

    pub(super) fn reporter(self: &Arc<Self>, clock: Clock) -> Reporter {
        Reporter { tail: Arc::downgrade(self), clock }
    }

    /// Keeps progress for those who follow, if anyone does, and rings.
    fn report(&self, progress: Progress) {
        let mut ring = lock(&self.ring);
        if self.bell.is_closed() {
            ring.progress = VecDeque::new();
            return;
        }
        ring.reported += 1;
        ring.progress.push_back(progress);
        if ring.progress.len() > PROGRESS_RING {
            ring.progress.pop_front();
        }
        drop(ring);
        self.bell.send_modify(|_| {});
    }

    /// Adds lines that are durable, and rings.
    pub(super) fn push(&self, lines: impl IntoIterator<Item = LogLine>) {
        let mut ring = lock(&self.ring);
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
        let ring = lock(&self.ring);
        let first = ring.lines.front()?.entry.sequence;
        let behind = seeded::has(Bug::BehindTheRingIsLost).then_some(0);
        let skip = usize::try_from((sequence + 1).checked_sub(first).or(behind)?).ok()?;
        Some(ring.lines.iter().skip(skip).cloned().collect())
    }

    /// The next progress that is still there.
    pub(super) fn progress(&mut self) -> Option<Progress> {
        let ring = lock(&self.ring);
        let first = ring.reported - ring.progress.len() as u64;
        let next = self.heard.max(first);
        let progress = ring.progress.get(usize::try_from(next - first).ok()?)?;
        self.heard = next + 1;
        Some(progress.clone())
    }
}

fn lock(ring: &Mutex<Ring>) -> MutexGuard<'_, Ring> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

fn size(line: &LogLine) -> usize {
    line.result.as_ref().map_or(0, bytes::Bytes::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(tail: &TailWriter, index: u32) {
        let step_id = StepId(uuid::Uuid::nil());
        let (message, time) = (String::new(), Timestamp::default());
        tail.report(Progress { index, step_id, progress: 0.0, total: 0.0, message, time });
    }

    fn heard(reader: &mut TailReader) -> Vec<u32> {
        std::iter::from_fn(|| reader.progress()).map(|progress| progress.index).collect()
    }

    #[test]
    fn a_slow_reader_hears_the_latest_progress_once() {
        let tail = TailWriter::new(0);
        let mut reader = tail.reader();
        (0..20).for_each(|index| report(&tail, index));
        assert_eq!(heard(&mut reader), (4..20).collect::<Vec<_>>());
        assert!(heard(&mut tail.reader()).is_empty());
        report(&tail, 20);
        assert_eq!(heard(&mut reader), [20]);
    }

    #[test]
    fn progress_that_nobody_follows_is_not_kept() {
        let tail = TailWriter::new(0);
        let reader = tail.reader();
        report(&tail, 0);
        drop(reader);
        report(&tail, 1);
        assert!(lock(&tail.ring).progress.is_empty());
        let mut reader = tail.reader();
        report(&tail, 2);
        assert_eq!(heard(&mut reader), [2]);
    }
}
