//! Each bug inside is found: the test that should find it runs in a process of its own that has the bug.

use std::{
    collections::BTreeSet,
    process::{Command, Output},
};

use super::{Bug, VARIABLE};
use crate::clock::Clock;

const CALM: &str = "batch::sim::properties::batches_keep_their_rules_while_nothing_interrupts_them";
const CRASHES: &str = "batch::sim::properties::a_crash_at_any_point_repeats_only_what_was_in_flight";
const STOPS: &str = "batch::sim::properties::a_stop_at_any_point_starts_nothing_more";
const TORN: &str = "store::embedded::tests::a_commit_that_was_never_whole_is_dropped_alone";
const CHECKPOINT: &str = "store::embedded::fault_tests::a_checkpoint_counts_once_sled_is_synced";

/// Where the rules are. A panic of the product itself would be seen without them.
const RULES: [&str; 4] =
    ["batch/sim/check.rs:", "batch/sim/track.rs:", "embedded/tests.rs:", "embedded/fault_tests.rs:"];

/// Each bug, and the test that has to find it.
const FINDERS: [(Bug, &str); 16] = [
    (Bug::RerunNotInDoubt, CRASHES),
    (Bug::FailReruns, CRASHES),
    (Bug::KeyOfEachAttempt, CRASHES),
    (Bug::LandedRunsAgain, CRASHES),
    (Bug::SequenceReused, CALM),
    (Bug::RetryLeavesLane, CALM),
    (Bug::ResumedLeavesLane, CRASHES),
    (Bug::ResumedLeavesKey, CRASHES),
    (Bug::FailureForgottenOnResume, CRASHES),
    (Bug::CancelForgottenOnResume, STOPS),
    (Bug::BackoffFreesSlot, CALM),
    (Bug::RetryTooMany, CALM),
    (Bug::LateAnswerCounts, CALM),
    (Bug::StoppedNeverEnds, STOPS),
    (Bug::TornCommitCounts, TORN),
    (Bug::CheckpointNotSynced, CHECKPOINT),
];

/// Runs a test, with a bug or without one.
fn run(test: &str, bug: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("the test has a file"));
    command.args(["--exact", test, "--nocapture"]);
    // The smallest world that fails is of no interest, nor is the seed of one.
    command.envs([("PROPTEST_MAX_SHRINK_TIME", "1"), ("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")]);
    command.env_remove(VARIABLE).envs(bug.map(|bug| (VARIABLE, bug)));
    command.output().expect("the test can be started")
}

/// What a process of a test wrote.
fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// The rule that the first panic is about.
fn broken_rule(text: &str) -> Option<&str> {
    let mut lines = text.lines().skip_while(|line| !line.contains(" panicked at "));
    lines.next().filter(|line| RULES.iter().any(|rules| line.contains(rules)))?;
    let rule = lines.next()?;
    let rule = rule.split_once("` failed: ").map_or(rule, |(_, message)| message);
    rule.split(": ").next()
}

/// The world that the rule was broken in, counted from 1, where the test is a property.
fn worlds(text: &str) -> Option<u32> {
    let good = text.lines().find_map(|line| line.trim().strip_prefix("successes: "))?;
    Some(good.parse::<u32>().expect("a property counts the worlds that kept its rules") + 1)
}

#[test]
fn every_bug_inside_is_found() {
    assert_eq!(FINDERS.map(|(bug, _)| bug), Bug::INSIDE, "each bug has its finder");
    let clock = Clock::start();
    for test in FINDERS.map(|(_, test)| test).into_iter().collect::<BTreeSet<_>>() {
        let output = run(test, None);
        let text = text(&output);
        assert!(output.status.success() && text.contains("1 passed"), "{test} fails without a bug:\n{text}");
    }
    println!("| bug | found by | broken rule | worlds | seconds |\n| --- | --- | --- | ---: | ---: |");
    for (bug, test) in FINDERS {
        let begin = clock.now().mono;
        let output = run(test, Some(&format!("{bug:?}")));
        let text = text(&output);
        assert!(!output.status.success(), "{bug:?} is not found by {test}:\n{text}");
        let rule = broken_rule(&text).unwrap_or_else(|| panic!("{bug:?} breaks no rule of {test}:\n{text}"));
        let seconds = clock.now().mono.saturating_sub(begin).as_secs_f64();
        let worlds = worlds(&text).map_or_else(String::new, |worlds| worlds.to_string());
        println!("| {bug:?} | {test} | {rule} | {worlds} | {seconds:.1} |");
    }
}

#[test]
fn an_unknown_bug_ends_the_process() {
    let output = run(CALM, Some("NoSuchBug"));
    assert_eq!(output.status.code(), Some(2));
    let text = text(&output);
    assert!(text.contains("NoSuchBug, which is no bug") && text.contains("RerunNotInDoubt"), "{text}");
}
