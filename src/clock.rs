//! The one place that reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use crate::batch::event::Now;
use crate::batch::event::Timestamp;

/// Reads the machine's clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock whose monotonic time begins now.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// The time by both clocks.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub fn now(&self) -> Now {
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
