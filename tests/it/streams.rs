//! R9: following a batch, live and long after, from any sequence number, at any speed.

use std::time::Duration;

use prost::Message as _;
use tokio::task::JoinSet;
use tonic::{Code, Request, Status, transport::Channel};
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    BatchEvent, BatchOptions, BatchStatus, CallProgress, ExecuteBatchRequest, RetryPolicy, ToolCall, WatchBatchRequest,
    batch_event::Event, batch_service_client::BatchServiceClient,
};

use crate::{
    backend::ScriptedBackend,
    refusal::{not_found, refusal},
    rig::{Events, Ran, Rig, batch, batch_with, call, connect, connect_narrow, keyed, parallel, tell},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn effects(ids: &[&str]) -> Vec<ToolCall> {
    ids.iter().map(|id| effect(id)).collect()
}

/// A batch whose events are of every kind that a batch without interruption has.
fn of_every_kind() -> ExecuteBatchRequest {
    let short = Some(prost_types::Duration { seconds: 0, nanos: 1_000_000 });
    let retry = RetryPolicy { max_attempts: 2, initial_backoff: short, max_backoff: short, backoff_multiplier: 1.0 };
    let options = BatchOptions { stop_on_error: Some(false), retry: Some(retry), ..BatchOptions::default() };
    let calls = vec![
        keyed("done", "echo", r#"{"a":1}"#),
        call("flaky", r#"{"id":"f","fail":1}"#),
        call("fail", "{}"),
        call("nobody_serves_this", "{}"),
        call("blob", r#"{"bytes":4000}"#),
        call("blob", r#"{"bytes":5000}"#),
        call("progress", r#"{"n":3}"#),
        call("review", r#"{"id":"r"}"#),
        call("echo", "{}"),
    ];
    batch_with(calls, options)
}

/// Without progress, which is live only.
fn logged(events: Vec<BatchEvent>) -> Vec<BatchEvent> {
    events.into_iter().filter(|event| event.sequence > 0).collect()
}

fn bytes(events: &[BatchEvent]) -> Vec<Vec<u8>> {
    events.iter().map(BatchEvent::encode_to_vec).collect()
}

fn sequences(events: &[BatchEvent]) -> Vec<u64> {
    events.iter().map(|event| event.sequence).collect()
}

fn up_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

#[tokio::test]
async fn an_ended_batch_is_replayed_from_every_sequence_number() {
    let mut rig = Rig::start().await;
    rig.run(batch(vec![keyed("done", "echo", r#"{"a":1}"#)])).await;
    let ran = rig.run(of_every_kind()).await;
    let events = logged(ran.events.clone());
    let last = events.len() as u64;
    assert_eq!(sequences(&events), up_to(last));
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        assert_eq!(rig.get_batch(ran.batch_id()).await.expect("a batch").last_sequence, last);
        for after in 0..=last {
            let replayed = rig.watch(ran.batch_id(), after).await.expect("it is there").rest().await.expect("it ends");
            let rest = &events[usize::try_from(after).expect("it is small")..];
            assert_eq!(bytes(&replayed), bytes(rest), "after {after}");
        }
        for after in [last + 1, u64::MAX] {
            let status = rig.watch(ran.batch_id(), after).await.err().expect("nothing comes after the end");
            assert_eq!(refusal(&status), (Code::OutOfRange, "PAST_THE_LAST_EVENT".to_owned()));
            assert!(status.message().contains(&after.to_string()), "{}", status.message());
        }
    }
    for unknown in ["", "nobody"] {
        let status = rig.watch(unknown, 0).await.err().expect("there is none");
        not_found(&status, "BATCH_NOT_FOUND", ("batch", unknown));
    }
}

#[tokio::test]
async fn clients_that_follow_live_from_anywhere_see_the_same_events() {
    let rig = Rig::start().await;
    let ids = ["a", "b", "c", "d"];
    let gates = ids.map(|id| rig.backend.hold(id));
    let mut first = rig.open(batch(effects(&ids))).await.expect("taken in");
    let batch_id = first.next().await.expect("an event").expect("an event").batch_id;
    let status = rig.watch(&batch_id, 9).await.err().expect("it has 2 events");
    assert_eq!(refusal(&status), (Code::OutOfRange, "PAST_THE_LAST_EVENT".to_owned()));

    let mut clients: JoinSet<(u64, Vec<BatchEvent>)> = JoinSet::new();
    for (round, gate) in gates.into_iter().enumerate() {
        rig.backend.journal().wait_for(|entries| entries.len() == round + 1).await;
        // Started and finished for each round, and this round's start.
        let last = 2 * round as u64 + 2;
        for after in 0..=last {
            let events = rig.watch(&batch_id, after).await.expect("it is there");
            clients.spawn(async move { (after, events.rest().await.expect("it ends")) });
        }
        let status = rig.watch(&batch_id, last + 1).await.err().expect("that is not there yet");
        assert_eq!(refusal(&status).0, Code::OutOfRange);
        gate.release();
    }
    let mut events = rig.watch(&batch_id, 0).await.expect("it is there").rest().await.expect("it ends");
    assert_eq!(sequences(&events), up_to(10));
    assert_eq!(first.rest().await.expect("it ends"), events.split_off(1));
    let events = rig.watch(&batch_id, 0).await.expect("it is there").rest().await.expect("it ends");
    let clients = clients.join_all().await;
    assert_eq!(clients.len(), 3 + 5 + 7 + 9);
    for (after, seen) in clients {
        assert_eq!(bytes(&seen), bytes(&events[usize::try_from(after).expect("it is small")..]), "after {after}");
    }
}

#[tokio::test]
async fn c45_the_reader_leaves_the_batch_stays() {
    let rig = Rig::start().await;
    let ids = ["1", "2", "3", "4", "5"];
    let gate = rig.backend.hold("2");
    // The client dies with its connection, and with all that it had open.
    let mut client = BatchServiceClient::new(connect(rig.endpoint()).await);
    let mut stream = client.execute_batch(batch(effects(&ids))).await.expect("taken in").into_inner();
    let first = stream.message().await.expect("an event").expect("an event").event.expect("an event");
    drop((stream, client));
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;
    gate.release();

    let listed = rig.list_batches("T", 0, "").await.expect("a list").batches;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].batch_id, first.batch_id);
    let events = rig.watch(&first.batch_id, 0).await.expect("it is there").rest().await.expect("it ends");
    assert_eq!(events[0], first);
    let ran = Ran { events };
    assert_eq!(ran.statuses(), ["completed"; 5]);
    assert_eq!(ran.summary().status(), BatchStatus::Completed);
    assert_eq!(rig.backend.journal().ids(), ids);
}

/// Opens a stream whose deadline ends it. A deadline that passes before the server has answered proves nothing, so it is tried
/// again with twice the time.
async fn until_its_deadline(rig: &Rig, batch_id: &str) -> (Vec<BatchEvent>, Status) {
    let mut deadline = Duration::from_millis(250);
    loop {
        let mut request = Request::new(WatchBatchRequest { batch_id: batch_id.into(), after_sequence: 0 });
        request.set_timeout(deadline);
        if let Ok(stream) = rig.batches().watch_batch(request).await {
            let (mut seen, mut events) = (Vec::new(), Events::Watch(stream.into_inner()));
            loop {
                match events.next().await {
                    Ok(Some(event)) => seen.push(event),
                    Ok(None) => panic!("the stream ended well before its deadline"),
                    Err(status) => return (seen, status),
                }
            }
        }
        deadline *= 2;
    }
}

#[tokio::test]
async fn c45_a_deadline_ends_its_stream_and_leaves_the_batch_running() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("b");
    let mut first = rig.open(batch(effects(&["a", "b", "c"]))).await.expect("taken in");
    let batch_id = first.next().await.expect("an event").expect("an event").batch_id;
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;
    let (seen, status) = until_its_deadline(&rig, &batch_id).await;
    assert_eq!(sequences(&seen), up_to(4));
    assert_eq!(refusal(&status), (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned()));

    let running = rig.get_batch(&batch_id).await.expect("a batch");
    assert_eq!(running.summary.expect("a summary").status(), BatchStatus::Running);
    gate.release();
    let events = rig.watch(&batch_id, 4).await.expect("it is there").rest().await.expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"; 3]);
    assert_eq!(rig.backend.journal().ids(), ["a", "b", "c"]);
}

#[tokio::test]
async fn c45_a_deadline_of_the_request_itself_leaves_the_batch_running() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let mut request = Request::new(ExecuteBatchRequest { batch_id: "b1".into(), ..batch(effects(&["a", "b"])) });
    request.set_timeout(Duration::from_secs(1));
    let answer = rig.batches().execute_batch(request).await;
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    let status = match answer {
        Ok(stream) => Events::Execute(stream.into_inner()).rest().await.expect_err("its deadline passes"),
        Err(status) => status,
    };
    assert!([Code::DeadlineExceeded, Code::Cancelled].contains(&status.code()), "{status:?}");
    gate.release();
    let events = rig.watch("b1", 0).await.expect("it is there").rest().await.expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"; 2]);
    assert_eq!(rig.backend.journal().ids(), ["a", "b"]);
}

async fn follow(channel: &Channel, batch_id: &str) -> Events {
    let request = WatchBatchRequest { batch_id: batch_id.into(), after_sequence: 0 };
    let stream = BatchServiceClient::new(channel.clone()).watch_batch(request).await.expect("it is there");
    Events::Watch(stream.into_inner())
}

#[tokio::test]
async fn c43_slow_and_stalled_readers() {
    const LAST: u64 = 402;
    let rig = Rig::start().await;
    let gate = rig.backend.hold("echo");
    let calls = (0..200).map(|n| call("echo", &format!(r#"{{"n":{n},"x":"{}"}}"#, "x".repeat(3_000)))).collect();
    let mut fast = rig.open(batch_with(calls, parallel(16))).await.expect("taken in");
    let mut seen = vec![fast.next().await.expect("an event").expect("an event")];
    let batch_id = seen[0].batch_id.clone();
    // Each on a connection that takes little before it is read.
    let mut slow = follow(&connect_narrow(rig.endpoint()).await, &batch_id).await;
    let mut stalled = Vec::new();
    for _ in 0..50 {
        stalled.push(follow(&connect_narrow(rig.endpoint()).await, &batch_id).await);
    }
    gate.release();

    let mut slowly = Vec::new();
    while let Some(event) = fast.next().await.expect("the stream goes on") {
        seen.push(event);
        if seen.len().is_multiple_of(4) {
            slowly.push(slow.next().await.expect("the stream goes on").expect("it is behind"));
        }
    }
    assert_eq!(sequences(&seen), up_to(LAST));
    assert_eq!(Ran { events: seen.clone() }.summary().succeeded, 200);
    assert_eq!(slowly.len(), 100);
    slowly.extend(slow.rest().await.expect("it ends well"));
    assert_eq!(bytes(&slowly), bytes(&seen));
    // Whoever comes back to its stream finds all of it.
    for reader in stalled.drain(..5) {
        assert_eq!(bytes(&reader.rest().await.expect("it ends well")), bytes(&seen));
    }
}

/// Reads until a call's end: what came, progress included.
async fn up_to_the_end_of_call(events: &mut Events, index: u32) -> Vec<BatchEvent> {
    let mut seen = Vec::new();
    loop {
        let event = events.next().await.expect("the stream goes on").expect("the call ends");
        let over = matches!(&event.event, Some(Event::CallFinished(call))
            if call.result.as_ref().is_some_and(|result| result.index == index));
        seen.push(event);
        if over {
            return seen;
        }
    }
}

async fn next_progress(events: &mut Events, seen: &mut Vec<BatchEvent>) -> CallProgress {
    loop {
        let event = events.next().await.expect("the stream goes on").expect("progress comes");
        seen.push(event.clone());
        if let Some(Event::CallProgress(progress)) = event.event {
            assert_eq!(event.sequence, 0);
            return progress;
        }
    }
}

#[tokio::test]
async fn progress_is_told_while_its_call_runs_and_never_again() {
    let rig = Rig::start().await;
    let (reports, outcome) = (rig.backend.hold("reports"), rig.backend.hold("progress"));
    let calls = vec![effect("a"), call("progress", r#"{"n":3}"#), effect("b")];
    let mut first = rig.open(batch(calls)).await.expect("taken in");
    let mut seen_first = Vec::new();
    while seen_first.last().is_none_or(|event: &BatchEvent| event.sequence < 4) {
        seen_first.push(first.next().await.expect("the stream goes on").expect("the call starts"));
    }
    let batch_id = seen_first[0].batch_id.clone();
    let mut second = rig.watch(&batch_id, 3).await.expect("it is there");
    let mut seen_second = vec![second.next().await.expect("the stream goes on").expect("the call's start")];
    let step_id = match &seen_second[0].event {
        Some(Event::CallStarted(started)) => started.step_id.clone(),
        other => panic!("{other:?}"),
    };

    reports.release();
    for (events, seen) in [(&mut first, &mut seen_first), (&mut second, &mut seen_second)] {
        for report in 1..=3_u8 {
            let progress = next_progress(events, seen).await;
            assert_eq!((progress.index, progress.progress, progress.total), (1, f64::from(report), 3.0));
            assert_eq!((progress.message, &progress.step_id), (format!("{report} of 3"), &step_id));
        }
    }
    // Nothing of it is replayed, not even while the call runs.
    let mut late = rig.watch(&batch_id, 0).await.expect("it is there");
    outcome.release();
    let seen_late = up_to_the_end_of_call(&mut late, 1).await;
    assert_eq!(sequences(&seen_late), up_to(5));
    seen_first.extend(first.rest().await.expect("it ends"));
    seen_second.extend(second.rest().await.expect("it ends"));

    let told: Vec<String> = seen_first.iter().filter_map(|event| event.event.as_ref()).map(tell).collect();
    let (before, after) = (
        ["started", "call_started 0 #1", "completed 0"],
        ["completed 1", "call_started 2 #1", "completed 2", "finished"],
    );
    let of_call = ["call_started 1 #1", "progress 1", "progress 1", "progress 1"];
    assert_eq!(told, [&before[..], &of_call, &after].concat());
    assert_eq!(seen_second, seen_first[3..]);
    let replayed = rig.watch(&batch_id, 0).await.expect("it is there").rest().await.expect("it ends");
    assert_eq!(replayed, logged(seen_first));
}

#[tokio::test]
async fn a_stream_goes_on_after_a_restart_of_the_server() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let mut rig = Rig::start_with(backend, backends, |config| config.shutdown_grace = Duration::ZERO).await;
    let gate = rig.backend.hold("b");
    let mut stream = rig.open(batch(effects(&["a", "b", "c"]))).await.expect("taken in");
    let mut events = Vec::new();
    while events.len() < 4 {
        events.push(stream.next().await.expect("the stream goes on").expect("an event"));
    }
    let batch_id = events[0].batch_id.clone();
    let mut watching = rig.watch(&batch_id, 4).await.expect("it is there");
    rig.stop().await;
    for status in [stream.next().await.expect_err("it stops"), watching.next().await.expect_err("it stops")] {
        assert_eq!(refusal(&status), (Code::Unavailable, "SERVER_STOPPING".to_owned()));
        assert!(status.get_details_retry_info().is_some(), "{status:?}");
    }

    gate.release();
    rig.start_again().await;
    let mut later = rig.watch(&batch_id, 4).await.expect("it is there").rest().await.expect("it ends");
    let whole = rig.watch(&batch_id, 0).await.expect("it is there").rest().await.expect("it ends");
    events.append(&mut later);
    assert_eq!(bytes(&whole), bytes(&events));
    assert_eq!(sequences(&events), up_to(events.len() as u64));
    let ran = Ran { events };
    assert_eq!(
        ran.story()[4..],
        ["resumed [1]", "call_started 1 #2", "completed 1", "call_started 2 #1", "completed 2", "finished"]
    );
    assert_eq!(rig.backend.journal().ids(), ["a", "b", "b", "c"]);
}
