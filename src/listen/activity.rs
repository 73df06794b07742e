//! Whether a connection is of use to anyone: which requests are running on it, and how long it has had none.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::timeout};

/// The requests of one connection.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<watch::Sender<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    begun: u64,
    running: usize,
}

/// A request that is running as long as this is held.
#[derive(Debug)]
pub(super) struct Running(Activity);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.0.send_modify(|requests| requests.running -= 1);
    }
}

/// Why a connection is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unused {
    /// No request came.
    NoRequest,
    /// None has come for long.
    Idle,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::default()))
    }

    pub(super) fn begin(&self) -> Running {
        self.0.send_modify(|requests| {
            requests.begun += 1;
            requests.running += 1;
        });
        Running(self.clone())
    }

    /// Resolves once there was no request at first for so long, or none running later.
    pub(super) async fn unused(&self, first: Duration, idle: Duration) -> Unused {
        let mut requests = self.0.subscribe();
        // Its sender is here, so a wait ends by what it waits for.
        if timeout(first, requests.wait_for(|requests| requests.begun > 0)).await.is_err() {
            return Unused::NoRequest;
        }
        loop {
            let quiet = requests.wait_for(|requests| requests.running == 0).await;
            let seen = quiet.map_or(0, |requests| requests.begun);
            if timeout(idle, requests.wait_for(|requests| requests.begun != seen)).await.is_err() {
                return Unused::Idle;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    const FIRST: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_mins(10);

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_unused_soon() {
        let start = Instant::now();
        assert_eq!(Activity::new().unused(FIRST, IDLE).await, Unused::NoRequest);
        assert_eq!(start.elapsed(), FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_counts_from_the_last_request_that_ended() {
        let activity = Activity::new();
        let start = Instant::now();
        let requests = async {
            let long = activity.begin();
            sleep(IDLE * 3).await;
            drop(long);
            sleep(IDLE / 2).await;
            drop(activity.begin());
        };
        let (unused, ()) = tokio::join!(activity.unused(FIRST, IDLE), requests);
        assert_eq!(unused, Unused::Idle);
        assert_eq!(start.elapsed(), IDLE * 3 + IDLE / 2 + IDLE);
    }
}
