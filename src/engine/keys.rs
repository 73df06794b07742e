//! A task's keys: listed, and settled where nobody knows what became of one (R5).

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    Command, Engine,
    error::Error,
    leases::Lease,
    read::{Located, Page, Reader},
    run::Loop,
};
use crate::{
    batch::{
        core::{Input, TaskNo},
        event::{Ending, ResultMark, StepId, Timestamp},
        key::{KeyRecord, KeyState, Verdict, keyed_idempotency_key},
        outcome::{INLINE_BODY_MAX, Payload},
        running::RunningKey,
    },
    store::{self, Order, layout, records},
};

/// How many records one page looks at where only some states are asked for: some milliseconds of work, so that a page of a task
/// with a million keys does not hold its client for seconds.
const LOOKED_AT_MAX: usize = 4_096;

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A call runs under it.
    Running,
    /// It runs never again.
    Completed,
    /// A new call under it runs.
    Failed,
    /// It may have taken effect.
    Unknown,
}

/// A key as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyView {
    /// Its name.
    pub key: String,
    /// Where it stands.
    pub standing: Standing,
    /// The step that ran it last; `None` before the first.
    pub step_id: Option<StepId>,
    /// The tool that it ran with.
    pub base_tool: String,
    /// What the backend is told by it.
    pub idempotency_key: String,
    /// When this was recorded.
    pub time: Option<Timestamp>,
    /// Who settled it, where somebody did.
    pub settled_by: Option<String>,
}

/// Which keys of a task to list.
#[derive(Clone, Debug)]
pub struct KeyQuery {
    /// Only those that stand so; empty: all.
    pub states: Vec<Standing>,
    /// Only those after the one with this hash.
    pub after: Option<[u8; 16]>,
    /// At most so many.
    pub limit: usize,
}

/// What somebody found out about a key.
pub(super) struct SettleRequest {
    pub(super) tenant: Arc<str>,
    pub(super) task_id: String,
    pub(super) key: Arc<str>,
    pub(super) verdict: Verdict<Payload>,
    /// Where the result is a blob.
    pub(super) lease: Option<Lease>,
    pub(super) by: String,
    pub(super) reply: oneshot::Sender<Result<KeyView, Error>>,
}

/// Whose keys: what idempotency keys are derived from.
struct Owner {
    tenant: String,
    task_id: String,
}

impl Owner {
    fn stored(&self, key: String, record: KeyRecord) -> KeyView {
        KeyView {
            idempotency_key: keyed_idempotency_key(&self.tenant, &self.task_id, &key, record.generation),
            key,
            standing: standing(&record.state),
            step_id: Some(record.step_id),
            base_tool: record.base_tool,
            time: Some(record.update_time),
            settled_by: record.settled_by,
        }
    }

    fn running(&self, key: RunningKey) -> KeyView {
        KeyView {
            idempotency_key: keyed_idempotency_key(&self.tenant, &self.task_id, &key.key, key.generation),
            key: key.key.to_string(),
            standing: Standing::Running,
            step_id: key.step_id,
            base_tool: key.base_tool,
            time: key.time,
            settled_by: None,
        }
    }
}

fn standing(state: &KeyState) -> Standing {
    match state {
        KeyState::Completed { .. } => Standing::Completed,
        KeyState::Failed => Standing::Failed,
        KeyState::Unknown => Standing::Unknown,
    }
}

impl Engine {
    /// A task's keys by the hash of their names, a page of them. A page can be short before the list's end.
    pub async fn keys(&self, tenant: &str, task_id: &str, query: KeyQuery) -> Result<Page<KeyView>, Error> {
        let owner = Owner { tenant: tenant.to_owned(), task_id: task_id.to_owned() };
        let (tenant, task_id) = (tenant.to_owned(), task_id.to_owned());
        let task = self.read(move |reader| reader.known_task(&tenant, &task_id)).await?;
        let (reply, answer) = oneshot::channel();
        self.send(Command::RunningKeys { task, reply }).await?;
        let running = answer.await.map_err(|_| Error::Stopping)?;
        self.read(move |reader| reader.keys(task, &owner, running, &query)).await
    }

    /// Records what became of a key whose outcome is unknown, durably. `by` says who found out.
    pub async fn settle_key(
        &self,
        tenant: &str,
        task_id: &str,
        key: &str,
        verdict: Verdict<Bytes>,
        by: &str,
    ) -> Result<KeyView, Error> {
        let (owner, wanted, name) = (tenant.to_owned(), task_id.to_owned(), key.to_owned());
        // Whether it can be settled is for the loop to say. What obviously cannot leaves no result behind in the store.
        self.read(move |reader| {
            let task = reader.known_task(&owner, &wanted)?;
            match reader.key(task, &name)? {
                Some(record) => must_be_unknown(&name, standing(&record.state)),
                None => Ok(()),
            }
        })
        .await?;
        let (verdict, lease) = match verdict {
            Verdict::Landed(result) => {
                let (payload, lease) = self.payload(result, INLINE_BODY_MAX).await?;
                (Verdict::Landed(payload), lease)
            }
            Verdict::NotLanded => (Verdict::NotLanded, None),
        };
        let (reply, answer) = oneshot::channel();
        let (tenant, task_id, key, by) = (tenant.into(), task_id.to_owned(), key.into(), by.to_owned());
        let request = SettleRequest { tenant, task_id, key, verdict, lease, by, reply };
        self.send(Command::SettleKey(Box::new(request))).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }
}

fn must_be_unknown(key: &str, standing: Standing) -> Result<(), Error> {
    let is = match standing {
        Standing::Unknown => return Ok(()),
        Standing::Running => "running",
        Standing::Completed => "completed",
        Standing::Failed => "failed",
    };
    Err(Error::KeyNotUnknown { key: key.into(), is })
}

impl Reader {
    /// What is stored for a key of a task.
    fn key(&self, task: TaskNo, key: &str) -> Result<Option<KeyRecord>, Error> {
        let value = self.store.get(&layout::task_key(task, key))?;
        value.map(|value| key_record(&value, key)).transpose()
    }

    fn keys(
        &self,
        task: TaskNo,
        owner: &Owner,
        running: Vec<RunningKey>,
        query: &KeyQuery,
    ) -> Result<Page<KeyView>, Error> {
        let KeyQuery { states, after, limit } = query;
        let (after, limit) = (*after, *limit);
        let looked_at = if states.is_empty() { limit + 1 } else { LOOKED_AT_MAX };
        let range = layout::task_keys(task, after);
        let rows = self.store.scan(&range.start..&range.end, Order::Ascending, looked_at)?;
        let last_row = rows.last().filter(|_| rows.len() == looked_at).and_then(|(key, _)| layout::key_hash_of(key));
        let mut merged = BTreeMap::new();
        for (key, value) in &rows {
            let Some(hash) = layout::key_hash_of(key) else { continue };
            let (name, record) = records::decode_key(value)?;
            merged.insert(hash, owner.stored(name, record));
        }
        for key in running {
            let hash = layout::key_hash_of(&layout::task_key(task, &key.key));
            // One beyond the rows that were read has its place in a later page.
            if let Some(hash) = hash.filter(|hash| after.is_none_or(|after| *hash > after))
                && last_row.is_none_or(|last| hash <= last)
            {
                merged.insert(hash, owner.running(key));
            }
        }
        let (mut items, mut seen, mut more) = (Vec::new(), None, last_row.is_some());
        for (hash, view) in merged {
            if items.len() == limit {
                more = true;
                break;
            }
            seen = Some(hash);
            if states.is_empty() || states.contains(&view.standing) {
                items.push(view);
            }
        }
        Ok(Page { items, next: seen.filter(|_| more).map(|hash| Bytes::copy_from_slice(&hash)) })
    }
}

/// A key's record, which must be of the key that it was looked up for.
pub(super) fn key_record(value: &Bytes, key: &str) -> Result<KeyRecord, Error> {
    let (name, record) = records::decode_key(value)?;
    if name != key {
        return Err(store::Error::Damaged(format!("the record of key {key:?} is that of {name:?}")).into());
    }
    Ok(record)
}

impl Loop {
    pub(super) fn running_keys(&mut self, task: TaskNo, reply: oneshot::Sender<Vec<RunningKey>>) {
        let running = self.core.running_keys(task);
        self.answer_when_durable(reply, running);
    }

    pub(super) fn settle_key(&mut self, request: SettleRequest) {
        let SettleRequest { tenant, task_id, key, verdict, lease, by, reply } = request;
        self.group.leases.extend(lease);
        match self.take_verdict(&tenant, &task_id, &key, &verdict, by) {
            Ok(view) => self.answer_when_durable(reply, Ok(view)),
            Err(error) => {
                // Whoever asked may be gone.
                let _ = reply.send(Err(error));
            }
        }
    }

    fn take_verdict(
        &mut self,
        tenant: &Arc<str>,
        task_id: &str,
        key: &Arc<str>,
        verdict: &Verdict<Payload>,
        by: String,
    ) -> Result<KeyView, Error> {
        let absent = |kind: &'static str, id: &str| Error::NotFound { kind, id: id.into() };
        let (task, _) = self.find_task(tenant, task_id)?.ok_or_else(|| absent("task", task_id))?;
        if self.core.runs_under(task, key) {
            must_be_unknown(key, Standing::Running)?;
        }
        let record = if self.core.knows_key(task, key) {
            self.core.key_record(task, key).cloned()
        } else {
            self.stored_key(task, key)?
        };
        let record = record.ok_or_else(|| absent("key", key))?;
        must_be_unknown(key, standing(&record.state))?;
        if self.written(&layout::step(task, record.step_id, 0)).is_some() {
            // Its call has ended a moment ago and nobody was told yet: to everyone else it is running.
            must_be_unknown(key, Standing::Running)?;
        }
        if let Verdict::Landed(result) = verdict {
            self.give_result(task, record.step_id, result)?;
        }
        let record = record.settled(verdict, by, self.clock.now().wall);
        self.step(Input::KeySettled { task, key: key.clone(), record: record.clone() });
        let owner = Owner { tenant: tenant.to_string(), task_id: task_id.into() };
        Ok(owner.stored(key.to_string(), record))
    }

    /// The step that ran the key completed after all, with this result: what later calls under the key show.
    fn give_result(&mut self, task: TaskNo, step_id: StepId, result: &Payload) -> Result<(), Error> {
        let parts = self.reader.step_parts(task, step_id)?;
        let (batch, mut step) = self.reader.step_record(task, step_id)?;
        let Some(end) = &mut step.end else {
            return Err(store::Error::Damaged(format!("step {step_id} has no end, but its key has one")).into());
        };
        end.finished.ending = Ending::Completed { result: ResultMark { bytes: result.bytes, inlined: false } };
        end.result = Some(result.clone());
        self.replace_step(Located { task, batch }, &step, parts);
        Ok(())
    }
}
