//! Tasks are dropped some time after anything last happened in them (R10): whole, in small commits, in the background.
//!
//! The loop decides, as it alone knows what runs, and one commit makes a task unknown. Then its records are deleted outside of the
//! loop, and after them the blob files that nothing refers to any more. A crash anywhere in between leaves a note of what to go on
//! with, and at worst a file that the next round finds.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};

use super::{Command, age::Age, error::Error, persist::Written, read::Reader, run::Loop};
use crate::{
    batch::core::{BatchNo, TaskNo},
    store::{
        self, Commit, Order, RoomFor, layout,
        records::{self, Locator, Task},
    },
};

/// How many due tasks one command to the loop decides on: some milliseconds of its time.
const DUE_MAX: usize = 64;
/// How many of a task's rows one commit deletes. Each may take two records elsewhere along, so it stays below 1,000 operations.
const ROWS: usize = 320;
/// Rounds in a retention: what is due waits at most a twentieth longer, but no round comes sooner or later than these.
const ROUNDS: u32 = 20;
const ROUND_MIN: Duration = Duration::from_secs(1);
const ROUND_MAX: Duration = Duration::from_mins(10);

/// Which tasks are being dropped: to everyone else they are gone.
#[derive(Debug, Default)]
pub(super) struct Dropping {
    tasks: Mutex<HashSet<TaskNo>>,
    /// Held by whoever reads, so that none of it goes in the middle of a read.
    reads: RwLock<()>,
}

impl Dropping {
    pub(super) fn has(&self, task: TaskNo) -> bool {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).contains(&task)
    }

    /// Runs a read during which no task begins to be dropped.
    pub(super) fn outside<T>(&self, read: impl FnOnce() -> T) -> T {
        let _reading = self.reads.read().unwrap_or_else(PoisonError::into_inner);
        read()
    }

    fn add(&self, tasks: &[TaskNo]) {
        let _no_read = self.reads.write().unwrap_or_else(PoisonError::into_inner);
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
    }

    fn remove(&self, task: TaskNo) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }

    fn any(&self) -> Option<TaskNo> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).iter().next().copied()
    }
}

/// Asks the loop which of these tasks are to be dropped.
pub(super) struct ExpireRequest {
    /// The tasks, each with the age that it is listed under.
    pub(super) due: Vec<(u64, TaskNo)>,
    /// Those of them that are damaged: they stay, for whoever wants to look at them.
    pub(super) damaged: HashSet<TaskNo>,
    /// What was active at this age of the store, or before, goes.
    pub(super) until: u64,
    /// Told once the tasks that go are unknown, durably.
    pub(super) reply: oneshot::Sender<Vec<TaskNo>>,
}

impl Loop {
    /// Makes due tasks unknown and lists the others anew; notes the age of the store.
    pub(super) fn expire(&mut self, request: ExpireRequest) {
        let mut expired = Vec::new();
        // What waits for space may be about them.
        if !self.waits_for_space() {
            for (listed, task) in request.due {
                let active = if request.damaged.contains(&task) { None } else { self.last_active(task) };
                match active {
                    Some((age, record)) if age <= request.until => {
                        self.group.put(layout::dropped_task(task), records::encode(&record));
                        self.group.delete(layout::task_locator(&record.tenant, &record.task_id));
                        self.group.rings.push(task);
                        expired.push(task);
                    }
                    Some((age, _)) => self.list_task(age, task),
                    None => self.list_task(self.age.now(), task),
                }
                // Last, as an age that has not changed is listed under the same key.
                if !self.is_listed(listed, task) {
                    self.group.delete(layout::aged_task(listed, task));
                }
            }
            self.counters.age = self.age.now();
            self.group.put(layout::COUNTERS.into(), records::encode(&self.counters));
        }
        self.answer_when_durable(request.reply, expired);
    }

    /// When anything last happened in a task that nothing runs in.
    fn last_active(&self, task: TaskNo) -> Option<(u64, Task)> {
        if self.tasks.contains_key(&task) {
            return None;
        }
        let key = layout::task(task);
        let record = match self.written(&key) {
            Some(Written::Value(value)) => Ok(value.clone()),
            Some(Written::Deleted) => Err(store::Error::Damaged("its head is gone".to_owned()).into()),
            None => self.reader.must(&key, "a task's head"),
        };
        match record.and_then(|record| Ok(records::decode::<Task>(&record)?)) {
            Ok(record) => Some((record.active_age, record)),
            Err(error) => {
                tracing::error!(task = task.0, %error, "a task is not dropped, as its head cannot be read");
                None
            }
        }
    }

    fn is_listed(&self, age: u64, task: TaskNo) -> bool {
        matches!(self.group.written(&layout::aged_task(age, task)), Some(Written::Value(_)))
    }

    /// Lists a task for when it may be due.
    pub(super) fn list_task(&mut self, age: u64, task: TaskNo) {
        self.group.put(layout::aged_task(age, task), records::encode(&Locator { task: task.0, batch: 0 }));
    }
}

/// Drops what is due, round after round. Ends only where the store has failed.
pub(super) async fn keep(
    reader: Arc<Reader>,
    commands: mpsc::WeakSender<Command>,
    age: Age,
    retention: Duration,
) -> store::Error {
    let pause = (retention / ROUNDS).clamp(ROUND_MIN, ROUND_MAX);
    let round = Round { reader, commands, age, retention };
    loop {
        sleep(pause).await;
        match round.run().await {
            Ok(()) => {}
            Err(Error::Store(error @ store::Error::Failed(_))) => return error,
            Err(error) => tracing::warn!(%error, "what is due is not dropped for now"),
        }
    }
}

struct Round {
    reader: Arc<Reader>,
    commands: mpsc::WeakSender<Command>,
    age: Age,
    retention: Duration,
}

impl Round {
    async fn run(&self) -> Result<(), Error> {
        self.drop_marked().await?;
        // A task goes at the end of a whole second, so its age in whole seconds has passed by then.
        let until = self.age.now().checked_sub(self.retention.as_secs() + 1);
        loop {
            let due = match until {
                Some(until) => self.off_loop(move |reader| reader.due_tasks(until)).await?,
                None => Due::default(),
            };
            let more = due.tasks.len() == DUE_MAX;
            let (reply, answer) = oneshot::channel();
            let Some(commands) = self.commands.upgrade() else { return Ok(()) };
            let request =
                ExpireRequest { due: due.tasks, damaged: due.damaged, until: until.unwrap_or_default(), reply };
            commands.send(Command::Expire(Box::new(request))).await.map_err(|_| Error::Stopping)?;
            drop(commands);
            let expired = answer.await.map_err(|_| Error::Stopping)?;
            let count = expired.len();
            self.off_loop(move |reader| {
                reader.dropping.add(&expired);
                Ok(())
            })
            .await?;
            self.drop_marked().await?;
            if count > 0 {
                tracing::info!(tasks = count, "dropped after their retention");
            }
            if !more {
                break;
            }
        }
        let files = self.off_loop(Reader::remove_unused_blobs).await?;
        if files > 0 {
            tracing::info!(files, "deleted blob files that nothing refers to");
        }
        Ok(())
    }

    async fn drop_marked(&self) -> Result<(), Error> {
        while let Some(task) = self.reader.dropping.any() {
            let began = Instant::now();
            if self.off_loop(move |reader| reader.drop_some(task)).await? {
                self.reader.dropping.remove(task);
            }
            // At most half of the disk's time.
            sleep(began.elapsed()).await;
        }
        Ok(())
    }

    async fn off_loop<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Reader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let reader = Arc::clone(&self.reader);
        tokio::task::spawn_blocking(move || work(&reader)).await.unwrap_or(Err(Error::Stopping))
    }
}

/// Tasks that may be due.
#[derive(Default)]
struct Due {
    tasks: Vec<(u64, TaskNo)>,
    damaged: HashSet<TaskNo>,
}

impl Reader {
    /// Reads which tasks an earlier run began to drop.
    pub(super) fn load_dropping(&self) -> Result<(), Error> {
        let (low, high) = (layout::dropped_task(TaskNo(0)), layout::dropped_task(TaskNo(u64::MAX)));
        let rows = self.store.scan(&low..&high, Order::Ascending, usize::MAX)?;
        let tasks: Vec<TaskNo> = rows.iter().filter_map(|(key, _)| layout::dropped_of(key)).collect();
        self.dropping.add(&tasks);
        Ok(())
    }

    fn due_tasks(&self, until: u64) -> Result<Due, Error> {
        let (low, high) = (layout::aged_task(0, TaskNo(0)), layout::aged_task(until, TaskNo(u64::MAX)));
        let rows = self.store.scan(&low..&high, Order::Ascending, DUE_MAX)?;
        let mut due = Due { tasks: rows.iter().filter_map(|(key, _)| layout::age_of(key)).collect(), ..Due::default() };
        for (_, task) in &due.tasks {
            match self.verify(*task) {
                Ok(()) => {}
                Err(Error::Store(error @ store::Error::Damaged(_))) => {
                    tracing::error!(task = task.0, %error, "a task is not dropped, as it is damaged");
                    due.damaged.insert(*task);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(due)
    }

    /// Deletes some of a dropped task's records. Says whether that were the last.
    fn drop_some(&self, task: TaskNo) -> Result<bool, Error> {
        self.store.check_room(RoomFor::Deletions)?;
        let (low, high) = layout::task_range(task);
        let rows = self.store.scan(&low..&high, Order::Ascending, ROWS)?;
        let note = layout::dropped_task(task);
        let mut commit = Commit::default();
        if rows.is_empty() {
            commit.ops.push((note, None));
            self.store.commit(commit)?;
            self.forget(task);
            return Ok(true);
        }
        let record: Task = records::decode(&self.must(&note, "the note of a task that is being dropped")?)?;
        for (key, value) in rows {
            self.drop_elsewhere(task, &record.tenant, &key, &value, &mut commit)?;
            commit.ops.push((key, None));
        }
        match self.store.commit(commit) {
            // A batch of another task has taken the id of one that goes: the next look sees it.
            Ok(()) | Err(store::Error::Conflict(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What stands elsewhere because of a task's record.
    fn drop_elsewhere(
        &self,
        task: TaskNo,
        tenant: &str,
        key: &Bytes,
        value: &Bytes,
        commit: &mut Commit,
    ) -> Result<(), Error> {
        match layout::kind_in_task(key) {
            Some(b'B') => {
                let head = records::decode_batch(value)?;
                if head.direct {
                    return Ok(());
                }
                commit.ops.push((layout::tenant_batch(tenant, layout::batch_of(key).unwrap_or(BatchNo(0))), None));
                let locator = layout::batch_locator(tenant, &head.batch_id);
                let here = self.store.get(&locator)?;
                if let Some(here) = here
                    && records::decode::<Locator>(&here)?.task == task.0
                {
                    commit.expect.push((locator.clone(), Some(here)));
                    commit.ops.push((locator, None));
                }
            }
            Some(b'S') => {
                if let Some((step, 0)) = layout::step_of(key) {
                    commit.ops.push((layout::step_locator(step), None));
                }
            }
            Some(b'F') => {
                let file = layout::task_blob_of(key).unwrap_or_default();
                commit.ops.push((layout::blob_user(file, task), None));
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Deletes the blob files that nothing refers to, nor is about to. Gives their number.
    fn remove_unused_blobs(&self) -> Result<usize, Error> {
        let closed = self.store.closed_blob_files()?;
        self.leases.settle();
        let mut removed = 0;
        for file in closed {
            // In this order: a lease ends when the reference is durable.
            if !self.leases.hold(file) && !self.is_used(file)? {
                self.store.remove_blob_file(file)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn is_used(&self, file: u32) -> Result<bool, Error> {
        let (low, high) = (layout::blob_user(file, TaskNo(0)), layout::blob_user(file, TaskNo(u64::MAX)));
        Ok(!self.store.scan(&low..&high, Order::Ascending, 1)?.is_empty())
    }
}
