//! A data folder full of finished keyed calls.

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use toolbatch::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{BatchStatus, CallFinished, Ending, Entry, Event, ResultMark, StepId, Timestamp},
        key::{KeyRecord, KeyState},
        outcome::{Body, Payload},
        spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
        state::End,
        step::{StepEnd, StepRecord},
        summary::Counts,
        trace::Trace,
    },
    clock::Clock,
    json,
    store::{
        Commit, Embedded, Store as _, layout,
        records::{self, BatchEnd, BatchRecord, Counters, Locator, Outline, Task},
    },
};
use uuid::{ContextV7, Uuid};

const TENANT: &str = "default";
/// The largest batch there is.
const CALLS: u32 = 200;
/// A task of an agent that works through a list.
const BATCHES_IN_TASK: u64 = 10;
/// About what an ERP answers.
const RESULT: &str =
    r#"{"order":"450001","contract":"40040343","item":"pump","quantity":2,"status":"posted","position":10}"#;

struct Filler {
    store: Embedded,
    clock: Clock,
    ids: ContextV7,
    ops: Vec<(Bytes, Option<Bytes>)>,
}

/// Fills a new folder, in batches of 200 calls; says what it came to.
pub(crate) fn fill(dir: &Path, calls: u64) -> Result<String, Box<dyn Error>> {
    let mut filler =
        Filler { store: Embedded::open(dir)?, clock: Clock::start(), ids: ContextV7::new(), ops: Vec::new() };
    let batches = calls.div_ceil(u64::from(CALLS));
    for number in 0..batches {
        filler.batch(number)?;
    }
    let commits = filler.store.stats().lsn;
    filler.store.close()?;
    let (calls, took) = (batches * u64::from(CALLS), filler.clock.now().mono);
    Ok(format!("{calls} calls in {batches} batches, {commits} commits, {took:?}"))
}

impl Filler {
    fn put(&mut self, key: Bytes, value: Bytes) {
        self.ops.push((key, Some(value)));
    }

    fn now(&self) -> Timestamp {
        self.clock.now().wall
    }

    fn step_id(&self) -> StepId {
        let nanos = u64::try_from(self.now().0).unwrap_or(0);
        let rest = u32::try_from(nanos % 1_000_000_000).unwrap_or(0);
        StepId(Uuid::new_v7(uuid::Timestamp::from_unix(&self.ids, nanos / 1_000_000_000, rest)))
    }

    /// A batch with all that it leaves behind, in one commit.
    fn batch(&mut self, number: u64) -> Result<(), Box<dyn Error>> {
        let (task, batch) = (TaskNo(number / BATCHES_IN_TASK + 1), BatchNo(number + 1));
        let task_id = format!("task-{}", task.0);
        self.task(task, &task_id, number);
        let spec = spec(&task_id, number);
        let batch_id = Uuid::new_v8(u128::from(number).to_be_bytes()).to_string();
        let last_sequence = 2 * u64::from(CALLS) + 2;
        let counts = Counts { total: CALLS, completed: CALLS, ..Counts::default() };
        let end = End { status: BatchStatus::Completed, stop_reason: None, time: self.now() };
        let (content, outline_bytes) = Outline::write(&spec);
        // A server keeps content this long as a blob.
        let blob = self.store.write_blob(&content)?;
        self.put(layout::blob_user(blob.file, task), Bytes::new());
        self.put(layout::task_blob(task, blob.file), Bytes::new());
        let head = BatchRecord {
            batch_id: batch_id.clone(),
            content_digest: spec.content_digest,
            start_time: self.now(),
            content: Payload { bytes: content.len() as u64, body: Body::Blob(blob) },
            outline_bytes,
            stop: None,
            direct: false,
            variable: None,
            trace: Trace::default(),
            end: Some(BatchEnd { end, counts, last_sequence }),
        };
        let here = records::encode(&Locator { task: task.0, batch: batch.0 });
        self.put(layout::batch(task, batch), records::encode_batch(&head));
        self.put(layout::batch_locator(TENANT, &batch_id), here.clone());
        self.put(layout::tenant_batch(TENANT, batch), here.clone());
        self.entry(task, batch, 1, Event::BatchStarted);
        for (index, call) in (0..).zip(&spec.calls) {
            self.call(task, batch, index, call, &here);
        }
        let finished = Event::BatchFinished { status: BatchStatus::Completed, counts, stop_reason: None };
        self.entry_at(end.time, (task, batch, last_sequence), finished);
        let ops = std::mem::take(&mut self.ops);
        Ok(self.store.commit(Commit { ops, ..Commit::default() })?)
    }

    fn task(&mut self, task: TaskNo, task_id: &str, number: u64) {
        let counters = Counters { next_task: task.0 + 1, next_batch: number + 2, stopped_well: true, age: 0 };
        self.put(layout::COUNTERS.into(), records::encode(&counters));
        let now = self.now().0;
        let head = Task { tenant: TENANT.into(), task_id: task_id.into(), create_time: now, ..Task::default() };
        self.put(layout::task(task), records::encode(&Task { active_time: now, ..head }));
        let here = records::encode(&Locator { task: task.0, batch: 0 });
        self.put(layout::task_locator(TENANT, task_id), here.clone());
        self.put(layout::aged_task(0, task), here);
    }

    fn entry(&mut self, task: TaskNo, batch: BatchNo, sequence: u64, event: Event) {
        self.entry_at(self.now(), (task, batch, sequence), event);
    }

    fn entry_at(&mut self, time: Timestamp, (task, batch, sequence): (TaskNo, BatchNo, u64), event: Event) {
        let entry = Entry { sequence, time, event };
        self.put(layout::entry(task, batch, sequence), records::encode_entry(&entry));
    }

    fn call(&mut self, task: TaskNo, batch: BatchNo, index: u32, call: &CallSpec, here: &Bytes) {
        let (step_id, base_tool) = (self.step_id(), call.tool.to_string());
        let result_bytes = RESULT.len() as u64;
        let started = Event::CallStarted {
            index,
            step_id,
            attempt: 1,
            in_doubt: false,
            base_tool: base_tool.clone(),
            backend: "erp".into(),
            generation: 1,
        };
        self.entry(task, batch, 2 + 2 * u64::from(index), started);
        let ending = Ending::Completed { result: ResultMark { bytes: result_bytes, inlined: true } };
        let finished = CallFinished { index, step_id, attempts: 1, duration: Duration::from_millis(20), ending };
        self.entry(task, batch, 3 + 2 * u64::from(index), Event::CallFinished(finished.clone()));
        let result = Payload { bytes: result_bytes, body: Body::Inline(RESULT.into()) };
        let end = StepEnd { time: self.now(), finished, result: Some(result), usage: Vec::new() };
        let step = StepRecord {
            step_id,
            index,
            base_tool: base_tool.clone(),
            backend: "erp".into(),
            attempts: 1,
            start_time: self.now(),
            end: Some(end),
        };
        self.put(layout::step_locator(step_id), here.clone());
        self.put(layout::step(task, step_id, 0), records::encode_step(batch, &step));
        let name = call.key.as_deref().unwrap_or_default();
        let key = KeyRecord {
            state: KeyState::Completed { result_bytes, await_id: None },
            step_id,
            base_tool,
            args_digest: json::digest(&call.args),
            generation: 1,
            update_time: self.now(),
            settled_by: None,
        };
        self.put(layout::task_key(task, name), records::encode_key(name, &key));
    }
}

fn spec(task_id: &str, number: u64) -> Spec {
    let call = |index| CallSpec {
        tool: "create_sales_order".into(),
        args: Arc::from(format!(r#"{{"contract":"40040343","item":"pump","quantity":{}}}"#, index + 1)),
        key: Some(Arc::from(format!("order-{number}-{index}"))),
        lane: None,
    };
    let options = Options {
        mode: Mode::Sequential { max_concurrency: 4 },
        serialize_on: String::new(),
        stop_on_error: true,
        include_results: true,
        call_timeout: None,
        retry: RetryPolicy::default(),
        in_doubt: InDoubtPolicy::Rerun,
    };
    let mut content_digest = [0; 32];
    content_digest[..8].copy_from_slice(&number.to_be_bytes());
    Spec {
        task_id: task_id.into(),
        agent_id: String::new(),
        batch_id: None,
        calls: (0..CALLS).map(call).collect(),
        options,
        direct: false,
        trace: None,
        content_digest,
    }
}
