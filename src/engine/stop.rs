//! Stopping a batch, or a task with all that runs in it (R9).

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{
    Command, Engine,
    error::Error,
    persist::Written,
    read::{BatchView, Located},
    run::Loop,
};
use crate::{
    batch::{
        core::{BatchNo, Input, TaskNo},
        event::StopReason,
    },
    store::{
        layout,
        records::{self, Locator, Task},
    },
};

/// A task that is to end.
pub(super) struct EndRequest {
    pub(super) tenant: Arc<str>,
    pub(super) task_id: String,
    /// In the words of whoever ends it.
    pub(super) reason: String,
    pub(super) reply: oneshot::Sender<Result<(), Error>>,
}

impl Engine {
    /// Stops a batch: once this returns, no further call of it starts, durably. With `abort`, calls that are running are cut off.
    /// Gives the batch as it is then; one that has ended stays as it is.
    pub async fn cancel(&self, tenant: &str, batch_id: &str, abort: bool) -> Result<BatchView, Error> {
        let (tenant, batch_id) = (tenant.to_owned(), batch_id.to_owned());
        let at = self.read(move |reader| reader.find(&tenant, &batch_id)).await?;
        let (reply, answer) = oneshot::channel();
        self.send(Command::Cancel { at, abort, reply }).await?;
        answer.await.map_err(|_| Error::Stopping)?;
        self.read(move |reader| reader.batch(at)).await
    }

    /// Ends a task: once this returns, none of its calls starts and no work is taken in it, durably. Running calls finish. One that
    /// has ended stays as it is.
    pub async fn end_task(&self, tenant: &str, task_id: &str, reason: &str) -> Result<(), Error> {
        let (owner, wanted) = (tenant.to_owned(), task_id.to_owned());
        // Verifies the task here rather than on the loop. Whether there is one is for the loop to say.
        self.read(move |reader| reader.task(&owner, &wanted)).await?;
        let (reply, answer) = oneshot::channel();
        let request = EndRequest { tenant: tenant.into(), task_id: task_id.into(), reason: reason.into(), reply };
        self.send(Command::EndTask(Box::new(request))).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }
}

impl Loop {
    pub(super) fn cancel(&mut self, at: Located, abort: bool, reply: oneshot::Sender<()>) {
        self.stop(vec![at.batch], StopReason::Cancelled, abort);
        self.answer_when_durable(reply, ());
    }

    pub(super) fn end_task(&mut self, request: EndRequest) {
        let EndRequest { tenant, task_id, reason, reply } = request;
        match self.close_task(&tenant, &task_id, reason) {
            Ok(()) => self.answer_when_durable(reply, Ok(())),
            Err(error) => {
                // Whoever asked may be gone.
                let _ = reply.send(Err(error));
            }
        }
    }

    fn close_task(&mut self, tenant: &Arc<str>, task_id: &str, reason: String) -> Result<(), Error> {
        let absent = || Error::NotFound { kind: "task", id: task_id.into() };
        let (task, mut record) = self.find_task(tenant, task_id)?.ok_or_else(absent)?;
        if record.end_time != 0 {
            return Ok(());
        }
        record.end_time = self.clock.now().wall.0;
        record.end_reason = reason;
        record.active_age = self.age.now();
        // Before the batches' own records: where a crash parts them, the next start closes what is open of an ended task.
        self.group.put(layout::task(task), records::encode(&record));
        self.group.rings.push(task);
        if let Some(live) = self.tasks.get_mut(&task) {
            live.record = record;
        }
        let of_task = self.live.values().filter(|live| live.at.task == task).map(|live| live.at.batch);
        let mut batches: Vec<BatchNo> = of_task.collect();
        batches.sort_unstable();
        self.stop(batches, StopReason::TaskEnded, false);
        Ok(())
    }

    /// Tells live batches to stop; their heads say so in the commit that holds what that brings about.
    fn stop(&mut self, batches: Vec<BatchNo>, reason: StopReason, abort: bool) {
        for batch in &batches {
            self.note_stop(*batch, reason);
        }
        self.step(Input::Stop { batches, reason, abort });
    }

    fn note_stop(&mut self, batch: BatchNo, reason: StopReason) {
        // One that has ended may still be here until its group is committed.
        if self.core.batch(batch).is_none() {
            return;
        }
        let stopped = self.core.stop_reason(batch);
        let Some(live) = self.live.get_mut(&batch) else { return };
        let told = match reason {
            // The next start must know, whatever stopped the batch first.
            StopReason::TaskEnded => reason,
            StopReason::CallFailed | StopReason::AwaitingReview | StopReason::Cancelled | StopReason::Parked => {
                stopped.unwrap_or(reason)
            }
        };
        if live.head.stop != Some(told) {
            live.head.stop = Some(told);
            self.group.put(layout::batch(live.at.task, batch), records::encode_batch(&live.head));
        }
    }

    /// A task as it is at this moment, with what this group has made of it.
    pub(super) fn find_task(&self, tenant: &Arc<str>, task_id: &str) -> Result<Option<(TaskNo, Task)>, Error> {
        if let Some(&task) = self.task_numbers.get(&(tenant.clone(), task_id.into())) {
            return Ok(self.tasks.get(&task).map(|live| (task, live.record.clone())));
        }
        let (task, stored) = match self.written(&layout::task_locator(tenant, task_id)) {
            // Dropped a moment ago.
            Some(Written::Deleted) => return Ok(None),
            // Begun a moment ago, by a variable; a task with a batch is found above.
            Some(Written::Value(locator)) => (TaskNo(records::decode::<Locator>(locator)?.task), None),
            None => match self.reader.task(tenant, task_id)? {
                Some((task, record)) => (task, Some(record)),
                None => return Ok(None),
            },
        };
        match self.written(&layout::task(task)) {
            Some(Written::Value(value)) => Ok(Some((task, records::decode(value)?))),
            Some(Written::Deleted) => Ok(None),
            None => Ok(stored.map(|record| (task, record))),
        }
    }
}
