//! Any request at all, judged by the checks and by the model.

use std::cell::Cell;

use proptest::{collection::vec, option, prelude::*, test_runner::TestRunner};

use super::{fit::assert_fits, *};
use crate::fuzz::at_least;

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
        50 => some_calls().prop_map(|calls| Some(list(calls))),
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
    let mut runner = TestRunner::new(at_least(20_000));
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
                    let says_what_is_right = description.contains("expected");
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
