//! Stops and drains (R9).

use super::bench::{Bench, call, done, failure, list};
use crate::batch::{
    core::Input,
    event::{
        Reason,
        StopReason::{Cancelled, TaskEnded},
    },
    key::KeyState,
    outcome::Fate,
    spec::InDoubtPolicy,
};

#[test]
fn a_call_in_backoff_at_a_stop_ends_with_its_last_failure() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book"), call("mail")]).width(1).retries(3));
    bench.answer(batch, 0, failure(true));
    bench.stop(batch, Cancelled, false);
    bench.ends_with(batch, &["0 retrying", "0 failed", "batch failed: Cancelled"]);
    let error = bench.error(batch, 0);
    assert_eq!((error.reason, error.outcome_unknown), (Reason::ToolFailed, false));
}

#[test]
fn a_retry_that_waits_for_its_tool_at_a_stop_ends_with_its_last_failure() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book")]).retries(3));
    bench.answer(batch, 0, failure(true));
    bench.takes_away("book");
    bench.pass(100);
    bench.stop(batch, Cancelled, false);
    bench.ends_with(batch, &["0 retrying", "0 failed", "batch failed"]);
    assert_eq!(bench.error(batch, 0).reason, Reason::ToolFailed);
    bench.brings_back(&["book"]);
    assert_eq!(bench.sends(batch, 0).len(), 1);
}

#[test]
fn running_calls_finish_after_a_stop_and_are_cut_off_by_an_abort() {
    let mut bench = Bench::default();
    let gently = bench.start(list([call("a"), call("b")]).width(1));
    bench.stop(gently, Cancelled, false);
    bench.answer(gently, 0, done());
    bench.ends_with(gently, &["0 completed", "batch partial: Cancelled"]);

    let harshly = bench.start(list([call("a"), call("b")]).width(1));
    bench.stop(harshly, Cancelled, true);
    bench.ends_with(harshly, &["0 failed, unknown", "batch failed: Cancelled"]);
    assert_eq!(bench.error(harshly, 0).reason, Reason::Cancelled);
    let out = bench.step(Input::Outcome { batch: harshly, index: 0, attempt: 1, outcome: done() });
    assert!(out.entries.is_empty());
}

#[test]
fn an_abort_ends_a_resumed_call_that_waits_for_its_tool() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book")]));
    bench.takes_away("book");
    bench.restart(&[]);
    bench.stop(batch, Cancelled, true);
    bench.ends_with(batch, &["resumed [0]", "0 failed, unknown", "batch failed"]);
    assert_eq!(bench.error(batch, 0).reason, Reason::Cancelled);
}

#[test]
fn a_call_in_flight_at_a_crash_follows_its_policy_although_its_batch_was_cancelled() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b")]).sequential());
    bench.stop(batch, Cancelled, false);
    bench.restart(&[(batch, Cancelled)]);
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["0 started again in doubt", "0 completed", "batch partial: Cancelled"]);
}

#[test]
fn resume_closes_a_batch_whose_task_has_ended() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b"), call("c")]).width(2).retries(2));
    bench.answer(batch, 1, failure(true));
    bench.restart(&[(batch, TaskEnded)]);
    bench.ends_with(batch, &["resumed [0]", "0 failed, unknown", "1 failed", "batch failed: TaskEnded"]);
    assert_eq!((bench.error(batch, 0).reason, bench.error(batch, 1).reason), (Reason::InDoubt, Reason::ToolFailed));
    assert_eq!(bench.core.open_batches(), 0);
}

#[test]
fn what_waits_to_run_again_is_not_taken_up_once_its_task_ends() {
    let mut bench = Bench::default();
    let waits = bench.start(list([call("book")]));
    bench.takes_away("book");
    let asks = bench.start(list([call("mail")]).in_doubt(InDoubtPolicy::Lookup));
    bench.restart(&[]);
    bench.step(Input::Stop { batches: vec![waits, asks], reason: TaskEnded, abort: false });
    bench.ends_with(waits, &["resumed [0]", "0 failed, unknown", "batch failed"]);
    bench.tell(asks, 0, Fate::NotLanded);
    bench.ends_with(asks, &["resumed [0]", "0 failed", "batch failed"]);
    assert_eq!([waits, asks].map(|batch| bench.error(batch, 0).reason), [Reason::InDoubt; 2]);
}

#[test]
fn what_one_batch_gives_back_at_its_tasks_end_is_not_taken_up_by_another() {
    let mut bench = Bench::default();
    let holds = bench.start(list([call("a").key("k")]).retries(2));
    bench.answer(holds, 0, failure(true));
    let waits = bench.start(list([call("a").key("k")]));
    bench.step(Input::Stop { batches: vec![holds, waits], reason: TaskEnded, abort: false });
    bench.ends_with(holds, &["0 retrying", "0 failed", "batch failed"]);
    bench.ends_with(waits, &["batch started", "batch failed: TaskEnded"]);
}

#[test]
fn a_drain_leaves_backoff_untouched() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b")]).width(1).retries(2));
    bench.answer(batch, 0, failure(true));
    bench.step(Input::Drain);
    assert_eq!(bench.core.next_due(), None);
    bench.step(Input::Tick);
    bench.pass(1_000);
    bench.ends_with(batch, &["0 started", "0 retrying"]);
    assert!(!bench.core.is_busy());
    bench.restart(&[]);
    bench.pass(0);
    bench.ends_with(batch, &["0 retrying", "resumed []", "0 started again"]);
}

#[test]
fn c13_a_drain_lets_running_calls_finish_and_starts_no_other() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b")]).sequential());
    bench.step(Input::Drain);
    assert!(bench.core.is_busy());
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["0 started", "0 completed"]);
    assert!(!bench.core.is_busy());
    bench.restart(&[]);
    bench.ends_with(batch, &["0 completed", "resumed []", "1 started"]);
}

#[test]
fn while_draining_neither_a_tool_nor_a_backend_s_word_starts_an_attempt() {
    let mut bench = Bench::default();
    bench.takes_away("book");
    let waits = bench.start(list([call("book")]));
    let asks = bench.start(list([call("mail")]).in_doubt(InDoubtPolicy::Lookup));
    bench.restart(&[]);
    bench.step(Input::Drain);
    bench.brings_back(&["book"]);
    bench.tell(asks, 0, Fate::NotLanded);
    assert_eq!(bench.log(waits), ["batch started", "resumed []"]);
    bench.ends_with(asks, &["resumed [0]"]);
    assert!(!bench.core.is_busy(), "nothing holds the server up");
    bench.restart(&[]);
    bench.ends_with(waits, &["resumed []", "0 started"]);
    bench.ends_with(asks, &["resumed [0]", "resumed [0]"]);
    assert_eq!(bench.questions(asks, 0).len(), 2, "it is asked about again");
}

#[test]
fn an_abort_while_draining_ends_what_the_next_start_would_have_run() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").key("k")]).in_doubt(InDoubtPolicy::Lookup));
    bench.restart(&[]);
    bench.step(Input::Drain);
    bench.tell(batch, 0, Fate::NotLanded);
    bench.stop(batch, Cancelled, true);
    bench.ends_with(batch, &["resumed [0]", "0 failed", "batch failed"]);
    assert_eq!((bench.error(batch, 0).reason, &bench.key("k").state), (Reason::Cancelled, &KeyState::Failed));
}

#[test]
fn the_first_reason_to_stop_is_the_one_that_is_told() {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("a"), call("b"), call("c")]).width(2));
    bench.answer(batch, 0, failure(false));
    bench.stop(batch, Cancelled, false);
    bench.answer(batch, 1, done());
    bench.ends_with(batch, &["batch partial: CallFailed"]);
}
