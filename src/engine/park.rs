//! A batch that was running at crash after crash is ended rather than taken up once more, so that the server serves (docs/adr/0004).

use super::{error::Error, read::Located, run::Loop};
use crate::{
    batch::{
        core::{BatchNo, Resumed, TaskNo},
        event::StopReason,
        state::{CallState, State},
    },
    store::{
        self, Commit, layout,
        records::{self, OpenBatch},
    },
};

/// At so many crashes in a row a batch is taken for their cause: enough for a bad hour of the machine, few enough for a server that
/// is started again and again to serve within minutes.
const CRASHES_MAX: u32 = 3;

/// What is on record of an unfinished batch once the server has started again. A row of crashes ends with a stop that went well,
/// and where a call of the batch ended between two crashes: what makes progress comes to its end.
fn counted(before: &OpenBatch, stopped_well: bool, ended_calls: u32) -> OpenBatch {
    let crashes = if stopped_well {
        0
    } else if ended_calls > before.ended_calls {
        1
    } else {
        before.crashes.saturating_add(1)
    };
    OpenBatch { crashes, ended_calls, ..*before }
}

fn ended_calls(state: &State) -> u32 {
    let ended = state.calls.iter().filter(|call| matches!(call, CallState::Ended(_))).count();
    u32::try_from(ended).unwrap_or(u32::MAX)
}

impl Loop {
    /// Reads what an earlier run left unfinished, and counts the crash that it was running at, if there was one. The counts are to
    /// be durable before anything of it goes on.
    pub(super) fn read_unfinished(&mut self) -> Result<Vec<Resumed>, Error> {
        let stopped_well = std::mem::take(&mut self.counters.stopped_well);
        let unfinished = self.open_batches()?;
        let mut batches = Vec::with_capacity(unfinished.len());
        for before in unfinished {
            let at = Located { task: TaskNo(before.task), batch: BatchNo(before.batch) };
            let mut resumed = self.take_up(at)?;
            let open = counted(&before, stopped_well, ended_calls(&resumed.state));
            if open != before {
                self.group.put(layout::open_batch(at.batch), records::encode(&open));
            }
            if open.crashes >= CRASHES_MAX {
                self.park(&mut resumed, open.crashes);
            }
            batches.push(resumed);
        }
        if !batches.is_empty() {
            self.group.put(layout::COUNTERS.into(), records::encode(&self.counters));
        }
        Ok(batches)
    }

    fn park(&mut self, resumed: &mut Resumed, crashes: u32) {
        // It is closed anyhow, for a reason that is known.
        if resumed.stop == Some(StopReason::TaskEnded) {
            return;
        }
        resumed.stop = Some(StopReason::Parked);
        if let Some(live) = self.live.get_mut(&resumed.begin.batch) {
            live.head.stop = resumed.stop;
            let batch_id = &live.head.batch_id;
            tracing::error!(
                batch_id,
                crashes,
                "the batch was running at every crash of late: it is parked, not run again"
            );
        }
    }

    /// For the next start: this one did not crash.
    pub(super) fn note_good_stop(&mut self) -> Result<(), store::Error> {
        self.counters.stopped_well = true;
        self.counters.age = self.age.now();
        let ops = vec![(layout::COUNTERS.into(), Some(records::encode(&self.counters)))];
        match self.reader.store.commit(Commit { ops, ..Commit::default() }) {
            Err(store::Error::Full(message)) => {
                tracing::warn!(%message, "the store has no space to note that this stop went well: it will count as a crash");
                Ok(())
            }
            noted => noted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is on record after starts that each found so many calls ended, and a stop before that went well or not.
    fn crashes(starts: &[(bool, u32)]) -> u32 {
        let first = OpenBatch { task: 1, batch: 2, crashes: 0, ended_calls: 0 };
        starts.iter().fold(first, |open, (stopped_well, ended)| counted(&open, *stopped_well, *ended)).crashes
    }

    #[test]
    fn crashes_count_while_nothing_ends_in_between() {
        assert_eq!(crashes(&[(false, 0)]), 1);
        assert_eq!(crashes(&[(false, 0), (false, 0), (false, 0)]), 3);
        assert_eq!(
            crashes(&[(false, 2), (false, 2), (false, 2)]),
            3,
            "what ended before the first crash counts for nothing"
        );
        assert_eq!(crashes(&[(false, 0), (false, 0), (false, 1)]), 1, "progress begins a new row");
        assert_eq!(crashes(&[(false, 1), (false, 2), (false, 3), (false, 4)]), 1);
    }

    #[test]
    fn a_good_stop_does_not_count_and_ends_the_row() {
        assert_eq!(crashes(&[(true, 0)]), 0);
        assert_eq!(crashes(&[(false, 0), (false, 0), (true, 0), (false, 0)]), 1);
    }
}
