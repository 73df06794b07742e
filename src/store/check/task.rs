//! A task's own records, in the order of their keys: batches, logs, blob files, head, keys, steps, variables.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::{Check, read};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::StepId,
        outcome::{Body, Payload},
        state::State,
    },
    store::{
        layout,
        records::{self, BatchRecord, Outline, Task},
    },
};

/// A task that is being walked through.
pub(super) struct TaskCheck {
    pub(super) number: TaskNo,
    tenant: Option<String>,
    /// Being dropped: what is left of it is read, and not expected to be whole.
    dropped: bool,
    batches: BTreeMap<BatchNo, BatchRecord>,
    log: Option<Log>,
    /// The parts of a step, put together so far.
    step: Option<(StepId, BytesMut)>,
    seen_head: bool,
}

/// A batch's log that is being folded.
struct Log {
    batch: BatchNo,
    /// None once it does not fit.
    state: Option<State>,
}

impl TaskCheck {
    pub(super) fn begin(number: TaskNo, check: &Check<'_>) -> Self {
        let dropped = check.is_dropped(number);
        // What is wrong with its head is told where it stands.
        let tenant = check.task_head(number).ok().map(|head| head.tenant);
        Self { number, tenant, dropped, batches: BTreeMap::new(), log: None, step: None, seen_head: false }
    }

    pub(super) fn record(&mut self, check: &mut Check<'_>, key: &Bytes, value: &Bytes) {
        let kind = layout::kind_in_task(key);
        let found = match kind {
            Some(b'B') => self.batch(check, key, value),
            Some(b'E') => self.entry(check, key, value),
            Some(b'F') => self.blob_file(check, key),
            Some(b'H') => self.head(check, value),
            Some(b'K') => self.key(key, value),
            Some(b'S') => self.step_part(check, key, value),
            Some(b'V') => self.variable(check, value),
            Some(_) | None => Err("no record of a task is of this kind".to_owned()),
        };
        if let Err(what) = found {
            let place = format!("task {}, record {}", self.number.0, key.escape_ascii());
            check.fault(&format!("{place}: {what}"));
        }
    }

    pub(super) fn end(mut self, check: &mut Check<'_>) {
        self.end_log(check);
        self.end_step(check);
        if !self.seen_head && !self.dropped {
            check.fault(&format!("task {}: its head is gone", self.number.0));
        }
    }

    fn batch(&mut self, check: &mut Check<'_>, key: &Bytes, value: &Bytes) -> Result<(), String> {
        let head = records::decode_batch(value).map_err(|error| error.to_string())?;
        check.checked.batches += u64::from(!head.direct);
        let batch = layout::batch_of(key).ok_or("it names no batch")?;
        let whole = self.payload(check, &head.content, 0).map(drop);
        if !self.dropped {
            let tenant = self.tenant.as_deref().unwrap_or_default();
            if !head.direct {
                check.must(&layout::batch_locator(tenant, &head.batch_id), "what finds it by its id")?;
                check.must(&layout::tenant_batch(tenant, batch), "its place in the list of batches")?;
            }
            if head.end.is_none() {
                check.must(&layout::open_batch(batch), "it has not ended, and what says so")?;
            }
        }
        self.batches.insert(batch, head);
        whole
    }

    fn entry(&mut self, check: &mut Check<'_>, key: &Bytes, value: &Bytes) -> Result<(), String> {
        let sequence = layout::sequence_of(key).unwrap_or_default();
        let batch = layout::entry_batch_of(key).ok_or("it names no batch")?;
        let entry = records::decode_entry(sequence, value).map_err(|error| error.to_string())?;
        if self.dropped {
            return Ok(());
        }
        if self.log.as_ref().is_none_or(|log| log.batch != batch) {
            self.end_log(check);
            self.log = Some(Log { batch, state: None });
            let head = self.batches.get(&batch).ok_or_else(|| format!("it is of batch {}, which is gone", batch.0))?;
            let outline = check.payload(&head.content.clone(), head.outline_bytes)?;
            let outline = Outline::read(outline).map_err(|error| error.to_string())?;
            let state = State::new(outline.calls.len(), outline.options.stop_on_error);
            self.log = Some(Log { batch, state: Some(state) });
        }
        let Some(state) = self.log.as_mut().and_then(|log| log.state.as_mut()) else { return Ok(()) };
        state.apply(&entry).map_err(|misfit| {
            // The entries behind it would only say the same.
            self.log = Some(Log { batch, state: None });
            format!("the log of batch {} does not fold: {misfit}", batch.0)
        })
    }

    fn end_log(&mut self, check: &mut Check<'_>) {
        let Some(Log { batch, state: Some(state) }) = self.log.take() else { return };
        let Some(head) = self.batches.get(&batch) else { return };
        let end = head.end.as_ref().map(|end| (end.end, end.last_sequence));
        if end.is_some() && end != state.end.map(|end| (end, state.last_sequence))
            || end.is_none() && state.end.is_some()
        {
            let task = self.number.0;
            check
                .fault(&format!("task {task}, batch {}: its head and the end of its log do not say the same", batch.0));
        }
    }

    fn blob_file(&self, check: &Check<'_>, key: &Bytes) -> Result<(), String> {
        let file = layout::task_blob_of(key).ok_or("it names no blob file")?;
        if !self.dropped {
            check.must(&layout::blob_user(file, self.number), &format!("what keeps blob file {file}"))?;
        }
        Ok(())
    }

    fn head(&mut self, check: &Check<'_>, value: &Bytes) -> Result<(), String> {
        self.seen_head = true;
        let head: Task = read(value)?;
        if self.dropped {
            return Ok(());
        }
        let locator = check.must(&layout::task_locator(&head.tenant, &head.task_id), "what finds it by its name")?;
        let leads_to = read::<records::Locator>(&locator)?.task;
        if leads_to == self.number.0 {
            Ok(())
        } else {
            Err(format!("what finds it by its name leads to task {leads_to}"))
        }
    }

    fn key(&self, key: &Bytes, value: &Bytes) -> Result<(), String> {
        let (name, _) = records::decode_key(value).map_err(|error| error.to_string())?;
        if layout::task_key(self.number, &name) == *key {
            Ok(())
        } else {
            Err(format!("it is that of key {name:?}, which belongs elsewhere"))
        }
    }

    fn variable(&self, check: &mut Check<'_>, value: &Bytes) -> Result<(), String> {
        let variable = records::decode_variable(value).map_err(|error| error.to_string())?;
        self.payload(check, &variable.value, 0).map(drop)
    }

    fn step_part(&mut self, check: &mut Check<'_>, key: &Bytes, value: &Bytes) -> Result<(), String> {
        let (step, part) = layout::step_of(key).ok_or("it names no step")?;
        match &mut self.step {
            Some((last, parts)) if *last == step => {
                parts.extend_from_slice(value);
                return Ok(());
            }
            Some(_) | None => self.end_step(check),
        }
        self.step = Some((step, BytesMut::from(value.as_ref())));
        if part == 0 || self.dropped { Ok(()) } else { Err(format!("the first part of step {step} is gone")) }
    }

    fn end_step(&mut self, check: &mut Check<'_>) {
        let Some((step, parts)) = self.step.take() else { return };
        check.checked.steps += 1;
        if let Err(what) = self.step(check, step, &parts.freeze()) {
            check.fault(&format!("task {}, step {step}: {what}", self.number.0));
        }
    }

    fn step(&mut self, check: &mut Check<'_>, step: StepId, value: &Bytes) -> Result<(), String> {
        if self.dropped {
            return Ok(());
        }
        let (batch, record) = records::decode_step(step, value).map_err(|error| error.to_string())?;
        if !self.batches.contains_key(&batch) {
            return Err(format!("it is of batch {}, which is gone", batch.0));
        }
        check.must(&layout::step_locator(step), "what finds it by its id")?;
        match record.end.and_then(|end| end.result) {
            Some(result) => self.payload(check, &result, 0).map(drop),
            None => Ok(()),
        }
    }

    /// A payload is whole, and its file is kept for this task.
    fn payload(&self, check: &mut Check<'_>, payload: &Payload, keep: u64) -> Result<Bytes, String> {
        if let Body::Blob(blob) = &payload.body
            && !self.dropped
        {
            check.must(&layout::task_blob(self.number, blob.file), &format!("what keeps blob file {}", blob.file))?;
        }
        if self.dropped { Ok(Bytes::new()) } else { check.payload(payload, keep) }
    }
}
