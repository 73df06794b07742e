//! The dispatcher against a backend that does what the test tells it.

mod attempts;
mod replicas;
mod tools;

use std::time::Duration;

use bytes::Bytes;
use toolbatch::{
    batch::{
        event::{Reason, StepId},
        outcome::Outcome,
        tools::{Resolution, Tools as _},
        trace::Trace,
    },
    config,
    dispatch::{Attempt, Backends, Reply},
};

use crate::backend::{
    ScriptedBackend,
    wire::{First, WireBackend},
};

/// Never reached by a test that passes.
const LONG: Duration = Duration::from_mins(1);

/// How long a call waits for a backend that the test knows to be down.
const SHORT: Duration = Duration::from_millis(200);

pub(super) fn attempt(tool: &str, args: &str) -> Attempt {
    Attempt {
        backend: "stub".to_owned(),
        tool: tool.to_owned(),
        args: args.into(),
        task_id: "T".to_owned(),
        agent_id: String::new(),
        key: String::new(),
        batch_id: "B".to_owned(),
        step_id: StepId(uuid::Uuid::nil()),
        index: 0,
        attempt: 1,
        idempotency_key: "idem".to_owned(),
        in_doubt: false,
        trace: Trace::default(),
        timeout: LONG,
        connect_wait: LONG,
    }
}

pub(super) async fn backends(config: &[config::Backend]) -> Backends {
    let not_batchable = ["ask_user".to_owned(), "await_*".to_owned()];
    let backends = Backends::new(
        config,
        &not_batchable,
        std::sync::Arc::default(),
        std::sync::Arc::default(),
        toolbatch::dispatch::Instance::default(),
    )
    .expect("the configuration is right");
    backends.first_look(LONG).await.expect("no tool is served twice");
    backends
}

pub(super) async fn stub() -> (ScriptedBackend, Backends) {
    let stub = ScriptedBackend::start().await;
    let backends = backends(&[stub.config("stub")]).await;
    (stub, backends)
}

pub(super) async fn wire(first: First) -> (WireBackend, Backends) {
    let wire = WireBackend::start(first).await;
    let config = config::Backend {
        name: "stub".to_owned(),
        addresses: vec![wire.address.clone()],
        ..config::Backend::default()
    };
    let backends = backends(&[config]).await;
    (wire, backends)
}

pub(super) async fn call(backends: &Backends, tool: &str, args: &str) -> Reply {
    backends.call(attempt(tool, args), &|_| {}).await
}

pub(super) fn completed(result: &'static str) -> Reply {
    Outcome::Completed { result: Bytes::from_static(result.as_bytes()), usage: vec![] }
}

/// The message of a call whose outcome is unknown for this reason.
#[track_caller]
pub(super) fn unknown(reply: &Reply, expected: Reason) -> String {
    let Outcome::Unknown { reason, message } = reply else { panic!("expected an unknown outcome, got {reply:?}") };
    assert_eq!(*reason, expected, "{message}");
    message.clone()
}

/// The message of a call that never left for this reason.
#[track_caller]
pub(super) fn not_sent(reply: &Reply, expected: Reason) -> String {
    let Outcome::NotSent { reason, message } = reply else {
        panic!("expected a call that was not sent, got {reply:?}")
    };
    assert_eq!(*reason, expected, "{message}");
    message.clone()
}

#[track_caller]
pub(super) fn refused(resolution: &Resolution, expected: Reason) -> String {
    let Resolution::Refused(error) = resolution else { panic!("expected a refusal, got {resolution:?}") };
    assert_eq!((error.reason, error.outcome_unknown), (expected, false), "{}", error.message);
    error.message.clone()
}

#[track_caller]
pub(super) fn is_ready(backends: &Backends, tool: &str, args: &str) {
    let resolution = backends.resolve("", tool, args, false);
    let Resolution::Ready(target) = &resolution else { panic!("{tool} cannot be called: {resolution:?}") };
    assert_eq!((target.base_tool.as_str(), target.backend.as_str()), (tool, "stub"));
}
