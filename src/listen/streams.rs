//! The tasks that answer requests, one a stream, and the end of those whose readers stand still.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::rt::Executor;
use tokio::{task_local, time::interval};
use tokio_util::task::TaskTracker;

task_local! {
    /// That of the stream whose task this is. The body of an answer is read there, but made elsewhere.
    static PROGRESS: Arc<Progress>;
}

/// How far the answer to one request has got.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// A piece was handed on, and nobody has asked for the next one.
    waits: AtomicBool,
    asked: AtomicU64,
}

impl Progress {
    /// The connection asks for a piece.
    pub(super) fn asked() {
        // Outside a stream's task nobody watches.
        let _ = PROGRESS.try_with(|progress| {
            progress.waits.store(false, Ordering::Relaxed);
            progress.asked.fetch_add(1, Ordering::Relaxed);
        });
    }

    /// It has got one.
    pub(super) fn handed_on() {
        let _ = PROGRESS.try_with(|progress| progress.waits.store(true, Ordering::Relaxed));
    }

    /// Resolves once the reader has taken nothing for `limit`, or half as long again.
    async fn stalled(&self, limit: Duration) {
        // Two looks that see the same are `limit` apart at least.
        let mut looks = interval(limit / 2);
        let mut seen = (u64::MAX, 0);
        loop {
            looks.tick().await;
            let asked = self.asked.load(Ordering::Relaxed);
            if !self.waits.load(Ordering::Relaxed) || asked != seen.0 {
                seen = (asked, 0);
                continue;
            }
            seen.1 += 1;
            if seen.1 == 2 {
                return;
            }
        }
    }
}

/// Runs the tasks of all streams.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    tasks: TaskTracker,
    stall_timeout: Duration,
}

impl Streams {
    pub(super) fn new(stall_timeout: Duration) -> Self {
        Self { tasks: TaskTracker::new(), stall_timeout }
    }

    /// Resolves once all have ended. A stream ends with its connection.
    pub(super) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let stall_timeout = self.stall_timeout;
        let progress = Arc::new(Progress::default());
        let watched = Arc::clone(&progress);
        self.tasks.spawn(async move {
            let stream = pin!(PROGRESS.scope(progress, stream));
            tokio::select! {
                biased;
                () = stream => {}
                // Dropped, the stream is reset, and what it held is free.
                () = watched.stalled(stall_timeout) => {
                    tracing::info!("a stream is reset: its reader took nothing for limits.stall_timeout");
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_mins(1);

    /// How long a stream lives whose reader does as `reader` says.
    async fn life(reader: impl Future<Output = ()> + Send + 'static) -> Duration {
        let streams = Streams::new(LIMIT);
        let start = Instant::now();
        streams.execute(reader);
        streams.ended().await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stands_still_is_given_up() {
        let lived = life(async {
            Progress::asked();
            Progress::handed_on();
            std::future::pending::<()>().await;
        });
        let lived = lived.await;
        assert!((LIMIT..=LIMIT * 2).contains(&lived), "{lived:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_a_little_or_waits_for_news_is_not() {
        let lived = life(async {
            for _ in 0..10 {
                Progress::asked();
                Progress::handed_on();
                sleep(LIMIT.mul_f64(0.9)).await;
            }
            Progress::asked();
            sleep(LIMIT * 10).await;
        });
        assert!(lived.await >= LIMIT * 19);
    }
}
