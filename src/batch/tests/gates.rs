//! What a backend takes, over all batches (R4): places, pace, turns, and the breaker.

use super::bench::{Bench, List, call, cut, done, failure, list, lost, not_sent};
use crate::batch::{
    core::BatchNo,
    event::{Reason, StopReason::Cancelled},
    gate::{BREAKS_AFTER, Limits},
    spec::{InDoubtPolicy, MAX_CALLS},
};

fn places(max_concurrency: u32) -> Bench {
    Bench::with(Limits { max_concurrency, ..Limits::default() })
}

fn many(agent: &str) -> List {
    let calls: [_; MAX_CALLS] = std::array::from_fn(|_| call("book"));
    list(calls).width(16).agent(agent)
}

/// How many calls of a batch were sent.
fn sent(bench: &Bench, batch: BatchNo) -> usize {
    bench.log(batch).iter().filter(|line| line.contains(" started") && !line.starts_with("batch")).count()
}

#[test]
fn a_batch_of_two_hundred_does_not_starve_one_of_one() {
    let mut bench = places(4);
    let large = bench.start(many("greedy"));
    assert_eq!(sent(&bench, large), 4);
    let small = bench.start(list([call("book")]).agent("greedy"));
    let other = bench.start(list([call("book")]).agent("modest"));
    assert_eq!((sent(&bench, small), sent(&bench, other)), (0, 0), "they wait for a place");
    for index in 0..3 {
        bench.answer(large, index, done());
    }
    assert_eq!((sent(&bench, small), sent(&bench, other)), (1, 1), "each has had its turn after three more");
    assert_eq!(sent(&bench, large), 5);
}

#[test]
fn places_count_over_all_batches_and_are_given_back_however_an_attempt_ends() {
    let mut bench = places(1);
    let first = bench.start(list([call("a")]).retries(2));
    let second = bench.start(list([call("b")]));
    let third = bench.start(list([call("c")]));
    bench.answer(first, 0, failure(true));
    assert_eq!(sent(&bench, second), 1, "backoff holds no place");
    bench.pass(1_000);
    assert_eq!(sent(&bench, first), 1, "a repeat waits like any other");
    bench.stop(second, Cancelled, true);
    assert_eq!(sent(&bench, third), 1, "an abort gives the place back");
    bench.answer(third, 0, lost());
    assert_eq!(sent(&bench, first), 2, "and so does an answer that got lost");
    bench.answer(first, 0, done());
    bench.ends_with(first, &["0 completed", "batch completed"]);
}

#[test]
fn a_call_that_waits_for_a_place_is_not_run_after_a_stop() {
    let mut bench = places(1);
    let running = bench.start(list([call("a")]));
    let waiting = bench.start(list([call("b").key("k"), call("c")]).width(2));
    bench.stop(waiting, Cancelled, false);
    bench.ends_with(waiting, &["batch started", "batch failed: Cancelled"]);
    let again = bench.start(list([call("b").key("k")]));
    bench.answer(running, 0, done());
    assert_eq!(sent(&bench, again), 1, "the key is free, and so is the place");
    assert_eq!(sent(&bench, waiting), 0);
}

#[test]
fn two_calls_that_wait_do_not_both_end_if_the_first_one_fails() {
    let mut bench = places(1);
    let running = bench.start(list([call("a")]));
    let waiting = bench.start(list([call("b"), call("b")]).width(2));
    bench.forbids("b");
    bench.answer(running, 0, done());
    bench.ends_with(waiting, &["batch started", "0 failed", "batch failed: CallFailed"]);
}

#[test]
fn what_was_in_flight_at_an_interruption_takes_a_place_too() {
    let mut bench = places(1);
    let first = bench.start(list([call("a")]));
    bench.answer(first, 0, done());
    let second = bench.start(list([call("b")]));
    let third = bench.start(list([call("c")]).in_doubt(InDoubtPolicy::Lookup));
    bench.restart(&[]);
    assert_eq!((sent(&bench, second), sent(&bench, third)), (2, 0));
    bench.answer(second, 0, done());
    assert_eq!(sent(&bench, third), 1);
}

#[test]
fn attempts_begin_evenly_spaced_at_the_pace() {
    let mut bench = Bench::with(Limits { max_calls_per_second: 10.0, ..Limits::default() });
    let batch = bench.start(list([call("a"), call("b"), call("c")]).width(3));
    assert_eq!(sent(&bench, batch), 1);
    bench.pass(99);
    assert_eq!(sent(&bench, batch), 1);
    bench.pass(1);
    assert_eq!(sent(&bench, batch), 2);
    bench.pass(100);
    assert_eq!(sent(&bench, batch), 3);
    assert_eq!(bench.core.next_due(), None, "nobody waits any more");
}

fn breaking() -> Bench {
    Bench::with(Limits { breaks: true, ..Limits::default() })
}

/// Attempts that get lost, one after the other.
fn lose(bench: &mut Bench) {
    for _ in 0..BREAKS_AFTER {
        let batch = bench.start(list([call("a")]));
        bench.answer(batch, 0, cut());
    }
}

#[test]
fn a_list_is_not_burnt_through_while_its_backend_loses_attempts() {
    let mut bench = breaking();
    let calls: [_; 20] = std::array::from_fn(|_| call("book"));
    let batch = bench.start(list(calls).sequential().goes_on_after_errors());
    for index in 0..BREAKS_AFTER {
        bench.answer(batch, index, cut());
    }
    assert_eq!(sent(&bench, batch), 5, "the sixth waits");
    bench.pass(499);
    assert_eq!(sent(&bench, batch), 5);
    bench.pass(1);
    assert_eq!(sent(&bench, batch), 6, "one is tried");
    bench.answer(batch, 5, done());
    bench.answer(batch, 6, done());
    assert_eq!(sent(&bench, batch), 8, "and as it arrived, the others go on");
}

#[test]
fn one_at_a_time_is_tried_and_the_pause_grows() {
    let mut bench = breaking();
    lose(&mut bench);
    let batch = bench.start(list([call("a"), call("b"), call("c"), call("d")]).width(4).goes_on_after_errors());
    bench.pass(500);
    assert_eq!(sent(&bench, batch), 1);
    bench.answer(batch, 0, not_sent());
    bench.pass(999);
    assert_eq!(sent(&bench, batch), 1, "twice as long as before");
    bench.pass(1);
    assert_eq!(sent(&bench, batch), 2);
    bench.stop(batch, Cancelled, true);
    let next = bench.start(list([call("a")]));
    assert_eq!(sent(&bench, next), 1, "where nobody can tell, another one is tried");
}

#[test]
fn a_call_is_held_back_for_as_long_as_it_would_wait_for_its_backend() {
    let mut bench = breaking();
    lose(&mut bench);
    let trial = bench.start(list([call("a")]));
    let batch = bench.start(list([call("b")]));
    bench.pass(5_000);
    assert_eq!(sent(&bench, trial), 1, "it is under way");
    bench.ends_with(batch, &["0 failed", "batch failed"]);
    let error = bench.error(batch, 0);
    assert_eq!((error.reason, error.outcome_unknown), (Reason::BackendUnavailable, false));
    assert!(error.message.contains("`erp` is out of reach") && error.message.contains("nothing was sent"), "{error:?}");
    bench.answer(trial, 0, failure(false));
    let after = bench.start(list([call("c")]));
    assert_eq!(sent(&bench, after), 1, "a failure of the tool's own is an answer");
}

#[test]
fn what_tools_answer_never_opens_the_breaker() {
    let mut bench = breaking();
    for _ in 0..3 * BREAKS_AFTER {
        let batch = bench.start(list([call("a")]));
        bench.answer(batch, 0, failure(false));
    }
    for _ in 1..BREAKS_AFTER {
        let batch = bench.start(list([call("a")]));
        bench.answer(batch, 0, cut());
    }
    let batch = bench.start(list([call("a")]));
    bench.answer(batch, 0, failure(true));
    let batch = bench.start(list([call("a")]));
    bench.answer(batch, 0, cut());
    let batch = bench.start(list([call("a")]));
    assert_eq!(sent(&bench, batch), 1, "only losses in a row count");
}
