//! Traces: a call's step names its trace, backends are told of it, and each attempt is a span (R10, W3C Trace Context).

use std::path::Path;

use tonic::{Request, metadata::MetadataValue};
use toolbatch::proto::{BatchOptions, CallContext, CallToolRequest, RetryPolicy};

use crate::{
    backend::Entry,
    process::Program,
    rig::{Events, Ran, Rig, batch_with, call, keyed, parallel},
};

const TRACE_ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A request in the caller's trace.
fn traced<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("traceparent", MetadataValue::from_static(PARENT));
    request.metadata_mut().insert("tracestate", MetadataValue::from_static("vendor=a"));
    request
}

/// A header that a backend was sent.
fn header<'e>(entry: &'e Entry, name: &str) -> &'e str {
    entry.metadata.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The trace and the span that a backend was told of.
fn told(parent: &str) -> (&str, &str) {
    let fields: Vec<&str> = parent.split('-').collect();
    let [version, trace_id, span, flags] = fields[..] else { panic!("{parent:?} is no traceparent") };
    assert_eq!((version, trace_id.len(), span.len(), flags.len()), ("00", 32, 16, 2), "{parent}");
    (trace_id, span)
}

#[tokio::test]
async fn a_callers_trace_goes_on_to_backends_with_a_span_for_each_attempt() {
    let rig = Rig::start().await;
    let retry = Some(RetryPolicy { max_attempts: 2, ..RetryPolicy::default() });
    let request = batch_with(
        vec![call("echo", "{}"), call("flaky", r#"{"id":"f","fail":1}"#)],
        BatchOptions { retry, ..parallel(2) },
    );
    let stream = rig.batches().execute_batch(traced(request)).await.expect("it is taken in").into_inner();
    let ran = Ran { events: Events::Execute(stream).rest().await.expect("it ends well") };
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.len(), 3);
    let mut spans: Vec<&str> = Vec::new();
    for entry in &entries {
        let (trace_id, span) = told(header(entry, "traceparent"));
        assert_eq!((trace_id, header(entry, "tracestate")), (TRACE_ID, "vendor=a"));
        assert_ne!(span, "00f067aa0ba902b7", "it is the attempt's own");
        assert!(!spans.contains(&span), "each attempt has its own");
        spans.push(span);
        assert_eq!(rig.get_step(&entry.step_id).await.expect("kept").trace_id, TRACE_ID);
    }
    assert_eq!(rig.get_step(ran.batch_id()).await.expect("kept").trace_id, TRACE_ID);
}

#[tokio::test]
async fn a_batch_without_a_trace_begins_one() {
    let rig = Rig::start().await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let ran = rig.run(batch_with(vec![call("echo", "{}"), call("echo", "{}")], parallel(2))).await;
        let step = rig.get_step(&ran.results()[1].step_id).await.expect("kept");
        seen.push(step.trace_id);
    }
    assert_ne!(seen[0], seen[1], "one for each batch");
    let told: Vec<String> =
        rig.backend.journal().entries().iter().map(|entry| told(header(entry, "traceparent")).0.to_owned()).collect();
    assert_eq!(told, [&seen[0], &seen[0], &seen[1], &seen[1]].map(String::clone));

    // One that is not as the recommendation has it is passed over, not refused.
    let mut request = Request::new(batch_with(vec![call("echo", "{}")], parallel(2)));
    request.metadata_mut().insert("traceparent", MetadataValue::from_static("00-nonsense"));
    let mut stream = rig.batches().execute_batch(request).await.expect("it is taken in").into_inner();
    while stream.message().await.expect("it ends well").is_some() {}
}

#[tokio::test]
async fn a_models_calls_are_in_its_trace_too() {
    let rig = Rig::start().await;
    let context = || Some(CallContext { task_id: "T".into(), ..CallContext::default() });
    let direct = CallToolRequest { tool: "echo".into(), args_json: "{}".into(), context: context() };
    let step = rig.tools().call_tool(traced(direct)).await.expect("it is answered").into_inner().step_id;
    let args_json = r#"{"calls":[{"tool":"echo","args":{}}]}"#.into();
    let listed = CallToolRequest { tool: "execute_tool_batch".into(), args_json, context: context() };
    let batch = rig.tools().call_tool(traced(listed)).await.expect("it is answered").into_inner().step_id;
    for step_id in [step, batch] {
        assert_eq!(rig.get_step(&step_id).await.expect("kept").trace_id, TRACE_ID);
    }
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.iter().map(|entry| told(header(entry, "traceparent")).0).collect::<Vec<_>>(), [TRACE_ID; 2]);
}

#[tokio::test]
async fn each_attempt_is_a_span_in_the_log_and_a_restart_keeps_the_trace() {
    let mut program = Program::new("5s").await;
    program.set_environment(&[("TOOLBATCH_LOG", Path::new("info,toolbatch::tool_execution=debug"))]);
    let client = program.start().await;
    let held = program.backend.hold("a");
    let request = batch_with(vec![keyed("k1", "effect", r#"{"id":"a"}"#)], parallel(1));
    let mut stream = client.batches().execute_batch(traced(request)).await.expect("it is taken in").into_inner();
    stream.message().await.expect("it is told");
    program.backend.journal().wait_for(|entries| entries.len() == 1).await;
    program.crash().await;
    let _client = program.start().await;
    program.backend.journal().wait_for(|entries| entries.len() == 2).await;
    held.release();
    program.logged("status=\"completed\"").await;
    for part in [
        "tool_execution{rpc=Call task_id=\"T\"",
        "tool=\"effect\" backend=\"stub\" key=\"k1\" attempt=2 in_doubt=true",
        "trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"",
        "parent_span_id=00f067aa0ba902b7",
        "time.idle=",
    ] {
        program.logged(part).await;
    }
}
