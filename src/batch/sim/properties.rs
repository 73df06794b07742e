//! The properties: one for each kind of world. A failing one prints its seed and the smallest plan that fails.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{RngAlgorithm, TestRunner},
};

use super::{
    plan::{Climate, plans},
    world::{World, live},
};
use crate::batch::{
    event::{Ending, Event},
    outcome::Fate,
};

/// Results around the bounds of R6.
const SIZES: [u64; 5] = [2, 100, 4_095, 4_096, 70_000];
/// Mostly results of which 64 leave 64 bytes of what a batch may inline, so that one byte more or less decides.
const LARGE: [u64; 40] = {
    let mut sizes = [4_095; 40];
    (sizes[0], sizes[1]) = (64, 63);
    sizes
};

const CALM: Climate = Climate {
    batches: 1..4,
    calls: 1..13,
    attempts: 1..4,
    keyed: 4,
    trouble: 4,
    absent: 2,
    crashes: 0..1,
    stops: 0..1,
    drains: 0..1,
    sizes: &SIZES,
};

/// So many worlds, or as many as `PROPTEST_CASES` asks for beyond that.
fn config(cases: u32) -> ProptestConfig {
    let cases = cases.max(ProptestConfig::default().cases);
    // The default generator is slow in a debug build: a third of the time.
    let rng_algorithm = RngAlgorithm::XorShift;
    ProptestConfig { cases, rng_algorithm, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(2_500))]

    #[test]
    fn batches_keep_their_rules_while_nothing_interrupts_them(plan in plans(&CALM)) {
        live(plan);
    }

    #[test]
    fn keys_that_many_batches_want_run_one_at_a_time(
        plan in plans(&Climate { batches: 2..4, calls: 1..7, keyed: 9, absent: 1, ..CALM })
    ) {
        live(plan);
    }

    #[test]
    fn a_crash_at_any_point_repeats_only_what_was_in_flight(
        plan in plans(&Climate { keyed: 6, crashes: 1..4, ..CALM })
    ) {
        live(plan);
    }

    #[test]
    fn a_stop_at_any_point_starts_nothing_more(
        plan in plans(&Climate { calls: 1..9, absent: 3, crashes: 0..3, stops: 1..4, ..CALM })
    ) {
        live(plan);
    }

    #[test]
    fn a_drain_at_any_point_leaves_the_rest_to_the_next_start(
        plan in plans(&Climate { calls: 1..9, absent: 3, crashes: 0..2, stops: 0..2, drains: 1..3, ..CALM })
    ) {
        live(plan);
    }

}

proptest! {
    #![proptest_config(config(2_000))]

    #[test]
    fn results_are_inlined_up_to_the_batch_s_total(
        plan in plans(&Climate { batches: 1..2, calls: 66..70, attempts: 1..2, keyed: 0, trouble: 0, absent: 0, sizes: &LARGE, ..CALM })
    ) {
        live(plan);
    }
}

/// What happened in a world, by name. Worlds in which nothing happens break no rule.
fn tally(world: &World, counts: &mut BTreeMap<String, usize>) {
    let mut count = |name: String| *counts.entry(name).or_default() += 1;
    for entry in world.checker.entries() {
        match &entry.event {
            Event::BatchStarted => {}
            Event::CallStarted { attempt, in_doubt, .. } => {
                count(format!("{} attempt, in_doubt {in_doubt}", if *attempt == 1 { "first" } else { "later" }));
            }
            Event::CallRetrying { .. } => count("retry".into()),
            Event::CallFinished(finished) => match &finished.ending {
                Ending::Completed { result } => count(format!("result, inlined {}", result.inlined)),
                Ending::Awaiting { .. } => count("review".into()),
                Ending::Skipped { args_changed, .. } => count(format!("skipped, args_changed {args_changed}")),
                Ending::Failed(error) => {
                    let sent = if finished.attempts > 0 { "sent" } else { "not sent" };
                    count(format!("{sent}, {:?}, unknown {}", error.reason, error.outcome_unknown));
                }
            },
            Event::BatchResumed { in_doubt } => count(format!("resumed, in doubt {}", !in_doubt.is_empty())),
            Event::BatchFinished { status, stop_reason, .. } => {
                count(format!("{status:?}"));
                count(format!("stop {stop_reason:?}"));
            }
        }
    }
    for fate in &world.told {
        let name = match fate {
            Fate::Landed(_) => "landed",
            Fate::NotLanded => "not landed",
            Fate::Unknown { .. } => "cannot tell",
        };
        count(name.into());
    }
    for _ in 0..world.stale {
        count("stale answer".into());
    }
}

#[test]
fn in_these_worlds_everything_happens() {
    let climate = Climate { batches: 2..4, keyed: 8, absent: 3, crashes: 0..4, stops: 0..3, drains: 0..2, ..CALM };
    let strategy = plans(&climate);
    let mut runner = TestRunner::deterministic();
    let mut counts = BTreeMap::new();
    for _ in 0..300 {
        let plan = strategy.new_tree(&mut runner).expect("plans filter nothing out").current();
        tally(&live(plan), &mut counts);
    }
    let wanted = [
        "first attempt, in_doubt false",
        "first attempt, in_doubt true",
        "later attempt, in_doubt false",
        "later attempt, in_doubt true",
        "retry",
        "result, inlined true",
        "result, inlined false",
        "review",
        "skipped, args_changed true",
        "skipped, args_changed false",
        "sent, ToolFailed, unknown false",
        "sent, BackendUnavailable, unknown false",
        "sent, BackendUnavailable, unknown true",
        "sent, Cancelled, unknown true",
        "sent, InDoubt, unknown true",
        "not sent, InDoubt, unknown true",
        "not sent, BackendUnavailable, unknown false",
        "not sent, InvalidArgs, unknown false",
        "resumed, in doubt true",
        "resumed, in doubt false",
        "Completed",
        "Partial",
        "Failed",
        "stop None",
        "stop Some(CallFailed)",
        "stop Some(AwaitingReview)",
        "stop Some(Cancelled)",
        "stop Some(TaskEnded)",
        "landed",
        "not landed",
        "cannot tell",
        "stale answer",
    ];
    let missing: Vec<_> = wanted.into_iter().filter(|name| counts.get(*name).is_none_or(|count| *count < 5)).collect();
    assert!(missing.is_empty(), "too rare to test anything: {missing:?} of {counts:#?}");
}
