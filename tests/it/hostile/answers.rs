//! Backends that answer wrongly, without end, or too much. The batch's RPC is fine; the call says that its outcome is unknown.

use std::time::Duration;

use toolbatch::{
    config::{Backend, Config},
    proto::{BatchOptions, CallErrorReason, CallResult, ListUsageRequest},
};

use crate::{
    backend::{
        ScriptedBackend,
        wire::{First, WireBackend},
    },
    rig::{Rig, batch, batch_with, call},
};

/// The bound on what an event keeps of an error's message (R6).
const MESSAGE_MAX: usize = 2 * 1024;

#[track_caller]
fn unknown(result: &CallResult) -> (CallErrorReason, &str) {
    let error = result.error.as_ref().expect("it failed");
    assert!(error.outcome_unknown, "the tool may have run: {error:?}");
    assert!(error.message.len() <= MESSAGE_MAX && !error.message.contains(char::is_control), "{:?}", error.message);
    assert_eq!(result.attempts, 1, "it is not sent again");
    (error.reason(), &error.message)
}

fn within(milliseconds: i32) -> BatchOptions {
    let call_timeout = Some(prost_types::Duration { seconds: 0, nanos: milliseconds * 1_000_000 });
    BatchOptions { call_timeout, stop_on_error: Some(false), ..BatchOptions::default() }
}

#[tokio::test]
async fn row_an_answer_that_is_no_result_is_a_bad_response() {
    let rig = Rig::start().await;
    let large_status = format!(r#"{{"code":13,"message":"{}"}}"#, "s".repeat(24_000));
    let cases = [
        ("raw", r#"{"text":"not JSON"}"#),
        ("raw", r#"{"text":"{\"mean\":NaN}"}"#),
        ("hollow", "{}"),
        ("status", r#"{"code":13,"message":"\u001b[31mred\r\nforged line"}"#),
        ("status", &large_status),
        ("usage", r#"{"unit":"pages","quantity":"NaN"}"#),
        ("usage", r#"{"unit":"pages","quantity":"inf"}"#),
        ("usage", r#"{"unit":"pages","quantity":"-inf"}"#),
        ("usage", r#"{"unit":"pages","quantity":-1}"#),
    ];
    let calls = cases.iter().map(|(tool, args)| call(tool, args)).collect();
    let ran = rig.run(batch_with(calls, BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() })).await;
    for (result, (tool, args)) in ran.results().iter().zip(&cases) {
        let (reason, message) = unknown(result);
        assert_eq!(reason, CallErrorReason::BadResponse, "{tool} {}: {message}", &args[..args.len().min(60)]);
    }
    assert_eq!(rig.backend.journal().entries().len(), cases.len());
    assert_eq!(rig.run(batch(vec![call("echo", "{}")])).await.statuses(), ["completed"], "the connection goes on");
}

#[tokio::test]
async fn row_progress_without_end_does_not_outlive_the_calls_timeout() {
    let rig = Rig::start().await;
    let ran = rig.run(batch_with(vec![call("progress", r#"{"n":1000000000,"ms":1}"#)], within(300))).await;
    assert_eq!(unknown(&ran.results()[0]).0, CallErrorReason::TimedOut);
}

#[tokio::test]
async fn row_an_answer_byte_by_byte_does_not_outlive_the_calls_timeout() {
    let wire = WireBackend::start(First::Drip).await;
    let configured = vec![Backend { name: "stub".into(), addresses: vec![wire.address.clone()], ..Backend::default() }];
    let rig = Rig::start_with(ScriptedBackend::start().await, configured, |_| {}).await;
    let ran = rig.run(batch_with(vec![call("echo", "{}"), call("echo", "{}")], within(300))).await;
    assert_eq!(unknown(&ran.results()[0]).0, CallErrorReason::TimedOut);
    assert_eq!(ran.statuses(), ["failed", "completed"], "the connection goes on");
}

#[tokio::test]
async fn row_a_huge_usage_neither_wraps_nor_overflows_its_cost() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let text = "[prices]\ncurrency = \"EUR\"\n[prices.tools]\nusage = { pages = \"1000000\" }\n";
    let prices = Config::parse(text, "prices.toml").expect("the prices are right").prices;
    let rig = Rig::start_with(backend, backends, |config| config.prices = prices).await;
    let huge = call("usage", r#"{"items":[["pages",1e308],["pages",1e308],["pages",1.7e308]]}"#);
    assert_eq!(rig.run(batch(vec![huge])).await.statuses(), ["completed"]);
    let request = ListUsageRequest { task_id: "T".into(), ..ListUsageRequest::default() };
    let rows = rig.tasks().list_usage(request).await.expect("they are listed").into_inner().rows;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert!(row.quantity.is_finite() && row.quantity >= 1e308, "{row:?}");
    assert_eq!(row.cost_nanos, i64::MAX);
}

#[tokio::test]
async fn row_an_answer_over_64_mib_is_cut() {
    let rig = Rig::start().await;
    let over = [64 * 1024 * 1024 + 1, 66 * 1024 * 1024].map(|bytes| call("blob", &format!(r#"{{"bytes":{bytes}}}"#)));
    let options = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    let ran = tokio::time::timeout(Duration::from_mins(2), rig.run(batch_with(over.to_vec(), options))).await;
    for result in ran.expect("it ends").results() {
        let (reason, message) = unknown(result);
        assert_eq!(reason, CallErrorReason::BadResponse);
        assert!(message.contains("64 MiB"), "{message}");
    }
}
