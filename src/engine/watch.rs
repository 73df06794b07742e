//! Following a batch: a cursor over its log, pulled at the reader's speed (R9).

use std::{collections::VecDeque, sync::Arc};

use super::{
    Engine,
    error::Error,
    read::{Located, LogLine, shows_result},
    tail::{Progress, TailReader},
};
use crate::{batch::event::Event, store::records::Outline};

/// What a reader is told.
#[derive(Clone, Debug)]
pub enum Told {
    /// The next entry of the log.
    Line(Arc<LogLine>),
    /// Progress of a running call.
    Progress(Progress),
}

/// A cursor over a batch's log. Dropping it leaves nothing behind.
pub struct Watch {
    engine: Engine,
    at: Located,
    /// The batch's calls.
    pub outline: Arc<Outline>,
    /// The batch was taken in for this reader; nobody else's watch of it has this set.
    pub began: bool,
    after: u64,
    tail: Option<TailReader>,
    buffer: VecDeque<Arc<LogLine>>,
    /// By index: this reader was told that the call has ended, so its progress is stale.
    ended: Vec<bool>,
    over: bool,
}

impl Watch {
    /// A watch over a batch that runs.
    pub(super) fn live(engine: Engine, at: Located, outline: Arc<Outline>, after: u64, tail: TailReader) -> Self {
        Self { tail: Some(tail), ..Self::ended(engine, at, outline, after, u64::MAX) }
    }

    /// A watch over a batch whose last entry is `last`.
    pub(super) fn ended(engine: Engine, at: Located, outline: Arc<Outline>, after: u64, last: u64) -> Self {
        let ended = vec![false; outline.calls.len()];
        let over = after >= last;
        Self { engine, at, outline, began: false, after, tail: None, buffer: VecDeque::new(), ended, over }
    }

    /// Where the batch is.
    #[must_use]
    pub fn located(&self) -> Located {
        self.at
    }

    /// What comes next; `None` after the batch's last entry. An error ends the watch: the reader goes on with a new one, after the
    /// last entry that it got.
    pub async fn next(&mut self) -> Option<Result<Told, Error>> {
        loop {
            if let Some(line) = self.buffer.pop_front() {
                return Some(Ok(self.tell(line)));
            }
            if self.over {
                return None;
            }
            match self.fill().await {
                Ok(None) => {}
                Ok(Some(progress)) => return Some(Ok(Told::Progress(progress))),
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }

    fn tell(&mut self, line: Arc<LogLine>) -> Told {
        self.after = line.entry.sequence;
        match &line.entry.event {
            Event::BatchFinished { .. } => self.over = true,
            Event::CallFinished(finished) => {
                if let Some(ended) = self.ended.get_mut(finished.index as usize) {
                    *ended = true;
                }
            }
            Event::BatchStarted
            | Event::CallStarted { .. }
            | Event::CallRetrying { .. }
            | Event::BatchResumed { .. } => {}
        }
        Told::Line(line)
    }

    /// Fills the buffer with what is there, or waits for something to happen.
    async fn fill(&mut self) -> Result<Option<Progress>, Error> {
        let Some(tail) = &mut self.tail else {
            self.page().await?;
            // Nobody writes this log any more, and it has no end yet: the server is stopping.
            return if self.buffer.is_empty() { Err(Error::Stopping) } else { Ok(None) };
        };
        match tail.after(self.after) {
            None => self.page().await?,
            Some(lines) if lines.is_empty() => {
                if let Some(progress) = tail.progress() {
                    return Ok(Some(progress).filter(|progress| self.ended.get(progress.index as usize) != Some(&true)));
                }
                if tail.bell.changed().await.is_err() && *tail.bell.borrow() <= self.after {
                    self.tail = None;
                }
            }
            Some(lines) => {
                for line in lines {
                    let line = if needs_result(&line) { self.complete(&line).await? } else { line };
                    self.buffer.push_back(line);
                }
            }
        }
        Ok(None)
    }

    async fn page(&mut self) -> Result<(), Error> {
        let (at, after) = (self.at, self.after);
        let lines = self.engine.read(move |reader| reader.lines(at, after)).await?;
        self.buffer.extend(lines.into_iter().map(Arc::new));
        Ok(())
    }

    async fn complete(&self, line: &Arc<LogLine>) -> Result<Arc<LogLine>, Error> {
        let (task, entry) = (self.at.task, line.entry.clone());
        let line = self.engine.read(move |reader| Ok(LogLine { result: reader.shown(task, &entry)?, entry })).await?;
        Ok(Arc::new(line))
    }
}

/// Whether the entry shows a result that the ring does not hold.
fn needs_result(line: &LogLine) -> bool {
    let Event::CallFinished(finished) = &line.entry.event else { return false };
    line.result.is_none() && shows_result(finished)
}
