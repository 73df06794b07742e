//! Bugs on purpose: each a mistake of one line that a programmer could make, at the place where it would be made. A suite that does
//! not find them is no evidence of anything (docs/reliability.md, "Can it fail?").
//!
//! Only a build with the feature `seeded-bugs` has them, one at a time, by the environment variable `TOOLBATCH_SEEDED_BUG`.

#[cfg(all(test, feature = "seeded-bugs"))]
mod tests;

/// The bugs in two lists, by who has to find them.
macro_rules! bugs {
    ($($(#[$finder:meta])* $list:ident { $($(#[$mistake:meta])* $bug:ident,)* })*) => {
        /// A mistake.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $($($(#[$mistake])* $bug,)*)*
        }

        #[cfg(feature = "seeded-bugs")]
        impl Bug {
            $($(#[$finder])* pub const $list: &[Self] = &[$(Self::$bug),*];)*
        }
    };
}

bugs! {
    /// Those that this crate's own tests find: the generated worlds of `batch::sim`, and the store's tests.
    INSIDE {
        /// A call that runs again after an interruption does not say that it is in doubt.
        RerunNotInDoubt,
        /// Policy FAIL runs a call again after an interruption.
        FailReruns,
        /// Each attempt of a call has an idempotency key of its own.
        KeyOfEachAttempt,
        /// A call that has landed, as its backend says, runs again.
        LandedRunsAgain,
        /// The entry after a retry's has that entry's sequence number.
        SequenceReused,
        /// A call in backoff leaves its lane to the next one.
        RetryLeavesLane,
        /// A call that was in flight at an interruption holds its lane no more.
        ResumedLeavesLane,
        /// A call that was in flight at an interruption holds its key no more.
        ResumedLeavesKey,
        /// A failure before an interruption does not stop the batch after it.
        FailureForgottenOnResume,
        /// A batch that was cancelled goes on after an interruption.
        CancelForgottenOnResume,
        /// A call in backoff leaves its slot to another one.
        BackoffFreesSlot,
        /// A failure is repeated once more than the policy allows.
        RetryTooMany,
        /// The answer to an earlier attempt counts.
        LateAnswerCounts,
        /// A batch that was stopped before its last call began has no end.
        StoppedNeverEnds,
        /// The end of a journal that was torn is taken for a commit.
        TornCommitCounts,
        /// Sled's own flush is taken for a sync, so that a checkpoint sets journal files free too early.
        CheckpointNotSynced,
    }

    /// Those that tests/crash finds from outside.
    OUTSIDE {
        /// Clients are told before the commit.
        ToldBeforeCommit,
        /// The start of an attempt alone is no reason for a commit: it goes with the next one.
        StartWaitsForNextCommit,
        /// The keys of a batch that is taken up again are not read.
        KeysNotReadOnResume,
        /// A reader that has fallen behind the ring goes on with what the ring has.
        BehindTheRingIsLost,
        /// The backend is not told that a call is in doubt.
        DoubtNotTold,
        /// The journal is not synced before a commit counts.
        JournalNotSynced,
        /// A commit is noted as acknowledged before it is written.
        NotedBeforeWritten,
        /// A large result is not synced before the log refers to it.
        BlobNotSynced,
        /// The folder of a new result file is not synced.
        BlobNameNotSynced,
        /// The file that says that a store is there is written first.
        StoreMarkedBeforeMade,
    }
}

/// Whether this process has the bug. Always false without the feature, so that nothing of it is compiled.
#[cfg(not(feature = "seeded-bugs"))]
#[must_use]
pub const fn has(_: Bug) -> bool {
    false
}

/// Whether this process has the bug.
#[cfg(feature = "seeded-bugs")]
#[must_use]
pub fn has(bug: Bug) -> bool {
    static CHOSEN: std::sync::LazyLock<Option<Bug>> = std::sync::LazyLock::new(chosen);
    *CHOSEN == Some(bug)
}

/// The variable that names the bug.
#[cfg(feature = "seeded-bugs")]
pub const VARIABLE: &str = "TOOLBATCH_SEEDED_BUG";

#[cfg(feature = "seeded-bugs")]
fn chosen() -> Option<Bug> {
    let name = std::env::var_os(VARIABLE)?;
    let mut known = Bug::INSIDE.iter().chain(Bug::OUTSIDE);
    let Some(bug) = known.clone().find(|bug| format!("{bug:?}").as_str() == name) else {
        let all: Vec<String> = known.by_ref().map(|bug| format!("{bug:?}")).collect();
        eprintln!("{VARIABLE} is {}, which is no bug; known are {}", name.display(), all.join(", "));
        std::process::exit(2);
    };
    Some(*bug)
}
