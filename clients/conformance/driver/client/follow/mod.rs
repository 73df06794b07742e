//! The stream of a batch through lost connections: every event once, in order.
//!
//! A batch outlives its stream. Where the stream breaks before an event was seen, the request is sent again: its id makes that
//! the same batch. Afterwards the batch is watched from the last event that was seen.

#[cfg(test)]
mod tests;

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt as _};
use tonic::Status;
use toolbatch::proto::{BatchEvent, BatchSummary, ExecuteBatchRequest, WatchBatchRequest, batch_event::Event};

use super::{
    error::{Cut, Error, Lost},
    link::{Link, Patience},
};

/// Where to begin.
pub(super) enum Start {
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

type Events = Pin<Box<dyn Stream<Item = Result<Option<BatchEvent>, Status>> + Send>>;

/// A batch that is being followed. Dropped, it leaves the batch to itself.
pub(super) struct Follow<'a> {
    link: &'a Link,
    start: Start,
    batch_id: String,
    last: u64,
    patience: Patience,
    events: Option<Events>,
    /// Something came of the stream that is open.
    came: bool,
    /// The last event was given out, or there is none left.
    over: bool,
}

impl<'a> Follow<'a> {
    /// Ready to begin.
    pub(super) fn new(link: &'a Link, start: Start) -> Self {
        let (batch_id, last) = match &start {
            Start::Execute(request) => (request.batch_id.clone(), 0),
            Start::Watch { batch_id, after } => (batch_id.clone(), *after),
        };
        Self { link, start, batch_id, last, patience: link.patience(), events: None, came: false, over: false }
    }

    /// The next event; `None` after the last one, and where a watch has nothing left to show.
    pub(super) async fn next(&mut self) -> Result<Option<BatchEvent>, Error> {
        while !self.over {
            let lost = match self.step().await {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => continue,
                Err(Cut::Refused(refusal)) => return Err(Error::Refused(refusal)),
                Err(Cut::Lost(lost)) => lost,
            };
            self.events = None;
            self.patience.wait(lost).await.map_err(|error| self.located(error))?;
        }
        Ok(None)
    }

    /// The summary alone, once the batch is over.
    pub(super) async fn summary(mut self) -> Result<BatchSummary, Error> {
        while let Some(event) = self.next().await? {
            if let Some(Event::BatchFinished(finished)) = event.event {
                return Ok(finished.summary.unwrap_or_default());
            }
        }
        Err(Error::Local(anyhow::anyhow!("a batch that is only validated has no summary")))
    }

    /// Opens a stream where none is open, else reads one message of it; `None` where that was nothing new.
    async fn step(&mut self) -> Result<Option<BatchEvent>, Cut> {
        let Some(events) = &mut self.events else {
            let lost = || Cut::Lost(Lost::because("no answer"));
            let opened = tokio::time::timeout(self.patience.left(), self.open()).await.map_err(|_| lost())??;
            self.events = Some(opened);
            self.came = false;
            self.patience.opened();
            return Ok(None);
        };
        let Some(message) = events.next().await.transpose()? else {
            if self.nothing_is_left() {
                self.over = true;
                return Ok(None);
            }
            return Err(Cut::Lost(Lost::because("the stream ended before the batch did")));
        };
        self.came = true;
        let Some(event) = message else { return Ok(None) };
        // What is no part of the log has no number, since it is never replayed.
        if event.sequence != 0 {
            if event.sequence <= self.last {
                return Ok(None);
            }
            if event.sequence != self.last + 1 {
                let why = format!("event {} came after event {}", event.sequence, self.last);
                return Err(Cut::Lost(Lost::because(why)));
            }
            self.last = event.sequence;
        }
        self.patience.renewed();
        self.over = matches!(event.event, Some(Event::BatchFinished(_) | Event::BatchPlanned(_)));
        Ok(Some(event))
    }

    /// Whether a watch that came to its end was to begin after the last event.
    fn nothing_is_left(&self) -> bool {
        match &self.start {
            Start::Watch { after, .. } => !self.came && *after > 0 && self.last == *after,
            Start::Execute(_) => false,
        }
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

    /// The error with the batch that it is about.
    fn located(&self, error: Error) -> Error {
        match error {
            Error::Unavailable(message) => Error::Unavailable(format!(
                "{message}; batch {} may be running: watch it after sequence {}",
                self.batch_id, self.last
            )),
            error @ (Error::Refused(_) | Error::DeadlineExceeded | Error::Cancelled | Error::Local(_)) => error,
        }
    }
}
