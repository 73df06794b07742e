//! Crashes and lost answers (R8).

use super::bench::{Bench, call, done, failure, list, lost, not_sent};
use crate::batch::{event::Reason, key::KeyState, outcome::Fate, spec::InDoubtPolicy};

#[test]
fn c09_a_crash_repeats_the_call_in_flight_and_no_other() {
    let mut bench = Bench::default();
    let batch = bench.start(list(["a", "b", "c"].map(call)).sequential());
    bench.answer(batch, 0, done());
    bench.restart(&[]);
    bench.ends_with(batch, &["1 started", "resumed [1]", "1 started again in doubt"]);
    let sent = bench.sends(batch, 1);
    assert_eq!(sent[0].idempotency_key, sent[1].idempotency_key);
    assert_eq!((sent[0].resumed, sent[1].resumed, sent[1].attempt), (false, true, 2));
    bench.answer(batch, 1, done());
    bench.answer(batch, 2, done());
    bench.ends_with(batch, &["2 completed", "batch completed"]);
    assert_eq!(bench.sends(batch, 0).len(), 1);
}

#[test]
fn c09_under_fail_the_call_in_flight_fails_in_doubt_and_its_key_is_unknown() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a").key("k"), call("b")]).sequential().in_doubt(InDoubtPolicy::Fail));
    bench.restart(&[]);
    bench.ends_with(batch, &["resumed [0]", "0 failed, unknown", "batch failed: CallFailed"]);
    assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::InDoubt, 1));
    assert_eq!(bench.key("k").state, KeyState::Unknown);
}

#[test]
fn c09_under_lookup_what_landed_is_completed_and_what_did_not_runs_as_new() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b")]).in_doubt(InDoubtPolicy::Lookup));
    bench.restart(&[]);
    bench.ends_with(batch, &["resumed [0, 1]"]);
    assert_eq!(bench.questions(batch, 0)[0].idempotency_key, bench.sends(batch, 0)[0].idempotency_key);
    bench.tell(batch, 0, Fate::Landed(done()));
    bench.tell(batch, 1, Fate::NotLanded);
    bench.ends_with(batch, &["0 completed", "1 started again"]);
    assert_eq!((bench.sends(batch, 0).len(), bench.sends(batch, 1).len()), (1, 2));
}

#[test]
fn a_rerun_is_no_attempt_of_the_retry_policy() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a")]).retries(2));
    bench.restart(&[]);
    bench.restart(&[]);
    bench.answer(batch, 0, failure(true));
    bench.pass(100);
    bench.ends_with(batch, &["0 started again in doubt", "0 retrying", "0 started again in doubt"]);
    bench.answer(batch, 0, failure(true));
    bench.ends_with(batch, &["0 failed", "batch failed"]);
    assert_eq!(bench.end(batch, 0).attempts, 4);
}

#[test]
fn a_call_in_backoff_was_not_in_flight() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a")]).retries(2).in_doubt(InDoubtPolicy::Fail));
    bench.answer(batch, 0, failure(true));
    bench.pass(40);
    bench.restart(&[]);
    bench.ends_with(batch, &["0 retrying", "resumed []"]);
    bench.pass(59);
    bench.ends_with(batch, &["resumed []"]);
    bench.pass(1);
    bench.ends_with(batch, &["resumed []", "0 started again"]);
}

#[test]
fn after_a_crash_a_key_stays_with_the_call_that_was_running_under_it() {
    let mut bench = Bench::default();
    let early = bench.start(list([call("a").key("x"), call("b").key("k")]).sequential());
    let late = bench.start(list([call("b").key("k")]));
    bench.answer(early, 0, done());
    assert_eq!(bench.log(early).last().unwrap(), "0 completed", "it waits for the later batch's call");
    // The earlier batch is taken up first, and must not find the key free.
    bench.restart(&[]);
    bench.ends_with(early, &["0 completed", "resumed []"]);
    bench.ends_with(late, &["resumed [0]", "0 started again in doubt"]);
    bench.answer(late, 0, done());
    bench.ends_with(early, &["1 skipped", "batch completed"]);
}

#[test]
fn a_key_that_a_resumed_batch_leaves_unknown_is_unknown_to_the_next_one() {
    let mut bench = Bench::default();
    let first = bench.start(list([call("b").key("k")]).in_doubt(InDoubtPolicy::Fail));
    let second = bench.start(list([call("b").key("k")]).in_doubt(InDoubtPolicy::Fail));
    bench.restart(&[]);
    bench.ends_with(first, &["resumed [0]", "0 failed, unknown", "batch failed"]);
    bench.ends_with(second, &["resumed []", "0 failed, unknown", "batch failed"]);
    assert_eq!(bench.end(second, 0).attempts, 0);
}

#[test]
fn a_resumed_call_waits_60_s_for_its_tool_and_stays_unknown_without_it() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").key("k")]));
    bench.takes_away("book");
    bench.restart(&[]);
    bench.pass(59_999);
    bench.ends_with(batch, &["resumed [0]"]);
    bench.pass(1);
    bench.ends_with(batch, &["resumed [0]", "0 failed, unknown", "batch failed"]);
    assert_eq!(bench.error(batch, 0).reason, Reason::BackendUnavailable);
    assert_eq!(bench.key("k").state, KeyState::Unknown);
}

#[test]
fn a_lost_answer_is_asked_about_under_lookup_and_repeated_where_it_did_not_land() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").key("k")]).retries(2).in_doubt(InDoubtPolicy::Lookup));
    bench.answer(batch, 0, lost());
    bench.ends_with(batch, &["0 started"]);
    bench.tell(batch, 0, Fate::NotLanded);
    bench.ends_with(batch, &["0 started", "0 retrying"]);
    bench.pass(100);
    bench.answer(batch, 0, lost());
    bench.tell(batch, 0, Fate::NotLanded);
    bench.ends_with(batch, &["0 started again", "0 failed", "batch failed"]);
    assert_eq!(bench.error(batch, 0).reason, Reason::TimedOut);
    assert_eq!(bench.key("k").state, KeyState::Failed);
}

#[test]
fn a_rerun_after_a_crash_that_never_leaves_stays_unknown() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").key("k")]));
    bench.restart(&[]);
    bench.answer(batch, 0, not_sent());
    bench.ends_with(batch, &["0 started again in doubt", "0 failed, unknown", "batch failed"]);
    assert_eq!((&bench.key("k").state, bench.key("k").generation), (&KeyState::Unknown, 0));
}
