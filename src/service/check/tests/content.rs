//! Which requests are the same batch.

use super::*;

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
