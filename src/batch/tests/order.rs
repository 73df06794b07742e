//! Slots, lanes, order, retries (R4, R7).

use super::bench::{Bench, call, done, failure, list, lost, not_sent};
use crate::batch::{core::Input, event::Reason};

#[test]
fn a_lane_that_waits_holds_no_slot() {
    let mut bench = Bench::default();
    let lanes = ["x", "x", "x", "y"].map(|lane| call("book").lane(lane));
    let batch = bench.start(list(lanes).width(2));
    assert_eq!(bench.log(batch), ["batch started", "0 started", "3 started"]);
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["0 completed", "1 started"]);
    bench.answer(batch, 3, done());
    bench.ends_with(batch, &["1 started", "3 completed"]);
}

#[test]
fn a_call_in_backoff_keeps_its_slot_and_its_lane() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").lane("x"), call("book").lane("x"), call("mail")]).width(1).retries(2));
    bench.answer(batch, 0, failure(true));
    assert_eq!(bench.log(batch), ["batch started", "0 started", "0 retrying"]);
    bench.pass(99);
    bench.ends_with(batch, &["0 retrying"]);
    bench.pass(1);
    bench.ends_with(batch, &["0 retrying", "0 started again"]);
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["0 completed", "1 started"]);
    assert_eq!(bench.end(batch, 0).duration.as_millis(), 100, "backoff counts");
}

#[test]
fn c29_results_stand_by_index_in_whatever_order_they_came() {
    let mut bench = Bench::default();
    let batch = bench.start(list(["a", "b", "c"].map(call)));
    bench.answer(batch, 2, done());
    bench.answer(batch, 1, done());
    let state = bench.core.batch(batch).unwrap().1.clone();
    let ended = state.calls.iter().map(|call| call.finished().map(|finished| finished.index));
    assert_eq!(ended.collect::<Vec<_>>(), [None, Some(1), Some(2)]);
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["2 completed", "1 completed", "0 completed", "batch completed"]);
}

#[test]
fn c32_siblings_of_a_failed_call_finish_and_nothing_starts_after_it() {
    let siblings = || list(["a", "fail", "c", "d"].map(call)).width(3);
    let mut bench = Bench::default();
    let batch = bench.start(siblings());
    bench.answer(batch, 1, failure(false));
    bench.answer(batch, 0, done());
    bench.answer(batch, 2, done());
    bench.ends_with(batch, &["1 failed", "0 completed", "2 completed", "batch partial: CallFailed"]);

    let batch = bench.start(siblings().goes_on_after_errors());
    bench.answer(batch, 1, failure(false));
    bench.ends_with(batch, &["1 failed", "3 started"]);
    for index in [0, 2, 3] {
        bench.answer(batch, index, done());
    }
    bench.ends_with(batch, &["3 completed", "batch partial"]);
}

#[test]
fn two_retries_that_are_due_at_once_do_not_both_run_if_the_first_one_fails() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book"), call("mail")]).retries(2));
    bench.answer(batch, 0, failure(true));
    bench.answer(batch, 1, failure(true));
    bench.forbids("book");
    bench.pass(100);
    bench.ends_with(batch, &["1 retrying", "0 failed", "1 failed", "batch failed"]);
    assert_eq!(
        (bench.error(batch, 0).reason, bench.error(batch, 1).reason),
        (Reason::ToolNotAllowed, Reason::ToolFailed)
    );
}

#[test]
fn two_tools_that_are_settled_at_once_do_not_both_run_if_the_first_one_is_refused() {
    let mut bench = Bench::default();
    bench.takes_away("book");
    bench.takes_away("mail");
    let batch = bench.start(list([call("book"), call("mail")]));
    bench.forbids("book");
    bench.brings_back(&["book", "mail"]);
    assert_eq!(bench.log(batch), ["batch started", "0 failed", "batch failed: CallFailed"]);
    assert!(bench.sends(batch, 1).is_empty());
}

#[test]
fn a_tool_that_does_not_appear_within_5_s_fails_its_call() {
    let mut bench = Bench::default();
    bench.takes_away("book");
    let batch = bench.start(list([call("book").key("k")]));
    bench.pass(4_999);
    assert_eq!(bench.log(batch), ["batch started"]);
    bench.pass(1);
    assert_eq!(bench.log(batch), ["batch started", "0 failed", "batch failed"]);
    assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::BackendUnavailable, 0));
    assert_eq!(bench.key("k").generation, 1, "it failed for certain");
}

#[test]
fn only_what_never_left_or_is_marked_retryable_is_repeated() {
    for (outcome, repeats) in [(not_sent(), true), (failure(true), true), (failure(false), false), (lost(), false)] {
        let mut bench = Bench::default();
        let batch = bench.start(list([call("book")]).retries(2));
        bench.answer(batch, 0, outcome.clone());
        bench.pass(100);
        assert_eq!(bench.sends(batch, 0).len(), if repeats { 2 } else { 1 }, "{outcome:?}");
        assert!(bench.sends(batch, 0).iter().all(|sent| !sent.in_doubt), "{outcome:?}");
    }
}

#[test]
fn an_answer_of_an_earlier_attempt_is_dropped() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book")]).retries(2));
    bench.answer(batch, 0, failure(true));
    bench.pass(100);
    let out = bench.step(Input::Outcome { batch, index: 0, attempt: 1, outcome: done() });
    assert!(out.entries.is_empty() && out.steps.is_empty() && out.effects.is_empty());
    bench.answer(batch, 0, failure(true));
    bench.ends_with(batch, &["0 started again", "0 failed", "batch failed"]);
}
