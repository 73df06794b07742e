//! A batch in numbers (R7).

use super::{
    event::{BatchStatus, Ending, StopReason},
    state::{CallState, State},
};

/// A batch in numbers. The parts add up to `total` once the batch has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All calls of the batch.
    pub total: u32,
    /// The tool did it.
    pub completed: u32,
    /// They failed, or may have.
    pub failed: u32,
    /// Their keys were done before.
    pub skipped: u32,
    /// They wait for a review.
    pub awaiting: u32,
    /// Neither ended nor running: once the batch has ended, these were not run.
    pub waiting: u32,
}

impl Counts {
    /// Counts a state's calls.
    #[must_use]
    pub fn of(state: &State) -> Self {
        let mut counts = Self { total: u32::try_from(state.calls.len()).unwrap_or(u32::MAX), ..Self::default() };
        for call in &state.calls {
            match call {
                CallState::Waiting => counts.waiting += 1,
                CallState::Running(_) => {}
                CallState::Ended(finished) => match &finished.ending {
                    Ending::Completed { .. } => counts.completed += 1,
                    Ending::Awaiting { .. } => counts.awaiting += 1,
                    Ending::Failed(_) => counts.failed += 1,
                    Ending::Skipped { .. } => counts.skipped += 1,
                },
            }
        }
        counts
    }

    /// The batch's status, given that it has ended.
    #[must_use]
    pub fn status(&self) -> BatchStatus {
        if self.completed + self.skipped == self.total {
            BatchStatus::Completed
        } else if self.completed + self.skipped + self.awaiting == 0 {
            BatchStatus::Failed
        } else {
            BatchStatus::Partial
        }
    }

    /// `reason`, where a call was not run because of it.
    #[must_use]
    pub fn stop_reason(&self, reason: Option<StopReason>) -> Option<StopReason> {
        reason.filter(|_| self.waiting > 0)
    }
}
