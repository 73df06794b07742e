//! R3, R8 and the backend cases, through a whole server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use toolbatch::{
    config::Backend,
    proto::{BatchOptions, CallErrorReason, CallResult, ToolCall, batch_event::Event},
};

use crate::{
    backend::{ScriptedBackend, tool},
    rig::{Ran, Rig, batch, batch_with, call, parallel},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn reason(result: &CallResult) -> (CallErrorReason, bool) {
    let error = result.error.as_ref().expect("it failed");
    (error.reason(), error.outcome_unknown)
}

#[tokio::test]
async fn c01_a_backend_that_was_down_serves_as_soon_as_it_is_up() {
    let mut rig = Rig::start().await;
    rig.backend.crash().await;
    let down = rig.run(batch(vec![effect("a")])).await;
    assert_eq!(reason(&down.results()[0]), (CallErrorReason::BackendUnavailable, false));
    rig.backend.restart().await;
    assert_eq!(rig.run(batch(vec![effect("b")])).await.statuses(), ["completed"]);
    rig.backend.crash().await;
    rig.backend.restart().await;
    assert_eq!(rig.run(batch(vec![effect("c")])).await.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().ids(), ["b", "c"]);
}

#[tokio::test]
async fn c01_a_tool_of_a_backend_that_was_never_reached_waits_for_it() {
    let mut backend = ScriptedBackend::start().await;
    backend.crash().await;
    let configured = vec![backend.config("stub")];
    let mut rig = Rig::start_with(backend, configured, |_| {}).await;
    let mut events = rig.open(batch(vec![effect("a")])).await.expect("taken in");
    events.until(|event| matches!(event, Event::BatchStarted(_))).await;
    rig.backend.restart().await;
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(ran.story(), ["call_started 0 #1", "completed 0", "finished"]);
    rig.stop().await;
}

#[tokio::test]
async fn c02_unavailable_does_not_mean_that_it_was_not_done() {
    let mut rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let retry = toolbatch::proto::RetryPolicy { max_attempts: 3, ..Default::default() };
    let options = BatchOptions { retry: Some(retry), ..BatchOptions::default() };
    let keyed = ToolCall { key: "inv-1".into(), ..effect("a") };
    let events = rig.open(batch_with(vec![keyed.clone()], options)).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    rig.backend.crash().await;
    drop(gate);
    rig.backend.restart().await;
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(reason(&ran.results()[0]), (CallErrorReason::BackendUnavailable, true));
    assert_eq!(ran.results()[0].attempts, 1);
    assert_eq!(rig.backend.journal().entries().len(), 1);
    assert_eq!(rig.run(batch(vec![keyed])).await.statuses(), ["completed"], "the key may run again");
}

#[tokio::test]
async fn c04_a_silent_backend_is_given_up_at_the_timeout_and_the_rest_goes_on() {
    let rig = Rig::start().await;
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 300_000_000 });
    let options = BatchOptions { call_timeout: timeout, stop_on_error: Some(false), ..parallel(2) };
    let ran = rig.run(batch_with(vec![call("silent", "{}"), effect("a"), effect("b")], options)).await;
    assert_eq!(ran.statuses(), ["failed", "completed", "completed"]);
    assert_eq!(reason(&ran.results()[0]), (CallErrorReason::TimedOut, true));
    assert!(ran.results()[0].duration.expect("a duration").nanos >= 300_000_000);
}

#[tokio::test]
async fn c04_a_backend_that_dies_during_a_call_ends_it_long_before_the_timeout() {
    let mut rig = Rig::start().await;
    let events = rig.open(batch(vec![call("silent", "{}")])).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    rig.backend.crash().await;
    // The default timeout is five minutes: only the cut can end this.
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert_eq!(reason(&ran.results()[0]), (CallErrorReason::BackendUnavailable, true));
}

/// Between server and backend: counts the HTTP/2 PING frames that the server sends of its own accord.
struct PingCounter {
    address: String,
    pings: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl PingCounter {
    async fn start(backend: &ScriptedBackend) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let to = backend.address().trim_start_matches("http://").to_owned();
        let pings = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        let counter = Arc::clone(&pings);
        tasks.spawn(async move {
            let mut pipes = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&to).await.expect("the backend is there");
                pipes.spawn(pipe(client, server, Arc::clone(&counter)));
            }
        });
        Self { address, pings, _tasks: tasks }
    }
}

async fn pipe(client: TcpStream, server: TcpStream, pings: Arc<AtomicUsize>) {
    const PREFACE: usize = 24;
    const PING: u8 = 6;
    const ACK: u8 = 1;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let count = async move {
        let mut preface = [0; PREFACE];
        from_client.read_exact(&mut preface).await?;
        to_server.write_all(&preface).await?;
        loop {
            let mut head = [0; 9];
            from_client.read_exact(&mut head).await?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let mut body = vec![0; length];
            from_client.read_exact(&mut body).await?;
            if head[3] == PING && head[4] & ACK == 0 {
                pings.fetch_add(1, Ordering::SeqCst);
            }
            to_server.write_all(&head).await?;
            to_server.write_all(&body).await?;
        }
    };
    tokio::select! {
        ended = count => { let _: std::io::Result<()> = ended; }
        _ = tokio::io::copy(&mut from_server, &mut to_client) => {}
    }
}

/// The long form: `TOOLBATCH_QUIET_CALL_MS=150000 cargo test --test it c05`.
#[tokio::test]
async fn c05_a_long_quiet_call_and_an_idle_connection_see_no_pings() {
    let quiet_ms: u64 =
        std::env::var("TOOLBATCH_QUIET_CALL_MS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let backend = ScriptedBackend::start().await;
    let counter = PingCounter::start(&backend).await;
    let configured =
        vec![Backend { name: "stub".into(), addresses: vec![counter.address.clone()], ..Backend::default() }];
    let rig = Rig::start_with(backend, configured, |_| {}).await;
    let quiet = call("effect", &format!(r#"{{"id":"a","ms":{quiet_ms}}}"#));
    assert_eq!(rig.run(batch(vec![quiet])).await.statuses(), ["completed"]);
    tokio::time::sleep(Duration::from_millis(quiet_ms)).await;
    assert_eq!(rig.run(batch(vec![effect("b")])).await.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().ids(), ["a", "b"]);
    assert_eq!(counter.pings.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn c51_tools_that_no_batch_may_call() {
    let backend = ScriptedBackend::start().await;
    let mut tools = crate::backend::stub_tools();
    tools.push(tool("ask_user"));
    tools.push(toolbatch::proto::Tool { pauses: true, ..tool("approve") });
    backend.set_tools(tools);
    let configured = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, configured, |_| {}).await;
    let calls = || {
        vec![
            call("execute_tool_batch", r#"{"calls":[]}"#),
            call("batch_tool", r#"{"invocations":[]}"#),
            call("ask_user", "{}"),
            call("approve", "{}"),
            call("milestone_reached", "{}"),
            call("multi_tool_use.parallel", "{}"),
            call("functions.effect", r#"{"id":"z"}"#),
            call("effect", r#"{"wrong":1}"#),
            effect("ok"),
        ]
    };
    let going_on = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    let ran = rig.run(batch_with(calls(), going_on)).await;
    let reasons: Vec<_> = ran.results()[..8].iter().map(|result| reason(result).0).collect();
    assert_eq!(reasons[..5], [CallErrorReason::ToolNotBatchable; 5]);
    assert_eq!(reasons[5..7], [CallErrorReason::ToolNotFound; 2]);
    assert_eq!(reasons[7], CallErrorReason::InvalidArgs);
    for result in &ran.results()[..7] {
        let message = &result.error.as_ref().expect("an error").message;
        assert!(message.contains(&result.tool), "{message}");
        assert_eq!((result.attempts, rig.get_step(&result.step_id).await.expect("a step").attempts), (0, 0));
    }
    assert_eq!(rig.backend.journal().ids(), ["ok"]);
    let stopped = rig.run(batch(calls())).await;
    assert_eq!(stopped.statuses()[..2], ["failed", "not_run"]);
    assert_eq!(stopped.story(), ["started", "failed 0", "finished"]);
}
