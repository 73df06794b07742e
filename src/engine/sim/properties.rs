//! The properties. One that fails prints the seed of its world.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    check::check,
    life::live,
    plan::{Dice, Plan, generate},
    tally::{Counts, tally},
    timeline::World,
};
use crate::store::memory::Landing;

/// `TOOLBATCH_SEED` repeats worlds, `TOOLBATCH_BATCHES` asks for so many of them, each with at least one batch.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

/// Says where a world failed.
struct Scene<'a> {
    seed: u64,
    cuts: &'a [usize],
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { seed, cuts } = self;
            println!("TOOLBATCH_SEED={seed} TOOLBATCH_BATCHES=1: crashed behind {cuts:?}");
        }
    }
}

/// Lives a world from its latest crash on, to its end.
fn recover(plan: &Arc<Plan>, seed: u64, world: &World, cuts: &[usize], counts: &mut Counts) -> World {
    let _scene = Scene { seed, cuts };
    let (lived, outcome) = live(plan, world.crashed(*cuts.last().expect("there was a crash")));
    outcome.expect("a server starts after any crash, and stops well");
    check(plan, &lived);
    tally(&lived, counts);
    lived
}

/// Lives a world without any crash.
fn undisturbed(seed: u64, counts: &mut Counts) -> (Arc<Plan>, World) {
    let _scene = Scene { seed, cuts: &[] };
    let plan = Arc::new(generate(seed));
    let (world, outcome) = live(&plan, World::default());
    outcome.expect("a server stops well");
    check(&plan, &world);
    tally(&world, counts);
    (plan, world)
}

fn crash_after_each_commit(seed: u64, counts: &mut Counts) {
    let (plan, calm) = undisturbed(seed, counts);
    let mut dice = Dice(seed);
    for (nothing, everything) in calm.cuts() {
        // What the commit allowed was done; now and then also none of it, or some.
        recover(&plan, seed, &calm, &[everything], counts);
        let some = nothing + dice.below(everything - nothing + 1);
        if some != everything && dice.below(3) == 0 {
            recover(&plan, seed, &calm, &[some], counts);
        }
    }
}

fn crash_again_and_again(seed: u64, counts: &mut Counts) {
    let (plan, mut world) = undisturbed(seed, counts);
    let mut dice = Dice(seed);
    let mut cuts = Vec::new();
    for _ in 0..4 {
        let lived = cuts.last().map_or(0, |cut| cut + 1);
        let since = world.happened.len() - lived;
        // Often so soon that nothing has ended since the crash before.
        let within = if dice.below(3) > 0 { since.min(8) } else { since };
        cuts.push(lived + dice.below(within + 1));
        world = recover(&plan, seed, &world, &cuts, counts);
    }
}

/// The crash as the server itself lives it: a commit fails, and whether it was stored after all is known only later.
fn fail_at_some_commit(seed: u64, counts: &mut Counts) {
    let (plan, calm) = undisturbed(seed, counts);
    let mut dice = Dice(seed);
    for landing in [Landing::Lost, Landing::Kept] {
        let world = World::default();
        world.store.fail_after(dice.below(calm.store.commits()), landing);
        // Whatever comes of it: the store tells what was durable.
        let (failed, _) = live(&plan, world);
        recover(&plan, seed, &failed, &[failed.happened.len()], counts);
    }
}

/// Lives worlds one after another, on each core. `wanted` has to happen in them, or they break no promise because they do nothing.
fn in_worlds(name: &str, default: u64, lives: fn(u64, &mut Counts), wanted: &[&str]) {
    let seed = variable("TOOLBATCH_SEED").unwrap_or_else(|| RandomState::new().hash_one(name));
    let asked = variable("TOOLBATCH_BATCHES");
    let (next, counts) = (AtomicU64::new(0), Mutex::new(Counts::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let mut own = Counts::new();
                loop {
                    let world = next.fetch_add(1, Ordering::Relaxed);
                    if world >= asked.unwrap_or(default) {
                        break;
                    }
                    lives(seed.wrapping_add(world), &mut own);
                }
                let mut counts = counts.lock().expect("nobody panics while counting");
                for (name, count) in own {
                    *counts.entry(name).or_default() += count;
                }
            });
        }
    });
    let counts = counts.into_inner().expect("nobody panics while counting");
    println!("{name}: TOOLBATCH_SEED={seed} {counts:?}");
    let missing: Vec<_> = wanted.iter().filter(|name| !counts.contains_key(**name)).collect();
    assert!(asked.is_some() || missing.is_empty(), "did not happen: {missing:?} in {counts:#?}");
}

const OFTEN: [&str; 21] = [
    "executions in doubt",
    "calls interrupted",
    "calls completed",
    "calls awaiting",
    "calls skipped",
    "calls unknown",
    "calls failed",
    "results in blobs",
    "retries",
    "lookups: landed",
    "lookups: not landed",
    "lookups: cannot tell",
    "stops told",
    "verdicts told",
    "stopped by a failure",
    "stopped by a review",
    "stopped by their task's end",
    "cancelled",
    "direct steps done",
    "direct steps failed",
    "direct steps not run",
];

#[test]
fn a_crash_after_any_commit_breaks_no_promise() {
    in_worlds("a crash after each commit", 500, crash_after_each_commit, &OFTEN);
}

#[test]
fn crashes_in_a_row_break_no_promise_and_park_what_makes_no_progress() {
    in_worlds("crashes in a row", 150, crash_again_and_again, &["calls interrupted", "parked"]);
}

#[test]
fn a_commit_that_fails_is_a_crash() {
    in_worlds("a commit that fails", 100, fail_at_some_commit, &["calls interrupted", "executions in doubt"]);
}
