//! The one place that reads a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub use crate::batch::event::Now;
use crate::batch::event::Timestamp;

/// Reads the machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// tokio's, so that a simulation's paused time is this clock's too.
    start: Instant,
    /// In a simulation: what the wall clock said at the start; it goes with the monotonic one.
    #[cfg(test)]
    wall: Option<Timestamp>,
}

impl Clock {
    /// A clock whose monotonic time begins now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            #[cfg(test)]
            wall: None,
        }
    }

    /// The same in a simulation, by whose wall clock it is `wall` now.
    #[cfg(test)]
    pub(crate) fn simulated(wall: Timestamp) -> Self {
        Self { wall: Some(wall), ..Self::start() }
    }

    /// The time by both clocks.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn now(&self) -> Now {
        #[cfg(test)]
        if let Some(Timestamp(start)) = self.wall {
            let mono = self.start.elapsed();
            let passed = i64::try_from(mono.as_nanos()).unwrap_or(i64::MAX);
            return Now { wall: Timestamp(start.saturating_add(passed)), mono };
        }
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        Now { wall: Timestamp(wall), mono: self.start.elapsed() }
    }

    /// When `mono` is reached, as tokio's timers take it.
    #[must_use]
    pub fn instant(&self, mono: Duration) -> Instant {
        self.start + mono
    }
}
