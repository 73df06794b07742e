//! What each tool does.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use anyhow::anyhow;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{json, value::RawValue};
use toolbatch::proto::{
    CallContext, CallToolRequest, CallToolResponse, ToolAwaiting, ToolFailure, UsageItem, call_tool_response::Outcome,
};

use super::gate;
use crate::client::native::rewritten;

/// What was noted, by idempotency key. It is lost with the process.
#[derive(Default)]
pub(super) struct Ledger(Mutex<HashMap<String, String>>);

impl Ledger {
    fn note(&self, idempotency_key: String, entry: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(idempotency_key, entry);
    }

    /// The outcome of the call that noted something under the key.
    pub(super) fn landed(&self, idempotency_key: &str) -> Option<CallToolResponse> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(idempotency_key)?;
        Some(completed(json!({"entry": entry, "looked_up": true}).to_string()))
    }
}

#[derive(Deserialize)]
struct Order {
    contract: String,
    /// As it was written: a whole number of any size.
    quantity: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Fail {
    message: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    retryable: bool,
    times: Option<u32>,
}

#[derive(Deserialize)]
struct Review {
    await_id: String,
}

/// The args of `count`.
#[derive(Deserialize)]
pub(super) struct Count {
    /// How far to count.
    pub(super) to: u32,
}

#[derive(Deserialize)]
struct Meter {
    unit: String,
    quantity: f64,
}

#[derive(Deserialize)]
struct Large {
    bytes: usize,
}

#[derive(Deserialize)]
struct Hold {
    gate: String,
}

#[derive(Deserialize)]
struct Entry {
    entry: String,
    gate: Option<String>,
}

/// Why a call has no result.
pub(super) enum Fault {
    /// No tool of this name: nothing ran.
    Unknown,
    /// The tool says that it failed.
    Declared(ToolFailure),
    /// Nobody knows how far it came.
    Broken(anyhow::Error),
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Self {
        Self::Broken(error)
    }
}

/// Runs one attempt of a call.
pub(super) async fn act(ledger: &Ledger, request: CallToolRequest) -> Result<CallToolResponse, Fault> {
    let CallToolRequest { tool, args_json, context } = request;
    let args = if args_json.is_empty() { "{}" } else { &args_json };
    let context = context.unwrap_or_default();
    match tool.as_str() {
        "echo" => Ok(completed(args)),
        "native" => Ok(completed(rewritten(args))),
        "post_order" => {
            let Order { contract, quantity } = read(args)?;
            let quantity = quantity.map_or_else(|| "1".to_owned(), |quantity| quantity.to_string());
            Ok(completed(format!(r#"{{"posted":{},"quantity":{quantity}}}"#, json!(contract))))
        }
        "fail" => fail(read(args)?, &context),
        "crash" => Err(anyhow!("the tool broke down on purpose").into()),
        "review" => {
            let Review { await_id } = read(args)?;
            let awaiting = ToolAwaiting { await_id, result_json: json!({"draft": true}).to_string() };
            Ok(outcome(Outcome::Awaiting(awaiting)))
        }
        "count" => Ok(completed(json!({"counted": read::<Count>(args)?.to}).to_string())),
        "meter" => {
            let Meter { unit, quantity } = read(args)?;
            Ok(CallToolResponse { usage: vec![UsageItem { unit, quantity }], ..completed("null") })
        }
        "large" => Ok(completed(format!("\"{}\"", "x".repeat(read::<Large>(args)?.bytes)))),
        "context" => Ok(completed(told(&context))),
        "hold" | "wait" => {
            gate::hold(&read::<Hold>(args)?.gate).await?;
            Ok(completed(json!({"attempt": context.attempt, "in_doubt": context.in_doubt}).to_string()))
        }
        "ledger" => {
            let Entry { entry, gate } = read(args)?;
            ledger.note(context.idempotency_key, entry.clone());
            if let Some(gate) = gate {
                gate::hold(&gate).await?;
            }
            Ok(completed(json!({"entry": entry}).to_string()))
        }
        _ => Err(Fault::Unknown),
    }
}

/// The args as the tool takes them. The schema was checked by then, so what does not fit is beyond what it says: nothing ran.
pub(super) fn read<T: DeserializeOwned>(args: &str) -> Result<T, Fault> {
    serde_json::from_str(args).map_err(|error| {
        Fault::Declared(ToolFailure {
            message: format!("the arguments do not fit: {error}"),
            code: "INVALID_ARGS".into(),
            retryable: false,
        })
    })
}

fn fail(told: Fail, context: &CallContext) -> Result<CallToolResponse, Fault> {
    let Fail { message, code, retryable, times } = told;
    if times.is_some_and(|times| context.attempt > times) {
        return Ok(completed(json!({"attempt": context.attempt}).to_string()));
    }
    Err(Fault::Declared(ToolFailure { message, code, retryable }))
}

fn told(context: &CallContext) -> String {
    let CallContext { task_id, agent_id, key, batch_id, step_id, index, attempt, idempotency_key, in_doubt } = context;
    json!({
        "task_id": task_id, "agent_id": agent_id, "key": key, "batch_id": batch_id, "step_id": step_id, "index": index,
        "attempt": attempt, "idempotency_key": idempotency_key, "in_doubt": in_doubt,
    })
    .to_string()
}

fn completed(result_json: impl Into<String>) -> CallToolResponse {
    outcome(Outcome::ResultJson(result_json.into()))
}

/// A response that is this outcome and nothing else.
pub(super) fn outcome(outcome: Outcome) -> CallToolResponse {
    CallToolResponse { outcome: Some(outcome), ..CallToolResponse::default() }
}
