//! Batches by chance.

use toolbatch::proto::{
    BatchMode, BatchOptions, CallList, ExecuteBatchRequest, InDoubtPolicy, RetryPolicy, ToolCall,
    execute_batch_request::Source,
};

use crate::dice::Dice;

/// Tasks that the batches are in, so that they meet over keys.
const TASKS: u64 = 3;
/// Keys of a task: few, so that most batches find some that are done, running or unknown.
const KEYS: u64 = 60;
/// Lanes that calls are in.
const LANES: u64 = 3;
/// The longest that a tool takes, in milliseconds.
const TOOL_MS: u64 = 25;
/// A result that is written to a file of its own, in a hundred.
const LARGE_PERCENT: u64 = 1;
const LARGE_BYTES: u64 = 2 << 20;

/// Makes batches.
#[derive(Debug)]
pub(crate) struct Load {
    dice: Dice,
    name: String,
    made: u64,
}

impl Load {
    pub(crate) fn new(dice: Dice, name: String) -> Self {
        Self { dice, name, made: 0 }
    }

    /// The next batch.
    pub(crate) fn next(&mut self) -> ExecuteBatchRequest {
        self.made += 1;
        let batch_id = format!("{}-{}", self.name, self.made);
        let keyed = self.dice.chance(50);
        let mut keys: Vec<u64> = Vec::new();
        let calls = (0..=self.dice.below(12))
            .map(|index| {
                let key = self.dice.below(KEYS);
                if keyed && !keys.contains(&key) {
                    keys.push(key);
                    keyed_call(key)
                } else {
                    self.call(&format!("{batch_id}/{index}"))
                }
            })
            .collect();
        ExecuteBatchRequest {
            task_id: format!("task {}", self.dice.below(TASKS)),
            batch_id,
            source: Some(Source::CallList(CallList { calls })),
            options: Some(self.options()),
            ..ExecuteBatchRequest::default()
        }
    }

    fn options(&mut self) -> BatchOptions {
        let (mode, serialize_on) = match self.dice.below(3) {
            0 => (BatchMode::Sequential, ""),
            1 => (BatchMode::Parallel, ""),
            _ => (BatchMode::Parallel, "lane"),
        };
        let policies = [InDoubtPolicy::Rerun, InDoubtPolicy::Rerun, InDoubtPolicy::Lookup, InDoubtPolicy::Fail];
        let retry = RetryPolicy {
            max_attempts: 3,
            initial_backoff: Some(prost_types::Duration { seconds: 0, nanos: 5_000_000 }),
            ..RetryPolicy::default()
        };
        BatchOptions {
            mode: mode.into(),
            max_concurrency: u32::try_from(self.dice.below(9)).expect("it is small"),
            serialize_on: serialize_on.into(),
            stop_on_error: Some(self.dice.chance(40)),
            in_doubt: self.dice.one_of(&policies).into(),
            retry: self.dice.chance(50).then_some(retry),
            ..BatchOptions::default()
        }
    }

    fn call(&mut self, id: &str) -> ToolCall {
        let (lane, ms) = (self.dice.below(LANES), self.dice.below(TOOL_MS));
        let bytes = self.dice.below(60_000);
        match self.dice.below(100) {
            chance if chance < LARGE_PERCENT => call("blob", &format!(r#"{{"id":"{id}","bytes":{LARGE_BYTES}}}"#)),
            1..5 => call("blob", &format!(r#"{{"id":"{id}","lane":{lane},"bytes":{bytes}}}"#)),
            5..9 => call("fail", &format!(r#"{{"id":"{id}","lane":{lane},"ms":{ms}}}"#)),
            9..17 => call("flaky", &format!(r#"{{"id":"{id}","lane":{lane},"fail":1,"ms":{ms}}}"#)),
            17..27 => call("effect", &format!(r#"{{"id":"{id}","ms":{ms}}}"#)),
            _ => call("echo", &format!(r#"{{"id":"{id}","lane":{lane},"ms":{ms}}}"#)),
        }
    }
}

/// The same key always names the same call.
fn keyed_call(key: u64) -> ToolCall {
    let (lane, ms) = (key % LANES, key % TOOL_MS);
    let args = format!(r#"{{"id":"key {key}","lane":{lane},"ms":{ms}}}"#);
    ToolCall { key: format!("k{key}"), ..call(if key.is_multiple_of(9) { "flaky" } else { "echo" }, &args) }
}

pub(crate) fn call(tool: &str, args: &str) -> ToolCall {
    ToolCall { tool: tool.into(), args_json: args.into(), key: String::new() }
}

/// A batch under a name of the test's own.
pub(crate) fn batch(batch_id: &str, calls: Vec<ToolCall>, options: BatchOptions) -> ExecuteBatchRequest {
    ExecuteBatchRequest {
        task_id: "T".into(),
        batch_id: batch_id.into(),
        source: Some(Source::CallList(CallList { calls })),
        options: Some(options),
        ..ExecuteBatchRequest::default()
    }
}

/// The calls of a batch.
pub(crate) fn calls(request: &ExecuteBatchRequest) -> &[ToolCall] {
    match &request.source {
        Some(Source::CallList(list)) => &list.calls,
        Some(Source::CallsRef(_)) | None => &[],
    }
}
