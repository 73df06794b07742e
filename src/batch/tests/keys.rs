//! Keys (R5).

use super::bench::{Bench, call, done, failure, list, lost, not_sent, review};
use crate::batch::{
    event::{Ending, Reason},
    key::KeyState,
    outcome::Fate,
    spec::InDoubtPolicy,
};

#[test]
fn a_call_that_waits_for_its_key_keeps_its_lane_and_holds_no_slot() {
    let mut bench = Bench::default();
    let first = bench.start(list([call("book").key("k")]));
    let second = bench
        .start(list([call("book").key("k").lane("x"), call("book").lane("x"), call("mail"), call("mail")]).width(1));
    // The one slot goes to call 2; call 1 stays behind its lane's first call.
    assert_eq!(bench.log(second), ["batch started", "2 started"]);
    bench.answer(first, 0, done());
    assert_eq!(bench.log(second), ["batch started", "2 started"], "a slot is needed even to be skipped");
    bench.answer(second, 2, done());
    bench.ends_with(second, &["2 completed", "0 skipped", "1 started"]);
}

#[test]
fn c22_a_failed_key_runs_again_and_a_completed_one_names_the_step_that_ran_it() {
    let mut bench = Bench::default();
    let flaky = || list([call("book").key("k")]);
    let first = bench.start(flaky());
    bench.answer(first, 0, failure(false));
    let second = bench.start(flaky());
    bench.answer(second, 0, done());
    let third = bench.start(flaky());
    assert_eq!(bench.log(third), ["batch started", "0 skipped", "batch completed"]);
    assert_ne!(bench.end(first, 0).step_id, bench.end(second, 0).step_id);
    assert_eq!(bench.end(third, 0).step_id, bench.end(second, 0).step_id);
    let names = [first, second].map(|batch| bench.sends(batch, 0)[0].idempotency_key.clone());
    assert_ne!(names[0], names[1], "after a definite failure it is another call to the backend");
}

#[test]
fn c23_of_many_batches_with_one_key_one_runs_it_and_the_others_skip() {
    let mut bench = Bench::default();
    let batches: Vec<_> = (0..20).map(|_| bench.start(list([call("book").key("k")]))).collect();
    assert_eq!(batches.iter().map(|batch| bench.sends(*batch, 0).len()).sum::<usize>(), 1);
    bench.answer(batches[0], 0, done());
    let step = bench.end(batches[0], 0).step_id;
    for batch in &batches[1..] {
        bench.ends_with(*batch, &["batch started", "0 skipped", "batch completed"]);
        assert_eq!(bench.end(*batch, 0).step_id, step);
    }
}

#[test]
fn c23_a_key_that_failed_goes_to_the_batch_that_waited_first() {
    let mut bench = Bench::default();
    let [first, second, third] = [(); 3].map(|()| bench.start(list([call("book").key("k")])));
    bench.answer(first, 0, failure(false));
    assert_eq!(bench.log(second), ["batch started", "0 started"]);
    assert_eq!(bench.log(third), ["batch started"]);
    bench.answer(second, 0, done());
    bench.ends_with(third, &["0 skipped", "batch completed"]);
}

#[test]
fn c23_crossed_keys_run_once_each_and_both_batches_end() {
    for sequential in [true, false] {
        let mut bench = Bench::default();
        let crossed = |keys: [&str; 2]| {
            let list = list(keys.map(|key| call("book").key(key)));
            if sequential { list.sequential() } else { list.width(1) }
        };
        let one = bench.start(crossed(["k1", "k2"]));
        let other = bench.start(crossed(["k2", "k1"]));
        bench.answer(one, 0, done());
        bench.answer(other, 0, done());
        bench.ends_with(one, &["0 completed", "1 skipped", "batch completed"]);
        bench.ends_with(other, &["0 completed", "1 skipped", "batch completed"]);
    }
}

#[test]
fn c23_crossed_keys_stay_with_their_calls_over_a_crash() {
    let mut bench = Bench::default();
    let one = bench.start(list(["k1", "k2"].map(|key| call("book").key(key))).sequential());
    let other = bench.start(list(["k2", "k1"].map(|key| call("book").key(key))).sequential());
    bench.restart(&[]);
    bench.answer(one, 0, done());
    bench.answer(other, 0, done());
    for batch in [one, other] {
        bench.ends_with(batch, &["0 started again in doubt", "0 completed", "1 skipped", "batch completed"]);
    }
}

#[test]
fn c25_a_key_that_was_used_for_something_else_is_skipped_without_its_result() {
    let mut bench = Bench::default();
    let first = bench.start(list([call("book").key("inv-1").args(r#"{"id":"charge"}"#)]));
    bench.answer(first, 0, done());
    let second = bench.start(list([call("book").key("inv-1").args(r#"{"id":"refund"}"#), call("mail")]));
    bench.answer(second, 1, done());
    assert_eq!(
        bench.log(second),
        ["batch started", "0 skipped, changed", "1 started", "1 completed", "batch completed"]
    );
    assert_eq!(bench.end(second, 0).step_id, bench.end(first, 0).step_id);
    let nothing = Ending::Skipped { result: None, await_id: None, args_changed: true };
    assert_eq!(bench.end(second, 0).ending, nothing);
}

#[test]
fn another_name_for_the_tool_and_another_spelling_of_the_args_are_no_change() {
    let mut bench = Bench::default();
    let first = bench.start(list([call("book").key("k").args(r#"{"a":1,"b":2}"#)]));
    bench.answer(first, 0, done());
    let second = bench.start(list([call("Book it").key("k").args(r#"{ "b": 2.0, "a": 1 }"#)]));
    assert_eq!(bench.log(second), ["batch started", "0 skipped", "batch completed"]);
    let third = bench.start(list([call("mail").key("k").args(r#"{"a":1,"b":2}"#)]));
    assert_eq!(bench.log(third), ["batch started", "0 skipped, changed", "batch completed"]);
}

#[test]
fn a_completed_key_is_skipped_although_its_tool_is_forbidden_now() {
    let mut bench = Bench::default();
    let first = bench.start(list([call("book").key("k")]));
    bench.answer(first, 0, done());
    bench.forbids("book");
    let second = bench.start(list([call("book").key("k")]));
    assert_eq!(bench.log(second), ["batch started", "0 skipped", "batch completed"]);
}

#[test]
fn c33_a_review_stops_the_rest_and_the_list_can_be_sent_again() {
    let mut bench = Bench::default();
    let reviewed = || list(["a", "b", "c"].map(|key| call("book").key(key))).sequential().goes_on_after_errors();
    let first = bench.start(reviewed());
    bench.answer(first, 0, done());
    bench.answer(first, 1, review());
    bench.ends_with(first, &["0 completed", "1 started", "1 awaiting", "batch partial: AwaitingReview"]);
    let second = bench.start(reviewed());
    bench.answer(second, 2, done());
    assert_eq!(
        bench.log(second),
        ["batch started", "0 skipped", "1 skipped", "2 started", "2 completed", "batch completed"]
    );
    let Ending::Skipped { await_id, .. } = &bench.end(second, 1).ending else { panic!("it was skipped") };
    assert_eq!(await_id.as_deref(), Some("review 1"));
}

/// A key whose last call may have taken effect.
fn with_an_unknown_key() -> Bench {
    let mut bench = Bench::default();
    let batch = bench.start(list([call("book").key("k")]));
    bench.answer(batch, 0, lost());
    assert_eq!(bench.key("k").state, KeyState::Unknown);
    bench
}

#[test]
fn an_unknown_key_with_other_args_fails_in_doubt_and_stays_as_it_is() {
    for policy in [InDoubtPolicy::Rerun, InDoubtPolicy::Lookup, InDoubtPolicy::Fail] {
        let mut bench = with_an_unknown_key();
        let before = bench.key("k").clone();
        let batch = bench.start(list([call("book").key("k").args(r#"{"other":1}"#)]).in_doubt(policy));
        assert_eq!(bench.log(batch), ["batch started", "0 failed, unknown", "batch failed"]);
        assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::InDoubt, 0));
        assert_eq!(*bench.key("k"), before);
        assert!(bench.sends(batch, 0).is_empty() && bench.questions(batch, 0).is_empty());
    }
}

#[test]
fn an_unknown_key_under_fail_fails_in_doubt_and_stays_as_it_is() {
    let mut bench = with_an_unknown_key();
    let before = bench.key("k").clone();
    let batch = bench.start(list([call("book").key("k")]).in_doubt(InDoubtPolicy::Fail));
    assert_eq!(bench.log(batch), ["batch started", "0 failed, unknown", "batch failed"]);
    assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::InDoubt, 0));
    assert_eq!(*bench.key("k"), before);
}

#[test]
fn an_unknown_key_under_rerun_runs_in_doubt_under_the_same_idempotency_key() {
    let mut bench = with_an_unknown_key();
    let batch = bench.start(list([call("book").key("k")]));
    let first = bench.sends(crate::batch::core::BatchNo(0), 0)[0].clone();
    let again = bench.sends(batch, 0)[0].clone();
    assert!(!first.in_doubt && again.in_doubt);
    assert_eq!(again.idempotency_key, first.idempotency_key);
    assert_eq!(again.attempt, 1, "it is the first of this batch");
    bench.answer(batch, 0, done());
    bench.ends_with(batch, &["0 started in doubt", "0 completed", "batch completed"]);
}

#[test]
fn an_unknown_key_under_lookup_is_asked_about_first() {
    let lookup = || list([call("book").key("k")]).in_doubt(InDoubtPolicy::Lookup);
    let mut bench = with_an_unknown_key();
    let batch = bench.start(lookup());
    assert_eq!(bench.questions(batch, 0)[0].attempt, 0);
    bench.tell(batch, 0, Fate::Landed(done()));
    assert_eq!(bench.log(batch), ["batch started", "0 completed", "batch completed"]);
    assert_eq!(bench.end(batch, 0).attempts, 0);
    assert!(matches!(bench.key("k").state, KeyState::Completed { .. }));

    let mut bench = with_an_unknown_key();
    let batch = bench.start(lookup());
    bench.tell(batch, 0, Fate::NotLanded);
    assert_eq!(bench.log(batch), ["batch started", "0 started"], "as if it had never left");

    let mut bench = with_an_unknown_key();
    let before = bench.key("k").clone();
    let batch = bench.start(lookup());
    bench.tell(batch, 0, Fate::Unknown { message: "no records".into() });
    assert_eq!(bench.log(batch), ["batch started", "0 failed, unknown", "batch failed"]);
    assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::InDoubt, 0));
    assert_eq!(*bench.key("k"), before);
}

#[test]
fn a_rerun_in_doubt_that_never_leaves_stays_unknown_and_so_does_its_key() {
    let mut bench = with_an_unknown_key();
    let before = bench.key("k").generation;
    let batch = bench.start(list([call("book").key("k")]));
    bench.answer(batch, 0, not_sent());
    bench.ends_with(batch, &["0 started in doubt", "0 failed, unknown", "batch failed"]);
    assert_eq!(bench.error(batch, 0).reason, Reason::BackendUnavailable);
    assert_eq!((&bench.key("k").state, bench.key("k").generation), (&KeyState::Unknown, before));
}

#[test]
fn a_tool_that_is_gone_leaves_an_unknown_key_unknown() {
    let mut bench = with_an_unknown_key();
    let before = bench.key("k").clone();
    bench.forbids("book");
    let batch = bench.start(list([call("book").key("k")]));
    bench.ends_with(batch, &["0 failed, unknown", "batch failed"]);
    assert_eq!((bench.error(batch, 0).reason, bench.end(batch, 0).attempts), (Reason::ToolNotAllowed, 0));
    assert_eq!(*bench.key("k"), before);
}
