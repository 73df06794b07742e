//! Follows a batch to its end through lost connections: every event once, in order.
//!
//! A batch outlives its stream (R9). When the stream breaks before the first event, the request is sent again: its batch id
//! makes that the same batch (R1). Afterwards `WatchBatch` goes on behind the last event that was shown.

#[cfg(test)]
mod tests;

use std::{io, pin::Pin, time::Duration};

use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;

use super::{
    connect::Link,
    exit::Failure,
    refusal,
    render::{Show, words},
};
use crate::proto::{
    BatchEvent, BatchPlanned, BatchSummary, ExecuteBatchRequest, WatchBatchRequest, batch_event::Event,
};

/// Where to begin.
pub(crate) enum Start {
    /// Start a batch, or attach to the one of that id.
    Execute(Box<ExecuteBatchRequest>),
    /// Watch one that is there.
    Watch {
        /// Its id.
        batch_id: String,
        /// The last event that is known already.
        after: u64,
    },
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The plan of a batch that was not run.
    Planned(BatchPlanned),
    /// The batch is over.
    Finished(BatchSummary),
}

/// How long to try to get back to a server that was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// The wait before the first attempt; each further one is twice as long.
    first: Duration,
    /// The longest wait.
    longest: Duration,
    /// Attempts in a row that bring no event.
    pub(crate) attempts: u32,
}

/// About 35 s in all: a server that was restarted waits up to 5 s for its store's lock and then reads its unfinished batches.
pub(crate) const PATIENCE: Patience =
    Patience { first: Duration::from_millis(200), longest: Duration::from_secs(5), attempts: 10 };

/// The longest wait that a server can ask for; a longer one would look like a client that hangs.
const ASKED_MAX: Duration = Duration::from_secs(30);

type Events = Pin<Box<dyn Stream<Item = Result<Option<BatchEvent>, Status>> + Send>>;

/// Why a stream gave no more.
enum Cut {
    /// The server says no.
    Refused(Status),
    /// The connection is gone, or what came over it cannot be right.
    Lost { why: String, wait: Option<Duration> },
    /// Nobody takes what is shown.
    Output(io::Error),
}

impl From<Status> for Cut {
    fn from(status: Status) -> Self {
        if refusal::is_lost(&status) {
            Self::Lost { why: refusal::lost(&status), wait: refusal::retry_delay(&status) }
        } else {
            Self::Refused(status)
        }
    }
}

/// A batch that is being followed.
pub(crate) struct Follow<'a> {
    link: &'a Link,
    start: Start,
    batch_id: String,
    last: u64,
    patience: Patience,
}

impl<'a> Follow<'a> {
    /// Ready to begin.
    pub(crate) fn new(link: &'a Link, start: Start) -> Self {
        let (batch_id, last) = match &start {
            Start::Execute(request) => (request.batch_id.clone(), 0),
            Start::Watch { batch_id, after } => (batch_id.clone(), *after),
        };
        Self { link, start, batch_id, last, patience: PATIENCE }
    }

    /// The sequence number of the last event that was shown; 0 where none was.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Shows every event until the batch is over. After [`Failure::Unreachable`] the batch may still run.
    pub(crate) async fn until_end(&mut self, show: &mut dyn Show) -> Result<End, Failure> {
        let mut attempt = 0;
        loop {
            let known = self.last;
            let (why, asked) = match self.read(show).await {
                Ok(end) => return Ok(end),
                Err(Cut::Refused(status)) => return Err(refusal::failure(&status)),
                Err(Cut::Output(error)) => return Err(error.into()),
                Err(Cut::Lost { why, wait }) => (why, wait),
            };
            attempt = if self.last > known { 1 } else { attempt + 1 };
            if attempt > self.patience.attempts {
                return Err(Failure::Unreachable(format!(
                    "lost the server at {}: {why}; gave up after {}",
                    self.link.url(),
                    words::count(self.patience.attempts, "attempt")
                )));
            }
            let wait = self.patience.wait(attempt, asked);
            show.notice(&format!(
                "lost the server: {why}; going on after event {} in {} (attempt {attempt} of {})",
                self.last,
                words::duration(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
                self.patience.attempts
            ));
            tokio::time::sleep(wait).await;
        }
    }

    /// Reads one stream for as long as it lasts.
    async fn read(&mut self, show: &mut dyn Show) -> Result<End, Cut> {
        let mut events = self.open().await?;
        while let Some(event) = events.next().await {
            let Some(event) = event? else { continue };
            // Progress has no number, since it is never replayed.
            if event.sequence != 0 {
                if event.sequence <= self.last {
                    continue;
                }
                if event.sequence != self.last + 1 {
                    let why = format!("event {} came after event {}", event.sequence, self.last);
                    return Err(Cut::Lost { why, wait: None });
                }
            }
            show.event(&event).map_err(Cut::Output)?;
            self.last = self.last.max(event.sequence);
            match event.event {
                Some(Event::BatchPlanned(planned)) => return Ok(End::Planned(planned)),
                Some(Event::BatchFinished(finished)) => {
                    return Ok(End::Finished(finished.summary.unwrap_or_default()));
                }
                Some(
                    Event::BatchStarted(_)
                    | Event::CallStarted(_)
                    | Event::CallRetrying(_)
                    | Event::CallProgress(_)
                    | Event::CallFinished(_)
                    | Event::BatchResumed(_),
                )
                | None => {}
            }
        }
        Err(Cut::Lost { why: "the stream ended before the batch did".to_owned(), wait: None })
    }

    async fn open(&self) -> Result<Events, Status> {
        let mut batches = self.link.batches();
        match &self.start {
            Start::Execute(request) if self.last == 0 => {
                let stream = batches.execute_batch(ExecuteBatchRequest::clone(request)).await?.into_inner();
                Ok(Box::pin(stream.map(|response| response.map(|response| response.event))))
            }
            Start::Execute(_) | Start::Watch { .. } => {
                let request = WatchBatchRequest { batch_id: self.batch_id.clone(), after_sequence: self.last };
                let stream = batches.watch_batch(request).await?.into_inner();
                Ok(Box::pin(stream.map(|response| response.map(|response| response.event))))
            }
        }
    }
}

impl Patience {
    /// How long to wait before an attempt, where the server asked for so much.
    pub(crate) fn wait(&self, attempt: u32, asked: Option<Duration>) -> Duration {
        let doublings = attempt.saturating_sub(1).min(16);
        let own = self.first.saturating_mul(1 << doublings).min(self.longest);
        own.max(asked.unwrap_or_default().min(ASKED_MAX))
    }
}
