//! Step ids and batch ids: UUIDv7, each greater than the one before, also where the clock goes back.

use uuid::{ContextV7, Timestamp, Uuid};

use crate::{
    batch::{core::StepIds, event::StepId},
    clock::Clock,
};

/// Gives out ids.
#[derive(Debug)]
pub(super) struct Ids {
    clock: Clock,
    context: ContextV7,
}

impl Ids {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, context: ContextV7::new() }
    }
}

impl StepIds for Ids {
    fn next(&mut self) -> StepId {
        let nanos = u64::try_from(self.clock.now().wall.0).unwrap_or(0);
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let rest = u32::try_from(rest).unwrap_or(0);
        StepId(Uuid::new_v7(Timestamp::from_unix(&self.context, seconds, rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_rise_within_one_millisecond() {
        let mut ids = Ids::new(Clock::start());
        let drawn: Vec<StepId> = (0..10_000).map(|_| ids.next()).collect();
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
