//! A task's variables: outputs under names that references use (R2).

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Command, Engine,
    accept::no_space,
    error::Error,
    leases::Lease,
    persist::Written,
    read::{Located, Reader},
    run::Loop,
};
use crate::{
    batch::{
        core::TaskNo,
        outcome::{INLINE_BODY_MAX, Payload},
        step::StepRecord,
    },
    store::{
        self, Order, RoomFor, layout,
        records::{self, Task, VariableRecord},
    },
};

/// The longest name of a variable. Names are made up by programs and written by models; it is part of a key of the store.
pub const MAX_NAME_BYTES: usize = 256;

/// How many names are told where one is missing.
const NAMES_TOLD: usize = 8;

/// A value that is to be stored.
pub(super) struct SetRequest {
    pub(super) tenant: Arc<str>,
    pub(super) task_id: String,
    /// `None`: the next free `VAR_<n>`.
    pub(super) name: Option<String>,
    pub(super) value: Payload,
    /// Where the value is a blob.
    pub(super) lease: Option<Lease>,
    pub(super) writer: String,
    pub(super) reply: oneshot::Sender<Result<String, Error>>,
}

/// What a task has under a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The JSON text; `None` where there is nothing.
    pub value: Option<String>,
    /// Where there is nothing: the first names that the task has.
    pub others: Vec<String>,
}

impl Engine {
    /// Stores an output under a name, or under the next free `VAR_<n>`, in the place of an earlier one, durably. Gives the name.
    /// The task begins with it. `writer` says who brings it.
    pub async fn set_variable(
        &self,
        tenant: &str,
        task_id: &str,
        name: Option<String>,
        value: Bytes,
        writer: &str,
    ) -> Result<String, Error> {
        self.has_room()?;
        let (owner, wanted) = (tenant.to_owned(), task_id.to_owned());
        let stored = async {
            // Verifies the task here rather than on the loop. What obviously cannot be set leaves no value behind in the store.
            self.read(move |reader| {
                reader.store.check_room(RoomFor::NewWork)?;
                reader.task(&owner, &wanted)?.map_or(Ok(()), |(_, task)| must_live(&task))
            })
            .await?;
            self.payload(value, INLINE_BODY_MAX).await
        };
        let (value, lease) = match stored.await {
            Ok(stored) => stored,
            Err(error) => return Err(self.noticed(error).await),
        };
        let (reply, answer) = oneshot::channel();
        let (tenant, task_id, writer) = (tenant.into(), task_id.to_owned(), writer.to_owned());
        let request = SetRequest { tenant, task_id, name, value, lease, writer, reply };
        self.send(Command::SetVariable(Box::new(request))).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }

    /// What a task has under a name. A value that was set before this is asked is seen.
    pub async fn variable(&self, tenant: &str, task_id: &str, name: &str) -> Result<Output, Error> {
        let (tenant, task_id, name) = (tenant.to_owned(), task_id.to_owned(), name.to_owned());
        self.read(move |reader| reader.variable(&tenant, &task_id, &name)).await
    }
}

/// Nothing new is taken in an ended task.
pub(super) fn must_live(task: &Task) -> Result<(), Error> {
    if task.end_time == 0 { Ok(()) } else { Err(Error::TaskEnded { task_id: task.task_id.clone() }) }
}

impl Reader {
    fn variable(&self, tenant: &str, task_id: &str, name: &str) -> Result<Output, Error> {
        let Some((task, _)) = self.task(tenant, task_id)? else { return Ok(Output::default()) };
        let record = if name.len() > MAX_NAME_BYTES { None } else { self.store.get(&layout::variable(task, name))? };
        let Some(record) = record else {
            let names = layout::variables(task);
            let rows = self.store.scan(&names.start..&names.end, Order::Ascending, NAMES_TOLD)?;
            let others = rows.iter().filter_map(|(key, _)| layout::variable_of(key)).map(str::to_owned);
            return Ok(Output { value: None, others: others.collect() });
        };
        let value = records::decode_variable(&record)?.value;
        let text = String::from_utf8(self.payload(&value, 0, value.bytes)?.into());
        let text =
            text.map_err(|_| store::Error::Damaged(format!("variable {name} of task {task_id:?} is no text")))?;
        Ok(Output { value: Some(text), others: Vec::new() })
    }
}

impl Loop {
    pub(super) fn set_variable(&mut self, request: SetRequest) {
        let SetRequest { tenant, task_id, name, value, lease, writer, reply } = request;
        self.group.leases.extend(lease);
        match self.put_variable(&tenant, &task_id, name, value, writer) {
            Ok(name) => self.answer_when_durable(reply, Ok(name)),
            Err(error) => {
                // Whoever asked may be gone.
                let _ = reply.send(Err(error));
            }
        }
    }

    fn put_variable(
        &mut self,
        tenant: &Arc<str>,
        task_id: &str,
        name: Option<String>,
        value: Payload,
        writer: String,
    ) -> Result<String, Error> {
        if self.draining() {
            return Err(Error::Stopping);
        }
        if self.waits_for_space() {
            return Err(no_space());
        }
        let before = self.counters.next_task;
        let (task, mut record) = self.active_task(tenant, task_id)?;
        let name = match name {
            Some(name) => name,
            None => self.free_name(task, &mut record, task.0 >= before)?,
        };
        self.counters.age = self.age.now();
        self.group.put(layout::COUNTERS.into(), records::encode(&self.counters));
        self.group.put(layout::task(task), records::encode(&record));
        if let Some(live) = self.tasks.get_mut(&task) {
            live.record = record;
        }
        self.refer(task, &value);
        let variable = VariableRecord { value, update_time: self.clock.now().wall, writer };
        self.group.put(layout::variable(task, &name), records::encode_variable(&variable));
        Ok(name)
    }

    /// A direct step's result becomes the task's next `VAR_<n>`, in the group that holds the step's end (R11). The step's record has
    /// noted that the task refers to the payload.
    pub(super) fn keep_result(&mut self, at: Located, step: &StepRecord) {
        let Some(value) = step.end.as_ref().and_then(|end| end.result.clone()) else { return };
        let (Some(live), Some(task)) = (self.live.get(&at.batch), self.tasks.get(&at.task)) else { return };
        if !live.head.direct {
            return;
        }
        let mut record = task.record.clone();
        let name = match self.free_name(at.task, &mut record, false) {
            Ok(name) => name,
            // The step's end and its variable are one commit: without the one, the other is not made durable either.
            Err(error) => return self.fail(error),
        };
        let variable = VariableRecord { value, update_time: self.clock.now().wall, writer: step.step_id.to_string() };
        self.group.put(layout::variable(at.task, &name), records::encode_variable(&variable));
        self.group.put(layout::task(at.task), records::encode(&record));
        if let Some(live) = self.live.get_mut(&at.batch) {
            live.head.variable = Some(record.last_variable);
            self.group.put(layout::batch(at.task, at.batch), records::encode_batch(&live.head));
        }
        if let Some(task) = self.tasks.get_mut(&at.task) {
            task.record = record;
        }
    }

    /// The next `VAR_<n>` that nobody has set. A task that begins here has none yet.
    fn free_name(&self, task: TaskNo, record: &mut Task, begins: bool) -> Result<String, store::Error> {
        loop {
            record.last_variable += 1;
            let name = format!("VAR_{}", record.last_variable);
            if begins || !self.has_variable(task, &name)? {
                return Ok(name);
            }
        }
    }

    fn has_variable(&self, task: TaskNo, name: &str) -> Result<bool, store::Error> {
        let key = layout::variable(task, name);
        match self.written(&key) {
            Some(written) => Ok(written != Written::Deleted),
            None => Ok(self.reader.store.get(&key)?.is_some()),
        }
    }
}
