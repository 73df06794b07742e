//! The properties: one for each kind of world. A failing one prints its seed and the smallest plan that fails.

use proptest::{prelude::*, test_runner::RngAlgorithm};

use super::{
    plan::{Climate, plans},
    world::live,
};

/// Results around the bounds of R6.
const SIZES: [u64; 5] = [2, 100, 4_095, 4_096, 70_000];
/// Results of which 64 to 66 fill what a batch may inline.
const LARGE: [u64; 4] = [4_095, 4_032, 3_970, 700];

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

fn config(cases: u32) -> ProptestConfig {
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
