//! What a client is asked, and the contract's messages made from it.

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use toolbatch::proto::{
    BatchMode, BatchOptions, CallList, ExecuteBatchRequest, InDoubtPolicy, RetryPolicy, ToolCall,
    execute_batch_request::Source,
};
use uuid::Uuid;

use super::native::rewritten;

/// One line of input. What an action has no use for is empty.
#[derive(Deserialize)]
pub(super) struct Request {
    #[serde(rename = "do")]
    pub(super) action: Action,
    #[serde(default)]
    pub(super) server: String,
    #[serde(default)]
    pub(super) token: String,
    #[serde(default)]
    pub(super) ca: String,
    #[serde(default)]
    pub(super) give_up_after_ms: Option<u64>,
    #[serde(default)]
    pub(super) deadline_ms: Option<u64>,
    #[serde(default)]
    pub(super) stop: Option<Stop>,
    #[serde(default)]
    pub(super) batch: Option<Prepared>,
    #[serde(default)]
    pub(super) batch_id: String,
    #[serde(default)]
    pub(super) after_sequence: u64,
    #[serde(default)]
    pub(super) abort_running: bool,
    #[serde(default)]
    pub(super) task_id: String,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) value_json: String,
    #[serde(default)]
    pub(super) step_id: String,
    #[serde(default)]
    pub(super) format: Format,
    #[serde(default)]
    pub(super) call: Option<Box<RawValue>>,
}

/// What to do.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Action {
    Run,
    Result,
    Watch,
    CancelBatch,
    SetVariable,
    Step,
    StepResult,
    Usage,
    Definitions,
    ToolCall,
}

/// Which API of a model.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    #[default]
    Anthropic,
    OpenAi,
}

/// When to end a stream early, and how.
#[derive(Deserialize)]
pub(super) struct Stop {
    after: Value,
    pub(super) how: How,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum How {
    Leave,
    Cancel,
}

impl Stop {
    /// The event holds all members that are waited for.
    pub(super) fn is_met_by(&self, event: &str) -> anyhow::Result<bool> {
        let event = serde_json::from_str(event).context("an event was written that is no JSON")?;
        Ok(holds(&event, &self.after))
    }
}

/// `found` has all that is `expected`; what is absent equals what is empty, 0 or false.
fn holds(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (_, Value::Object(members)) => members.iter().all(|(name, value)| holds(&found[name.as_str()], value)),
        (Value::Null, Value::Bool(false)) => true,
        (Value::Null, Value::Number(number)) => number.as_f64() == Some(0.0),
        (Value::Null, Value::String(text)) => text.is_empty(),
        (Value::Null, Value::Array(values)) => values.is_empty(),
        (found, expected) => found == expected,
    }
}

/// A batch to run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prepared {
    #[serde(default)]
    task_id: String,
    #[serde(default)]
    batch_id: String,
    #[serde(default)]
    agent_id: String,
    calls: Option<Vec<Call>>,
    calls_ref: Option<String>,
    mode: Option<Mode>,
    max_concurrency: Option<u32>,
    serialize_on: Option<String>,
    stop_on_error: Option<bool>,
    include_results: Option<bool>,
    call_timeout_ms: Option<i64>,
    retry: Option<Retry>,
    in_doubt: Option<InDoubt>,
    #[serde(default)]
    validate_only: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(default)]
    tool: String,
    #[serde(default)]
    key: String,
    args_json: Option<String>,
    args: Option<Box<RawValue>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Sequential,
    Parallel,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InDoubt {
    Rerun,
    Lookup,
    Fail,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retry {
    #[serde(default)]
    max_attempts: u32,
    initial_backoff_ms: Option<i64>,
    max_backoff_ms: Option<i64>,
    #[serde(default)]
    backoff_multiplier: f64,
}

impl Prepared {
    /// The contract's request: what is absent is not set, but for the id, which makes it repeatable.
    pub(super) fn request(&self) -> ExecuteBatchRequest {
        let calls = || self.calls.iter().flatten().map(Call::message).collect();
        let source = match (&self.calls, &self.calls_ref) {
            (_, Some(reference)) => Some(Source::CallsRef(reference.clone())),
            (Some(_), None) => Some(Source::CallList(CallList { calls: calls() })),
            (None, None) => None,
        };
        let batch_id = match self.batch_id.as_str() {
            "" => Uuid::now_v7().to_string(),
            given => given.to_owned(),
        };
        ExecuteBatchRequest {
            task_id: self.task_id.clone(),
            agent_id: self.agent_id.clone(),
            batch_id,
            source,
            options: self.options(),
            validate_only: self.validate_only,
        }
    }

    fn options(&self) -> Option<BatchOptions> {
        let mode = self.mode.map(|mode| match mode {
            Mode::Sequential => BatchMode::Sequential,
            Mode::Parallel => BatchMode::Parallel,
        });
        let in_doubt = self.in_doubt.map(|policy| match policy {
            InDoubt::Rerun => InDoubtPolicy::Rerun,
            InDoubt::Lookup => InDoubtPolicy::Lookup,
            InDoubt::Fail => InDoubtPolicy::Fail,
        });
        let options = BatchOptions {
            mode: mode.unwrap_or_default().into(),
            max_concurrency: self.max_concurrency.unwrap_or_default(),
            serialize_on: self.serialize_on.clone().unwrap_or_default(),
            stop_on_error: self.stop_on_error,
            include_results: self.include_results,
            call_timeout: self.call_timeout_ms.map(duration),
            retry: self.retry.as_ref().map(|retry| RetryPolicy {
                max_attempts: retry.max_attempts,
                initial_backoff: retry.initial_backoff_ms.map(duration),
                max_backoff: retry.max_backoff_ms.map(duration),
                backoff_multiplier: retry.backoff_multiplier,
            }),
            in_doubt: in_doubt.unwrap_or_default().into(),
        };
        (options != BatchOptions::default()).then_some(options)
    }
}

impl Call {
    fn message(&self) -> ToolCall {
        let args_json = match (&self.args_json, &self.args) {
            (Some(text), _) => text.clone(),
            (None, Some(value)) => rewritten(value.get()),
            (None, None) => String::new(),
        };
        ToolCall { tool: self.tool.clone(), args_json, key: self.key.clone() }
    }
}

fn duration(millis: i64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: millis / 1_000,
        nanos: i32::try_from(millis % 1_000 * 1_000_000).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(text: &str) -> ExecuteBatchRequest {
        serde_json::from_str::<Prepared>(text).unwrap().request()
    }

    #[test]
    fn what_is_absent_is_not_set() {
        let request = batch(r#"{"task_id": "t", "calls": []}"#);
        assert_eq!(request.options, None);
        assert!(Uuid::parse_str(&request.batch_id).is_ok(), "{}", request.batch_id);
        let options = batch(r#"{"batch_id": "b", "stop_on_error": false}"#).options.unwrap();
        assert_eq!(options, BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() });
        assert_eq!(batch(r#"{"batch_id": "b"}"#).batch_id, "b");
    }

    #[test]
    fn args_keep_their_digits_and_their_order() {
        let text = r#"{"calls": [{"tool": "echo", "args": {"z": 12345678901234567890123, "a": 1.10, "ü": " x "}}, {"args_json": " {} "}]}"#;
        let Some(Source::CallList(list)) = batch(text).source else { panic!("no list") };
        assert_eq!(list.calls[0].args_json, r#"{"z":12345678901234567890123,"a":1.10,"ü":" x "}"#);
        assert_eq!(list.calls[1].args_json, " {} ");
    }

    #[test]
    fn an_absent_member_is_0() {
        let after = |text: &str| Stop { after: serde_json::from_str(text).unwrap(), how: How::Leave };
        let event = r#"{"kind":"call_started","sequence":2}"#;
        assert!(after(r#"{"kind":"call_started","index":0}"#).is_met_by(event).unwrap());
        assert!(!after(r#"{"kind":"call_started","index":1}"#).is_met_by(event).unwrap());
        assert!(!after(r#"{"kind":"call_finished"}"#).is_met_by(event).unwrap());
    }
}
