//! R9: what a signal does to the program, and what the next start makes of it.

use std::time::Duration;

use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_types::StatusExt as _;
use toolbatch::proto::{ExecuteBatchRequest, ToolCall, batch_event::Event};

use crate::{
    process::{Program, Signal},
    rig::{Client, Events, Ran, batch, call, tell},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn named(batch_id: &str, calls: Vec<ToolCall>) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: batch_id.into(), ..batch(calls) }
}

/// The events up to the stream's end, which must be that of a server that stops.
async fn rest_of_a_stopping_stream(mut events: Events) -> (Vec<String>, u64) {
    let (mut story, mut last) = (Vec::new(), 0);
    loop {
        match events.next().await {
            Ok(Some(event)) => {
                last = event.sequence;
                story.push(tell(event.event.as_ref().expect("an event")));
            }
            Ok(None) => panic!("the batch ended: {story:?}"),
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status:?}");
                assert!(
                    status.get_details_retry_info().expect("a client is told when to come back").retry_delay.is_some()
                );
                assert_eq!(status.get_details_error_info().expect("details").reason, "SERVER_STOPPING");
                return (story, last);
            }
        }
    }
}

async fn watch_health(client: &Client) -> tonic::Streaming<tonic_health::pb::HealthCheckResponse> {
    let request = HealthCheckRequest { service: String::new() };
    let mut health = HealthClient::new(client.channel.clone()).watch(request).await.expect("it answers").into_inner();
    assert_eq!(health.message().await.expect("it goes on").expect("a status").status(), ServingStatus::Serving);
    health
}

#[tokio::test]
async fn c13_a_graceful_restart_repeats_nothing() {
    // Far longer than the test takes: the program does not wait for its end once nothing runs.
    let mut program = Program::new("10m").await;
    let client = program.start().await;
    let gate = program.backend.hold("2");
    let events = client.open(named("b", (1..=5).map(|n| effect(&n.to_string())).collect())).await.expect("taken in");
    let follower = client.watch("b", 0).await.expect("it is there");
    program.backend.journal().wait_for(|entries| entries.len() == 2).await;
    let mut health = watch_health(&client).await;
    // A connection that does nothing is told to go, while a call is still running.
    let socket = tokio::net::UnixStream::connect(program.socket()).await.expect("it listens");
    let (_requests, mut connection) = h2::client::handshake(socket).await.expect("it speaks HTTP/2");
    let mut pings = connection.ping_pong().expect("nobody else pings");
    let mut idle = tokio::task::JoinSet::new();
    idle.spawn(connection);
    pings.ping(h2::Ping::opaque()).await.expect("it answers");

    program.signal(Signal::Terminate);
    assert_eq!(health.message().await.expect("it goes on").expect("a status").status(), ServingStatus::NotServing);
    let ended = idle.join_next().await.expect("it was spawned").expect("it does not panic");
    // The server may have closed the socket before this side could say goodbye.
    assert!(ended.as_ref().err().is_none_or(h2::Error::is_io), "a GOAWAY without an error: {ended:?}");
    gate.release();

    for events in [events, follower] {
        let (story, last) = rest_of_a_stopping_stream(events).await;
        assert_eq!(story, ["started", "call_started 0 #1", "completed 0", "call_started 1 #1", "completed 1"]);
        assert_eq!(last, 5);
    }
    assert_eq!(program.ended().await.code(), Some(0));
    assert_eq!(program.backend.journal().ids(), ["1", "2"]);

    let client = program.start().await;
    let ran = Ran { events: client.watch("b", 5).await.expect("it is there").rest().await.expect("it ends") };
    assert_eq!(ran.story()[0], "resumed []");
    assert_eq!(ran.statuses(), ["completed"; 5]);
    assert_eq!(program.backend.journal().ids(), ["1", "2", "3", "4", "5"]);
}

#[tokio::test]
async fn the_end_does_not_wait_for_clients_nor_for_calls_beyond_the_grace() {
    let mut program = Program::new("500ms").await;
    let client = program.start().await;
    // 64 results of 3 KiB are more than HTTP/2 lets through to a client that does not read.
    let blobs = (0..64).map(|_| call("blob", r#"{"bytes":3072}"#)).collect();
    client.open(named("large", blobs)).await.expect("taken in").rest().await.expect("it ends");
    let narrow = tonic::transport::Endpoint::from_shared(program.endpoint()).expect("an endpoint");
    let narrow = narrow.initial_stream_window_size(65_535).initial_connection_window_size(65_535);
    let narrow = Client { channel: narrow.connect().await.expect("it is there") };
    let stalled = narrow.watch("large", 0).await.expect("it is there");
    let mut events = client.open(named("b", vec![call("silent", r#"{"id":"s"}"#)])).await.expect("taken in");
    events.until(|event| matches!(event, Event::CallStarted(_))).await;
    let health = watch_health(&client).await;
    let socket = tokio::net::UnixStream::connect(program.socket()).await.expect("it listens");

    program.signal(Signal::Terminate);
    let (story, last) = rest_of_a_stopping_stream(events).await;
    assert!(story.is_empty(), "{story:?}");
    assert_eq!(last, 0);
    // It takes 2.5 s at the most; the rest is for machines that are short of processors.
    let ended = tokio::time::timeout(Duration::from_secs(15), program.ended()).await.expect("it ends all the same");
    assert_eq!(ended.code(), Some(0));
    drop((stalled, health, socket));

    program
        .backend
        .journal()
        .wait_for(|entries| entries.iter().any(|entry| entry.id == "s" && entry.end.is_some()))
        .await;
    let client = program.start().await;
    let mut events = client.watch("b", 2).await.expect("it is there");
    let resumed = events.next().await.expect("it goes on").expect("an event");
    assert_eq!(tell(resumed.event.as_ref().expect("an event")), "resumed [0]");
}

#[tokio::test]
async fn a_second_signal_stops_at_once_and_the_next_start_goes_on() {
    for second in [Signal::Terminate, Signal::Interrupt] {
        let mut program = Program::new("10m").await;
        let client = program.start().await;
        let gate = program.backend.hold("a");
        client.open(named("b", vec![effect("a"), effect("b")])).await.expect("taken in");
        program.backend.journal().wait_for(|entries| entries.len() == 1).await;
        program.signal(Signal::Interrupt);
        program.logged("stopping").await;
        program.signal(second);
        assert_eq!(program.ended().await.code(), Some(130));
        gate.release();
        let client = program.start().await;
        let ran = Ran { events: client.watch("b", 2).await.expect("it is there").rest().await.expect("it ends") };
        assert_eq!(ran.story()[0], "resumed [0]");
        assert_eq!(ran.statuses(), ["completed", "completed"]);
        assert_eq!(program.backend.journal().ids(), ["a", "a", "b"]);
    }
}
