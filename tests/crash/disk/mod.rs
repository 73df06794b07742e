//! The disk fails, or is full (RELIABILITY.md T9, I22): one system call of the server on its data folder fails, or all from one on;
//! and a small disk of its own is filled to the last byte.

mod small;

use std::{collections::BTreeMap, path::Path, time::Duration};

use futures_util::{StreamExt as _, stream};
use rustix::io::Errno;
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{HealthCheckResponse, health_check_response::ServingStatus};
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    BatchEvent, BatchOptions, CallResult, CallStatus, ExecuteBatchRequest, ToolCall, batch_event::Event,
};

use crate::{
    client::{Client, Return, Stream},
    dice::{Dice, seed, setting},
    load::{batch, call},
    points::copy,
    power::record::{Among, Failure, failing},
    process::PATIENCE,
    setting::Setting,
};

/// Points of a run that nobody asks more of, chosen by chance. `TOOLBATCH_FAULTS=all` is every one of them.
const POINTS: u64 = 60;
/// The calls that fail, counted from a start: as many as the reference makes, and its end.
const FIRST_CALLS: u64 = 60;
/// Servers at once: their work is mostly waiting for the disk.
const AT_ONCE: usize = 3;
/// How long a client waits before it asks again.
const ASKED_FOR: Duration = Duration::from_secs(1);
/// The exit code of a server that is refused its store, and of one whose store failed.
const REFUSED: i32 = 4;
const FAILED: i32 = 5;

const KINDS: [(&str, Errno, Among); 6] = [
    ("ENOSPC", Errno::NOSPC, Among::All),
    ("EDQUOT", Errno::DQUOT, Among::All),
    ("EIO", Errno::IO, Among::All),
    ("EROFS", Errno::ROFS, Among::All),
    ("short write, then ENOSPC", Errno::NOSPC, Among::ShortWrites),
    ("EIO of a sync", Errno::IO, Among::Syncs),
];

/// What became of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It did not start.
    NotStarted,
    /// The batch ran to its end, and the server stopped well.
    Unharmed,
    /// It served, and took no new work for lack of space.
    Full,
    /// It ended with an I/O error.
    Failed,
}

/// By kind of fault: how often each outcome came.
type Table = BTreeMap<String, [u64; 4]>;

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fails_at_any_call_is_told_nothing_and_repeats_nothing() {
    let seed = seed("disk");
    let mut dice = Dice::new(seed);
    let made = tempfile::tempdir().expect("a folder can be made");
    make_store(made.path()).await;
    let mut points: Vec<(&str, Failure)> = Vec::new();
    for (name, error, among) in KINDS {
        for (at, for_ever) in (1..=FIRST_CALLS).flat_map(|at| [(at, false), (at, true)]) {
            points.push((name, Failure { error, at, for_ever, among }));
        }
    }
    let all = points.len();
    if std::env::var("TOOLBATCH_FAULTS").as_deref() != Ok("all") {
        let wanted = setting("TOOLBATCH_FAULTS").unwrap_or(POINTS);
        while points.len() as u64 > wanted {
            let place = dice.below(points.len() as u64);
            points.swap_remove(usize::try_from(place).expect("it is a place"));
        }
    }
    let mut table = Table::new();
    let runs = stream::iter(&points).map(|(name, failure)| fail_at(name, *failure, made.path(), seed));
    let mut runs = runs.buffer_unordered(AT_ONCE);
    while let Some((name, outcome)) = runs.next().await {
        table.entry(name).or_default()[outcome as usize] += 1;
    }
    println!("disk: {} of {all} faults", points.len());
    println!("| fault | not started | unharmed | full | exit code 5 |\n| --- | ---: | ---: | ---: | ---: |");
    for (name, [not_started, unharmed, full, failed]) in &table {
        println!("| {name} | {not_started} | {unharmed} | {full} | {failed} |");
    }
    let happened = |outcome: Outcome| table.values().any(|row| row[outcome as usize] > 0);
    let expected = [Outcome::NotStarted, Outcome::Unharmed, Outcome::Full, Outcome::Failed];
    assert!(
        points.len() < 40 || expected.into_iter().all(happened),
        "TOOLBATCH_SEED={seed}: the faults did too little"
    );
}

/// The batch that is in the store already.
fn before() -> ExecuteBatchRequest {
    let calls = (0..4).map(|n| keyed("echo", &format!("before {n}"), "")).chain([keyed(
        "blob",
        "before blob",
        r#","bytes":20000"#,
    )]);
    batch("before", calls.collect(), BatchOptions::default())
}

/// What is worked on while the disk fails: calls whose results stand in the log, and three that have files of their own. Its content
/// is in such a file, too.
fn reference() -> ExecuteBatchRequest {
    let long = "x".repeat(400);
    let calls = (0..12).map(|n| match n % 4 {
        3 => keyed("blob", &format!("{n}"), r#","bytes":20000"#),
        _ => keyed("echo", &format!("{n}"), &format!(r#","text":"{long}""#)),
    });
    batch("reference", calls.collect(), BatchOptions::default())
}

/// Calls that have all been made: nothing of it reaches the backend.
fn new_work() -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: "new work".to_owned(), ..before() }
}

fn keyed(tool: &str, key: &str, more: &str) -> ToolCall {
    ToolCall { key: key.to_owned(), ..call(tool, &format!(r#"{{"id":"{key}"{more}}}"#)) }
}

async fn make_store(at: &Path) {
    let mut setting = Setting::started().await;
    setting.client().run(&before(), Return::Watch).await;
    setting.server.stop().await;
    copy(&setting.server.data(), at);
}

async fn fail_at(name: &str, failure: Failure, made: &Path, seed: u64) -> (String, Outcome) {
    let what = format!("TOOLBATCH_SEED={seed}, {name} at call {}, for ever: {}", failure.at, failure.for_ever);
    let mut setting = Setting::new().await;
    copy(made, &setting.server.data());
    setting.server.set_environment(failing(&setting.server.data(), &failure));
    setting.server.start();
    let client = setting.client();
    let (outcome, streams) = if setting.server.serves().await {
        let work = work(&mut setting, &client, failure.for_ever, &what);
        let worked = tokio::time::timeout(PATIENCE, work).await;
        worked.unwrap_or_else(|_| panic!("{what}: nothing goes on:\n{}", setting.server.log()))
    } else {
        let code = setting.server.ended().await.code();
        assert_eq!(code, Some(REFUSED), "{what}:\n{}", setting.server.log());
        (Outcome::NotStarted, Vec::new())
    };
    setting.note_kill().await;
    // The disk is healthy again.
    setting.server.set_environment(Vec::new());
    setting.restart();
    setting.server.ready().await;
    let streams = [streams, client.run(&reference(), Return::Repeat).await].concat();
    let evidence = setting.evidence(vec![(reference(), streams)]).await;
    setting.judge(&evidence, &what);
    read_before(&client).await.unwrap_or_else(|status| panic!("{what}: {status:?}"));
    let again = client.events(&ExecuteBatchRequest { batch_id: "again".to_owned(), ..before() }).await;
    let again = again.unwrap_or_else(|status| panic!("{what}: {status:?}"));
    let skipped = again.iter().filter_map(finished).filter(|result| result.status() == CallStatus::Skipped).count();
    assert_eq!(skipped, 5, "{what}: {again:?}");
    (format!("{name}{}", if failure.for_ever { ", and so on" } else { "" }), outcome)
}

/// Works while the disk fails, to the end of the server. Gives what the client saw.
async fn work(setting: &mut Setting, client: &Client, for_ever: bool, what: &str) -> (Outcome, Vec<Stream>) {
    // One that fails at once is gone by now.
    let health = client.health().await.ok();
    let request = reference();
    let run = client.try_execute(&request);
    tokio::pin!(run);
    let (seen, status) = tokio::select! {
        ended = &mut run => ended,
        () = not_serving(health), if for_ever => {
            if full(setting, client, what).await {
                setting.server.kill();
                return (Outcome::Full, vec![run.await.0]);
            }
            run.await
        }
    };
    let outcome = match &status {
        None => unharmed(setting, client, what).await,
        Some(status) if is_full(status) => {
            read_before(client).await.unwrap_or_else(|status| panic!("{what}: {status:?}"));
            setting.server.kill();
            Outcome::Full
        }
        Some(status) => failed(setting, status, what).await,
    };
    (outcome, vec![seen])
}

/// The batch has ended: either nothing is wrong, or new work is refused. Either way the server can be stopped.
async fn unharmed(setting: &mut Setting, client: &Client, what: &str) -> Outcome {
    match ask(client).await {
        Ok(_) => {
            setting.server.ask_to_stop();
            let code = setting.server.ended().await.code();
            match code {
                Some(0) => Outcome::Unharmed,
                Some(FAILED) => Outcome::Failed,
                _ => panic!("{what}: it ended with {code:?}:\n{}", setting.server.log()),
            }
        }
        Err(status) if is_full(&status) => {
            setting.server.kill();
            Outcome::Full
        }
        Err(status) => failed(setting, &status, what).await,
    }
}

/// A server whose store failed ends by itself. It had said `UNAVAILABLE`.
async fn failed(setting: &mut Setting, status: &Status, what: &str) -> Outcome {
    assert!(is_end(status), "{what}: {status:?}");
    let code = setting.server.ended().await.code();
    assert_eq!(code, Some(FAILED), "{what}: {status:?}:\n{}", setting.server.log());
    Outcome::Failed
}

/// Asks for new work. Where that is what finds no space, it waits for some as all that was taken in; what comes after it is refused.
async fn ask(client: &Client) -> Result<Vec<BatchEvent>, Status> {
    loop {
        if let Ok(answer) = tokio::time::timeout(ASKED_FOR, client.events(&new_work())).await {
            return answer;
        }
    }
}

/// Whether a server that takes no new work is full; else it is about to end. A full one can be read.
async fn full(setting: &Setting, client: &Client, what: &str) -> bool {
    match ask(client).await {
        Err(status) if is_full(&status) => {}
        Err(status) if is_end(&status) => return false,
        other => panic!("{what}: new work: {other:?}:\n{}", setting.server.log()),
    }
    read_before(client).await.unwrap_or_else(|status| panic!("{what}: {status:?}:\n{}", setting.server.log()));
    true
}

/// `UNAVAILABLE`, or what tonic makes of a connection that is gone.
fn is_end(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.get_details_error_info().is_none()
}

fn is_full(status: &Status) -> bool {
    let reason = status.get_details_error_info().map(|info| info.reason);
    let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
    status.code() == Code::ResourceExhausted && reason.as_deref() == Some("STORE_FULL") && retry.is_some()
}

/// Reads all that was there before.
async fn read_before(client: &Client) -> Result<(), Status> {
    let log = client.prefix("before", u64::MAX).await?;
    let results: Vec<&CallResult> = log.iter().filter_map(finished).collect();
    assert_eq!(results.len(), 5, "{log:?}");
    let blob = client.result(&results[4].step_id).await?;
    assert_eq!(blob.len(), 20_000);
    Ok(())
}

fn finished(event: &BatchEvent) -> Option<&CallResult> {
    match &event.event {
        Some(Event::CallFinished(finished)) => finished.result.as_ref(),
        _ => None,
    }
}

/// Waits until health says that no new work is taken.
async fn not_serving(health: Option<Streaming<HealthCheckResponse>>) {
    let Some(mut health) = health else { return std::future::pending().await };
    while let Ok(Some(state)) = health.message().await {
        if state.status() == ServingStatus::NotServing {
            return;
        }
    }
    std::future::pending::<()>().await;
}
