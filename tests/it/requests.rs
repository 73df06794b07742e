//! R1: a request is checked whole, before anything runs.

use prost::Message as _;
use prost_types::Duration;
use tonic::Code;
use toolbatch::proto::{
    BatchMode, BatchOptions, ExecuteBatchRequest, InDoubtPolicy, ListStepsRequest, RetryPolicy, ToolCall,
    batch_event::Event, execute_batch_request::Source,
};

use crate::{
    refusal::{not_found, refusal, violations},
    rig::{Ran, Rig, batch, batch_with, call, keyed, parallel},
};

const MIB: usize = 1024 * 1024;
/// The largest request.
const MAX_REQUEST: usize = 16 * MIB;
/// Every refused request of this file names this batch, so that a test can look for it.
const BATCH: &str = "never";

fn effect() -> ToolCall {
    call("effect", r#"{"id":"a"}"#)
}

fn one(call: ToolCall) -> ExecuteBatchRequest {
    batch(vec![call])
}

fn args(text: &str) -> ExecuteBatchRequest {
    one(call("echo", text))
}

fn options(options: BatchOptions) -> ExecuteBatchRequest {
    batch_with(vec![effect()], options)
}

fn retry(policy: RetryPolicy) -> ExecuteBatchRequest {
    options(BatchOptions { retry: Some(policy), ..BatchOptions::default() })
}

fn seconds(seconds: i64, nanos: i32) -> Duration {
    Duration { seconds, nanos }
}

/// An object of that many bytes.
fn object_of(bytes: usize) -> String {
    format!(r#"{{"x":"{}"}}"#, "x".repeat(bytes - r#"{"x":""}"#.len()))
}

/// Objects within objects, that many levels of them.
fn nested(levels: usize) -> String {
    format!("{}{}", r#"{"a":"#.repeat(levels - 1), "{}") + &"}".repeat(levels - 1)
}

/// A request of exactly that many bytes, of `echo` calls with args of up to 1 MiB.
fn request_of(bytes: usize) -> ExecuteBatchRequest {
    let mut request = batch((0..bytes / MIB).map(|_| call("echo", &object_of(MIB - 64))).collect());
    request.task_id = "large".into();
    let mut call = call("echo", "{}");
    let missing = |request: &ExecuteBatchRequest| bytes - request.encoded_len();
    let mut length = missing(&request) - 64;
    loop {
        call.args_json = object_of(length);
        let mut whole = request.clone();
        let Some(Source::CallList(list)) = &mut whole.source else { unreachable!("it is a list") };
        list.calls.push(call.clone());
        match bytes - whole.encoded_len() {
            0 => return whole,
            more => length += more,
        }
    }
}

/// Asserts that a refused request left nothing behind.
async fn nothing_happened(rig: &Rig) {
    not_found(&rig.get_batch(BATCH).await.expect_err("no batch"), "BATCH_NOT_FOUND", ("batch", BATCH));
    let status = rig.list_batches("T", 0, "").await.expect_err("no task");
    not_found(&status, "TASK_NOT_FOUND", ("task", "T"));
    let request = ListStepsRequest { task_id: "T".into(), ..ListStepsRequest::default() };
    not_found(&rig.list_steps(request).await.expect_err("no task"), "TASK_NOT_FOUND", ("task", "T"));
    assert!(rig.list_batches("", 0, "").await.expect("a list").batches.is_empty());
    assert!(rig.backend.journal().entries().is_empty());
}

/// Asserts that a request is refused for exactly these fields, each with a message that holds the words, as a plan and as a run.
async fn is_refused(rig: &Rig, request: ExecuteBatchRequest, expected: &[(&str, &[&str])]) {
    let batch_id = if request.batch_id.is_empty() { BATCH.to_owned() } else { request.batch_id.clone() };
    for validate_only in [false, true] {
        let request = ExecuteBatchRequest { batch_id: batch_id.clone(), validate_only, ..request.clone() };
        let found = violations(&rig.refused(request).await);
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        let wanted: Vec<&str> = expected.iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, wanted, "{found:?}");
        for ((_, description), (_, words)) in found.iter().zip(expected) {
            for word in *words {
                assert!(description.contains(word), "{word:?} is not in {description:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_list_has_1_to_200_calls() {
    let rig = Rig::start().await;
    is_refused(&rig, batch(vec![]), &[("call_list.calls", &["0 calls", "1 to 200"])]).await;
    is_refused(&rig, batch(vec![effect(); 201]), &[("call_list.calls", &["201 calls", "1 to 200"])]).await;
    let none = ExecuteBatchRequest { source: None, ..batch(vec![]) };
    is_refused(&rig, none, &[("call_list", &["call_list", "calls_ref"])]).await;
    nothing_happened(&rig).await;

    assert_eq!(rig.run(one(effect())).await.summary().succeeded, 1);
    let ran = rig.run(batch_with(vec![effect(); 200], parallel(16))).await;
    assert_eq!((ran.summary().total, ran.summary().succeeded), (200, 200));
    assert_eq!(ran.events.len(), 402);
    assert_eq!(rig.backend.journal().entries().len(), 201);
}

#[tokio::test]
async fn c27_the_same_key_twice_in_one_list() {
    let rig = Rig::start().await;
    let calls = vec![keyed("k1", "echo", "{}"), call("echo", "{}"), call("echo", "{}"), keyed("k1", "echo", "{}")];
    is_refused(&rig, batch(calls), &[("call_list.calls[3].key", &["0", "3", "\"k1\""])]).await;
    nothing_happened(&rig).await;

    let different = ["k1", "K1", "k1 ", ""].map(|key| keyed(key, "echo", "{}")).to_vec();
    assert_eq!(rig.run(batch(different)).await.summary().succeeded, 4);
}

#[tokio::test]
async fn options_are_known_and_in_range() {
    let rig = Rig::start().await;
    let with = |change: fn(&mut BatchOptions)| {
        let mut changed = BatchOptions::default();
        change(&mut changed);
        options(changed)
    };
    let cases: [(ExecuteBatchRequest, &str, &[&str]); 14] = [
        (with(|options| options.mode = 3), "options.mode", &["3 arrived"]),
        (with(|options| options.mode = -1), "options.mode", &["-1 arrived"]),
        (with(|options| options.in_doubt = 4), "options.in_doubt", &["4 arrived"]),
        (with(|options| options.max_concurrency = 17), "options.max_concurrency", &["17 arrived", "16"]),
        (options(parallel(17)), "options.max_concurrency", &["17 arrived"]),
        (options(parallel(u32::MAX)), "options.max_concurrency", &["4294967295 arrived"]),
        (with(|options| options.serialize_on = "doc".into()), "options.serialize_on", &["\"doc\"", "sequential"]),
        (
            options(BatchOptions { mode: 1, serialize_on: "doc".into(), ..BatchOptions::default() }),
            "options.serialize_on",
            &["sequential"],
        ),
        (
            options(BatchOptions { serialize_on: "a..b".into(), ..parallel(2) }),
            "options.serialize_on",
            &["\"a..b\"", "order.contract"],
        ),
        (
            options(BatchOptions { serialize_on: "items[0]".into(), ..parallel(2) }),
            "options.serialize_on",
            &["items[0]"],
        ),
        (with(|options| options.call_timeout = Some(seconds(0, 0))), "options.call_timeout", &["0s", "24 h"]),
        (with(|options| options.call_timeout = Some(seconds(-1, 0))), "options.call_timeout", &["-1s"]),
        (
            with(|options| options.call_timeout = Some(seconds(86_400, 1))),
            "options.call_timeout",
            &["86400.000000001s"],
        ),
        (with(|options| options.call_timeout = Some(seconds(1, -1))), "options.call_timeout", &["24 h"]),
    ];
    for (request, field, words) in cases {
        is_refused(&rig, request, &[(field, words)]).await;
    }
    nothing_happened(&rig).await;

    for accepted in [
        with(|options| options.call_timeout = Some(seconds(86_400, 0))),
        with(|options| options.call_timeout = Some(seconds(59, 999_999_999))),
        with(|options| options.max_concurrency = 16),
        options(parallel(1)),
        options(parallel(0)),
        options(BatchOptions { serialize_on: "/~1".into(), ..parallel(16) }),
    ] {
        assert_eq!(rig.run(accepted).await.summary().succeeded, 1);
    }
}

#[tokio::test]
async fn a_retry_policy_is_in_range() {
    let rig = Rig::start().await;
    let policy = RetryPolicy::default();
    let cases: [(RetryPolicy, &str, &[&str]); 9] = [
        (RetryPolicy { max_attempts: 11, ..policy }, "options.retry.max_attempts", &["11 arrived", "10"]),
        (
            RetryPolicy { initial_backoff: Some(seconds(-1, 0)), ..policy },
            "options.retry.initial_backoff",
            &["-1s", "10 min"],
        ),
        (
            RetryPolicy { initial_backoff: Some(seconds(600, 1)), ..policy },
            "options.retry.initial_backoff",
            &["10 min"],
        ),
        (RetryPolicy { max_backoff: Some(seconds(601, 0)), ..policy }, "options.retry.max_backoff", &["601s"]),
        (
            RetryPolicy { max_backoff: Some(seconds(0, 1_000_000_000)), ..policy },
            "options.retry.max_backoff",
            &["10 min"],
        ),
        (RetryPolicy { backoff_multiplier: 0.5, ..policy }, "options.retry.backoff_multiplier", &["5e-1", "1 to 10"]),
        (RetryPolicy { backoff_multiplier: 10.5, ..policy }, "options.retry.backoff_multiplier", &["1.05e1"]),
        (RetryPolicy { backoff_multiplier: f64::NAN, ..policy }, "options.retry.backoff_multiplier", &["NaN"]),
        (RetryPolicy { backoff_multiplier: f64::INFINITY, ..policy }, "options.retry.backoff_multiplier", &["inf"]),
    ];
    for (policy, field, words) in cases {
        is_refused(&rig, retry(policy), &[(field, words)]).await;
    }
    nothing_happened(&rig).await;

    for accepted in [
        RetryPolicy {
            max_attempts: 10,
            initial_backoff: Some(seconds(600, 0)),
            max_backoff: Some(seconds(600, 0)),
            ..policy
        },
        RetryPolicy {
            max_attempts: 1,
            initial_backoff: Some(seconds(0, 0)),
            max_backoff: Some(seconds(0, 0)),
            ..policy
        },
        RetryPolicy { backoff_multiplier: 1.0, ..policy },
        RetryPolicy { backoff_multiplier: 10.0, ..policy },
    ] {
        assert_eq!(rig.run(retry(accepted)).await.summary().succeeded, 1);
    }
}

#[tokio::test]
async fn c15_c20_args_are_one_sound_object() {
    const FIELD: &str = "call_list.calls[0].args_json";
    let rig = Rig::start().await;
    let (too_deep, too_large) = (nested(101), object_of(MIB + 1));
    let cases: [(&str, &[&str]); 18] = [
        ("null", &["object", "null"]),
        ("true", &["object", "boolean"]),
        ("5", &["object", "number"]),
        ("[]", &["object", "array"]),
        (r#""text""#, &["object", "string"]),
        (r#"{"id":"x""#, &["line 1, column 10"]),
        (r#"{"id":"x"}{"id":"y"}"#, &["line 1, column 11"]),
        ("{\"id\":\"x\"}\n\nNow I will", &["line 3, column 1", "Now"]),
        (r#"{"mean":NaN}"#, &["line 1, column 9", "NaN"]),
        (r#"{"a":01}"#, &["line 1"]),
        ("{\"a\":\"\u{1}\"}", &["line 1"]),
        ("{'a':1}", &["line 1, column 2"]),
        (r#"{"doc":"A","doc":"B"}"#, &["\"doc\"", "line 1, column 12"]),
        (r#"{"x":[{"doc":1,"\u0064oc":2}]}"#, &["\"doc\"", "line 1, column 16"]),
        (r#"{"a":"\ud800"}"#, &["\\ud800", "line 1, column 7"]),
        (r#"{"\udc00":1}"#, &["\\udc00", "line 1, column 3"]),
        (&too_deep, &["100", "line 1"]),
        (&too_large, &["1048577 bytes", "1 MiB"]),
    ];
    for (text, words) in cases {
        is_refused(&rig, args(text), &[(FIELD, words)]).await;
    }
    nothing_happened(&rig).await;
}

#[tokio::test]
async fn c14_args_at_their_bounds_reach_the_tool_byte_for_byte() {
    let rig = Rig::start().await;
    let texts = [
        object_of(MIB),
        nested(100),
        " {\n\t\"a\" : [ ] }\r\n".to_owned(),
        r#"{"":null,"\u0000":"\ud83d\ude00","中":"\/"}"#.to_owned(),
        format!(r#"{{"n":-{}.{}E+{}}}"#, "9".repeat(400), "0".repeat(400), "9".repeat(30)),
    ];
    for (sent, arrives) in
        texts.iter().map(|text| (text.as_str(), text.as_str())).chain([("", "{}"), (" \t\r\n", "{}")])
    {
        let ran = rig.run(args(sent)).await;
        assert_eq!(ran.summary().succeeded, 1, "{ran:?}");
        let entries = rig.backend.journal().entries();
        assert!(entries.last().expect("it ran").args_json == arrives, "{sent:.80}");
        let step = rig.get_step(&ran.results()[0].step_id).await.expect("a step");
        assert!(step.args_json == arrives, "{sent:.80}");
    }
}

#[tokio::test]
async fn names_keys_and_ids_are_bounded_and_without_control_characters() {
    let rig = Rig::start().await;
    let request = one(effect());
    let task = |id: &str| ExecuteBatchRequest { task_id: id.into(), ..request.clone() };
    let id = |id: &str| ExecuteBatchRequest { batch_id: id.into(), ..request.clone() };
    let agent = |id: &str| ExecuteBatchRequest { agent_id: id.into(), ..request.clone() };
    let cases: Vec<(ExecuteBatchRequest, &str, &[&str])> = vec![
        (task(""), "task_id", &["nothing", "256"]),
        (task(&"x".repeat(257)), "task_id", &["257 bytes", "256"]),
        (task(&"中".repeat(86)), "task_id", &["258 bytes"]),
        (task("a\nb"), "task_id", &["U+000A", "byte 1"]),
        (task("a\u{7f}"), "task_id", &["U+007F"]),
        (task("\u{85}"), "task_id", &["U+0085"]),
        (id(&"x".repeat(129)), "batch_id", &["129 bytes", "128"]),
        (id("\0"), "batch_id", &["U+0000"]),
        (agent("\u{1b}[31m"), "agent_id", &["U+001B"]),
        (one(call("", "{}")), "call_list.calls[0].tool", &["nothing", "256"]),
        (one(call(&"t".repeat(257), "{}")), "call_list.calls[0].tool", &["257 bytes"]),
        (one(call("a\tb", "{}")), "call_list.calls[0].tool", &["U+0009"]),
        (one(keyed(&"k".repeat(513), "echo", "{}")), "call_list.calls[0].key", &["513 bytes", "512"]),
        (one(keyed("k\u{9f}", "echo", "{}")), "call_list.calls[0].key", &["U+009F"]),
    ];
    for (request, field, words) in cases {
        is_refused(&rig, request, &[(field, words)]).await;
    }
    nothing_happened(&rig).await;

    let longest = ExecuteBatchRequest {
        task_id: "中".repeat(85) + "x",
        batch_id: "b".repeat(128),
        ..batch(vec![keyed(&"k".repeat(512), "echo", "{}"), call(&"t".repeat(256), "{}")])
    };
    let ran = rig.run(longest).await;
    assert_eq!(ran.statuses(), ["completed", "failed"], "a tool that nobody serves fails its call, not the request");
    assert_eq!(ran.batch_id(), "b".repeat(128));
    assert_eq!(rig.backend.journal().entries()[0].key, "k".repeat(512));
}

#[tokio::test]
async fn a_reference_gives_no_list_where_the_task_has_no_such_output() {
    let rig = Rig::start().await;
    let by = |text: &str| ExecuteBatchRequest { source: Some(Source::CallsRef(text.into())), ..batch(vec![]) };
    is_refused(&rig, by("${VAR_3}.calls"), &[("calls_ref", &["missing step output VAR_3"])]).await;
    is_refused(&rig, by("run ${VAR_1}.calls"), &[("calls_ref", &["inside a larger text"])]).await;
    is_refused(&rig, by("${VAR_1}.calls "), &[("calls_ref", &["inside a larger text"])]).await;
    is_refused(&rig, by(""), &[("calls_ref", &["no list"])]).await;
    nothing_happened(&rig).await;
}

#[tokio::test]
async fn every_violation_is_named_at_once() {
    let rig = Rig::start().await;
    let request = ExecuteBatchRequest {
        task_id: String::new(),
        ..batch_with(
            vec![keyed("k", "echo", "[]"), keyed("k", "", "{}")],
            BatchOptions {
                mode: 9,
                retry: Some(RetryPolicy { max_attempts: 99, ..RetryPolicy::default() }),
                ..parallel(40)
            },
        )
    };
    let request = match request.options {
        Some(options) => ExecuteBatchRequest { options: Some(BatchOptions { mode: 9, ..options }), ..request },
        None => unreachable!("it has options"),
    };
    is_refused(
        &rig,
        request.clone(),
        &[
            ("task_id", &["nothing arrived"]),
            ("call_list.calls[0].args_json", &["an array"]),
            ("call_list.calls[1].tool", &["nothing arrived"]),
            ("call_list.calls[1].key", &["0", "1"]),
            ("options.mode", &["9 arrived"]),
            ("options.max_concurrency", &["40 arrived"]),
            ("options.retry.max_attempts", &["99 arrived"]),
        ],
    )
    .await;
    let status = rig.refused(request).await;
    assert!(status.message().starts_with("7 violations, first task_id"), "{}", status.message());
    nothing_happened(&rig).await;
}

#[tokio::test]
async fn c47_as_many_violations_as_every_client_can_read() {
    let rig = Rig::start().await;
    let list = |tool: &str| batch(vec![ToolCall { args_json: "[]".into(), ..call(tool, "") }; 200]);
    // The second has the longest message and paths that a header can hold: every character takes three.
    for (request, count) in
        [(list("effect"), 200), (list(&"\u{10ffff}".repeat(65)), 400), (list(&"中\n".repeat(100)), 600)]
    {
        let status = rig.refused(ExecuteBatchRequest { batch_id: BATCH.into(), ..request }).await;
        let found = violations(&status);
        let ((field, more), listed) = found.split_last().expect("some are listed");
        assert_eq!(field, "");
        let more: usize = more.split(' ').find_map(|word| word.parse().ok()).expect("it says how many more");
        assert_eq!(listed.len() + more, count);
        assert!(listed.len() >= 5, "{} are listed", listed.len());
        assert!(listed[0].0.starts_with("call_list.calls[0]."), "{listed:?}");
        assert!(status.message().contains("violations"), "{}", status.message());
    }
    nothing_happened(&rig).await;
}

#[tokio::test]
async fn c36_twelve_megabytes_in_two_hundred_calls_run() {
    let rig = Rig::start().await;
    let calls = (0..200).map(|n| call("echo", &format!(r#"{{"n":{n},"x":"{}"}}"#, "x".repeat(60_000)))).collect();
    let ran = rig.run(batch_with(calls, parallel(16))).await;
    assert_eq!(ran.summary().succeeded, 200);
    for index in [0, 199] {
        let step = rig.get_step(&ran.results()[index].step_id).await.expect("a step");
        assert!(step.args_json.starts_with(&format!(r#"{{"n":{index},"x":"xxx"#)), "{index}");
        assert_eq!(step.args_json, step.result_json);
    }
}

#[tokio::test]
async fn c36_a_request_over_16_mib_is_refused_and_others_on_its_connection_go_on() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("held");
    let mut running = rig.open(one(call("effect", r#"{"id":"held"}"#))).await.expect("taken in");
    running.until(|event| matches!(event, Event::CallStarted(_))).await;

    let too_large = request_of(MAX_REQUEST + 1);
    assert_eq!(too_large.encoded_len(), MAX_REQUEST + 1);
    let status = rig.refused(too_large.clone()).await;
    assert_eq!(refusal(&status), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned()));
    assert!(status.message().contains("16777217") && status.message().contains("16777216"), "{}", status.message());
    // Compressed, it is small until it is read.
    let mut compressing = rig.batches().send_compressed(tonic::codec::CompressionEncoding::Gzip);
    let status = compressing.execute_batch(too_large).await.expect_err("refused");
    assert_eq!(refusal(&status), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned()));
    let status = rig.list_batches("large", 0, "").await.expect_err("nothing was recorded");
    not_found(&status, "TASK_NOT_FOUND", ("task", "large"));

    gate.release();
    let events = running.rest().await.expect("the stream goes on");
    assert_eq!(Ran { events }.statuses(), ["completed"]);
    // On the border it is taken in.
    let largest = rig.run(request_of(MAX_REQUEST)).await;
    assert_eq!(largest.summary().succeeded, largest.summary().total);
}

fn known(request: ExecuteBatchRequest) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: "b1".into(), ..request }
}

#[tokio::test]
async fn c28_the_client_sends_its_request_again() {
    let rig = Rig::start().await;
    let list =
        |last: &str| known(batch(["1", "2", last].map(|id| call("effect", &format!(r#"{{"id":"{id}"}}"#))).to_vec()));
    let gate = rig.backend.hold("2");
    // The connection is lost after the first event.
    let connection = crate::rig::connect(rig.endpoint()).await;
    let mut client = toolbatch::proto::batch_service_client::BatchServiceClient::new(connection);
    let mut stream = client.execute_batch(list("3")).await.expect("taken in").into_inner();
    let first = stream.message().await.expect("an event").expect("an event").event.expect("an event");
    drop((stream, client));
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;

    let attached = rig.open(list("3")).await.expect("it attaches");
    let status = rig.refused(list("4")).await;
    assert_eq!(refusal(&status), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()));
    gate.release();
    let attached = attached.rest().await.expect("it ends");
    assert_eq!(attached[0], first);
    assert_eq!(attached.iter().map(|event| event.sequence).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    let replayed = rig.run(list("3")).await;
    assert_eq!(replayed.events, attached);
    assert_eq!(refusal(&rig.refused(list("4")).await).0, Code::AlreadyExists);
    assert_eq!(rig.backend.journal().ids(), ["1", "2", "3"]);
    assert_eq!(rig.list_batches("T", 0, "").await.expect("a list").batches.len(), 1);
}

#[tokio::test]
async fn a_known_batch_id_attaches_where_the_defaults_are_spelled_out() {
    let mut rig = Rig::start().await;
    let calls = |args: &str| vec![keyed("k", "echo", args)];
    let first = rig.run(known(batch(calls("")))).await;
    let spelled_out = BatchOptions {
        mode: BatchMode::Sequential.into(),
        max_concurrency: 4,
        serialize_on: String::new(),
        stop_on_error: Some(true),
        include_results: Some(true),
        call_timeout: None,
        retry: Some(RetryPolicy {
            max_attempts: 1,
            initial_backoff: Some(seconds(0, 100_000_000)),
            max_backoff: Some(seconds(10, 0)),
            backoff_multiplier: 2.0,
        }),
        in_doubt: InDoubtPolicy::Rerun.into(),
    };
    for attached in [
        batch_with(calls("{}"), BatchOptions::default()),
        batch_with(calls(" "), BatchOptions { retry: Some(RetryPolicy::default()), ..BatchOptions::default() }),
        batch_with(calls(""), spelled_out.clone()),
    ] {
        assert_eq!(rig.run(known(attached)).await.events, first.events);
    }
    rig.restart().await;
    assert_eq!(rig.run(known(batch_with(calls(""), spelled_out.clone()))).await.events, first.events);
    assert_eq!(rig.backend.journal().entries().len(), 1);

    let other = |change: fn(&mut BatchOptions)| {
        let mut changed = spelled_out.clone();
        change(&mut changed);
        batch_with(calls(""), changed)
    };
    for conflicting in [
        batch(calls("{ }")),
        batch(vec![call("echo", "")]),
        batch(vec![keyed("k", "raw", "")]),
        batch(vec![keyed("k", "echo", ""), call("echo", "")]),
        ExecuteBatchRequest { task_id: "U".into(), ..batch(calls("")) },
        ExecuteBatchRequest { agent_id: "a".into(), ..batch(calls("")) },
        ExecuteBatchRequest { source: Some(Source::CallsRef("${VAR_1}".into())), ..batch(vec![]) },
        other(|options| options.mode = BatchMode::Parallel.into()),
        other(|options| options.max_concurrency = 5),
        other(|options| options.stop_on_error = Some(false)),
        other(|options| options.include_results = Some(false)),
        other(|options| options.call_timeout = Some(seconds(300, 0))),
        other(|options| options.in_doubt = InDoubtPolicy::Fail.into()),
        other(|options| options.retry = Some(RetryPolicy { max_attempts: 2, ..RetryPolicy::default() })),
        // It is looked up before any rule is.
        batch(vec![]),
        other(|options| options.mode = 77),
    ] {
        for validate_only in [false, true] {
            let request = ExecuteBatchRequest { validate_only, ..known(conflicting.clone()) };
            let status = rig.refused(request).await;
            assert_eq!(refusal(&status), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()), "{conflicting:?}");
        }
    }
    assert_eq!(rig.backend.journal().entries().len(), 1);
    assert_eq!(rig.list_batches("", 0, "").await.expect("a list").batches.len(), 1);
}

#[tokio::test]
async fn a_batch_id_that_is_another_steps_id_is_taken() {
    let rig = Rig::start().await;
    let ran = rig.run(one(effect())).await;
    for validate_only in [false, true] {
        let batch_id = ran.results()[0].step_id.clone();
        let status = rig.refused(ExecuteBatchRequest { batch_id, validate_only, ..one(effect()) }).await;
        assert_eq!(refusal(&status), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()));
        assert!(status.message().contains("step"), "{}", status.message());
    }
    assert_eq!(rig.backend.journal().entries().len(), 1);
}

/// What `validate_only` answers: one event.
async fn plan(rig: &Rig, request: ExecuteBatchRequest) -> Vec<toolbatch::proto::PlannedCall> {
    let batch_id = request.batch_id.clone();
    let mut events = rig.run(ExecuteBatchRequest { validate_only: true, ..request }).await.events;
    assert_eq!(events.len(), 1);
    let event = events.remove(0);
    assert_eq!((event.sequence, event.batch_id), (0, batch_id));
    assert!(event.time.is_some());
    match event.event {
        Some(Event::BatchPlanned(planned)) => planned.calls,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_plan_shows_what_would_become_of_each_call_and_claims_nothing() {
    let rig = Rig::start().await;
    let calls = || {
        vec![
            keyed("k", "echo", r#"{"doc":1.0}"#),
            call("nobody_serves_this", r#"{"doc":"1"}"#),
            call("effect", r#"{"id":5}"#),
            call("ask_user", "{}"),
            call("effect", r#"{"id":"a"}"#),
        ]
    };
    let request = || ExecuteBatchRequest {
        batch_id: "b1".into(),
        ..batch_with(calls(), BatchOptions { serialize_on: "doc".into(), ..parallel(2) })
    };
    let planned = plan(&rig, request()).await;
    let told: Vec<_> = planned
        .iter()
        .map(|call| {
            let reason = call.error.as_ref().map(|error| error.reason().as_str_name());
            (call.index, call.tool.as_str(), call.base_tool.as_str(), call.backend.as_str(), call.key.as_str(), reason)
        })
        .collect();
    let not_found = Some("CALL_ERROR_REASON_TOOL_NOT_FOUND");
    assert_eq!(
        told,
        [
            (0, "echo", "echo", "stub", "k", None),
            (1, "nobody_serves_this", "nobody_serves_this", "", "", not_found),
            (2, "effect", "effect", "", "", Some("CALL_ERROR_REASON_INVALID_ARGS")),
            (3, "ask_user", "ask_user", "", "", Some("CALL_ERROR_REASON_TOOL_NOT_BATCHABLE")),
            (4, "effect", "effect", "stub", "", None),
        ]
    );
    assert!(!planned[0].lane.is_empty());
    assert_eq!(planned[0].lane, planned[1].lane);
    assert!(planned[2..].iter().all(|call| call.lane.is_empty()));
    assert!(planned.iter().all(|call| call.skipped_step_id.is_empty()));
    crate::refusal::not_found(&rig.get_batch("b1").await.expect_err("none"), "BATCH_NOT_FOUND", ("batch", "b1"));
    let status = rig.list_batches("T", 0, "").await.expect_err("the task has not begun");
    crate::refusal::not_found(&status, "TASK_NOT_FOUND", ("task", "T"));
    assert!(rig.backend.journal().entries().is_empty());

    // The id was not claimed, so another content can have it; then a plan of that content does not attach.
    let first = rig.run(known(batch(vec![keyed("k", "echo", "{}")]))).await;
    let planned = plan(&rig, known(batch(vec![keyed("k", "echo", "{}")]))).await;
    assert_eq!(planned[0].skipped_step_id, first.results()[0].step_id);
    assert_eq!(
        plan(&rig, batch(vec![keyed("k", "nobody_serves_this", "{}")])).await[0].error,
        None,
        "skipped before that"
    );
    let other_task = ExecuteBatchRequest { task_id: "U".into(), ..batch(vec![keyed("k", "echo", "{}")]) };
    assert_eq!(plan(&rig, other_task).await[0].skipped_step_id, "");
    assert_eq!(rig.backend.journal().entries().len(), 1);
}
