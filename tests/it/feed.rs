//! R10: a task's feed: a card for each step as it starts and as it ends, replayed, then live.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use prost::Message as _;
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    BatchOptions, BatchStatus, ExecuteBatchRequest, FeedCard, RetryPolicy, ToolCall, WatchTaskRequest,
    WatchTaskResponse,
};

use crate::{
    backend::ScriptedBackend,
    process::Program,
    refusal::{not_found, refusal, violations},
    rig::{Rig, batch, batch_with, call, keyed, parallel, status_word},
};

/// More batches than a reader has places in.
const MANY: usize = 300;

type Stream = Streaming<WatchTaskResponse>;

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn named(batch_id: &str, request: ExecuteBatchRequest) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: batch_id.into(), ..request }
}

async fn watch(rig: &Rig, task_id: &str, token: &str) -> Result<Stream, Status> {
    let request = WatchTaskRequest { task_id: task_id.into(), resume_token: token.into() };
    Ok(rig.tasks().watch_task(request).await?.into_inner())
}

async fn next(stream: &mut Stream) -> WatchTaskResponse {
    stream.message().await.expect("it goes on").expect("a card comes")
}

/// All messages up to the stream's good end.
async fn rest(mut stream: Stream) -> Vec<WatchTaskResponse> {
    let mut messages = Vec::new();
    while let Some(message) = stream.message().await.expect("it ends well") {
        messages.push(message);
    }
    messages
}

/// All messages of task "T" from a token on. The task has ended.
async fn feed(rig: &Rig, token: &str) -> Vec<WatchTaskResponse> {
    rest(watch(rig, "T", token).await.expect("it is there")).await
}

fn card(message: &WatchTaskResponse) -> &FeedCard {
    message.card.as_ref().expect("a card")
}

/// `running effect`, `completed batch of 3 calls: 3 completed`.
fn tell(message: &WatchTaskResponse) -> String {
    let card = card(message);
    let detail = if card.detail.is_empty() { String::new() } else { format!(": {}", card.detail) };
    format!("{} {}{detail}", status_word(card.status()), card.title)
}

fn story(messages: &[WatchTaskResponse]) -> Vec<String> {
    messages.iter().map(tell).collect()
}

/// The cards as bytes, in an order of no meaning.
fn sorted(messages: &[WatchTaskResponse]) -> Vec<Vec<u8>> {
    let mut cards: Vec<_> = messages.iter().map(|message| card(message).encode_to_vec()).collect();
    cards.sort();
    cards
}

/// Each step's start comes before its end, and a batch's card before those of its calls.
fn assert_in_order(messages: &[WatchTaskResponse]) {
    let (mut known, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for message in messages {
        let card = card(message);
        assert!(card.parent_step_id.is_empty() || known.contains(&card.parent_step_id), "{}", tell(message));
        assert!(!ended.contains(&card.step_id) && !ended.contains(&card.parent_step_id), "{}", tell(message));
        known.insert(card.step_id.clone());
        if status_word(card.status()) != "running" {
            ended.insert(card.step_id.clone());
        }
    }
    assert_eq!(known, ended);
}

/// Two batches with all that a call can come to, one after the other, and the task's end.
async fn run_all_kinds(rig: &Rig) {
    let short = Some(prost_types::Duration { seconds: 0, nanos: 1_000_000 });
    let retry = RetryPolicy { max_attempts: 2, initial_backoff: short, max_backoff: short, backoff_multiplier: 1.0 };
    let options = BatchOptions { stop_on_error: Some(false), retry: Some(retry), ..BatchOptions::default() };
    let calls = vec![
        keyed("k", "echo", r#"{"a":1}"#),
        call("flaky", r#"{"id":"f","fail":1}"#),
        call("fail", r#"{"text":"no stock\nat all"}"#),
        call("nobody_serves_this", "{}"),
        call("progress", r#"{"n":2}"#),
        call("review", r#"{"id":"r"}"#),
        effect("left"),
    ];
    rig.run(batch_with(calls, options)).await;
    rig.run(batch(vec![keyed("k", "echo", r#"{"a":1}"#)])).await;
    rig.end_task("T", "").await.expect("it ends");
}

#[tokio::test]
async fn a_late_reader_sees_what_one_from_the_start_saw() {
    let mut rig = Rig::start().await;
    rig.set_variable("T", "", "1").await.expect("the task begins");
    let early = watch(&rig, "T", "").await.expect("it is there");
    let (early, ()) = tokio::join!(rest(early), run_all_kinds(&rig));
    assert_eq!(
        story(&early),
        [
            "running batch of 7 calls",
            "running echo",
            "completed echo",
            "running flaky",
            "completed flaky: after 2 attempts",
            "running fail",
            "failed fail: no stock",
            "failed nobody_serves_this: no backend serves a tool `nobody_serves_this`",
            "running progress",
            "completed progress",
            "running review",
            "awaiting review: waits for review r",
            "completed batch of 7 calls: 3 completed, 2 failed, 1 awaiting a review, 1 not run",
            "running batch of 1 call",
            "completed batch of 1 call: 1 skipped",
        ]
    );
    assert_in_order(&early);
    let batches: Vec<_> = early.iter().map(card).filter(|card| card.parent_step_id.is_empty()).collect();
    let summary = |card: &FeedCard| card.summary.clone().expect("a summary");
    assert_eq!((summary(batches[0]).status(), summary(batches[0]).total), (BatchStatus::Running, 7));
    let end = rig.get_batch(&batches[1].step_id).await.expect("a batch");
    assert_eq!(batches[1].summary, end.summary);
    assert_eq!(batches[1].update_time, end.end_time);
    for card in early.iter().map(card).filter(|card| !card.parent_step_id.is_empty()) {
        let step = rig.get_step(&card.step_id).await.expect("a step");
        assert_eq!((&step.tool, &step.parent_step_id), (&card.title, &card.parent_step_id));
        let time = if status_word(card.status()) == "running" { step.start_time } else { step.end_time };
        assert_eq!((card.update_time, &card.summary), (time, &None));
    }
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        assert_eq!(feed(&rig, "").await, early, "the same, tokens included");
        for (number, message) in early.iter().enumerate() {
            assert_eq!(feed(&rig, &message.resume_token).await, early[number + 1..], "behind card {number}");
        }
    }
}

#[tokio::test]
async fn batches_side_by_side_give_every_card_to_every_reader() {
    let rig = Rig::start().await;
    rig.set_variable("T", "", "1").await.expect("the task begins");
    let early = watch(&rig, "T", "").await.expect("it is there");
    let run = async {
        let ids = |batch: u32| (0..6).map(|call| effect(&format!("{batch}-{call}"))).collect();
        let batches = (0..8).map(|batch| rig.run(batch_with(ids(batch), parallel(3))));
        futures_util::future::join_all(batches).await;
        rig.end_task("T", "").await.expect("it ends");
    };
    let (early, ()) = tokio::join!(rest(early), run);
    assert_in_order(&early);
    assert_eq!(early.len(), 8 * (2 + 6 * 2));
    let late = feed(&rig, "").await;
    assert_in_order(&late);
    assert_eq!(sorted(&late), sorted(&early));
    for (number, message) in early.iter().enumerate() {
        let mut all = early[..=number].to_vec();
        all.extend(feed(&rig, &message.resume_token).await);
        assert_in_order(&all);
        assert_eq!(sorted(&all), sorted(&early), "behind card {number}");
    }
}

#[tokio::test]
async fn cards_come_while_calls_run_and_the_feed_ends_with_its_task() {
    let rig = Rig::start().await;
    let gates = ["a", "b"].map(|id| rig.backend.hold(id));
    rig.open(batch(vec![effect("a"), effect("b")])).await.expect("taken in");
    let mut stream = watch(&rig, "T", "").await.expect("it is there");
    let mut told = vec![tell(&next(&mut stream).await), tell(&next(&mut stream).await)];
    assert_eq!(told, ["running batch of 2 calls", "running effect"]);
    // A batch that begins meanwhile, and another task that is none of its business.
    rig.run(ExecuteBatchRequest { task_id: "U".into(), ..batch(vec![effect("u")]) }).await;
    rig.run(batch(vec![effect("c")])).await;
    for _ in 0..4 {
        told.push(tell(&next(&mut stream).await));
    }
    let one =
        ["running batch of 1 call", "running effect", "completed effect", "completed batch of 1 call: 1 completed"];
    assert_eq!(told[2..], one);
    rig.end_task("T", "").await.expect("it ends");
    let [a, _b] = gates;
    a.release();
    let told = story(&rest(stream).await);
    assert_eq!(told, ["completed effect", "completed batch of 2 calls: 1 completed, 1 not run"]);
}

#[tokio::test]
async fn a_feed_of_nothing_ends_when_its_task_does() {
    let rig = Rig::start().await;
    rig.set_variable("T", "", "1").await.expect("the task begins");
    let stream = watch(&rig, "T", "").await.expect("it is there");
    rig.end_task("T", "").await.expect("it ends");
    assert!(rest(stream).await.is_empty());
    assert!(feed(&rig, "").await.is_empty());
}

#[tokio::test]
async fn a_feed_goes_on_over_a_restart_with_nothing_lost_or_doubled() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let mut rig = Rig::start_with(backend, backends, |config| config.shutdown_grace = Duration::from_millis(100)).await;
    let gate = rig.backend.hold("a");
    rig.run(batch(vec![effect("before")])).await;
    rig.open(named("b", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    let mut stream = watch(&rig, "T", "").await.expect("it is there");
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(next(&mut stream).await);
    }
    let mut idle = watch(&rig, "T", &seen[5].resume_token).await.expect("it is there");
    rig.stop().await;
    for stream in [&mut stream, &mut idle] {
        let status = stream.message().await.expect_err("the server stops");
        assert_eq!(refusal(&status), (Code::Unavailable, "SERVER_STOPPING".to_owned()));
        assert!(status.get_details_retry_info().expect("it says when").retry_delay.is_some());
    }
    rig.start_again().await;
    let stream = watch(&rig, "T", &seen[5].resume_token).await.expect("it is there");
    gate.release();
    rig.watch("b", 0).await.expect("it is there").rest().await.expect("it ends");
    rig.end_task("T", "").await.expect("it ends");
    seen.extend(rest(stream).await);
    assert_in_order(&seen);
    assert_eq!(sorted(&seen), sorted(&feed(&rig, "").await));
    assert_eq!(
        story(&seen)[4..],
        [
            "running batch of 2 calls",
            "running effect",
            "completed effect: after 2 attempts",
            "running effect",
            "completed effect",
            "completed batch of 2 calls: 2 completed",
        ]
    );
}

#[tokio::test]
async fn more_batches_than_a_reader_has_places_in_all_come() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("effect");
    for number in 0..MANY {
        rig.open(named(&format!("b{number}"), batch(vec![effect("e")]))).await.expect("taken in");
    }
    let mut stream = watch(&rig, "T", "").await.expect("it is there");
    let mut seen = Vec::new();
    for _ in 0..512 {
        seen.push(next(&mut stream).await);
    }
    let token = &seen.last().expect("a card").resume_token;
    assert!(token.len() < 4_096, "{} bytes", token.len());
    let again = watch(&rig, "T", token).await.expect("it is there");
    gate.release();
    for number in 0..MANY {
        rig.watch(&format!("b{number}"), 0).await.expect("it is there").rest().await.expect("it ends");
    }
    rig.end_task("T", "").await.expect("it ends");
    let late = feed(&rig, "").await;
    assert_eq!(late.len(), 4 * MANY);
    for stream in [stream, again] {
        let mut all = seen.clone();
        all.extend(rest(stream).await);
        assert_in_order(&all);
        assert_eq!(sorted(&all), sorted(&late));
    }
    assert!(late.iter().all(|message| message.resume_token.len() < 64), "what is over takes no place");
}

#[tokio::test]
async fn tokens_are_of_one_task_and_unknown_tasks_have_no_feed() {
    let rig = Rig::start().await;
    rig.run(batch(vec![effect("a")])).await;
    rig.run(ExecuteBatchRequest { task_id: "U".into(), ..batch(vec![effect("a")]) }).await;
    let mut stream = watch(&rig, "T", "").await.expect("it is there");
    let token = next(&mut stream).await.resume_token;
    for (task, token, field) in [
        ("U", token.as_str(), "resume_token"),
        ("T", "x", "resume_token"),
        ("T", &token[1..], "resume_token"),
        ("", "", "task_id"),
    ] {
        let status = watch(&rig, task, token).await.expect_err("it is refused");
        assert_eq!(violations(&status)[0].0, field, "{status:?}");
    }
    not_found(&watch(&rig, "nobody's", "").await.expect_err("none"), "TASK_NOT_FOUND", ("task", "nobody's"));
    let mut request = Request::new(WatchTaskRequest { task_id: "T".into(), resume_token: token });
    request.metadata_mut().insert("grpc-timeout", "300m".parse().expect("a timeout"));
    let mut stream = rig.tasks().watch_task(request).await.expect("it is there").into_inner();
    let status = loop {
        match stream.message().await {
            Ok(message) => assert!(message.is_some(), "the task goes on"),
            Err(status) => break status,
        }
    };
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
}

#[tokio::test]
async fn a_task_that_is_dropped_ends_its_feed() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, backends, |config| config.retention = Duration::from_secs(1)).await;
    rig.set_variable("T", "", "1").await.expect("the task begins");
    let mut stream = watch(&rig, "T", "").await.expect("it is there");
    let status = stream.message().await.expect_err("it is dropped");
    not_found(&status, "TASK_NOT_FOUND", ("task", "T"));
}

#[tokio::test]
async fn the_command_comes_back_after_a_crash_and_shows_nothing_twice() {
    let mut program = Program::new("10m").await;
    let client = program.start().await;
    let gate = program.backend.hold("b");
    client.open(named("b", batch(vec![effect("a"), effect("b")]))).await.expect("taken in");
    program.backend.journal().wait_for(|entries| entries.len() == 2).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolbatch"));
    command.args(["feed", "T"]).env("TOOLBATCH_SERVER", program.endpoint());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let four = tokio::task::spawn_blocking(move || {
        let told: Vec<_> = lines.by_ref().take(4).map(|line| line.expect("text")).collect();
        (told, lines)
    });
    let (mut told, lines) = four.await.expect("it reads");
    program.crash().await;
    let client = program.start().await;
    gate.release();
    client.watch("b", 0).await.expect("it is there").rest().await.expect("it ends");
    client.end_task("T", "").await.expect("it ends");
    let rest = tokio::task::spawn_blocking(move || {
        let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
        (rest, child.wait_with_output().expect("it ends"))
    });
    let (rest, output) = rest.await.expect("it reads");
    told.extend(rest);
    // Without the steps' ids.
    let told: Vec<_> = told.iter().map(|line| line.trim_start().split_once(' ').expect("an id").1).collect();
    let [running, completed] = ["effect running", "effect completed"];
    assert_eq!(told[..4], ["batch of 2 calls running", running, completed, running]);
    assert_eq!(told[4..], ["effect completed: after 2 attempts", "batch of 2 calls completed: 2 completed"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("lost the server"), "{errors}");
}
