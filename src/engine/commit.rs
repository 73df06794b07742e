//! A group becomes durable; only then is anyone told, and only then are its wishes carried out.
//!
//! Where there is no space, the group waits, and with it all that would follow. Meanwhile the loop reads, refuses new work, and
//! stops when it is told to.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::mpsc,
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
    store::{self, Commit, OP_OVERHEAD},
};

/// What one commit holds at the most. Only the group of a start, with all that is taken up again, can be larger.
const COMMIT_BYTES: usize = 3 << 20;
/// How long a full store is left alone before a write is tried again.
pub(super) const FULL_RETRY: Duration = Duration::from_millis(250);

/// A group that is being made durable: what is still to be committed, and what may happen then.
pub(super) struct Unstored {
    commits: VecDeque<Commit>,
    group: Group,
}

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    Durable,
    /// There was no space for it; it waits.
    Full,
}

impl Loop {
    /// Makes the group durable, then tells everyone and carries out the wishes. One that found no space before goes first.
    pub(super) fn commit(&mut self) -> Result<Landing, store::Error> {
        let mut unstored = self.unstored.take().unwrap_or_else(|| {
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
        while let Some(commit) = unstored.commits.front() {
            match self.reader.store.commit(commit.clone()) {
                Ok(()) => {
                    unstored.commits.pop_front();
                    if self.reader.intake.set_stuck(false) {
                        tracing::info!("there is space again");
                    }
                }
                Err(store::Error::Full(message)) => {
                    if self.reader.intake.set_stuck(true) {
                        tracing::error!(message, "the store is full: nothing goes on until there is space");
                    }
                    self.unstored = Some(unstored);
                    return Ok(Landing::Full);
                }
                Err(error) => return Err(error),
            }
        }
        self.release(unstored.group);
        Ok(Landing::Durable)
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
