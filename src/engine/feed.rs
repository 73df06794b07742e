//! Following a task: a cursor over the logs of all its batches, those that are still to begin included (docs/adr/0009).
//!
//! A batch that has begun is read up to what there is of it before the next one is looked for. So a reader holds a place in the
//! batches that are not over, and one number for all others: below it, every batch was read to its end.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Bound::{Excluded, Unbounded},
    sync::Arc,
};

use futures_util::future::{FutureExt as _, select_all};
use tokio::sync::{oneshot, watch as channel};

use super::{
    Command, Engine,
    error::Error,
    read::{Located, Reader},
    run::Loop,
    tail::TailReader,
};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{Entry, Event},
    },
    store::{
        Order, layout,
        records::{self, Outline},
    },
};

/// How many batches a reader has a place in. What begins beyond that waits until one of them is over: a bound on what a place in the
/// feed takes, which every card carries, and far more than run at once in a task.
pub const OPEN_MAX: usize = 256;

/// How far a reader is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first batch that was not looked at.
    pub next: BatchNo,
    /// Of the batches before it, those that were not read to their end, with the last entry that was.
    pub open: BTreeMap<BatchNo, u64>,
}

impl Place {
    /// Before the first batch.
    pub const START: Self = Self { next: BatchNo(0), open: BTreeMap::new() };
}

/// A batch whose log is being read.
#[derive(Debug)]
pub struct FeedBatch {
    /// Where it is.
    pub at: Located,
    /// Its id.
    pub batch_id: String,
    /// It carries a direct step and is itself no step.
    pub direct: bool,
    /// Its calls.
    pub outline: Outline,
}

/// The next entry of one of the logs.
#[derive(Clone, Debug)]
pub struct News {
    /// Whose log.
    pub batch: Arc<FeedBatch>,
    /// The entry.
    pub entry: Entry,
}

/// A cursor over a task's logs. Dropping it leaves nothing behind.
pub struct Feed {
    engine: Engine,
    tenant: String,
    task_id: String,
    task: TaskNo,
    /// Rings when a batch of the task begins, and when the task ends.
    bell: channel::Receiver<()>,
    next: BatchNo,
    open: BTreeMap<BatchNo, Cursor>,
    /// The batch that was read last: the others come first then.
    turn: BatchNo,
    /// What was read of it.
    buffer: VecDeque<News>,
    ahead: Ahead,
    over: bool,
}

/// What is to be expected besides the batches that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    /// There may be a batch that was not looked at.
    Look,
    /// There is none; the bell tells of the next.
    Wait,
    /// The task has ended, so that no batch begins any more.
    Nothing,
    /// The server is stopping, so that nothing happens any more.
    Cut,
}

struct Cursor {
    after: u64,
    /// Found out when it is read for the first time.
    source: Option<Source>,
}

struct Source {
    batch: Arc<FeedBatch>,
    /// `None` where nobody writes the log any more.
    tail: Option<TailReader>,
}

/// What a look at a log brings.
enum Look {
    News(Vec<News>),
    /// Later, perhaps.
    Nothing,
    /// Never: it has no end, and nobody writes it.
    Cut,
}

/// The doorbells of the tasks that somebody follows.
#[derive(Default)]
pub(super) struct Bells(HashMap<TaskNo, channel::Sender<()>>);

impl Bells {
    /// Something happened in a task that its readers cannot see in the batches they know.
    pub(super) fn ring(&self, task: TaskNo) {
        if let Some(bell) = self.0.get(&task) {
            bell.send_replace(());
        }
    }

    fn follow(&mut self, task: TaskNo) -> channel::Receiver<()> {
        // Those that nobody hears any more go here, as a reader that leaves tells nobody.
        self.0.retain(|_, bell| !bell.is_closed());
        self.0.entry(task).or_insert_with(|| channel::Sender::new(())).subscribe()
    }
}

impl Loop {
    pub(super) fn follow_task(&mut self, task: TaskNo, reply: oneshot::Sender<channel::Receiver<()>>) {
        // Whoever asked may be gone.
        let _ = reply.send(self.bells.follow(task));
    }
}

impl Engine {
    /// Follows a task from a place in it. `task` is its number, which the place is of.
    pub async fn feed(&self, tenant: &str, task_id: &str, task: TaskNo, from: Place) -> Result<Feed, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::FollowTask { task, reply }).await?;
        let bell = answer.await.map_err(|_| Error::Stopping)?;
        let open = from.open.into_iter().map(|(batch, after)| (batch, Cursor { after, source: None }));
        Ok(Feed {
            engine: self.clone(),
            tenant: tenant.to_owned(),
            task_id: task_id.to_owned(),
            task,
            bell,
            next: from.next,
            open: open.collect(),
            turn: BatchNo(0),
            buffer: VecDeque::new(),
            ahead: Ahead::Look,
            over: false,
        })
    }
}

impl Feed {
    /// Where a reader is who was told everything so far.
    #[must_use]
    pub fn place(&self) -> Place {
        let open = self.open.iter().map(|(batch, cursor)| (*batch, cursor.after));
        Place { next: self.next, open: open.collect() }
    }

    /// What comes next; `None` once the task has ended and all its batches are over. An error ends the feed: the reader goes on with
    /// a new one, from the place after the last news that it got.
    pub async fn next(&mut self) -> Option<Result<News, Error>> {
        loop {
            if let Some(news) = self.buffer.pop_front() {
                self.told(&news);
                return Some(Ok(news));
            }
            if self.over {
                return None;
            }
            match self.advance().await {
                Ok(more) => self.over = !more,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }

    fn told(&mut self, news: &News) {
        let batch = news.batch.at.batch;
        if matches!(news.entry.event, Event::BatchFinished { .. }) {
            self.open.remove(&batch);
        } else if let Some(cursor) = self.open.get_mut(&batch) {
            cursor.after = news.entry.sequence;
        }
    }

    /// Reads what is there, or waits for something to happen; false once nothing will.
    async fn advance(&mut self) -> Result<bool, Error> {
        let mut cut = self.ahead == Ahead::Cut;
        let after = self.open.range((Excluded(self.turn), Unbounded)).map(|(batch, _)| *batch);
        let turns: Vec<BatchNo> = after.chain(self.open.range(..=self.turn).map(|(batch, _)| *batch)).collect();
        for batch in turns {
            match self.read(batch).await? {
                Look::News(news) => {
                    self.turn = batch;
                    self.buffer.extend(news);
                    return Ok(true);
                }
                Look::Nothing => {}
                Look::Cut => cut = true,
            }
        }
        if cut {
            return Err(Error::Stopping);
        }
        match self.ahead {
            Ahead::Look if self.open.len() < OPEN_MAX => self.ahead = self.discover().await?,
            Ahead::Nothing if self.open.is_empty() => return Ok(false),
            Ahead::Look | Ahead::Wait | Ahead::Nothing | Ahead::Cut => self.wait().await,
        }
        Ok(true)
    }

    /// Looks for the next batch of the task.
    async fn discover(&mut self) -> Result<Ahead, Error> {
        let (tenant, task_id, task, from) = (self.tenant.clone(), self.task_id.clone(), self.task, self.next);
        let (ended, found) = self.engine.read(move |reader| reader.next_batch(&tenant, &task_id, task, from)).await?;
        let Some(batch) = found else { return Ok(if ended { Ahead::Nothing } else { Ahead::Wait }) };
        self.next = BatchNo(batch.0 + 1);
        self.open.insert(batch, Cursor { after: 0, source: None });
        Ok(Ahead::Look)
    }

    async fn read(&mut self, batch: BatchNo) -> Result<Look, Error> {
        let Some(cursor) = self.open.get_mut(&batch) else { return Ok(Look::Nothing) };
        let at = Located { task: self.task, batch };
        let source = match &mut cursor.source {
            Some(source) => source,
            None => cursor.source.insert(source(&self.engine, at, cursor.after).await?),
        };
        let after = cursor.after;
        let batch = Arc::clone(&source.batch);
        let news = |entry| News { batch: Arc::clone(&batch), entry };
        if let Some(tail) = &source.tail {
            match tail.after(after) {
                Some(lines) if lines.is_empty() => {
                    if tail.bell.has_changed().is_ok() || *tail.bell.borrow() > after {
                        return Ok(Look::Nothing);
                    }
                    source.tail = None;
                }
                Some(lines) => return Ok(Look::News(lines.iter().map(|line| news(line.entry.clone())).collect())),
                None => {}
            }
        }
        let entries = self.engine.read(move |reader| reader.entries(at, after)).await?;
        Ok(if entries.is_empty() { Look::Cut } else { Look::News(entries.into_iter().map(news).collect()) })
    }

    async fn wait(&mut self) {
        let tails = self.open.values_mut().filter_map(|cursor| cursor.source.as_mut()?.tail.as_mut());
        // A tail that is closed has its last lines to give, or none.
        let tails = tails.map(|tail| tail.bell.changed().map(|_| None).boxed());
        let bell = self.bell.changed().map(|rung| Some(rung.is_ok())).boxed();
        match select_all(tails.chain(std::iter::once(bell))).await.0 {
            None => {}
            Some(true) => self.ahead = Ahead::Look,
            Some(false) => self.ahead = Ahead::Cut,
        }
    }
}

/// Finds out what a batch is, and whether it is still written.
async fn source(engine: &Engine, at: Located, after: u64) -> Result<Source, Error> {
    let read = move |reader: &Reader| {
        let head = reader.head_of_feed(at)?;
        let outline = reader.outline(&head)?;
        Ok((
            head.end.map(|end| end.last_sequence),
            FeedBatch { at, batch_id: head.batch_id, direct: head.direct, outline },
        ))
    };
    let (last, batch) = engine.read(read).await?;
    let tail = if last.is_some() {
        None
    } else {
        let (reply, answer) = oneshot::channel();
        engine.send(Command::Follow { at, reply }).await?;
        // One that is not there has ended by now, and its log says so.
        answer.await.map_err(|_| Error::Stopping)?
    };
    // The store may be an older one than the reader's place is of: a backup that was brought back.
    match last.or(tail.as_ref().map(|tail| *tail.bell.borrow())) {
        Some(last) if after > last => Err(Error::PastTheEnd { after, last }),
        Some(_) | None => Ok(Source { batch: Arc::new(batch), tail }),
    }
}

impl Reader {
    /// Whether a task has ended, and its first batch from a number on.
    fn next_batch(
        &self,
        tenant: &str,
        task_id: &str,
        task: TaskNo,
        from: BatchNo,
    ) -> Result<(bool, Option<BatchNo>), Error> {
        // Dropped meanwhile, and perhaps begun anew.
        let absent = || Error::NotFound { kind: "task", id: task_id.into() };
        let (_, record) = self.task(tenant, task_id)?.filter(|(number, _)| *number == task).ok_or_else(absent)?;
        let (low, high) = (layout::batch(task, from), layout::batch(task, BatchNo(u64::MAX)));
        let rows = self.store.scan(&low..&high, Order::Ascending, 1)?;
        Ok((record.end_time != 0, rows.first().and_then(|(key, _)| layout::batch_of(key))))
    }

    /// A batch's head, which may have gone with its task.
    fn head_of_feed(&self, at: Located) -> Result<records::BatchRecord, Error> {
        match self.store.get(&layout::batch(at.task, at.batch))? {
            Some(_) => self.head(at),
            None => Err(Error::NotFound { kind: "batch", id: format!("number {}", at.batch.0) }),
        }
    }
}
