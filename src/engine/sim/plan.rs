//! What a world is made of: the core's own plans, and what only the engine and its surroundings can do.

use std::time::Duration;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    batch::{
        outcome::INLINE_BODY_MAX,
        sim::plan::{BatchPlan, Climate, StopPlan, plans},
        spec::{InDoubtPolicy, RetryPolicy, Spec},
    },
    json,
};

/// Results around what is kept in a record; the largest is a blob.
const SIZES: [u64; 5] = [2, 40, 100, INLINE_BODY_MAX as u64, INLINE_BODY_MAX as u64 + 1];

/// Mostly one batch, sometimes up to three that share tasks, keys and time.
const CLIMATE: Climate = Climate {
    batches: 1..4,
    calls: 1..8,
    attempts: 1..4,
    keyed: 6,
    trouble: 3,
    absent: 0,
    crashes: 0..1,
    stops: 0..3,
    drains: 0..1,
    sizes: &SIZES,
};

/// The member of the args that lanes go by.
const LANE: &str = "lane";

/// A whole world.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) batches: Vec<BatchPlan>,
    /// By number: it is a direct step.
    pub(super) direct: Vec<bool>,
    pub(super) stops: Vec<StopPlan>,
    /// How many calls the backend takes at once, over all batches; 0: any number.
    pub(super) places: u32,
    /// When somebody finds out what became of a key whose outcome is unknown, in milliseconds.
    pub(super) settlements: Vec<u64>,
    /// The server waits for its backend before it takes up what is unfinished.
    pub(super) looks_first: bool,
    /// After a restart the backend listens so much later.
    pub(super) absence: Duration,
    /// How long the server stays away after a crash.
    pub(super) away: Duration,
    /// What a commit takes that is made beside the loop.
    pub(super) flush: Duration,
}

impl Plan {
    /// The batch as a client sends it. Its lanes stand in its args, since that is all that is stored of them.
    pub(super) fn spec(&self, number: usize) -> Spec {
        let mut spec = self.batches[number].spec(number);
        spec.direct = self.direct[number];
        // The backend is told of no batch.
        spec.agent_id = spec.batch_id.clone().unwrap_or_default();
        let path = json::Path::parse(LANE).expect("it is a path");
        for (call, plan) in spec.calls.iter_mut().zip(&self.batches[number].calls) {
            // Calls under one key are mostly the same call, lane included.
            let Some(lane) = plan.key.filter(|_| plan.lane.is_some()).or(plan.lane) else { continue };
            let members = call.args.trim_end_matches('}').trim_end();
            let comma = if members == "{" { "" } else { "," };
            call.args = format!("{members}{comma}\"{LANE}\":{lane}}}").into();
            call.lane = json::lane(&call.args, &path).map(Into::into);
            LANE.clone_into(&mut spec.options.serialize_on);
        }
        spec
    }

    /// The number of the batch with this id.
    pub(super) fn number(batch_id: &str) -> usize {
        batch_id.strip_prefix("batch ").and_then(|number| number.parse().ok()).expect("batches are named by number")
    }

    pub(super) fn task_id(task: u8) -> String {
        format!("task {task}")
    }
}

/// Numbers that follow from a seed (`SplitMix64`), however close seeds are to each other.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("it is below a usize")
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The world of a seed.
pub(super) fn generate(seed: u64) -> Plan {
    let lonely = Climate { batches: 1..2, stops: 0..2, ..CLIMATE };
    let core = prop_oneof![3 => plans(&lonely), 2 => plans(&CLIMATE)];
    let absence = prop_oneof![3 => Just(0), 1 => 0_u64..3_000];
    let direct = proptest::collection::vec(proptest::bool::weighted(0.3), CLIMATE.batches.end);
    let strategy = (core, direct, proptest::collection::vec(0_u64..1_500, 0..3), any::<bool>(), absence, 1_u64..500);
    let flush = prop_oneof![1 => Just(0), 2 => 1_u64..60];
    let strategy = (strategy, flush).prop_map(|((core, direct, settlements, looks_first, absence, away), flush)| {
        let mut plan = Plan {
            batches: core.batches,
            direct,
            stops: core.stops,
            places: core.places,
            settlements,
            looks_first,
            absence: Duration::from_millis(absence),
            away: Duration::from_millis(away),
            flush: Duration::from_millis(flush),
        };
        // Another tool under a key is another call. Here that is to be the exception, so that keys are run again and asked about.
        let calls = plan.batches.iter_mut().flat_map(|batch| &mut batch.calls);
        calls.filter(|call| call.tool == 1).for_each(|call| call.tool = 0);
        for (batch, _) in plan.batches.iter_mut().zip(&plan.direct).filter(|(_, direct)| **direct) {
            batch.calls.truncate(1);
            (batch.in_doubt, batch.retry) = (InDoubtPolicy::Rerun, RetryPolicy::default());
        }
        plan
    });
    let mut dice = Dice(seed);
    let bytes = [dice.next().to_le_bytes(), dice.next().to_le_bytes()].concat();
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    strategy.new_tree(&mut runner).expect("plans filter nothing out").current()
}
