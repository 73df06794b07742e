//! Requests of any bytes to every RPC, through the whole server: each is answered, or refused in the form of all refusals.

use std::sync::Arc;

use bytes::Bytes;
use proptest::{prelude::*, test_runner::TestRunner};
use prost::Message as _;
use tonic::{Code, Status};
use toolbatch::{
    proto::{
        Backend, BatchOptions, CallContext, CallList, CallToolRequest, CallToolWithProgressRequest, CancelBatchRequest,
        DeregisterBackendRequest, EndTaskRequest, ExecuteBatchRequest, GetBatchRequest, GetStepRequest,
        ListBackendsRequest, ListBatchesRequest, ListKeysRequest, ListStepsRequest, ListToolsRequest, ListUsageRequest,
        LookupCallRequest, ReadStepResultRequest, RegisterBackendRequest, RetryPolicy, SetVariableRequest,
        SettleKeyRequest, ToolCall, WatchBatchRequest, WatchTaskRequest, execute_batch_request::Source,
        settle_key_request::Fate,
    },
    store::Memory,
};

use self::any::{at_least, bytes_like};
use super::raw::{RPCS, send};
use crate::{
    refusal::refusal,
    rig::{Rig, batch, call},
};

#[path = "../../../src/fuzz.rs"]
mod any;

fn context() -> CallContext {
    CallContext { task_id: "T".into(), key: "k".into(), agent_id: "a".into(), ..CallContext::default() }
}

fn batches() -> Vec<Vec<u8>> {
    let duration = |seconds| Some(prost_types::Duration { seconds, nanos: 1 });
    let options = BatchOptions {
        mode: 2,
        max_concurrency: 3,
        serialize_on: "a".into(),
        stop_on_error: Some(false),
        include_results: Some(true),
        call_timeout: duration(5),
        retry: Some(RetryPolicy {
            max_attempts: 2,
            initial_backoff: duration(0),
            max_backoff: duration(1),
            backoff_multiplier: 2.0,
        }),
        in_doubt: 2,
    };
    let keyed = ToolCall { key: "k".into(), ..call("echo", r#"{"a":[1.10,"\u00e9",{"b":null}]}"#) };
    let list = Source::CallList(CallList { calls: vec![call("echo", r#"{"a":1}"#), keyed] });
    let known = ExecuteBatchRequest { batch_id: "B".into(), agent_id: "a".into(), ..batch(vec![call("echo", "{}")]) };
    let by_reference = Source::CallsRef("${VAR_1}.calls[0]".into());
    [
        ExecuteBatchRequest { source: Some(list), options: Some(options), ..batch(vec![]) },
        ExecuteBatchRequest { source: Some(by_reference), validate_only: true, ..batch(vec![]) },
        known,
    ]
    .map(|request| request.encode_to_vec())
    .into()
}

/// Sound requests of an RPC.
fn sound(rpc: &str) -> Vec<Vec<u8>> {
    let (task_id, page_token) = (String::from("T"), String::from("00ff"));
    let call = || CallToolRequest { tool: "echo".into(), args_json: r#"{"a":1}"#.into(), context: Some(context()) };
    let one = match rpc.rsplit('/').next().expect("a name") {
        "ExecuteBatch" => return batches(),
        "WatchBatch" => WatchBatchRequest { batch_id: "B".into(), after_sequence: 1 }.encode_to_vec(),
        "GetBatch" => GetBatchRequest { batch_id: "B".into() }.encode_to_vec(),
        "ListBatches" => ListBatchesRequest { task_id, page_size: 5, page_token }.encode_to_vec(),
        "CancelBatch" => CancelBatchRequest { batch_id: "B".into(), abort_running: true }.encode_to_vec(),
        "EndTask" => EndTaskRequest { task_id: "ended".into(), reason: "done".into() }.encode_to_vec(),
        "SetVariable" => {
            SetVariableRequest { task_id, name: "VAR_1".into(), value_json: r#"{"calls":[{"tool":"echo"}]}"#.into() }
                .encode_to_vec()
        }
        "GetStep" => GetStepRequest { step_id: "B".into() }.encode_to_vec(),
        "ReadStepResult" => ReadStepResultRequest { step_id: "B".into(), offset: 3 }.encode_to_vec(),
        "ListSteps" => {
            ListStepsRequest { task_id, parent_step_id: "B".into(), page_size: 5, page_token }.encode_to_vec()
        }
        "ListUsage" => ListUsageRequest { task_id, page_size: 5, page_token }.encode_to_vec(),
        "ListKeys" => ListKeysRequest { task_id, states: vec![1, 2], page_size: 5, page_token }.encode_to_vec(),
        "SettleKey" => {
            let fate = Some(Fate::LandedResultJson("[1]".into()));
            SettleKeyRequest { task_id, key: "k".into(), fate }.encode_to_vec()
        }
        "WatchTask" => WatchTaskRequest { task_id, resume_token: "00ff".into() }.encode_to_vec(),
        "ListTools" => ListToolsRequest { agent_id: "a".into(), page_size: 5, page_token }.encode_to_vec(),
        "CallTool" => call().encode_to_vec(),
        "CallToolWithProgress" => CallToolWithProgressRequest { call: Some(call()) }.encode_to_vec(),
        "LookupCall" => {
            LookupCallRequest { tool: "echo".into(), args_json: "{}".into(), context: Some(context()) }.encode_to_vec()
        }
        "RegisterBackend" => {
            // No damage to a path makes a name that has to be looked up.
            let addresses = vec!["unix:/nowhere/tools.sock".into()];
            let backend = Backend { name: "b".into(), addresses, max_concurrency: 3, ..Backend::default() };
            RegisterBackendRequest { backend: Some(backend) }.encode_to_vec()
        }
        "DeregisterBackend" => DeregisterBackendRequest { name: "b".into() }.encode_to_vec(),
        "ListBackends" => ListBackendsRequest::default().encode_to_vec(),
        other => panic!("{other} has no sound request here"),
    };
    vec![one]
}

/// An RPC and what is sent to it.
fn a_request() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    // Batches and calls are most of what there is to check.
    let weight = |rpc: &str| if rpc.ends_with("ExecuteBatch") { 8 } else { 1 };
    let each =
        RPCS.into_iter().map(|rpc| (weight(rpc), bytes_like(sound(rpc)).prop_map(move |bytes| (rpc, bytes)).boxed()));
    proptest::strategy::Union::new_weighted(each.collect())
}

/// A refusal that a client can act on. Where a handler panics, its stream is reset, which is a status without details.
fn is_told(rpc: &str, status: &Status) {
    const EXPECTED: [Code; 7] = [
        Code::InvalidArgument,
        Code::NotFound,
        Code::AlreadyExists,
        Code::FailedPrecondition,
        // A registration's address.
        Code::PermissionDenied,
        Code::OutOfRange,
        Code::Unimplemented,
    ];
    let (code, reason) = refusal(status);
    let expected = EXPECTED.contains(&code) || (code == Code::Internal && reason == "MALFORMED_MESSAGE");
    assert!(expected, "{rpc}: {status:?}");
}

#[test]
fn any_bytes_to_any_rpc_are_answered_or_refused_in_words() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let rig = runtime.block_on(Rig::start_on(Arc::new(Memory::new())));
    let outcome = TestRunner::new(at_least(20_000)).run(&a_request(), |(rpc, message)| {
        if let Err(status) = runtime.block_on(send(&rig.channel, rpc, Bytes::from(message))) {
            is_told(rpc, &status);
        }
        Ok(())
    });
    outcome.unwrap();
    let after =
        runtime.block_on(rig.run(ExecuteBatchRequest { task_id: "after".into(), ..batch(vec![call("echo", "{}")]) }));
    assert_eq!(after.statuses(), ["completed"]);
}
