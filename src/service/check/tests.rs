//! Each rule at its bound on both sides, and the cases by name.

mod any_request;
mod content;
mod fit;
mod reference;
mod variable;

use std::time::Duration;

use prost_types::Duration as Wire;

use super::*;
use crate::{
    batch::spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy},
    proto::{BatchOptions, CallList, ExecuteBatchRequest, ToolCall},
};

fn call(key: &str, args_json: &str) -> ToolCall {
    ToolCall { tool: "effect".to_owned(), args_json: args_json.to_owned(), key: key.to_owned() }
}

fn list(calls: Vec<ToolCall>) -> Source {
    Source::CallList(CallList { calls })
}

fn request(calls: Vec<ToolCall>) -> ExecuteBatchRequest {
    ExecuteBatchRequest { task_id: "task".to_owned(), source: Some(list(calls)), ..Default::default() }
}

fn one_call() -> ExecuteBatchRequest {
    request(vec![call("", "{}")])
}

fn with_args(args_json: &str) -> ExecuteBatchRequest {
    request(vec![call("", args_json)])
}

fn with_options(change: impl FnOnce(&mut BatchOptions)) -> ExecuteBatchRequest {
    let mut options = BatchOptions::default();
    change(&mut options);
    ExecuteBatchRequest { options: Some(options), ..one_call() }
}

fn with_retry(change: impl FnOnce(&mut proto::RetryPolicy)) -> ExecuteBatchRequest {
    let mut retry = proto::RetryPolicy::default();
    change(&mut retry);
    with_options(|options| options.retry = Some(retry))
}

/// Every violation as `field: description`.
fn refused(request: &ExecuteBatchRequest) -> Vec<String> {
    let refusal = check(request).unwrap_err();
    refusal.violations().map(|violation| format!("{}: {}", violation.field, violation.description)).collect()
}

fn fields(request: &ExecuteBatchRequest) -> Vec<String> {
    check(request)
        .map_or_else(|refusal| refusal.violations().map(|violation| violation.field.clone()).collect(), |_| vec![])
}

fn accepted(request: &ExecuteBatchRequest) -> Spec {
    check(request).unwrap()
}

#[test]
fn a_request_with_nothing_set_gets_the_defaults() {
    let request = one_call();
    let spec = Spec {
        task_id: "task".to_owned(),
        agent_id: String::new(),
        batch_id: None,
        calls: vec![CallSpec { tool: "effect".into(), args: "{}".into(), key: None, lane: None }],
        options: Options {
            mode: Mode::Sequential { max_concurrency: 4 },
            serialize_on: String::new(),
            stop_on_error: true,
            include_results: true,
            call_timeout: None,
            retry: RetryPolicy::default(),
            in_doubt: InDoubtPolicy::Rerun,
        },
        direct: false,
        trace: None,
        content_digest: content_digest(&request),
    };
    assert_eq!(accepted(&request), spec);
    assert_eq!(accepted(&with_options(|_| {})), spec);
    assert_eq!(accepted(&with_retry(|_| {})), spec);
}

#[test]
fn a_request_with_everything_set_is_taken_as_it_is() {
    let request = ExecuteBatchRequest {
        task_id: "t".to_owned(),
        agent_id: "orders".to_owned(),
        batch_id: "b".to_owned(),
        source: Some(list(vec![call("k1", " {\"doc\": 4711.0 }\n"), call("k2", "{\"doc\":\"4711\"}"), call("", "{}")])),
        options: Some(BatchOptions {
            mode: 2,
            max_concurrency: 16,
            serialize_on: "doc".to_owned(),
            stop_on_error: Some(false),
            include_results: Some(false),
            call_timeout: Some(Wire { seconds: 1, nanos: 5 }),
            retry: Some(proto::RetryPolicy {
                max_attempts: 3,
                initial_backoff: Some(Wire { seconds: 20, nanos: 0 }),
                max_backoff: Some(Wire { seconds: 0, nanos: 7 }),
                backoff_multiplier: 1.5,
            }),
            in_doubt: 3,
        }),
        validate_only: true,
    };
    let spec = accepted(&request);
    assert_eq!(spec.agent_id, "orders");
    assert_eq!(spec.batch_id.as_deref(), Some("b"));
    assert_eq!(&*spec.calls[0].args, " {\"doc\": 4711.0 }\n", "byte for byte");
    assert_eq!(spec.calls[0].key.as_deref(), Some("k1"));
    assert_eq!(
        spec.calls.iter().map(|call| call.lane.as_deref()).collect::<Vec<_>>(),
        [Some("4711"), Some("4711"), None]
    );
    assert_eq!(
        spec.options,
        Options {
            mode: Mode::Parallel { max_concurrency: 16 },
            serialize_on: "doc".to_owned(),
            stop_on_error: false,
            include_results: false,
            call_timeout: Some(Duration::new(1, 5)),
            retry: RetryPolicy {
                max_attempts: 3,
                initial_backoff: Duration::from_secs(20),
                max_backoff: Duration::from_nanos(7),
                backoff_multiplier: 1.5,
            },
            in_doubt: InDoubtPolicy::Fail,
        }
    );
}

#[test]
fn a_list_has_1_to_200_calls() {
    assert_eq!(refused(&request(vec![])), ["call_list.calls: 0 calls arrived; expected 1 to 200"]);
    assert_eq!(accepted(&request(vec![call("", ""); 1])).calls.len(), 1);
    assert_eq!(accepted(&request(vec![call("", ""); 200])).calls.len(), 200);
    assert_eq!(
        refused(&request(vec![call("same", "not even JSON"); 201])),
        ["call_list.calls: 201 calls arrived; expected 1 to 200; run a longer list as several batches"],
        "what is in it is not looked at"
    );
}

#[test]
fn a_request_needs_a_list() {
    let no_source = refused(&ExecuteBatchRequest { source: None, ..one_call() });
    assert!(no_source[0].starts_with("call_list: neither call_list nor calls_ref arrived; expected"), "{no_source:?}");
    assert_eq!(no_source.len(), 1);
}

/// A request with one of its texts set, by field path.
fn with_text(field: &str, text: String) -> ExecuteBatchRequest {
    let mut request = one_call();
    match field {
        "task_id" => request.task_id = text,
        "agent_id" => request.agent_id = text,
        "batch_id" => request.batch_id = text,
        "call_list.calls[0].tool" => request.source = Some(list(vec![ToolCall { tool: text, ..Default::default() }])),
        "call_list.calls[0].key" => request.source = Some(list(vec![call(&text, "")])),
        other => panic!("no text at {other}"),
    }
    request
}

#[test]
fn texts_have_their_lengths_and_no_control_characters() {
    for (field, required, max) in [
        ("task_id", true, 256),
        ("agent_id", false, 256),
        ("batch_id", false, 128),
        ("call_list.calls[0].tool", true, 256),
        ("call_list.calls[0].key", false, 512),
    ] {
        accepted(&with_text(field, "x".to_owned()));
        accepted(&with_text(field, "x".repeat(max)));
        accepted(&with_text(field, "é".repeat(max / 2)));
        accepted(&with_text(field, " \u{a0}\u{202e}~😀".to_owned()));
        assert_eq!(fields(&with_text(field, String::new())).is_empty(), !required, "{field}");
        let min = u8::from(required);
        assert_eq!(
            refused(&with_text(field, "x".repeat(max + 1))),
            [format!("{field}: {} bytes arrived: \"{}\"…; expected {min} to {max}", max + 1, "x".repeat(80))]
        );
        assert_eq!(
            fields(&with_text(field, format!("{}x", "é".repeat(max / 2)))),
            [field],
            "bytes count, not characters"
        );
        for control in ['\0', '\n', '\u{1f}', '\u{7f}', '\u{80}', '\u{85}', '\u{9f}'] {
            let all = refused(&with_text(field, format!("é{control}")));
            let expected = format!("holds the control character U+{:04X} at byte 2;", u32::from(control));
            assert!(all.len() == 1 && all[0].starts_with(field) && all[0].contains(&expected), "{all:?}");
            assert!(!all[0].contains(control), "it is escaped");
        }
        assert_eq!(fields(&with_text(field, "\n".repeat(max + 1))).len(), 2, "too long, and of control characters");
    }
    assert_eq!(
        refused(&with_text("task_id", String::new())),
        ["task_id: nothing arrived; expected 1 to 256 bytes of text"]
    );
}

#[test]
fn c27_the_same_key_twice_is_refused_with_both_indexes() {
    let calls = vec![call("k1", ""), call("", ""), call("", ""), call("k1", ""), call("k1", "")];
    assert_eq!(
        refused(&request(calls)),
        [
            "call_list.calls[3].key: calls 0 and 3 both have the key \"k1\"; expected each key once in a list",
            "call_list.calls[4].key: calls 0 and 4 both have the key \"k1\"; expected each key once in a list",
        ]
    );
    accepted(&request(vec![call("k1", ""), call("K1", ""), call("k1 ", ""), call("", ""), call("", "")]));
}

#[test]
fn c14_blank_args_are_an_empty_object() {
    for blank in ["", " ", " \t\r\n", "{}"] {
        assert_eq!(&*accepted(&with_args(blank)).calls[0].args, "{}", "{blank:?}");
    }
    for (args, found) in
        [("null", "null"), ("5", "a number"), ("[]", "an array"), ("\"text\"", "a string"), ("true", "a boolean")]
    {
        assert_eq!(
            refused(&with_args(args)),
            [format!("call_list.calls[0].args_json: expected one JSON object, found {found}")]
        );
    }
    assert_eq!(
        fields(&with_args("\u{a0}")),
        ["call_list.calls[0].args_json"],
        "JSON knows four blanks, and this is none"
    );
}

#[test]
fn c17_digits_pass_byte_for_byte() {
    let args =
        r#"{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;
    assert_eq!(&*accepted(&with_args(args)).calls[0].args, args);
}

#[test]
fn c20_the_same_member_twice_in_args_is_refused() {
    assert_eq!(
        refused(&with_args(r#"{"doc":"A","doc":"B","n":1,"ms":300}"#)),
        [
            "call_list.calls[0].args_json: member \"doc\" stands twice in one object, at line 1, column 12; expected each name once"
        ]
    );
}

#[test]
fn args_have_at_most_1_mib() {
    let padded = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
    assert_eq!(accepted(&with_args(&padded(1_048_576))).calls[0].args.len(), 1_048_576);
    assert_eq!(
        refused(&with_args(&padded(1_048_577))),
        ["call_list.calls[0].args_json: 1048577 bytes arrived; expected at most 1048576 (1 MiB)"]
    );
    assert_eq!(fields(&with_args(&" ".repeat(1_048_577))), ["call_list.calls[0].args_json"], "blanks count as well");
}

#[test]
fn args_have_at_most_100_levels_and_no_lone_surrogate() {
    let nested = |levels: usize| format!("{}0{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    accepted(&with_args(&nested(100)));
    assert!(refused(&with_args(&nested(101)))[0].contains("more than 100 levels"));
    assert!(refused(&with_args(r#"{"a":"\ud800"}"#))[0].contains(r"\ud800 is a lone surrogate"));
}

#[test]
fn mode_and_in_doubt_are_known_values() {
    for (mode, expected) in [
        (0, Mode::Sequential { max_concurrency: 4 }),
        (1, Mode::Sequential { max_concurrency: 4 }),
        (2, Mode::Parallel { max_concurrency: 4 }),
    ] {
        assert_eq!(accepted(&with_options(|options| options.mode = mode)).options.mode, expected);
    }
    for (in_doubt, expected) in
        [(0, InDoubtPolicy::Rerun), (1, InDoubtPolicy::Rerun), (2, InDoubtPolicy::Lookup), (3, InDoubtPolicy::Fail)]
    {
        assert_eq!(accepted(&with_options(|options| options.in_doubt = in_doubt)).options.in_doubt, expected);
    }
    for unknown in [-1, 3, i32::MIN, i32::MAX] {
        let all = refused(&with_options(|options| options.mode = unknown));
        assert!(
            all.len() == 1 && all[0].starts_with(&format!("options.mode: {unknown} arrived; expected 0 or ")),
            "{all:?}"
        );
    }
    for unknown in [-1, 4, i32::MIN, i32::MAX] {
        let all = refused(&with_options(|options| options.in_doubt = unknown));
        assert!(
            all.len() == 1 && all[0].starts_with(&format!("options.in_doubt: {unknown} arrived; expected")),
            "{all:?}"
        );
    }
}

#[test]
fn max_concurrency_is_0_to_16_in_either_mode() {
    for mode in [1, 2] {
        let with =
            |max_concurrency| with_options(|options| (options.mode, options.max_concurrency) = (mode, max_concurrency));
        for (sent, max_concurrency) in [(0, 4), (1, 1), (16, 16)] {
            let expected =
                if mode == 1 { Mode::Sequential { max_concurrency } } else { Mode::Parallel { max_concurrency } };
            assert_eq!(accepted(&with(sent)).options.mode, expected);
        }
        for sent in [17, u32::MAX] {
            assert_eq!(
                refused(&with(sent)),
                [format!("options.max_concurrency: {sent} arrived; expected 1 to 16, or 0 for 4")]
            );
        }
    }
}

#[test]
fn serialize_on_needs_parallel_mode_and_a_path() {
    let with =
        |mode, path: &str| with_options(|options| (options.mode, options.serialize_on) = (mode, path.to_owned()));
    assert_eq!(accepted(&with(2, "a.b")).options.serialize_on, "a.b");
    accepted(&with(2, "/a~1b/c"));
    for mode in [0, 1] {
        let all = refused(&with(mode, "doc"));
        assert_eq!(all.len(), 1);
        assert!(all[0].starts_with("options.serialize_on: \"doc\" arrived with sequential mode"), "{all:?}");
        assert_eq!(fields(&with(mode, "a..b")), ["options.serialize_on", "options.serialize_on"]);
    }
    for path in ["a..b", "a[0]", "/a~2", ".", &"a".repeat(1025)] {
        assert_eq!(fields(&with(2, path)), ["options.serialize_on"], "{path}");
    }
    assert_eq!(fields(&with(7, "doc")), ["options.mode"], "what an unknown mode does with it is not known");
}

#[test]
fn call_timeout_is_above_0_and_at_most_24_hours() {
    let with = |seconds, nanos| with_options(|options| options.call_timeout = Some(Wire { seconds, nanos }));
    for (seconds, nanos) in [(0, 1), (300, 0), (86_399, 999_999_999), (86_400, 0)] {
        let timeout = accepted(&with(seconds, nanos)).options.call_timeout;
        assert_eq!(timeout, Some(Duration::new(seconds.unsigned_abs(), nanos.unsigned_abs())));
    }
    for (seconds, nanos, arrived) in [
        (0, 0, "0s"),
        (86_400, 1, "86400.000000001s"),
        (-1, 0, "-1s"),
        (0, -1, "-0.000000001s"),
        (1, -1, "1 seconds and -1 nanos, which is no valid duration,"),
        (1, 1_000_000_000, "1 seconds and 1000000000 nanos, which is no valid duration,"),
        (i64::MAX, i32::MAX, "9223372036854775807 seconds and 2147483647 nanos, which is no valid duration,"),
        (i64::MIN, 0, "-9223372036854775808s"),
    ] {
        assert_eq!(
            refused(&with(seconds, nanos)),
            [format!("options.call_timeout: {arrived} arrived; expected above 0s and at most 86400s (24 h)")]
        );
    }
}

#[test]
fn retry_has_its_bounds() {
    for (sent, expected) in [(0, 1), (1, 1), (10, 10)] {
        assert_eq!(accepted(&with_retry(|retry| retry.max_attempts = sent)).options.retry.max_attempts, expected);
    }
    assert_eq!(
        refused(&with_retry(|retry| retry.max_attempts = 11)),
        ["options.retry.max_attempts: 11 arrived; expected 1 to 10, or 0 for 1"]
    );
    for (sent, expected) in [(0.0, 2.0), (-0.0, 2.0), (1.0, 1.0), (10.0, 10.0)] {
        let spec = accepted(&with_retry(|retry| retry.backoff_multiplier = sent));
        assert!((spec.options.retry.backoff_multiplier - expected).abs() < f64::EPSILON, "{sent}");
    }
    for sent in
        [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.999, 10.001, -1.0, f64::MIN_POSITIVE, f64::MAX]
    {
        let all = refused(&with_retry(|retry| retry.backoff_multiplier = sent));
        let expected = format!("options.retry.backoff_multiplier: {sent:e} arrived; expected 1 to 10, or 0 for 2");
        assert_eq!(all, [expected]);
    }
    let ten_minutes = Wire { seconds: 600, nanos: 0 };
    let retry = accepted(&with_retry(|retry| {
        retry.initial_backoff = Some(ten_minutes);
        retry.max_backoff = Some(Wire::default());
    }));
    assert_eq!(retry.options.retry.initial_backoff, Duration::from_mins(10));
    assert_eq!(retry.options.retry.max_backoff, Duration::ZERO, "a cap below the first wait just caps");
    for wrong in [Wire { seconds: 600, nanos: 1 }, Wire { seconds: 0, nanos: -1 }, Wire { seconds: -1, nanos: 1 }] {
        assert_eq!(fields(&with_retry(|retry| retry.initial_backoff = Some(wrong))), ["options.retry.initial_backoff"]);
        assert_eq!(fields(&with_retry(|retry| retry.max_backoff = Some(wrong))), ["options.retry.max_backoff"]);
    }
}

#[test]
fn everything_wrong_is_named_at_once_in_the_order_of_the_fields() {
    let wrong = Some(Wire { seconds: -1, nanos: 0 });
    let request = ExecuteBatchRequest {
        task_id: String::new(),
        agent_id: "\n".to_owned(),
        batch_id: "b".repeat(129),
        source: Some(list(vec![
            call("k", "{}"),
            ToolCall { key: "k".to_owned(), args_json: "[".to_owned(), ..Default::default() },
        ])),
        options: Some(BatchOptions {
            mode: 1,
            max_concurrency: 17,
            serialize_on: "a".to_owned(),
            stop_on_error: None,
            include_results: None,
            call_timeout: wrong,
            retry: Some(proto::RetryPolicy {
                max_attempts: 11,
                initial_backoff: wrong,
                max_backoff: wrong,
                backoff_multiplier: 0.5,
            }),
            in_doubt: 4,
        }),
        validate_only: false,
    };
    assert_eq!(
        fields(&request),
        [
            "task_id",
            "agent_id",
            "batch_id",
            "call_list.calls[1].tool",
            "call_list.calls[1].args_json",
            "call_list.calls[1].key",
            "options.max_concurrency",
            "options.serialize_on",
            "options.call_timeout",
            "options.retry.max_attempts",
            "options.retry.initial_backoff",
            "options.retry.max_backoff",
            "options.retry.backoff_multiplier",
            "options.in_doubt",
        ]
    );
}
