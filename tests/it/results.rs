//! R6 and R7: what is told of a call's end and kept of it, and what a batch as a whole comes to.

use prost_types::Duration;
use sha2::{Digest as _, Sha256};
use tonic::Code;
use toolbatch::proto::{
    BatchEvent, BatchMode, BatchOptions, BatchStatus, BatchSummary, CallError, CallErrorReason, CallResult,
    InDoubtPolicy, RetryPolicy, StopReason, ToolCall, batch_event::Event,
};

use crate::{
    refusal::refusal,
    rig::{Rig, batch, batch_with, call, keyed, parallel},
};

const DIGITS: &str =
    r#"{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;

fn blob(bytes: usize) -> ToolCall {
    call("blob", &format!(r#"{{"bytes":{bytes}}}"#))
}

/// A call that answers this text.
fn raw(text: &str) -> ToolCall {
    call("raw", &serde_json::json!({ "text": text }).to_string())
}

fn going_on() -> BatchOptions {
    BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() }
}

/// The results as the events `CallFinished` told them, in the order of the events.
fn finished(events: &[BatchEvent]) -> Vec<CallResult> {
    let result = |event: &BatchEvent| match &event.event {
        Some(Event::CallFinished(finished)) => finished.result.clone(),
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

/// By index: whether the result is inlined, in the event and in the summary alike.
fn inlined(results: &[CallResult]) -> Vec<bool> {
    for result in results {
        assert_eq!(result.result_json.is_empty(), result.result_omitted, "whole or absent: {result:?}");
    }
    results.iter().map(|result| !result.result_omitted).collect()
}

fn error(result: &CallResult) -> &CallError {
    result.error.as_ref().expect("it failed")
}

async fn step_error(rig: &Rig, result: &CallResult) -> CallError {
    rig.get_step(&result.step_id).await.expect("a step").error.expect("it failed")
}

#[tokio::test]
async fn c17_digits_stay_as_they_are_everywhere_and_after_a_restart() {
    let mut rig = Rig::start().await;
    let spaced = format!(" {DIGITS}\n");
    let ran = rig.run(batch(vec![call("echo", DIGITS), call("echo", &spaced)])).await;
    assert_eq!(
        rig.backend.journal().entries().iter().map(|entry| entry.args_json.as_str()).collect::<Vec<_>>(),
        [DIGITS, spaced.as_str()]
    );
    assert_eq!(finished(&ran.events), ran.results());
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        let batch = rig.get_batch(ran.batch_id()).await.expect("a batch");
        assert_eq!(batch.summary.expect("a summary").results, ran.results());
        let replayed = rig.watch(ran.batch_id(), 0).await.expect("it is there").rest().await.expect("it ends");
        assert_eq!(replayed, ran.events);
        for (result, sent) in ran.results().iter().zip([DIGITS, &spaced]) {
            assert_eq!(result.result_json, sent);
            let step = rig.get_step(&result.step_id).await.expect("a step");
            assert_eq!((step.args_json.as_str(), step.result_json.as_str()), (sent, sent));
            assert_eq!(step.result_bytes, sent.len() as u64);
            assert_eq!(rig.read_result(&result.step_id, 0).await.expect("a result").0, sent.as_bytes());
        }
    }
}

#[tokio::test]
async fn c37_what_is_inlined_by_its_own_size() {
    let rig = Rig::start().await;
    let han = format!("\"{}\"", "中".repeat(1_400));
    let options = BatchOptions { include_results: Some(true), ..BatchOptions::default() };
    let ran = rig.run(batch_with(vec![blob(4_095), blob(4_096), raw(&han), blob(2)], options)).await;
    assert_eq!(inlined(ran.results()), [true, false, false, true], "bytes count, not characters");
    assert_eq!(finished(&ran.events), ran.results());
    assert_eq!(ran.results()[0].result_json.len(), 4_095);
    for (result, bytes) in ran.results().iter().zip([4_095, 4_096, 4_202, 2]) {
        let step = rig.get_step(&result.step_id).await.expect("a step");
        assert_eq!((step.result_bytes, step.result_json.len()), (bytes, usize::try_from(bytes).expect("it is small")));
    }
    assert_eq!(rig.get_step(&ran.results()[2].step_id).await.expect("a step").result_json, han);
}

#[tokio::test]
async fn c37_what_is_inlined_of_a_batch_in_total() {
    let mut rig = Rig::start().await;
    let mut calls = vec![blob(4_000); 66];
    calls.extend([blob(100), blob(3_000)]);
    let ran = rig.run(batch(calls)).await;
    let mut expected = vec![true; 65];
    expected.extend([false, true, false]);
    assert_eq!(inlined(ran.results()), expected);
    assert_eq!(finished(&ran.events), ran.results());

    // 262,143 bytes are under 256 KiB, and no byte more.
    let mut calls = vec![blob(4_000); 65];
    calls.extend([blob(2_144), blob(2_143), blob(2)]);
    let full = rig.run(batch(calls)).await;
    let mut expected = vec![true; 65];
    expected.extend([false, true, false]);
    assert_eq!(inlined(full.results()), expected);

    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        for ran in [&ran, &full] {
            let replayed = rig.watch(ran.batch_id(), 0).await.expect("it is there").rest().await.expect("it ends");
            assert_eq!(replayed, ran.events);
        }
    }
}

#[tokio::test]
async fn results_are_left_out_where_nobody_wants_them() {
    let rig = Rig::start().await;
    let options = BatchOptions { include_results: Some(false), ..going_on() };
    let calls = || vec![keyed("k", "echo", r#"{"a":1}"#), raw(""), call("fail", "{}"), call("review", r#"{"id":"r"}"#)];
    for statuses in [["completed", "completed", "failed", "awaiting"], ["skipped", "completed", "failed", "awaiting"]] {
        let ran = rig.run(batch_with(calls(), options.clone())).await;
        assert_eq!(ran.statuses(), statuses);
        assert_eq!(finished(&ran.events), ran.results());
        assert!(ran.results().iter().all(|result| result.result_json.is_empty()));
        let omitted: Vec<bool> = ran.results().iter().map(|result| result.result_omitted).collect();
        assert_eq!(omitted, [true, true, false, true], "a failed call has no result that could be left out");
        let step = rig.get_step(&ran.results()[0].step_id).await.expect("a step");
        assert_eq!(step.result_json, r#"{"a":1}"#);
    }
}

#[tokio::test]
async fn a_skipped_call_shows_the_originals_result_by_the_same_bounds() {
    let rig = Rig::start().await;
    let sized = |key: &str, bytes: usize| keyed(key, "blob", &format!(r#"{{"bytes":{bytes}}}"#));
    rig.run(batch(vec![sized("small", 4_095), sized("large", 4_096)])).await;
    let ran = rig.run(batch(vec![sized("small", 4_095), sized("large", 4_096)])).await;
    assert_eq!(ran.statuses(), ["skipped", "skipped"]);
    assert_eq!(inlined(ran.results()), [true, false]);
    assert_eq!(ran.results()[0].result_json.len(), 4_095);
}

#[tokio::test]
async fn an_empty_result_is_null() {
    let rig = Rig::start().await;
    let ran = rig.run(batch(vec![raw(""), call("review", r#"{"id":"r"}"#)])).await;
    assert_eq!(ran.statuses(), ["completed", "awaiting"]);
    for result in ran.results() {
        assert_eq!((result.result_json.as_str(), result.result_omitted), ("null", false));
        let step = rig.get_step(&result.step_id).await.expect("a step");
        assert_eq!((step.result_json.as_str(), step.result_bytes), ("null", 4));
        assert_eq!(rig.read_result(&result.step_id, 0).await.expect("a result"), (b"null".to_vec(), 1));
    }
}

#[tokio::test]
async fn c18_a_result_that_is_not_json() {
    let rig = Rig::start().await;
    let keyed_raw = |key: &str, text: &str| ToolCall { key: key.into(), ..raw(text) };
    for (key, text, place) in [
        ("s1", r#"{"mean":NaN}"#, "line 1, column 9"),
        ("s2", r#"{"a":1}{"b":2}"#, "line 1, column 8"),
        ("s3", "{\"a\":1}\n\nDone.", "line 3, column 1"),
        ("s4", " ", "line 1"),
    ] {
        let ran = rig.run(batch(vec![keyed_raw(key, text), call("echo", "{}")])).await;
        assert_eq!(ran.statuses(), ["failed", "not_run"]);
        let error = error(&ran.results()[0]);
        assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::BadResponse, true), "the tool has run");
        assert!(error.message.contains(place), "{}", error.message);
        assert!(ran.results()[0].result_json.is_empty() && !ran.results()[0].result_omitted);
        // It may have taken effect, so a later batch does not repeat it blindly.
        let policy = BatchOptions { in_doubt: InDoubtPolicy::Fail.into(), ..BatchOptions::default() };
        let again = rig.run(batch_with(vec![keyed_raw(key, text)], policy)).await;
        assert_eq!(self::error(&again.results()[0]).reason(), CallErrorReason::InDoubt);
    }
    assert_eq!(rig.backend.journal().entries().len(), 4);
    let ran = rig.run(batch(vec![call("hollow", "{}")])).await;
    assert_eq!(
        (error(&ran.results()[0]).reason(), error(&ran.results()[0]).outcome_unknown),
        (CallErrorReason::BadResponse, true)
    );
}

#[tokio::test]
async fn a_result_may_hold_what_args_may_not() {
    let mut rig = Rig::start().await;
    let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
    let texts = [r#""\ud800""#, r#"{"a":1,"a":2}"#, &deep, " 1e999 ", "-0.0"];
    let ran = rig.run(batch(texts.map(raw).to_vec())).await;
    rig.restart().await;
    for (result, text) in ran.results().iter().zip(texts) {
        assert_eq!(result.result_json, text);
        assert_eq!(rig.get_step(&result.step_id).await.expect("a step").result_json, text);
    }
}

#[tokio::test]
async fn an_error_message_is_cut_at_a_character_border() {
    let mut rig = Rig::start().await;
    let fail = |text: String| call("fail", &serde_json::json!({ "text": text }).to_string());
    // One and two bytes before characters of three, so that the bounds fall into a character once and onto a border once.
    let texts = ["x".to_owned() + &"€".repeat(22_000), "xx".to_owned() + &"€".repeat(22_000), "x".repeat(2_048)];
    let ran = rig.run(batch_with(texts.clone().map(fail).to_vec(), going_on())).await;
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        let bounds = [(2_047, 65_536), (2_048, 65_534), (2_048, 2_048)];
        for ((result, text), (told, kept)) in ran.results().iter().zip(&texts).zip(bounds) {
            assert!(error(result).message == text[..told], "{} bytes", error(result).message.len());
            let message = step_error(&rig, result).await.message;
            assert!(message == text[..kept], "{} bytes", message.len());
        }
        let replayed = rig.watch(ran.batch_id(), 0).await.expect("it is there").rest().await.expect("it ends");
        assert_eq!(replayed, ran.events);
    }
}

#[tokio::test]
async fn c36_a_result_over_four_megabytes_is_read_in_pieces() {
    let mut rig = Rig::start().await;
    let ran = rig.run(batch(vec![blob(5_000_000), blob(1_048_576), blob(1_048_577)])).await;
    assert_eq!(inlined(ran.results()), [false; 3]);
    let step_id = &ran.results()[0].step_id;
    let whole = format!("\"{}\"", "x".repeat(4_999_998)).into_bytes();
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        let step = rig.get_step(step_id).await.expect("a step");
        assert_eq!((step.result_bytes, step.result_json.len()), (5_000_000, 0), "left out, as clients take 4 MiB");
        let (read, pieces) = rig.read_result(step_id, 0).await.expect("a result");
        assert_eq!(Sha256::digest(&read), Sha256::digest(&whole));
        assert!(pieces > 1, "in pieces");
        for offset in [1, 262_144, 3_333_333, 4_999_999, 5_000_000] {
            let (read, _) = rig.read_result(step_id, offset).await.expect("a result");
            let rest = &whole[usize::try_from(offset).expect("it is small")..];
            assert_eq!(Sha256::digest(&read), Sha256::digest(rest), "from {offset}");
        }
    }
    let status = rig.read_result(step_id, 5_000_001).await.expect_err("past the end");
    assert_eq!(refusal(&status), (Code::OutOfRange, "PAST_THE_RESULT".to_owned()));
    assert!(status.message().contains("5000001") && status.message().contains("5000000"), "{}", status.message());
    // Up to 1 MiB it is part of the step.
    for (result, shown) in ran.results()[1..].iter().zip([1_048_576, 0]) {
        assert_eq!(rig.get_step(&result.step_id).await.expect("a step").result_json.len(), shown);
    }
}

#[tokio::test]
async fn c36_a_result_is_at_most_64_mib() {
    const MAX: usize = 64 * 1024 * 1024;
    let rig = Rig::start().await;
    let ran = rig.run(batch_with(vec![blob(MAX), blob(MAX + 1), blob(2)], going_on())).await;
    assert_eq!(ran.statuses(), ["completed", "failed", "completed"]);
    let error = error(&ran.results()[1]);
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::BadResponse, true), "the tool has run");
    assert!(error.message.contains("64 MiB") && error.message.contains("67108865"), "{}", error.message);
    let (read, _) = rig.read_result(&ran.results()[0].step_id, 0).await.expect("a result");
    assert_eq!(read.len(), MAX);
    let status = rig.read_result(&ran.results()[1].step_id, 0).await.expect_err("there is none");
    assert_eq!(refusal(&status), (Code::FailedPrecondition, "STEP_HAS_NO_RESULT".to_owned()));
}

/// What a batch came to: status, succeeded, failed, skipped, awaiting, not run, stop reason.
type Told = (BatchStatus, [u32; 5], StopReason);

fn told(summary: &BatchSummary) -> Told {
    let counts = [summary.succeeded, summary.failed, summary.skipped, summary.awaiting, summary.not_run];
    assert_eq!(counts.iter().sum::<u32>(), summary.total);
    (summary.status(), counts, summary.stop_reason())
}

#[tokio::test]
async fn a_batch_is_completed_failed_or_partial() {
    let mut rig = Rig::start().await;
    rig.run(batch(vec![keyed("done", "echo", "{}")])).await;
    let (ok, fail) = (|| call("echo", "{}"), || call("fail", "{}"));
    let (skip, review) = (|| keyed("done", "echo", "{}"), || call("review", r#"{"id":"r"}"#));
    let (none, failed, awaiting) = (StopReason::Unspecified, StopReason::CallFailed, StopReason::AwaitingReview);
    let (completed, partial) = (BatchStatus::Completed, BatchStatus::Partial);
    let cases: Vec<(bool, Vec<ToolCall>, Told)> = vec![
        (true, vec![ok(), ok()], (completed, [2, 0, 0, 0, 0], none)),
        (true, vec![skip(), ok()], (completed, [1, 0, 1, 0, 0], none)),
        (true, vec![skip()], (completed, [0, 0, 1, 0, 0], none)),
        (true, vec![fail()], (BatchStatus::Failed, [0, 1, 0, 0, 0], none)),
        (true, vec![fail(), ok()], (BatchStatus::Failed, [0, 1, 0, 0, 1], failed)),
        (false, vec![fail(), fail()], (BatchStatus::Failed, [0, 2, 0, 0, 0], none)),
        (true, vec![ok(), fail(), ok()], (partial, [1, 1, 0, 0, 1], failed)),
        (true, vec![ok(), fail()], (partial, [1, 1, 0, 0, 0], none)),
        (false, vec![fail(), skip()], (partial, [0, 1, 1, 0, 0], none)),
        (false, vec![fail(), review()], (partial, [0, 1, 0, 1, 0], none)),
        (false, vec![review()], (partial, [0, 0, 0, 1, 0], none)),
        (false, vec![review(), ok()], (partial, [0, 0, 0, 1, 1], awaiting)),
    ];
    let mut ids = Vec::new();
    for (stop_on_error, calls, expected) in &cases {
        let options = BatchOptions { stop_on_error: Some(*stop_on_error), ..BatchOptions::default() };
        let ran = rig.run(batch_with(calls.clone(), options)).await;
        assert_eq!(told(ran.summary()), *expected, "{:?}", ran.statuses());
        let indexes: Vec<u32> = ran.results().iter().map(|result| result.index).collect();
        assert_eq!(indexes, (0..ran.summary().total).collect::<Vec<_>>());
        assert_eq!(rig.get_batch(ran.batch_id()).await.expect("a batch").summary.as_ref(), Some(ran.summary()));
        for result in ran.results() {
            assert_eq!(result.step_id.is_empty(), result.status() == toolbatch::proto::CallStatus::NotRun);
        }
        // The batch's own step is completed, however its calls went.
        let own = rig.get_step(ran.batch_id()).await.expect("a step");
        assert_eq!(own.status(), toolbatch::proto::CallStatus::Completed);
        ids.push(ran.batch_id().to_owned());
    }
    rig.restart().await;
    let listed = rig.list_batches("T", 100, "").await.expect("a list").batches;
    for (id, (.., expected)) in ids.iter().zip(&cases) {
        let listed = listed.iter().find(|batch| batch.batch_id == *id).expect("it is listed");
        assert_eq!(told(listed.summary.as_ref().expect("a summary")), *expected);
        let batch = rig.get_batch(id).await.expect("a batch");
        assert_eq!(told(batch.summary.as_ref().expect("a summary")), *expected);
    }
}

#[tokio::test]
async fn options_are_told_as_they_took_effect() {
    let rig = Rig::start().await;
    let seconds = |seconds, nanos| Some(Duration { seconds, nanos });
    let defaults = BatchOptions {
        mode: BatchMode::Sequential.into(),
        max_concurrency: 4,
        serialize_on: String::new(),
        stop_on_error: Some(true),
        include_results: Some(true),
        call_timeout: None,
        retry: Some(RetryPolicy {
            max_attempts: 1,
            initial_backoff: seconds(0, 100_000_000),
            max_backoff: seconds(10, 0),
            backoff_multiplier: 2.0,
        }),
        in_doubt: InDoubtPolicy::Rerun.into(),
    };
    let chosen = BatchOptions {
        mode: BatchMode::Parallel.into(),
        max_concurrency: 7,
        serialize_on: "/a~1b/c".into(),
        stop_on_error: Some(false),
        include_results: Some(false),
        call_timeout: seconds(1, 500_000_000),
        retry: Some(RetryPolicy {
            max_attempts: 3,
            initial_backoff: seconds(0, 1),
            max_backoff: seconds(600, 0),
            backoff_multiplier: 1.5,
        }),
        in_doubt: InDoubtPolicy::Lookup.into(),
    };
    let wide = parallel(0);
    for (sent, in_force) in [
        (None, defaults.clone()),
        (Some(BatchOptions::default()), defaults.clone()),
        (Some(BatchOptions { retry: Some(RetryPolicy::default()), ..BatchOptions::default() }), defaults.clone()),
        (Some(wide), BatchOptions { mode: BatchMode::Parallel.into(), ..defaults.clone() }),
        (Some(chosen.clone()), chosen.clone()),
    ] {
        let ran =
            rig.run(toolbatch::proto::ExecuteBatchRequest { options: sent, ..batch(vec![call("echo", "{}")]) }).await;
        let Some(Event::BatchStarted(started)) = &ran.events[0].event else { panic!("{:?}", ran.events[0]) };
        assert_eq!((started.task_id.as_str(), started.total), ("T", 1));
        assert_eq!(started.options.as_ref(), Some(&in_force));
        assert_eq!(rig.get_batch(ran.batch_id()).await.expect("a batch").options.as_ref(), Some(&in_force));
        let listed = rig.list_batches("T", 1, "").await.expect("a list");
        assert_eq!(listed.batches[0].options.as_ref(), Some(&in_force));
    }
}
