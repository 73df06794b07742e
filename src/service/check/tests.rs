//! Each rule at its bound on both sides, the cases by name, then any request against the model.

use std::{cell::Cell, time::Duration};

use proptest::{collection::vec, option, prelude::*, test_runner::TestRunner};
use prost_types::Duration as Wire;
use tonic_types::{ErrorDetails, StatusExt as _};

use super::*;
use crate::{
    batch::spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy},
    proto::{BatchOptions, CallList, ExecuteBatchRequest, ToolCall},
};

fn call(key: &str, args_json: &str) -> ToolCall {
    ToolCall { tool: "effect".to_owned(), args_json: args_json.to_owned(), key: key.to_owned() }
}

fn list(calls: Vec<ToolCall>) -> Option<Source> {
    Some(Source::CallList(CallList { calls }))
}

fn request(calls: Vec<ToolCall>) -> ExecuteBatchRequest {
    ExecuteBatchRequest { task_id: "task".to_owned(), source: list(calls), ..Default::default() }
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
        source: list(vec![call("k1", " {\"doc\": 4711.0 }\n"), call("k2", "{\"doc\":\"4711\"}"), call("", "{}")]),
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

#[test]
fn r2_a_reference_without_an_output_behind_it_is_refused_by_name() {
    let with_ref = |text: &str| {
        let all = refused(&ExecuteBatchRequest { source: Some(Source::CallsRef(text.to_owned())), ..one_call() });
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    };
    for text in ["${VAR_3}", "${VAR_3}.calls", "${VAR_3}[2].größe-1[0]", "${VAR_3}.$"] {
        assert_eq!(
            with_ref(text),
            format!(
                "calls_ref: \"{text}\": missing step output VAR_3; expected the name of an output that this task has"
            )
        );
    }
    for text in
        ["run ${VAR_1}", "${VAR_1}.calls now", "${VAR_1}[x]", "${VAR_1}[]", "${VAR_1}..a", "${VAR_1}.", " ${VAR_1}"]
    {
        let refused = with_ref(text);
        assert!(
            refused.starts_with(&format!("calls_ref: \"{text}\" holds a reference inside a larger text")),
            "{refused}"
        );
        assert!(refused.contains("${VAR_1}.calls"), "{refused}");
    }
    for text in ["VAR_1", "${1VAR}", "${}", "${VAR-1}", "${VAR_1", "[{\"tool\":1}]", "$VAR_1", " "] {
        let refused = with_ref(text);
        assert!(refused.contains(" is no reference; expected one reference and nothing else"), "{refused}");
    }
    assert!(with_ref("").contains("there is no list to run"));
    assert!(with_ref(&format!("${{{}}}", "V".repeat(1 << 20))).len() < 400);
}

#[test]
fn r2_a_list_found_elsewhere_is_checked_under_its_own_name() {
    let by_reference =
        ExecuteBatchRequest { source: Some(Source::CallsRef("${VAR_1}".to_owned())), ..with_options(|o| o.mode = 9) };
    let found = [call("a", "{}"), call("a", "[]")];
    let refusal = check_with(&by_reference, Ok(List { calls: &found, field: "calls_ref" })).unwrap_err();
    let fields: Vec<_> = refusal.violations().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["calls_ref[1].args_json", "calls_ref[1].key", "options.mode"]);

    let not_found = check_with(&by_reference, Err(Violation::new("calls_ref", "it leads nowhere"))).unwrap_err();
    assert_eq!(not_found.count(), 2);
    assert_eq!(not_found.violations().next(), Some(&Violation::new("calls_ref", "it leads nowhere")));

    let sound = ExecuteBatchRequest { options: None, ..by_reference };
    let spec = check_with(&sound, Ok(List { calls: &found[..1], field: "calls_ref" })).unwrap();
    assert_eq!(spec.calls[0].key.as_deref(), Some("a"));
    assert_eq!(spec.content_digest, content_digest(&sound), "the reference counts as text, not what it led to");
}

/// A request with one of its texts set, by field path.
fn with_text(field: &str, text: String) -> ExecuteBatchRequest {
    let mut request = one_call();
    match field {
        "task_id" => request.task_id = text,
        "agent_id" => request.agent_id = text,
        "batch_id" => request.batch_id = text,
        "call_list.calls[0].tool" => request.source = list(vec![ToolCall { tool: text, ..Default::default() }]),
        "call_list.calls[0].key" => request.source = list(vec![call(&text, "")]),
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
        ["call_list.calls[0].args_json: member \"doc\" stands twice in one object, at line 1, column 12"]
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
        source: list(vec![
            call("k", "{}"),
            ToolCall { key: "k".to_owned(), args_json: "[".to_owned(), ..Default::default() },
        ]),
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

/// The status as `service` sends it: message, every entry, and an `ErrorInfo` of the size that it may have.
fn status(fitted: &Fitted) -> tonic::Status {
    let mut details = ErrorDetails::new();
    for violation in &fitted.violations {
        details.add_bad_request_violation(&violation.field, &violation.description);
    }
    let counts = [("violations", "200"), ("left_out", "117")];
    let counts = counts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    details.set_error_info("R".repeat(63), "toolbatch.v1", counts);
    tonic::Status::with_error_details(tonic::Code::InvalidArgument, fitted.message.clone(), details)
}

/// Message in percent encoding and details in base64, as they stand in the trailers.
fn trailer_bytes(fitted: &Fitted) -> usize {
    fitted.message.bytes().map(|byte| if byte.is_ascii_alphanumeric() { 1 } else { 3 }).sum::<usize>()
        + status(fitted).details().len().div_ceil(3) * 4
}

fn assert_fits(refusal: &Refusal) -> Fitted {
    let fitted = fit(refusal);
    let bytes = status(&fitted).details().len();
    assert!(bytes <= MAX_STATUS_BYTES, "{bytes} bytes");
    assert!(trailer_bytes(&fitted) <= 7_700, "{} bytes", trailer_bytes(&fitted));
    let kept = fitted.violations.len() - usize::from(fitted.more > 0);
    assert!(kept >= 1);
    assert_eq!(kept + fitted.more, refusal.count());
    assert!(refusal.violations().zip(&fitted.violations[..kept]).all(|(all, kept)| all == kept));
    fitted
}

#[test]
fn c47_two_hundred_violations_fit_into_5_kib() {
    let refusal = check(&request(vec![call("", "[]"); 200])).unwrap_err();
    assert_eq!(refusal.count(), 200);
    let fitted = assert_fits(&refusal);
    assert!(fitted.violations.len() > 40, "{} kept", fitted.violations.len());
    let last = fitted.violations.last().unwrap();
    assert_eq!((last.field.as_str(), last.description.clone()), ("", format!("and {} more violations", fitted.more)));
    assert_eq!(
        fitted.message,
        "200 violations, first call_list.calls[0].args_json: expected one JSON object, found an array"
    );
    assert_eq!(refusal.to_string(), fitted.message);
    let read = status(&fitted).get_details_bad_request().unwrap();
    assert_eq!(read.field_violations.len(), fitted.violations.len());
}

#[test]
fn c47_what_fits_is_kept_whole_and_what_does_not_is_counted() {
    let numbered = |count: usize, text: &str| {
        let mut all = Violations::default();
        for i in 0..count {
            all.add(format!("field[{i}]"), text);
        }
        all.refuse().unwrap_err()
    };
    for text in ["short", "é", &"\u{1f600}".repeat(300), &"x".repeat(333), &"%".repeat(2000)] {
        let mut before = 0;
        for count in 1..260 {
            let fitted = assert_fits(&numbered(count, text));
            assert_eq!(fitted.violations.len() < count, fitted.more > 0 && fitted.more > 1, "{count} of {text}");
            assert!(fitted.violations.len() + 1 >= before, "more violations never show fewer of them by more than one");
            before = fitted.violations.len();
        }
        assert!(before >= 4);
    }
    let none_left_out = assert_fits(&numbered(2, "short"));
    assert_eq!(none_left_out.message, "2 violations, first field[0]: short");
    assert_eq!(none_left_out.more, 0);
    assert_eq!(assert_fits(&numbered(1, "short")).message, "field[0]: short");
    let long = assert_fits(&numbered(1, &"é".repeat(500)));
    assert!(long.message.len() <= 256 && long.message.ends_with('…'));
    assert_eq!(long.violations[0].description.len(), 1000);
}

#[test]
fn content_is_the_same_with_the_defaults_filled_in() {
    let unset = one_call();
    let default = RetryPolicy::default();
    let filled = ExecuteBatchRequest {
        options: Some(BatchOptions {
            mode: 1,
            max_concurrency: 4,
            serialize_on: String::new(),
            stop_on_error: Some(true),
            include_results: Some(true),
            call_timeout: None,
            retry: Some(proto::RetryPolicy {
                max_attempts: default.max_attempts,
                initial_backoff: Some(Wire { seconds: 0, nanos: 100_000_000 }),
                max_backoff: Some(Wire { seconds: 10, nanos: 0 }),
                backoff_multiplier: default.backoff_multiplier,
            }),
            in_doubt: 1,
        }),
        batch_id: "another".to_owned(),
        validate_only: true,
        ..one_call()
    };
    assert_eq!(content_digest(&filled), content_digest(&unset));
    assert_eq!(content_digest(&with_options(|_| {})), content_digest(&unset));
    assert_eq!(content_digest(&with_retry(|retry| retry.backoff_multiplier = -0.0)), content_digest(&unset));
    for blank in ["", " \n"] {
        assert_eq!(content_digest(&with_args(blank)), content_digest(&unset));
    }
}

#[test]
fn any_difference_that_counts_is_another_content() {
    let wire = |seconds, nanos| Some(Wire { seconds, nanos });
    let calls_ref = |text: &str| ExecuteBatchRequest { source: Some(Source::CallsRef(text.to_owned())), ..one_call() };
    let two = |one: (&str, &str), other: (&str, &str)| request(vec![call(one.0, one.1), call(other.0, other.1)]);
    let all = [
        one_call(),
        ExecuteBatchRequest::default(),
        ExecuteBatchRequest { source: None, ..one_call() },
        request(vec![]),
        calls_ref(""),
        calls_ref("${A}"),
        with_text("task_id", "task2".to_owned()),
        with_text("agent_id", "task".to_owned()),
        ExecuteBatchRequest { task_id: "tas".to_owned(), agent_id: "k".to_owned(), ..one_call() },
        with_text("call_list.calls[0].tool", "effec".to_owned()),
        with_text("call_list.calls[0].key", "k".to_owned()),
        with_args("{} "),
        with_args("{\"a\":1}"),
        with_args("not JSON"),
        two(("", ""), ("", "")),
        two(("a", ""), ("", "")),
        two(("", ""), ("a", "")),
        two(("ab", ""), ("", "")),
        two(("a", ""), ("b", "")),
        request(vec![call("", ""); 500]),
        with_options(|o| o.mode = 2),
        with_options(|o| o.mode = 3),
        with_options(|o| o.mode = -1),
        with_options(|o| o.in_doubt = 2),
        with_options(|o| o.in_doubt = 77),
        with_options(|o| o.max_concurrency = 1),
        with_options(|o| o.max_concurrency = u32::MAX),
        with_options(|o| o.serialize_on = "a".to_owned()),
        with_options(|o| o.stop_on_error = Some(false)),
        with_options(|o| o.include_results = Some(false)),
        with_options(|o| o.call_timeout = wire(300, 0)),
        with_options(|o| o.call_timeout = wire(0, 0)),
        with_options(|o| o.call_timeout = wire(i64::MIN, i32::MIN)),
        with_retry(|r| r.max_attempts = 2),
        with_retry(|r| r.initial_backoff = wire(0, 0)),
        with_retry(|r| r.max_backoff = wire(0, 0)),
        with_retry(|r| r.backoff_multiplier = 1.0),
        with_retry(|r| r.backoff_multiplier = f64::NAN),
        with_retry(|r| r.backoff_multiplier = f64::INFINITY),
    ];
    for (i, a) in all.iter().enumerate() {
        assert_eq!(content_digest(a), content_digest(&a.clone()));
        for b in &all[..i] {
            assert_ne!(content_digest(a), content_digest(b), "{a:?} {b:?}");
        }
    }
}

/// Mostly sound, sometimes at a bound, sometimes anything.
fn a_text(max: usize) -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        120 => "[a-z]{1,3}",
        8 => (max - 1..max + 2).prop_map(|bytes| "x".repeat(bytes)),
        1 => any::<String>(),
        4 => "\\PC{0,9}",
        1 => "[a\n\u{7f}\u{80}\u{9f}\u{a0}]{1,2}",
    ]
}

fn some_args() -> impl Strategy<Value = String> {
    let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    prop_oneof![
        20 => "( \n)?|[{][}]|[{]\"(a|b)\":(1|\"x\"|\\[null\\])(,\"(c|d)\": 1e999)?[}]",
        2 => "[{]\"(a|b)\":1,\"(a|b|\\\\u0061)\":\\{\"(a|b)\":\"\\\\ud83(d|d\\\\ude00)\"[}]{1,2}",
        1 => (99_usize..102).prop_map(nested),
        1 => "[\\[\\]{}:,\"a1 ]{0,6}",
        1 => any::<String>(),
    ]
}

/// In a few of a thousand requests, since a megabyte takes its time.
fn large_args() -> impl Strategy<Value = Option<String>> {
    let large = ((1_usize << 20) - 1..(1 << 20) + 2).prop_map(|bytes| format!("{{}}{}", " ".repeat(bytes - 2)));
    prop_oneof![499 => Just(None), 1 => large.prop_map(Some)]
}

fn some_calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let a_call = (a_text(256), some_args(), prop_oneof![2 => Just(String::new()), 3 => a_text(512)])
        .prop_map(|(tool, args_json, key)| ToolCall { tool, args_json, key });
    prop_oneof![
        1 => Just(vec![]),
        40 => vec(a_call, 1..4),
        2 => (198_usize..203).prop_map(|count| vec![call("", "{}"); count]),
        1 => (198_usize..203).prop_map(|count| (0..count).map(|i| call(&format!("k{}", i % 201), "{}")).collect()),
    ]
}

fn a_duration(seconds: i64) -> impl Strategy<Value = Option<Wire>> {
    let wire = |(seconds, nanos)| Some(Wire { seconds, nanos });
    prop_oneof![
        3 => Just(None),
        12 => (1..seconds, 0..1_000_000_000).prop_map(wire),
        2 => (prop_oneof![-1_i64..2, seconds - 1..seconds + 2], prop_oneof![-1..2, 999_999_999..1_000_000_001]).prop_map(wire),
        1 => (any::<i64>(), any::<i32>()).prop_map(wire),
    ]
}

fn some_options() -> impl Strategy<Value = BatchOptions> {
    let retry = (
        prop_oneof![20 => 0_u32..12, 1 => any::<u32>()],
        a_duration(600),
        a_duration(600),
        prop_oneof![9 => Just(0.0), 9 => 1.0..10.0, 1 => 0.0..12.0, 1 => any::<f64>(), 1 => Just(10.0), 1 => Just(f64::NAN)],
    )
        .prop_map(|(max_attempts, initial_backoff, max_backoff, backoff_multiplier)| proto::RetryPolicy {
            max_attempts,
            initial_backoff,
            max_backoff,
            backoff_multiplier,
        });
    (
        prop_oneof![20 => 0..3, 1 => any::<i32>(), 1 => -1..5],
        prop_oneof![20 => 0_u32..18, 1 => any::<u32>()],
        prop_oneof![6 => Just(String::new()), 4 => "[a-c]([.][a-c]){0,2}", 4 => "(/[a-c]?(~0|~1)?){1,3}",
            1 => "[a.\\[$/~ 01*]{1,5}", 1 => any::<String>(), 1 => (1023_usize..1026).prop_map(|bytes| "a".repeat(bytes))],
        (any::<Option<bool>>(), any::<Option<bool>>()),
        a_duration(86_400),
        option::of(retry),
        prop_oneof![20 => 0..4, 1 => any::<i32>(), 1 => -1..6],
    )
        .prop_map(|(mode, max_concurrency, serialize_on, bools, call_timeout, retry, in_doubt)| BatchOptions {
            mode,
            max_concurrency,
            serialize_on,
            stop_on_error: bools.0,
            include_results: bools.1,
            call_timeout,
            retry,
            in_doubt,
        })
}

fn any_request() -> impl Strategy<Value = ExecuteBatchRequest> {
    let source = prop_oneof![
        1 => Just(None),
        50 => some_calls().prop_map(list),
        2 => "([$][{]A[}])?[.\\[\\]a1{}$ ]{0,5}|\\PC{0,5}".prop_map(|text| Some(Source::CallsRef(text))),
    ];
    let ids = (a_text(256), a_text(256), a_text(128));
    (ids, source, large_args(), option::of(some_options()), any::<bool>()).prop_map(
        |((task_id, agent_id, batch_id), mut source, large, options, validate_only)| {
            if let (Some(Source::CallList(list)), Some(large)) = (&mut source, large)
                && let Some(call) = list.calls.first_mut()
            {
                call.args_json = large;
            }
            ExecuteBatchRequest { task_id, agent_id, batch_id, source, options, validate_only }
        },
    )
}

#[test]
fn any_request_is_judged_as_by_the_model() {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(ProptestConfig::with_cases(20_000));
    let outcome = runner.run(&any_request(), |request| {
        let result = check(&request);
        prop_assert_eq!(result.is_ok(), model::accepts(&request), "{:?}", &result);
        match result {
            Ok(spec) => {
                accepted.set(accepted.get() + 1);
                prop_assert_eq!(spec.content_digest, content_digest(&request));
            }
            Err(refusal) => {
                refused.set(refused.get() + 1);
                for Violation { field, description } in refusal.violations() {
                    let says_what_is_right = description.contains("expected") || description.contains("stands twice");
                    prop_assert!(!field.is_empty() && says_what_is_right, "{}: {}", field, description);
                }
                let _ = content_digest(&request);
                assert_fits(&refusal);
            }
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(accepted.get() > 2_000 && refused.get() > 2_000, "{} and {}", accepted.get(), refused.get());
}
