//! The age of a store: the time that servers have run on it. Retention goes by it rather than by a clock, since a clock that jumps
//! must not delete anything (RELIABILITY.md I26). While no server runs, nothing ages.

use crate::clock::Clock;

/// Counts from what was noted last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    noted: u64,
    clock: Clock,
}

impl Age {
    /// `noted` is the age when this server started, in seconds; `clock` began to count then.
    pub(super) fn new(noted: u64, clock: Clock) -> Self {
        Self { noted, clock }
    }

    /// In whole seconds.
    pub(super) fn now(self) -> u64 {
        self.noted.saturating_add(self.clock.now().mono.as_secs())
    }
}
