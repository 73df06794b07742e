//! What a scripted backend was asked to do, in order.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::sync::watch;
use tonic::{Status, metadata::MetadataMap};
use toolbatch::proto::CallToolResponse;

use super::script::Lookup;

/// Only a test that already failed waits this long.
const PATIENCE: Duration = Duration::from_secs(20);

/// One execution of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) tool: String,
    /// The argument `id`, or `doc`; empty where there is none.
    pub(crate) id: String,
    pub(crate) args_json: String,
    pub(crate) task_id: String,
    pub(crate) agent_id: String,
    pub(crate) key: String,
    pub(crate) batch_id: String,
    pub(crate) step_id: String,
    pub(crate) index: u32,
    pub(crate) attempt: u32,
    pub(crate) idempotency_key: String,
    pub(crate) in_doubt: bool,
    /// The other end of the connection that it came by.
    pub(crate) peer: Option<SocketAddr>,
    /// The metadata `grpc-timeout`.
    pub(crate) timeout: String,
    /// All metadata that came with it.
    pub(crate) metadata: MetadataMap,
    /// When it began, and when it was over: every entry's stamps are places in one order.
    pub(crate) start: usize,
    pub(crate) end: Option<usize>,
    /// Its end was an answer, no cancellation and no crash.
    pub(crate) answered: bool,
    /// What it answered, where it took effect.
    pub(super) landed: Option<CallToolResponse>,
    /// A lookup was told that it never takes effect, so it must not.
    pub(super) fenced: bool,
}

/// A question of `LookupCall` that was answered from the journal.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) idempotency_key: String,
    /// Its place in the one order of all stamps.
    pub(crate) stamp: usize,
    pub(crate) landed: bool,
}

/// Outlives the backend's crashes.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<watch::Sender<Log>>);

#[derive(Debug, Default)]
struct Log {
    entries: Vec<Entry>,
    asked: Vec<Asked>,
    stamps: usize,
}

impl Log {
    fn stamp(&mut self) -> usize {
        self.stamps += 1;
        self.stamps
    }
}

/// An execution under way. Its drop is its end.
pub(super) struct Running {
    journal: Journal,
    place: usize,
    answered: bool,
}

impl Running {
    /// Takes effect and answers, unless a lookup was told that this never happens.
    pub(super) fn answer(mut self, answer: Result<CallToolResponse, Status>) -> Result<CallToolResponse, Status> {
        let mut fenced = false;
        if let Ok(response) = &answer {
            self.journal.0.send_modify(|log| {
                let entry = &mut log.entries[self.place];
                fenced = entry.fenced;
                entry.landed = (!fenced).then(|| response.clone());
            });
        }
        self.answered = !fenced;
        if fenced { Err(Status::aborted("a lookup was told that this never takes effect")) } else { answer }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.journal.0.send_modify(|log| {
            let stamp = log.stamp();
            let entry = &mut log.entries[self.place];
            entry.end = Some(stamp);
            entry.answered = self.answered;
        });
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(Log::default())))
    }
}

impl Entry {
    /// It took effect, as far as this backend is concerned.
    pub(crate) fn has_landed(&self) -> bool {
        self.landed.is_some()
    }
}

impl Journal {
    pub(super) fn begin(&self, mut entry: Entry) -> Running {
        let mut place = 0;
        self.0.send_modify(|log| {
            entry.start = log.stamp();
            place = log.entries.len();
            log.entries.push(entry);
        });
        Running { journal: self.clone(), place, answered: false }
    }

    /// What became of a logical call. Of one that has not taken effect by now, no attempt that began ever will.
    pub(super) fn tell(&self, idempotency_key: &str) -> Lookup {
        let mut told = Lookup::NotLanded;
        self.0.send_modify(|log| {
            let entries = log.entries.iter_mut().filter(|entry| entry.idempotency_key == idempotency_key);
            for entry in entries {
                match &entry.landed {
                    Some(response) => told = Lookup::Answered(Box::new(response.clone())),
                    None => entry.fenced = true,
                }
            }
            let (stamp, landed) = (log.stamp(), matches!(told, Lookup::Answered(_)));
            log.asked.push(Asked { idempotency_key: idempotency_key.to_owned(), stamp, landed });
        });
        told
    }

    /// The lookups that were answered from this journal, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.0.borrow().asked.clone()
    }

    /// The next place in the order that all entries share: whatever begins from now on has a later one.
    pub(crate) fn stamp(&self) -> usize {
        let mut stamp = 0;
        self.0.send_modify(|log| stamp = log.stamp());
        stamp
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.borrow().entries.clone()
    }

    /// The `id` of every execution, in the order of their starts.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.0.borrow().entries.iter().map(|entry| entry.id.clone()).collect()
    }

    /// Waits until the entries are as the test needs them.
    pub(crate) async fn wait_for(&self, mut fits: impl FnMut(&[Entry]) -> bool) -> Vec<Entry> {
        let mut log = self.0.subscribe();
        let waiting = log.wait_for(|log| fits(&log.entries));
        let Ok(log) = tokio::time::timeout(PATIENCE, waiting).await else {
            panic!("the journal never became what the test waits for: {:#?}", self.entries());
        };
        log.expect("the journal holds its own sender").entries.clone()
    }

    /// The most executions that ran at once among those that `counts` picks.
    pub(crate) fn most_at_once(&self, counts: impl Fn(&Entry) -> bool) -> usize {
        let entries = self.entries();
        let picked: Vec<&Entry> = entries.iter().filter(|entry| counts(entry)).collect();
        let runs_at = |stamp: usize, entry: &&&Entry| entry.start <= stamp && entry.end.is_none_or(|end| stamp < end);
        picked.iter().map(|entry| picked.iter().filter(|other| runs_at(entry.start, other)).count()).max().unwrap_or(0)
    }
}
