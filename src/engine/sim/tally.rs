//! What happened in worlds, counted: those in which nothing happens break no promise.

use std::collections::BTreeMap;

use super::timeline::{Ack, Fact, Happened, Word, World};
use crate::{
    batch::event::{Ending, Event, StopReason},
    store::records::BatchRecord,
};

/// Counts by name.
pub(super) type Counts = BTreeMap<&'static str, usize>;

/// Counts what happened since the latest crash.
pub(super) fn tally(world: &World, counts: &mut Counts) {
    let mut count = |name: &'static str| *counts.entry(name).or_default() += 1;
    count("lives");
    let crash = world.happened.iter().rposition(|(_, what)| matches!(what, Happened::Crashed));
    for (_, what) in &world.happened[crash.map_or(0, |at| at + 1)..] {
        match what {
            Happened::Committed(facts) => {
                count("commits");
                for fact in facts {
                    self::fact(fact, &mut count);
                }
            }
            Happened::Ran(ran) => count(if ran.in_doubt { "executions in doubt" } else { "executions" }),
            Happened::Asked(question) => count(match question.answer {
                Word::Landed => "lookups: landed",
                Word::NotLanded => "lookups: not landed",
                Word::CannotTell => "lookups: cannot tell",
            }),
            Happened::Told { .. } => count("events told"),
            Happened::Acknowledged(Ack::Stopped(_)) => count("stops told"),
            Happened::Acknowledged(Ack::Settled { .. }) => count("verdicts told"),
            Happened::Crashed => count("crashes"),
        }
    }
}

fn fact(fact: &Fact, count: &mut impl FnMut(&'static str)) {
    if let Fact::Head(_, _, BatchRecord { direct: true, end: Some(end), .. }) = fact {
        let counts = end.counts;
        count(match (counts.waiting, counts.failed) {
            (0, 0) => "direct steps done",
            (0, _) => "direct steps failed",
            (_, _) => "direct steps not run",
        });
    }
    let Fact::Entry(_, entry) = fact else { return };
    match &entry.event {
        Event::BatchStarted => count("batches"),
        Event::CallStarted { .. } => count("attempts"),
        Event::CallRetrying { .. } => count("retries"),
        Event::BatchResumed { in_doubt } => {
            count("batches resumed");
            for _ in in_doubt {
                count("calls interrupted");
            }
        }
        Event::CallFinished(finished) => match &finished.ending {
            Ending::Completed { result } if result.bytes > 3_584 => count("results in blobs"),
            Ending::Completed { .. } => count("calls completed"),
            Ending::Awaiting { .. } => count("calls awaiting"),
            Ending::Skipped { .. } => count("calls skipped"),
            Ending::Failed(error) if error.outcome_unknown => count("calls unknown"),
            Ending::Failed(_) => count("calls failed"),
        },
        Event::BatchFinished { stop_reason, .. } => match stop_reason {
            Some(StopReason::CallFailed) => count("stopped by a failure"),
            Some(StopReason::AwaitingReview) => count("stopped by a review"),
            Some(StopReason::Cancelled) => count("cancelled"),
            Some(StopReason::TaskEnded) => count("stopped by their task's end"),
            Some(StopReason::Parked) => count("parked"),
            None => {}
        },
    }
}
