//! One attempt of one call: every way it can end.

use std::{collections::BTreeSet, sync::Mutex, time::Duration};

use bytes::Bytes;
use tokio::task::JoinSet;
use toolbatch::{
    batch::{
        event::{Reason, StepId},
        outcome::{Fate, Outcome, UsageItem},
    },
    config,
    dispatch::{Attempt, Progress},
};

use super::{SHORT, attempt, backends, call, completed, not_sent, stub, unknown, wire};
use crate::backend::{Lookup, ScriptedBackend, wire::First};

#[tokio::test]
async fn what_a_tool_answers_comes_back() {
    let (stub, backends) = stub().await;
    let digits =
        r#" {"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;
    assert_eq!(call(&backends, "echo", digits).await, completed(digits));
    assert_eq!(stub.journal().entries()[0].args_json, digits);
    assert_eq!(call(&backends, "raw", r#"{"text":""}"#).await, completed("null"));
    assert_eq!(call(&backends, "raw", r#"{"text":"\"\\ud800\""}"#).await, completed(r#""\ud800""#));
    let used = vec![UsageItem { unit: "pages".to_owned(), quantity: 2.5 }];
    assert_eq!(
        call(&backends, "usage", r#"{"unit":"pages","quantity":2.5}"#).await,
        Outcome::Completed { result: Bytes::from_static(b"null"), usage: used }
    );
    assert_eq!(
        call(&backends, "review", r#"{"id":"r1","result":"[1]"}"#).await,
        Outcome::Awaiting { await_id: "r1".to_owned(), result: Bytes::from_static(b"[1]"), usage: vec![] }
    );
}

#[tokio::test]
async fn what_a_tool_says_of_its_failure_comes_back() {
    let (_stub, backends) = stub().await;
    let failed =
        |message: String, retryable| Outcome::Failed { message, code: "STUB".to_owned(), retryable, usage: vec![] };
    assert_eq!(call(&backends, "fail", "{}").await, failed("it failed".to_owned(), false));
    assert_eq!(call(&backends, "fail", r#"{"bytes":70000}"#).await, failed("f".repeat(65_536), false));
    assert_eq!(call(&backends, "flaky", r#"{"id":"a","fail":1}"#).await, failed("not yet".to_owned(), true));
    assert_eq!(call(&backends, "flaky", r#"{"id":"a","fail":1}"#).await, completed("true"));
}

#[tokio::test]
async fn c18_an_answer_that_is_no_result_is_a_bad_response() {
    let (stub, backends) = stub().await;
    let cases = [
        ("raw", r#"{"text":"{\"mean\":NaN}"}"#, "line 1, column 9"),
        ("raw", r#"{"text":"{\"a\":1}\n {\"b\":2}"}"#, "line 2, column 2"),
        ("hollow", "{}", "no outcome"),
        ("usage", r#"{"unit":"pages","quantity":"NaN"}"#, "NaN pages"),
        ("usage", r#"{"unit":"pages","quantity":"inf"}"#, "inf pages"),
        ("usage", r#"{"unit":"pages","quantity":-1}"#, "-1 pages"),
        ("usage", r#"{"unit":"","quantity":1}"#, "1 to 64"),
        ("review", r#"{"id":""}"#, "await_id"),
        ("review", r#"{"id":"r","result":"{"}"#, "line 1, column"),
    ];
    for (tool, args, said) in cases {
        let message = unknown(&call(&backends, tool, args).await, Reason::BadResponse);
        assert!(message.contains(said), "{tool} {args}: {message}");
    }
    assert_eq!(stub.journal().entries().len(), cases.len(), "each was sent once");
}

#[tokio::test]
async fn c36_large_results_pass_up_to_the_limit() {
    let (_stub, backends) = stub().await;
    let Outcome::Completed { result, .. } = call(&backends, "blob", r#"{"bytes":5000000}"#).await else {
        panic!("5 MB are a result");
    };
    assert_eq!(result.len(), 5_000_000);
    // One that the codec still reads, and one that it does not.
    for bytes in [64 * 1_024 * 1_024 + 1, 66 * 1_024 * 1_024] {
        let reply = call(&backends, "blob", &format!(r#"{{"bytes":{bytes}}}"#)).await;
        let message = unknown(&reply, Reason::BadResponse);
        assert!(message.contains("64 MiB (67108864 bytes)"), "{message}");
    }
    assert_eq!(call(&backends, "echo", "{}").await, completed("{}"), "the connection goes on");
}

#[tokio::test]
async fn a_status_instead_of_an_answer_is_read_by_its_code() {
    let (stub, backends) = stub().await;
    let status = async |code: i32| call(&backends, "status", &format!(r#"{{"code":{code},"message":"a\nb"}}"#)).await;
    let message = not_sent(&status(12).await, Reason::ToolNotFound);
    assert!(message.contains("UNIMPLEMENTED (a\\nb)"), "{message}");
    for (code, reason) in [(1, Reason::BackendUnavailable), (14, Reason::BackendUnavailable), (4, Reason::TimedOut)] {
        unknown(&status(code).await, reason);
    }
    for (code, name) in
        [(2, "UNKNOWN"), (3, "INVALID_ARGUMENT"), (8, "RESOURCE_EXHAUSTED"), (13, "INTERNAL"), (16, "UNAUTHENTICATED")]
    {
        let message = unknown(&status(code).await, Reason::BadResponse);
        assert!(message.contains(&format!("{name} (a\\nb)")), "{message}");
    }
    assert_eq!(stub.journal().entries().len(), 9, "each was sent once");
}

#[tokio::test]
async fn everything_about_the_call_reaches_the_backend() {
    let (stub, backends) = stub().await;
    let step_id = StepId(uuid::Uuid::now_v7());
    let attempt = Attempt {
        agent_id: "orders".to_owned(),
        key: "k1".to_owned(),
        step_id,
        index: 7,
        attempt: 2,
        in_doubt: true,
        ..attempt("effect", r#"{"id":"a"}"#)
    };
    assert_eq!(backends.call(attempt, &|_| {}).await, completed(r#"{"id":"a"}"#));
    let entry = stub.journal().entries().remove(0);
    assert_eq!((entry.tool.as_str(), entry.id.as_str(), entry.key.as_str()), ("effect", "a", "k1"));
    assert_eq!((entry.task_id.as_str(), entry.agent_id.as_str(), entry.batch_id.as_str()), ("T", "orders", "B"));
    assert_eq!((entry.step_id, entry.idempotency_key.as_str()), (step_id.to_string(), "idem"));
    assert_eq!((entry.index, entry.attempt, entry.in_doubt, entry.answered), (7, 2, true, true));
    let unit = entry.timeout.chars().last().expect("a timeout was sent");
    let left: u64 = entry.timeout[..entry.timeout.len() - 1].parse().expect("a timeout is a number and a unit");
    let divisor = match unit {
        'u' => 1_000_000,
        'm' => 1_000,
        _ => 1,
    };
    assert!((1..=60).contains(&(left / divisor)), "{}", entry.timeout);
}

#[tokio::test]
async fn c01_a_backend_that_was_down_is_used_once_it_is_up() {
    let (mut stub, backends) = stub().await;
    stub.crash().await;
    let down = Attempt { connect_wait: SHORT, ..attempt("effect", r#"{"id":"a"}"#) };
    let message = not_sent(&backends.call(down, &|_| {}).await, Reason::BackendUnavailable);
    assert!(message.contains("`stub`") && message.contains(stub.address()), "{message}");
    stub.restart().await;
    assert_eq!(call(&backends, "effect", r#"{"id":"b"}"#).await, completed(r#"{"id":"b"}"#));
    stub.crash().await;
    // It comes back while the call waits for it.
    let (reply, ()) = tokio::join!(call(&backends, "effect", r#"{"id":"c"}"#), stub.restart());
    assert_eq!(reply, completed(r#"{"id":"c"}"#));
    assert_eq!(stub.journal().ids(), ["b", "c"]);
}

#[tokio::test]
async fn c01_a_backend_that_never_was_up_is_waited_for_no_longer_than_told() {
    let mut stub = ScriptedBackend::start().await;
    stub.crash().await;
    let backends = backends(&[stub.config("stub")]).await;
    let down = Attempt { connect_wait: SHORT, ..attempt("echo", "{}") };
    let message = not_sent(&backends.call(down, &|_| {}).await, Reason::BackendUnavailable);
    assert!(message.contains("refused"), "{message}");
    // The attempt's own time ends before the wait does.
    let hasty = Attempt { timeout: SHORT, ..attempt("echo", "{}") };
    not_sent(&backends.call(hasty, &|_| {}).await, Reason::BackendUnavailable);
    assert!(stub.journal().entries().is_empty());
}

#[tokio::test]
async fn c02_a_call_that_was_cut_off_may_have_taken_effect() {
    let (mut stub, backends) = stub().await;
    let held = stub.hold("effect");
    let journal = stub.journal().clone();
    let (reply, ()) = tokio::join!(call(&backends, "effect", r#"{"id":"a"}"#), async {
        journal.wait_for(|entries| entries.len() == 1).await;
        stub.crash().await;
        stub.restart().await;
    });
    let message = unknown(&reply, Reason::BackendUnavailable);
    assert!(message.contains("after the request had left"), "{message}");
    held.release();
    assert_eq!(call(&backends, "effect", r#"{"id":"b"}"#).await, completed(r#"{"id":"b"}"#));
    assert_eq!(stub.journal().ids(), ["a", "b"], "nothing was repeated");
}

#[tokio::test]
async fn c04_a_silent_backend_is_left_at_the_timeout() {
    let (stub, backends) = stub().await;
    let silent = Attempt { timeout: SHORT, ..attempt("silent", "{}") };
    unknown(&backends.call(silent, &|_| {}).await, Reason::TimedOut);
    // The backend is told: the RPC is cancelled.
    stub.journal().wait_for(|entries| entries[0].end.is_some()).await;
    assert_eq!(call(&backends, "echo", "{}").await, completed("{}"), "the connection goes on");
}

#[tokio::test]
async fn endless_progress_does_not_move_the_timeout() {
    let (_stub, backends) = stub().await;
    let endless = Attempt { timeout: SHORT, ..attempt("progress", r#"{"n":1000000000,"ms":1}"#) };
    unknown(&backends.call(endless, &|_| {}).await, Reason::TimedOut);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_its_backend() {
    let (stub, backends) = stub().await;
    let mut calls = JoinSet::new();
    let dropped = backends.clone();
    calls.spawn(async move { call(&dropped, "silent", "{}").await });
    stub.journal().wait_for(|entries| entries.len() == 1).await;
    calls.abort_all();
    let entries = stub.journal().wait_for(|entries| entries[0].end.is_some()).await;
    assert!(!entries[0].answered);
}

#[tokio::test]
async fn progress_is_told_in_order_before_the_outcome() {
    let (_stub, backends) = stub().await;
    let told = Mutex::new(Vec::new());
    let tell = |Progress { progress, total, message }| {
        told.lock().expect("nothing panics here").push((progress, total, message));
    };
    assert_eq!(backends.call(attempt("progress", r#"{"n":3}"#), &tell).await, completed("3"));
    let expected: Vec<_> = (1..=3).map(|n| (f64::from(n), 3.0, format!("{n} of 3"))).collect();
    assert_eq!(*told.lock().expect("nothing panics here"), expected);
    let silent_end = attempt("progress", r#"{"n":1,"without_outcome":true}"#);
    let message = unknown(&backends.call(silent_end, &tell).await, Reason::BadResponse);
    assert!(message.contains("without an outcome"), "{message}");
}

#[tokio::test]
async fn a_progress_stream_that_is_cut_may_have_taken_effect() {
    let (mut stub, backends) = stub().await;
    let (reached, mut reports) = tokio::sync::watch::channel(0);
    let tell = |_| reached.send_modify(|reports| *reports += 1);
    let (reply, ()) = tokio::join!(backends.call(attempt("progress", r#"{"n":1000000000,"ms":1}"#), &tell), async {
        reports.wait_for(|reports| *reports > 0).await.expect("the call goes on");
        stub.crash().await;
    });
    unknown(&reply, Reason::BackendUnavailable);
}

#[tokio::test]
async fn calls_share_the_connection_side_by_side() {
    let (stub, backends) = stub().await;
    let held = stub.hold("effect");
    let mut calls = JoinSet::new();
    for id in 0..32 {
        let backends = backends.clone();
        calls.spawn(async move { call(&backends, "effect", &format!(r#"{{"id":"{id}"}}"#)).await });
    }
    stub.journal().wait_for(|entries| entries.len() == 32).await;
    held.release();
    for reply in calls.join_all().await {
        assert!(matches!(reply, Outcome::Completed { .. }), "{reply:?}");
    }
    assert_eq!(stub.journal().most_at_once(|_| true), 32);
    assert_eq!(stub.journal().ids().into_iter().collect::<BTreeSet<_>>().len(), 32);
}

#[tokio::test]
async fn the_stub_tells_when_one_document_is_changed_twice_at_once() {
    let (stub, backends) = stub().await;
    let held = stub.hold("A");
    let first = async { call(&backends, "order_change", r#"{"doc":"A","n":1}"#).await };
    let second = async {
        stub.journal().wait_for(|entries| entries.len() == 1).await;
        let second = call(&backends, "order_change", r#"{"doc":"A","n":2}"#).await;
        let other = call(&backends, "order_change", r#"{"doc":"B","n":3}"#).await;
        held.release();
        (second, other)
    };
    let (first, (second, other)) = tokio::join!(first, second);
    assert_eq!((first, other), (completed(r#"{"id":"A"}"#), completed(r#"{"id":"B"}"#)));
    assert!(matches!(second, Outcome::Failed { message, .. } if message == "document is being processed"));
    assert_eq!(stub.journal().most_at_once(|entry| entry.id == "A"), 2);
    assert_eq!(stub.journal().most_at_once(|entry| entry.id == "B"), 1);
}

#[tokio::test]
async fn an_address_that_cannot_be_reached_is_passed_over() {
    let mut gone = ScriptedBackend::start().await;
    gone.crash().await;
    let stub = ScriptedBackend::start().await;
    let addresses = vec![gone.address().to_owned(), stub.address().to_owned()];
    let backends =
        backends(&[config::Backend { name: "stub".to_owned(), addresses, ..config::Backend::default() }]).await;
    assert_eq!(call(&backends, "effect", r#"{"id":"a"}"#).await, completed(r#"{"id":"a"}"#));
    assert_eq!(stub.journal().ids(), ["a"]);
}

#[tokio::test]
async fn a_unix_socket_is_an_address_too() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut stub = ScriptedBackend::start_on_socket(&folder.path().join("tools.sock")).await;
    let backends = backends(&[stub.config("stub")]).await;
    assert_eq!(call(&backends, "effect", r#"{"id":"a"}"#).await, completed(r#"{"id":"a"}"#));
    stub.crash().await;
    stub.restart().await;
    assert_eq!(call(&backends, "effect", r#"{"id":"b"}"#).await, completed(r#"{"id":"b"}"#));
}

#[tokio::test]
async fn a_call_that_http2_says_was_not_looked_at_is_sent_again() {
    for first in [First::GoAwayBefore, First::Reset(h2::Reason::REFUSED_STREAM)] {
        let (wire, backends) = wire(first).await;
        assert_eq!(call(&backends, "echo", "{}").await, completed("\"done\""), "{first:?}");
        assert_eq!(wire.calls(), 2, "{first:?}");
    }
}

#[tokio::test]
async fn a_call_that_was_looked_at_is_never_sent_again() {
    for (first, reason) in [
        (First::Reset(h2::Reason::INTERNAL_ERROR), Reason::BackendUnavailable),
        (First::HalfAnAnswer, Reason::BackendUnavailable),
        (First::NoStatus, Reason::BadResponse),
        (First::Compressed, Reason::BadResponse),
        (First::BadDetails, Reason::BadResponse),
        (First::OnlyBadDetails, Reason::BadResponse),
    ] {
        let (wire, backends) = wire(first).await;
        unknown(&call(&backends, "echo", "{}").await, reason);
        assert_eq!(wire.calls(), 1, "{first:?}");
        assert_eq!(call(&backends, "echo", "{}").await, completed("\"done\""), "{first:?}");
    }
}

#[tokio::test]
async fn a_backend_that_is_not_configured_gets_nothing() {
    let (_stub, backends) = stub().await;
    let attempt = Attempt { backend: "gone".to_owned(), ..attempt("echo", "{}") };
    let message = not_sent(&backends.call(attempt.clone(), &|_| {}).await, Reason::BackendUnavailable);
    assert!(message.contains("`gone`"), "{message}");
    assert!(matches!(backends.lookup(attempt).await, Fate::Unknown { message } if message.contains("`gone`")));
}

#[tokio::test]
async fn a_lookup_tells_what_the_backend_knows() {
    let (mut stub, backends) = stub().await;
    let unsure = |fate: Fate<Bytes>, said: &str| {
        let Fate::Unknown { message } = &fate else { panic!("expected an unknown fate, got {fate:?}") };
        assert!(message.contains(said), "{message}");
    };
    let lookup = || backends.lookup(attempt("effect", r#"{"id":"a"}"#));
    unsure(lookup().await, "UNIMPLEMENTED");
    stub.answer_lookups(Lookup::Unknown);
    unsure(lookup().await, "does not know");
    stub.answer_lookups(Lookup::Empty);
    unsure(lookup().await, "empty");
    stub.answer_lookups(Lookup::Landed("{".to_owned()));
    unsure(lookup().await, "not JSON");
    stub.answer_lookups(Lookup::NotLanded);
    assert_eq!(lookup().await, Fate::NotLanded);
    stub.answer_lookups(Lookup::Landed("[1.10]".to_owned()));
    assert_eq!(lookup().await, Fate::Landed(completed("[1.10]")));
    assert_eq!(stub.lookups(), ["idem"; 6]);
    stub.crash().await;
    let down = Attempt { connect_wait: SHORT, ..attempt("effect", "{}") };
    unsure(backends.lookup(down).await, "could not be reached");
}

#[tokio::test]
async fn a_lookup_whose_connection_is_cut_is_asked_again() {
    for first in [First::Reset(h2::Reason::INTERNAL_ERROR), First::HalfAnAnswer, First::GoAwayBefore] {
        let (_wire, backends) = wire(first).await;
        assert_eq!(backends.lookup(attempt("echo", "{}")).await, Fate::NotLanded, "{first:?}");
        let (_wire, backends) = wire(first).await;
        let at_once = Attempt { connect_wait: Duration::ZERO, ..attempt("echo", "{}") };
        assert!(matches!(backends.lookup(at_once).await, Fate::Unknown { .. }), "{first:?}");
    }
}

#[tokio::test]
async fn a_shutdown_ends_everything() {
    let (stub, backends) = stub().await;
    let (reply, ()) = tokio::join!(call(&backends, "silent", "{}"), async {
        stub.journal().wait_for(|entries| entries.len() == 1).await;
        backends.shutdown().await;
    });
    unknown(&reply, Reason::BackendUnavailable);
    stub.journal().wait_for(|entries| entries[0].end.is_some()).await;
}
