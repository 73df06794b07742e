//! A batch is taken in: its id and task are claimed in the commit that holds its first entry.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{
    error::Error,
    keys::key_record,
    leases::Lease,
    persist::Written,
    read::{Located, Reader},
    run::{LiveBatch, LiveTask, Loop},
    tail::{TailReader, TailWriter},
    variables::must_live,
};
use crate::{
    batch::{
        core::{BatchNo, Begin, Input, StepIds as _, TaskNo},
        event::{CallError, StepId},
        key::{KeyRecord, KeyState},
        outcome::Payload,
        spec::Spec,
        tools::{Resolution, Tools as _},
        trace::Trace,
    },
    store::{
        self, layout,
        records::{self, BatchRecord, Locator, OpenBatch, Outline, Task},
    },
};

/// A batch whose content is stored or small, and whose id is still to be claimed.
pub(super) struct StartRequest {
    pub(super) tenant: Arc<str>,
    pub(super) spec: Arc<Spec>,
    pub(super) content: Payload,
    pub(super) outline_bytes: u64,
    /// Where the content is a blob.
    pub(super) lease: Option<Lease>,
    pub(super) reply: oneshot::Sender<Result<Accepted, Error>>,
}

/// A batch that was taken in or attached to.
pub(super) struct Accepted {
    pub(super) at: Located,
    pub(super) batch_id: Arc<str>,
    pub(super) outline: Arc<Outline>,
    /// `None` where it had ended by then.
    pub(super) tail: Option<TailReader>,
    /// It was there before.
    pub(super) attached: bool,
}

/// What would become of a call at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedCall {
    /// What its tool names.
    pub base_tool: String,
    /// Where it would go; empty where nowhere.
    pub backend: String,
    /// The step that completed its key before.
    pub skipped_step_id: Option<StepId>,
    /// Why it would fail before it reaches a tool.
    pub error: Option<CallError>,
}

/// The batch that has this id and content; an error where the id is taken by something else.
pub(super) fn claimed(
    reader: &Reader,
    tenant: &str,
    batch_id: &str,
    digest: [u8; 32],
) -> Result<Option<Located>, Error> {
    let taken = |by| Error::AlreadyExists { batch_id: batch_id.into(), by };
    if let Some(at) = reader.locate(tenant, batch_id)? {
        return if reader.head(at)?.content_digest == digest {
            Ok(Some(at))
        } else {
            Err(taken("a batch with another content"))
        };
    }
    match reader.locate_step(tenant, batch_id) {
        Ok(_) => Err(taken("a call's step")),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The answer to new work while what was done before waits for space.
pub(super) fn no_space() -> Error {
    Error::Store(store::Error::Full("no new work is taken until there is space: free some".into()))
}

impl Loop {
    pub(super) fn start(&mut self, request: StartRequest) {
        let StartRequest { tenant, spec, content, outline_bytes, lease, reply } = request;
        let answer = self.take_in(&tenant, spec, content, outline_bytes);
        self.group.leases.extend(lease);
        // A refusal leaves nothing behind; an acceptance is told once its records are durable.
        match answer {
            Ok(accepted) => self.answer_when_durable(reply, Ok(accepted)),
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    fn take_in(
        &mut self,
        tenant: &Arc<str>,
        spec: Arc<Spec>,
        content: Payload,
        outline_bytes: u64,
    ) -> Result<Accepted, Error> {
        if self.draining() {
            return Err(Error::Stopping);
        }
        if let Some(batch_id) = &spec.batch_id
            && let Some(at) = self.already_claimed(tenant, batch_id, spec.content_digest)?
        {
            let outline = Arc::new(self.outline_of(at)?);
            let tail = self.live.get(&at.batch).map(|live| live.tail.reader());
            return Ok(Accepted { at, batch_id: batch_id.as_str().into(), outline, tail, attached: true });
        }
        if self.waits_for_space() {
            return Err(no_space());
        }
        if self.live.len() >= self.most_open {
            return Err(Error::TooManyOpen { most: self.most_open });
        }
        self.shares.admit(&spec.agent_id)?;
        let before = self.counters.next_task;
        let task = self.enter_task(tenant, &spec.task_id)?;
        // A task that begins here has no keys yet.
        let keys = if task.0 < before { self.stored_keys(task, &spec)? } else { Vec::new() };
        let batch = BatchNo(self.counters.next_batch);
        self.counters.next_batch += 1;
        let batch_id: Arc<str> = match &spec.batch_id {
            Some(batch_id) => batch_id.as_str().into(),
            None => self.ids.next().to_string().into(),
        };
        let at = Located { task, batch };
        let head = BatchRecord {
            batch_id: batch_id.to_string(),
            content_digest: spec.content_digest,
            start_time: self.clock.now().wall,
            content,
            outline_bytes,
            stop: None,
            direct: spec.direct,
            variable: None,
            trace: self.trace_of(&spec),
            end: None,
        };
        self.claim(tenant, at, &head);
        let tail = TailWriter::new(0);
        let accepted = Accepted {
            at,
            batch_id: batch_id.clone(),
            outline: Arc::new(Outline::of(&spec)),
            tail: Some(tail.reader()),
            attached: false,
        };
        if !head.direct {
            self.by_id.insert((tenant.clone(), batch_id.clone()), batch);
        }
        let agent = self.shares.take(&spec.agent_id);
        let attempts = std::collections::HashMap::new();
        let live = LiveBatch { at, tenant: tenant.clone(), agent, head, tail, attempts };
        self.live.insert(batch, live);
        self.step(Input::Start(Begin { batch, task, tenant: tenant.clone(), batch_id, spec, keys }));
        Ok(accepted)
    }

    /// The caller's trace, or one that begins here.
    fn trace_of(&mut self, spec: &Spec) -> Trace {
        let trace = spec.trace.clone().unwrap_or_default();
        if trace.trace_id == 0 { Trace { via: trace.via, ..Trace::begin(self.ids.next()) } } else { trace }
    }

    fn already_claimed(&self, tenant: &Arc<str>, batch_id: &str, digest: [u8; 32]) -> Result<Option<Located>, Error> {
        let Some(batch) = self.by_id.get(&(tenant.clone(), batch_id.into())) else {
            return claimed(&self.reader, tenant, batch_id, digest);
        };
        match self.live.get(batch) {
            Some(live) if live.head.content_digest == digest => Ok(Some(live.at)),
            Some(_) => Err(Error::AlreadyExists { batch_id: batch_id.into(), by: "a batch with another content" }),
            None => claimed(&self.reader, tenant, batch_id, digest),
        }
    }

    /// Writes what makes a batch exist.
    fn claim(&mut self, tenant: &str, at: Located, head: &BatchRecord) {
        let here = records::encode(&Locator { task: at.task.0, batch: at.batch.0 });
        self.counters.age = self.age.now();
        self.group.put(layout::COUNTERS.into(), records::encode(&self.counters));
        self.refer(at.task, &head.content);
        // Nobody finds a direct step as a batch.
        if !head.direct {
            self.group.put(layout::batch_locator(tenant, &head.batch_id), here.clone());
            self.group.put_new(layout::tenant_batch(tenant, at.batch), here);
        }
        let open = OpenBatch { task: at.task.0, batch: at.batch.0, crashes: 0, ended_calls: 0 };
        self.group.put_new(layout::open_batch(at.batch), records::encode(&open));
        self.group.put_new(layout::batch(at.task, at.batch), records::encode_batch(head));
    }

    /// The task's number, for a batch that goes into it.
    fn enter_task(&mut self, tenant: &Arc<str>, task_id: &str) -> Result<TaskNo, Error> {
        let (task, record) = self.active_task(tenant, task_id)?;
        self.group.put(layout::task(task), records::encode(&record));
        self.group.rings.push(task);
        self.task_numbers.insert((tenant.clone(), task_id.into()), task);
        let live = self.tasks.entry(task).or_insert(LiveTask { record: Task::default(), batches: 0 });
        live.record = record;
        live.batches += 1;
        Ok(task)
    }

    /// The task in which something new happens now: one that lives, or a new one. Its head is still to be put into this group.
    pub(super) fn active_task(&mut self, tenant: &Arc<str>, task_id: &str) -> Result<(TaskNo, Task), Error> {
        let now = self.clock.now().wall.0;
        let (task, mut record) = match self.find_task(tenant, task_id)? {
            Some(found) => found,
            None => self.new_task(tenant, task_id, now),
        };
        must_live(&record)?;
        record.active_time = now;
        record.active_age = self.age.now();
        Ok((task, record))
    }

    fn new_task(&mut self, tenant: &str, task_id: &str, now: i64) -> (TaskNo, Task) {
        let task = TaskNo(self.counters.next_task);
        self.counters.next_task += 1;
        self.reader.trust(task);
        self.list_task(self.age.now(), task);
        self.group.put(layout::task_locator(tenant, task_id), records::encode(&Locator { task: task.0, batch: 0 }));
        let record = Task { tenant: tenant.into(), task_id: task_id.into(), create_time: now, ..Task::default() };
        (task, record)
    }

    /// What is stored for those of the batch's keys that no live batch names.
    pub(super) fn stored_keys(&self, task: TaskNo, spec: &Spec) -> Result<Vec<(Arc<str>, KeyRecord)>, Error> {
        let mut keys = Vec::new();
        for key in spec.calls.iter().filter_map(|call| call.key.as_ref()) {
            if !self.core.knows_key(task, key)
                && let Some(record) = self.stored_key(task, key)?
            {
                keys.push((key.clone(), record));
            }
        }
        Ok(keys)
    }

    pub(super) fn stored_key(&self, task: TaskNo, key: &str) -> Result<Option<KeyRecord>, Error> {
        let at = layout::task_key(task, key);
        // A batch that ended within this group has left its keys' records here, not yet in the store.
        let value = match self.written(&at) {
            Some(Written::Value(value)) => Some(value.clone()),
            Some(Written::Deleted) => None,
            None => self.reader.store.get(&at)?,
        };
        value.map(|value| key_record(&value, key)).transpose()
    }

    pub(super) fn plan(&self, tenant: &Arc<str>, spec: &Spec) -> Result<Vec<PlannedCall>, Error> {
        if self.draining() {
            return Err(Error::Stopping);
        }
        let task = self.find_task(tenant, &spec.task_id)?;
        if task.as_ref().is_some_and(|(_, record)| record.end_time != 0) {
            return Err(Error::TaskEnded { task_id: spec.task_id.clone() });
        }
        let mut plan = Vec::with_capacity(spec.calls.len());
        for call in &spec.calls {
            let record = match (&task, &call.key) {
                (Some((task, _)), Some(key)) if self.core.knows_key(*task, key) => {
                    self.core.key_record(*task, key).cloned()
                }
                (Some((task, _)), Some(key)) => self.stored_key(*task, key)?,
                (Some(_) | None, None) | (None, Some(_)) => None,
            };
            let skipped_step_id =
                record.filter(|record| matches!(record.state, KeyState::Completed { .. })).map(|record| record.step_id);
            let base_tool = self.backends.base_tool(&spec.agent_id, &call.tool);
            let mut planned = PlannedCall { base_tool, backend: String::new(), skipped_step_id, error: None };
            if planned.skipped_step_id.is_none() {
                match self.backends.resolve(&spec.agent_id, &call.tool, &call.args, spec.direct) {
                    Resolution::Ready(target) => planned.backend = target.backend,
                    Resolution::Refused(error) | Resolution::NotYet(error) => planned.error = Some(error),
                }
            }
            plan.push(planned);
        }
        Ok(plan)
    }

    /// The calls of a batch that runs, or has ended a moment ago, or is stored.
    fn outline_of(&self, at: Located) -> Result<Outline, Error> {
        match (self.core.batch(at.batch), self.live.get(&at.batch)) {
            (Some((spec, _)), _) => Ok(Outline::of(spec)),
            (None, Some(live)) => self.reader.outline(&live.head),
            (None, None) => self.reader.outline(&self.reader.head(at)?),
        }
    }

    pub(super) fn open_batches(&self) -> Result<Vec<OpenBatch>, Error> {
        let low = layout::open_batch(BatchNo(0));
        let high = layout::open_batch(BatchNo(u64::MAX));
        let rows = self.reader.store.scan(&low..&high, store::Order::Ascending, usize::MAX)?;
        rows.iter().map(|(_, value)| Ok(records::decode(value)?)).collect()
    }
}
