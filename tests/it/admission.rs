//! I29: what is too much is refused before it is recorded, with a word on when to come again; and what readers cost that take nothing.

use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use toolbatch::{
    config::Limits,
    proto::{CallContext, CallToolRequest, ExecuteBatchRequest, ReadStepResultRequest, ToolCall, batch_event::Event},
};

use crate::{
    backend::ScriptedBackend,
    http2::{HEADERS, Raw, whole_request},
    process::{Program, Signal, resident_kib},
    refusal::assert_overloaded,
    rig::{Rig, batch, call},
};

const OVERLOADED: &str = "SERVER_OVERLOADED";

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn named(batch_id: &str) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: batch_id.into(), ..batch(vec![effect(batch_id)]) }
}

async fn rig(change: impl FnOnce(&mut Limits)) -> Rig {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    Rig::start_with(backend, backends, |config| change(&mut config.limits)).await
}

#[tokio::test]
async fn more_batches_than_may_be_open_are_refused_and_leave_nothing() {
    let rig = rig(|limits| limits.open_batches = 2).await;
    let held = ["a", "b"].map(|id| rig.backend.hold(id));
    let mut first = rig.open(named("a")).await.expect("taken in");
    rig.open(named("b")).await.expect("taken in");
    assert_overloaded(&rig.refused(named("c")).await, "TOO_MANY_OPEN_BATCHES");
    assert_eq!(rig.get_batch("c").await.expect_err("it is not recorded").code(), Code::NotFound);
    assert!(rig.open(named("a")).await.is_ok(), "whoever comes back to a batch adds none");
    drop(held);
    first.until(|event| matches!(event, Event::BatchFinished(_))).await;
    assert_eq!(rig.run(named("c")).await.statuses(), ["completed"]);
    let ran: Vec<_> = rig.backend.journal().entries().into_iter().map(|entry| entry.id).collect();
    assert_eq!(ran.iter().filter(|id| *id == "c").count(), 1, "{ran:?}");
}

#[tokio::test]
async fn more_requests_than_may_wait_are_refused_but_health_is_not() {
    let rig = rig(|limits| limits.waiting_requests = 1).await;
    let held = rig.backend.hold("a");
    let context = Some(CallContext { task_id: "T".into(), ..CallContext::default() });
    let request = CallToolRequest { tool: "effect".into(), args_json: r#"{"id":"a"}"#.into(), context };
    let mut tools = rig.tools();
    let waiting = tokio::task::JoinSet::from_iter([async move { tools.call_tool(request).await }]);
    rig.backend.journal().wait_for(|entries| !entries.is_empty()).await;
    assert_overloaded(&rig.get_batch("any").await.expect_err("it is refused"), OVERLOADED);
    HealthClient::new(rig.channel.clone()).check(HealthCheckRequest::default()).await.expect("it is told");
    drop(held);
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
    assert_eq!(rig.get_batch("any").await.expect_err("there is none").code(), Code::NotFound);
}

#[tokio::test]
async fn requests_have_a_budget_of_bytes() {
    let rig = rig(|limits| limits.request_bytes = 100_000).await;
    let large = batch(vec![call("echo", &format!(r#"{{"x":"{}"}}"#, "x".repeat(150_000)))]);
    assert_overloaded(&rig.refused(large).await, OVERLOADED);
    let fits = batch(vec![call("echo", &format!(r#"{{"x":"{}"}}"#, "x".repeat(80_000)))]);
    for _ in 0..3 {
        assert_eq!(rig.run(fits.clone()).await.statuses(), ["completed"], "what was taken is given back");
    }
}

const READ_RESULT: &str = "/toolbatch.v1.TaskService/ReadStepResult";
/// HTTP/2's name for how much of an answer may be sent unasked.
const INITIAL_WINDOW_SIZE: u16 = 4;
/// As many requests as a connection may have at a time.
const STREAMS: u32 = 100;

/// A connection whose reader asks for a result so many times and takes nothing; every answer has begun.
async fn stalled(endpoint: &str, step_id: &str, streams: u32) -> Raw {
    let mut raw = Raw::open(endpoint, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    let read = ReadStepResultRequest { step_id: step_id.into(), offset: 0 };
    for index in 0..streams {
        raw.say(&whole_request(2 * index + 1, READ_RESULT, &read)).await;
    }
    for _ in 0..streams {
        raw.until(|frame| frame.kind == HEADERS).await;
    }
    raw
}

#[tokio::test]
async fn answers_that_nobody_takes_have_a_budget_of_bytes() {
    let rig = rig(|limits| limits.answer_bytes = 1_500_000).await;
    let ran = rig.run(batch(vec![call("blob", r#"{"bytes":4000000}"#)])).await;
    let step_id = &ran.results()[0].step_id;
    let whole = rig.read_result(step_id, 0).await.expect("it is read").0;
    let raw = stalled(rig.endpoint(), step_id, 20).await;
    let refused = loop {
        // The answers have begun; their first pieces are in memory in a moment.
        if let Err(status) = rig.read_result(step_id, 0).await {
            break status;
        }
    };
    assert_overloaded(&refused, OVERLOADED);
    drop(raw);
    let read = loop {
        if let Ok((read, _)) = rig.read_result(step_id, 0).await {
            break read;
        }
    };
    assert_eq!(read, whole);
}

/// What a connection that nobody uses may cost, with its buffers and tasks.
const IDLE_KIB: u64 = 128;
/// What a reader may cost that takes nothing (I28).
const STALLED_KIB: u64 = 1_024;

#[tokio::test]
async fn a_thousand_idle_connections_and_two_hundred_stalled_readers_have_their_price() {
    let mut program = Program::new("0s").await;
    program.append("[limits]\nfirst_request_timeout = \"10m\"\nstall_timeout = \"10m\"\n");
    let client = program.start().await;
    let ran = client.run(batch(vec![call("blob", r#"{"bytes":4000000}"#)])).await;
    let step_id = &ran.results()[0].step_id;
    let base = resident_kib(program.pid());
    let mut raws = Vec::new();
    for _ in 0..1_000 {
        let mut raw = Raw::open(&program.endpoint(), &[]).await;
        raw.say(&whole_request(1, "/nobody/Nothing", &())).await;
        raw.until(|frame| frame.stream == 1 && frame.kind == HEADERS).await;
        raws.push(raw);
    }
    let idle = resident_kib(program.pid()).saturating_sub(base);
    for _ in 0..2 {
        raws.push(stalled(&program.endpoint(), step_id, STREAMS).await);
    }
    client.get_batch(ran.batch_id()).await.expect("others are answered");
    assert_eq!(client.read_result(step_id, 0).await.expect("it is read").0.len(), 4_000_000);
    let stalled = resident_kib(program.pid()).saturating_sub(base + idle);
    println!("1,000 idle connections: {} KiB each; 200 stalled readers: {} KiB each", idle / 1_000, stalled / 200);
    assert!(idle < 1_000 * IDLE_KIB, "{idle} KiB");
    assert!(stalled < 200 * STALLED_KIB, "{stalled} KiB");
    program.signal(Signal::Kill);
    program.ended().await;
}
