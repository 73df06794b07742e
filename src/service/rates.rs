//! How many requests an agent may send in a second, so that one that floods is refused before others are.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::Request;
use tonic::{Status, body::Body};

use super::{caller::Caller, guard::Guard, status};
use crate::clock::Clock;

/// How much of its rate an agent may use up at once: one second's worth.
const BURST: Duration = Duration::from_secs(1);

/// Refuses requests of agents that send more than they may. Operators, and servers that ask nobody for a token, are not bounded.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    most: u32,
    clock: Clock,
    /// By agent: when its requests so far would be paid off at its rate. Agents stand in the configuration, so they are few.
    paid_off: Arc<Mutex<HashMap<Arc<str>, Duration>>>,
}

impl Rates {
    /// Each agent may send `most` requests a second.
    pub(crate) fn new(most: u32, clock: Clock) -> Self {
        Self { most, clock, paid_off: Arc::default() }
    }

    /// Counts a request, or says how long it is too early.
    fn admit(&self, agent: &Arc<str>, now: Duration) -> Result<(), Duration> {
        let mut all = self.paid_off.lock().unwrap_or_else(PoisonError::into_inner);
        let paid_off = all.entry(Arc::clone(agent)).or_default();
        let next = (*paid_off).max(now) + BURST / self.most;
        match next.checked_sub(now + BURST) {
            None | Some(Duration::ZERO) => {
                *paid_off = next;
                Ok(())
            }
            Some(early) => Err(early),
        }
    }
}

impl Guard for Rates {
    fn check(&self, request: &mut Request<Body>) -> Result<(), Status> {
        let Some(agent) = request.extensions().get().and_then(Caller::agent) else { return Ok(()) };
        let now = self.clock.now().mono;
        self.admit(agent, now).map_err(|early| status::too_fast(agent, self.most, early))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_requests_may_come_at_once_and_the_rest_at_the_rate() {
        let rates = Rates::new(4, Clock::start());
        let (orders, invoices): (Arc<str>, Arc<str>) = ("orders".into(), "invoices".into());
        let now = Duration::from_secs(100);
        assert!((0..4).all(|_| rates.admit(&orders, now).is_ok()));
        assert_eq!(rates.admit(&orders, now), Err(Duration::from_millis(250)));
        assert_eq!(rates.admit(&orders, now), Err(Duration::from_millis(250)), "what is refused costs nothing");
        assert!(rates.admit(&invoices, now).is_ok(), "each has its own");
        let later = now + Duration::from_millis(250);
        assert!(rates.admit(&orders, later).is_ok(), "as it was told");
        assert_eq!(rates.admit(&orders, later), Err(Duration::from_millis(250)));
        let rested = later + Duration::from_mins(1);
        assert_eq!(
            (0..9).filter(|_| rates.admit(&orders, rested).is_ok()).count(),
            4,
            "rest is not saved up beyond a second"
        );
    }
}
