//! Each bug outside is found: the test that should find it runs in a process of its own, and the servers that it starts have the bug.

use std::{collections::BTreeSet, process::Command, sync::Mutex};

use toolbatch::{
    clock::Clock,
    seeded::{Bug, VARIABLE},
};

/// A test, and how much of it is to find a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Suite {
    test: &'static str,
    rounds: Option<(&'static str, &'static str)>,
}

const RETRY: Suite = Suite { test: "cases::c09_killed_while_a_retry_runs_that_attempt_is_on_record", rounds: None };
const KEY: Suite = Suite { test: "cases::c23_a_key_completed_by_another_batch_is_skipped_after_a_kill", rounds: None };
const READER: Suite = Suite { test: "cases::c43_a_slow_reader_gets_everything_over_a_kill", rounds: None };
const KILLS: Suite =
    Suite { test: "kills::kills_under_load_repeat_nothing_that_finished", rounds: Some(("TOOLBATCH_KILLS", "30")) };
const POINTS: Suite = Suite {
    test: "points::a_kill_at_every_operation_on_the_store_repeats_nothing_that_finished",
    rounds: Some(("TOOLBATCH_POINTS", "30")),
};
const POWER: Suite =
    Suite { test: "power::what_was_told_survives_a_loss_of_power", rounds: Some(("TOOLBATCH_IMAGES", "60")) };

/// How often a suite may be run to find a bug: chance and the machine's timing have a part in it.
const TRIES: usize = 3;

/// Each bug, the suite that has to find it, and the promise that it has to name.
const FINDERS: [(Bug, Suite, &str); 10] = [
    (Bug::ToldBeforeCommit, POWER, "I21"),
    (Bug::StartWaitsForNextCommit, RETRY, "I3"),
    (Bug::KeysNotReadOnResume, KEY, "I1"),
    (Bug::BehindTheRingIsLost, READER, "I13"),
    (Bug::DoubtNotTold, KILLS, "I5"),
    (Bug::JournalNotSynced, POWER, "I21"),
    (Bug::NotedBeforeWritten, POINTS, "I20"),
    (Bug::BlobNotSynced, POWER, "I21"),
    (Bug::BlobNameNotSynced, POWER, "I21"),
    (Bug::StoreMarkedBeforeMade, POINTS, "I20"),
];

/// One run of a suite: of its servers, with a bug that it has to find, or without one.
#[derive(Clone, Copy, Debug)]
struct Trial {
    suite: Suite,
    bug: Option<(Bug, &'static str)>,
}

/// Suites that run at once: they wait for processes and disks more than they compute.
const AT_ONCE: usize = 3;

impl Trial {
    /// Runs the suite until it finds what it has to; gives the row of the table.
    fn row(self, clock: Clock) -> String {
        let begin = clock.now().mono;
        let runs = match self.bug {
            None => {
                let (passed, text) = self.run();
                assert!(passed && text.contains("1 passed"), "{self:?} fails without a bug:\n{text}");
                1
            }
            Some((_, promise)) => {
                let finds = |_: &usize| {
                    let (passed, text) = self.run();
                    assert!(
                        passed || text.contains(&format!("{promise}: ")),
                        "{self:?} fails, but not by this promise:\n{text}"
                    );
                    !passed
                };
                (1..=TRIES).find(finds).unwrap_or_else(|| panic!("{self:?}: it is not found"))
            }
        };
        let (bug, promise) =
            self.bug.map_or_else(|| ("none".into(), "passes"), |(bug, promise)| (format!("{bug:?}"), promise));
        let Suite { test, rounds } = self.suite;
        let rounds = rounds.map_or_else(String::new, |(name, number)| format!(", {name}={number}"));
        let seconds = clock.now().mono.saturating_sub(begin).as_secs_f64();
        format!("| {bug} | {test}{rounds} | {promise} | {runs} | {seconds:.1} |")
    }

    /// Gives whether the suite passes, and what it wrote.
    fn run(self) -> (bool, String) {
        let Suite { test, rounds } = self.suite;
        let mut command = Command::new(std::env::current_exe().expect("the test has a file"));
        command.args(["--exact", test, "--nocapture"]).env_remove("TOOLBATCH_SEED").envs(rounds);
        command.env_remove(VARIABLE).envs(self.bug.map(|(bug, _)| (VARIABLE, format!("{bug:?}"))));
        let output = command.output().expect("the test can be started");
        let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
        (output.status.success(), text)
    }
}

#[test]
fn every_bug_outside_is_found() {
    assert_eq!(FINDERS.map(|(bug, ..)| bug), Bug::OUTSIDE, "each bug has its finder");
    let suites: BTreeSet<Suite> = FINDERS.map(|(_, suite, _)| suite).into_iter().collect();
    let good = suites.into_iter().map(|suite| Trial { suite, bug: None });
    let bad = FINDERS.into_iter().map(|(bug, suite, promise)| Trial { suite, bug: Some((bug, promise)) });
    let trials = Mutex::new(good.chain(bad));
    let next = || trials.lock().expect("no trial panics while it is taken").next();
    let clock = Clock::start();
    println!("| bug | found by | promise | runs | seconds |\n| --- | --- | --- | ---: | ---: |");
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| std::iter::from_fn(next).for_each(|trial| println!("{}", trial.row(clock))));
        }
    });
}

/// What a suite is told to do nothing by, and what it says then.
const IDLE: [(&str, &str, &str); 5] = [
    (KILLS.test, "TOOLBATCH_KILLS", "the run did nothing"),
    (POINTS.test, "TOOLBATCH_POINTS", "too few kills"),
    (POWER.test, "TOOLBATCH_IMAGES", "nothing was told before the cuts"),
    ("repeats::the_table_of_repeats", "TOOLBATCH_ROUNDS", "no kill hit a running call"),
    ("cases::c39_what_is_told_is_durable", "TOOLBATCH_ROUNDS", "the run did nothing"),
];

#[test]
fn a_run_that_does_nothing_fails() {
    for (test, variable, says) in IDLE {
        let trial = Trial { suite: Suite { test, rounds: Some((variable, "0")) }, bug: None };
        let (passed, text) = trial.run();
        assert!(!passed && text.contains(says), "{test} with {variable}=0 does not say that {says}:\n{text}");
    }
}
