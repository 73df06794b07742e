//! A group becomes durable; only then is anyone told, and only then are its wishes carried out.
//!
//! While calls are under way, whose answers can be taken in meanwhile, that happens beside the loop; what comes in goes into the next
//! group. Otherwise the loop waits for the disk itself: there is nothing else to do, and two hops between threads cost more than
//! they hide (docs/adr/0003).
//!
//! Where there is no space, the group waits, and with it all that would follow. Meanwhile the loop reads, refuses new work, and
//! stops when it is told to.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    Command,
    persist::{Group, Op, Written},
    run::{GROUP_BYTES, Loop},
};
use crate::{
    batch::{core::BatchNo, event::Event},
    seeded::{self, Bug},
    store::{self, Commit, OP_OVERHEAD, Store},
};

/// What one commit holds at the most. Only the group of a start, with all that is taken up again, can be larger.
const COMMIT_BYTES: usize = 3 << 20;
/// How long a full store is left alone before a write is tried again.
pub(super) const FULL_RETRY: Duration = Duration::from_millis(250);

/// A group that is being made durable: what is still to be committed, and what may happen then.
pub(super) struct Unstored {
    /// Empty while they are being written beside the loop.
    commits: VecDeque<Commit>,
    pub(super) group: Group,
}

/// What is left of a group's commits, and why there is something left.
type Progress = (VecDeque<Commit>, Result<(), store::Error>);

/// Where commits are made while calls are under way.
pub(super) enum Beside {
    /// On a thread for what blocks.
    Thread,
    /// On the loop's own thread after some time, so that a seed repeats the order of things.
    #[cfg(test)]
    After(Duration),
}

/// How a group stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    Durable,
    /// It is being written beside the loop.
    UnderWay,
    /// There was no space for it; it waits.
    Full,
}

/// The one group that is being written beside the loop, if any.
pub(super) struct Flight {
    beside: Beside,
    writing: JoinSet<Progress>,
}

impl Flight {
    pub(super) fn new(beside: Beside) -> Self {
        Self { beside, writing: JoinSet::new() }
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.writing.is_empty()
    }

    fn begin(&mut self, store: Arc<dyn Store>, commits: VecDeque<Commit>) {
        match self.beside {
            Beside::Thread => self.writing.spawn_blocking(move || write(&*store, commits)),
            #[cfg(test)]
            Beside::After(time) => self.writing.spawn(async move {
                tokio::time::sleep(time).await;
                write(&*store, commits)
            }),
        };
    }

    /// What became of it; never, where there is none.
    pub(super) async fn landed(&mut self) -> Result<Progress, store::Error> {
        match self.writing.join_next().await {
            Some(Ok(written)) => Ok(written),
            Some(Err(error)) => Err(store::Error::Failed(format!("a commit ended in a panic: {error}"))),
            None => std::future::pending().await,
        }
    }
}

/// Makes commits one after the other, up to the first that fails.
fn write(store: &dyn Store, mut commits: VecDeque<Commit>) -> Progress {
    while let Some(commit) = commits.front() {
        if let Err(error) = store.commit(commit.clone()) {
            return (commits, Err(error));
        }
        commits.pop_front();
    }
    (commits, Ok(()))
}

impl Loop {
    /// The store could not be read in the middle of a group, which therefore lacks something: as after a failed commit, nothing of it
    /// becomes durable, the server stops, and the next start decides again.
    pub(super) fn fail(&mut self, error: store::Error) {
        self.fault.get_or_insert(error);
    }

    /// Makes the group durable, or begins to. One that found no space before goes first. Not while another is under way.
    pub(super) fn commit(&mut self) -> Result<Landing, store::Error> {
        if let Some(error) = self.fault.take() {
            return Err(error);
        }
        let waited = self.unstored.take();
        let beside = waited.is_none() && self.has_attempts();
        let mut unstored = waited.unwrap_or_else(|| {
            let mut group = std::mem::take(&mut self.group);
            if seeded::has(Bug::StartWaitsForNextCommit)
                && !group.lines.is_empty()
                && group.lines.iter().all(|(_, line)| matches!(line.entry.event, Event::CallStarted { .. }))
            {
                self.group.ops = std::mem::take(&mut group.ops);
            }
            Unstored { commits: split(&group.ops), group }
        });
        if seeded::has(Bug::ToldBeforeCommit) {
            self.release(std::mem::take(&mut unstored.group));
        }
        let commits = std::mem::take(&mut unstored.commits);
        self.unstored = Some(unstored);
        if beside && !commits.is_empty() {
            self.flight.begin(Arc::clone(&self.reader.store), commits);
            return Ok(Landing::UnderWay);
        }
        let written = write(&*self.reader.store, commits);
        self.landed(written)
    }

    /// Tells everyone of a group that is durable and carries out its wishes; keeps one that found no space.
    pub(super) fn landed(&mut self, (left, outcome): Progress) -> Result<Landing, store::Error> {
        let Some(mut unstored) = self.unstored.take() else { return Ok(Landing::Durable) };
        match outcome {
            Ok(()) => {
                if self.reader.intake.set_stuck(false) {
                    tracing::info!("there is space again");
                }
                self.release(unstored.group);
                Ok(Landing::Durable)
            }
            Err(store::Error::Full(message)) => {
                if self.reader.intake.set_stuck(true) {
                    tracing::error!(message, "the store is full: nothing goes on until there is space");
                }
                unstored.commits = left;
                self.unstored = Some(unstored);
                Ok(Landing::Full)
            }
            Err(error) => Err(error),
        }
    }

    /// A group found no space, and waits.
    pub(super) fn waits_for_space(&self) -> bool {
        self.unstored.is_some() && !self.flight.is_under_way()
    }

    /// What is about to become of a record, where the store has another.
    pub(super) fn written(&self, key: &Bytes) -> Option<Written<'_>> {
        self.group.written(key).or_else(|| self.unstored.as_ref()?.group.written(key))
    }

    fn release(&mut self, group: Group) {
        let mut lines: HashMap<BatchNo, Vec<_>> = HashMap::new();
        for (batch, line) in group.lines {
            lines.entry(batch).or_default().push(line);
        }
        // Attempts leave before readers are told: the next call waits for nothing but the disk.
        for effect in group.effects {
            self.carry_out(effect);
        }
        for (batch, lines) in lines {
            let over = lines.last().is_some_and(|line| matches!(line.entry.event, Event::BatchFinished { .. }));
            if let Some(live) = self.live.get(&batch) {
                live.tail.push(lines);
            }
            if over {
                self.forget(batch);
            }
        }
        for task in group.rings {
            self.bells.ring(task);
        }
        for reply in group.replies {
            reply();
        }
        // From here on the records themselves keep the blobs.
        drop(group.leases);
    }

    /// Waits until it is worth trying again. Commands are taken in meanwhile, as reads need no space; their facts wait their turn.
    pub(super) async fn wait_for_space(&mut self, commands: &mut mpsc::Receiver<Command>) {
        let retry = Instant::now() + FULL_RETRY;
        while Instant::now() < retry && !self.gives_up() {
            let until = self.give_up.map_or(retry, |give_up| give_up.min(retry));
            tokio::select! {
                () = sleep_until(until) => {}
                command = commands.recv(), if self.group.bytes < GROUP_BYTES => match command {
                    Some(command) => self.obey(command),
                    // Nobody is left who could ask for anything.
                    None => return self.drain(Duration::ZERO),
                },
            }
        }
    }

    /// The server was told to stop, and what still runs had its time.
    pub(super) fn gives_up(&self) -> bool {
        self.give_up.is_some_and(|give_up| Instant::now() >= give_up)
    }
}

/// Cuts a group into commits, in order. One whose second half is lost does no harm: steps and keys stand before the entries that
/// speak of them, so the next start finds the calls where they were and decides the same again.
fn split(ops: &[Op]) -> VecDeque<Commit> {
    let mut commits: VecDeque<Commit> = VecDeque::new();
    let mut bytes = COMMIT_BYTES;
    for Op { key, value, is_new } in ops {
        let size = key.len() + value.as_ref().map_or(0, Bytes::len) + OP_OVERHEAD;
        if bytes + size > COMMIT_BYTES {
            commits.push_back(Commit::default());
            bytes = 0;
        }
        bytes += size;
        if let Some(commit) = commits.back_mut() {
            if *is_new {
                commit.new.push(commit.ops.len());
            }
            commit.ops.push((key.clone(), value.clone()));
        }
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_cut_only_where_it_is_too_large_for_one_commit() {
        let op = |is_new| Op { key: Bytes::from_static(b"key"), value: Some(Bytes::from(vec![0; 4_000])), is_new };
        assert!(split(&[]).is_empty());
        assert_eq!(split(&vec![op(true); 700]).len(), 1);
        let cut = split(&[vec![op(true); 1_000], vec![op(false); 1_000]].concat());
        assert_eq!(cut.iter().map(|commit| commit.ops.len()).sum::<usize>(), 2_000);
        assert_eq!(cut.iter().map(|commit| commit.new_keys().count()).sum::<usize>(), 1_000);
        assert_eq!(cut.len(), 3);
    }
}
