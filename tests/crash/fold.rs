//! What a batch's log says, call by call: a reading of the contract of its own, which shares nothing with the server's.

use std::collections::BTreeMap;

use toolbatch::proto::{BatchEvent, BatchSummary, CallResult, CallStatus, batch_event::Event};

/// Why an attempt followed another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It is the first.
    First,
    /// The one before failed in a way that the policy repeats.
    Retry,
    /// The server was interrupted while the one before ran.
    Interruption,
    /// Nothing in the log explains it.
    Nothing,
}

/// One call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// Its attempts' numbers, in order, and why each was made.
    pub(crate) attempts: Vec<(u32, Cause)>,
    pub(crate) result: Option<CallResult>,
    /// How often the log says that it was in flight at an interruption.
    pub(crate) interruptions: usize,
    in_flight: bool,
    next: Option<Cause>,
}

/// A whole log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fold {
    pub(crate) calls: BTreeMap<u32, Call>,
    pub(crate) summary: Option<BatchSummary>,
    /// What the log itself breaks.
    pub(crate) faults: Vec<String>,
}

/// Reads a log from its first event. `stops` says whether a failure stops the batch.
pub(crate) fn fold(log: &[BatchEvent], stops: bool) -> Fold {
    let mut fold = Fold::default();
    let mut stopped = false;
    for (expected, event) in (1..).zip(log) {
        if event.sequence != expected {
            fold.faults.push(format!("I13: sequence {} stands at place {expected}", event.sequence));
        }
        if fold.summary.is_some() {
            fold.faults.push(format!("I14: sequence {expected} follows BatchFinished"));
        }
        fold.apply(event, &mut stopped, stops);
    }
    if fold.summary.is_none() {
        fold.faults.push("I14, I20: the log has no BatchFinished".to_owned());
    }
    fold
}

impl Fold {
    fn apply(&mut self, event: &BatchEvent, stopped: &mut bool, stops: bool) {
        let sequence = event.sequence;
        match &event.event {
            Some(Event::BatchStarted(_)) if sequence == 1 => {}
            Some(Event::CallStarted(started)) => {
                let call = self.calls.entry(started.index).or_default();
                let cause = match call.next.take() {
                    Some(cause) => cause,
                    None if call.attempts.is_empty() => Cause::First,
                    None => Cause::Nothing,
                };
                let running = call.in_flight && cause != Cause::Interruption;
                if call.result.is_some() || running || cause == Cause::Nothing {
                    self.faults.push(format!("I4: sequence {sequence} starts call {} for no reason", started.index));
                }
                if started.attempt as usize != call.attempts.len() + 1 {
                    self.faults.push(format!("I4: sequence {sequence} has attempt {}", started.attempt));
                }
                if *stopped && cause != Cause::Interruption {
                    self.faults
                        .push(format!("I12: sequence {sequence} starts a call after a failure stopped the batch"));
                }
                call.attempts.push((started.attempt, cause));
                call.in_flight = true;
            }
            Some(Event::CallRetrying(retrying)) => {
                let call = self.calls.entry(retrying.index).or_default();
                if !std::mem::take(&mut call.in_flight) {
                    self.faults.push(format!("I4: sequence {sequence} retries a call that was not running"));
                }
                call.next = Some(Cause::Retry);
            }
            Some(Event::CallFinished(finished)) => {
                let result = finished.result.clone().unwrap_or_default();
                let call = self.calls.entry(result.index).or_default();
                if call.result.is_some() {
                    self.faults.push(format!("R8: sequence {sequence} finishes call {} again", result.index));
                }
                if result.attempts as usize != call.attempts.len() {
                    self.faults.push(format!("I14: sequence {sequence} counts {} attempts", result.attempts));
                }
                *stopped |= stops && result.status() == CallStatus::Failed;
                call.in_flight = false;
                call.result = Some(result);
            }
            Some(Event::BatchResumed(resumed)) => self.resume(sequence, &resumed.in_doubt),
            Some(Event::BatchFinished(finished)) => self.summary.clone_from(&finished.summary),
            other => self.faults.push(format!("I13: sequence {sequence} is {other:?}")),
        }
    }

    fn resume(&mut self, sequence: u64, in_doubt: &[u32]) {
        let in_flight: Vec<u32> =
            self.calls.iter().filter(|(_, call)| call.in_flight).map(|(index, _)| *index).collect();
        if in_flight != in_doubt {
            self.faults.push(format!("C09: sequence {sequence} names {in_doubt:?}, but {in_flight:?} were in flight"));
        }
        for index in in_doubt {
            let call = self.calls.entry(*index).or_default();
            // It counts as in flight until its log says what became of it, through any number of interruptions.
            call.interruptions += 1;
            call.next = Some(Cause::Interruption);
        }
    }

    /// What the summary has to say about the calls, by the rules of R7.
    pub(crate) fn counts(&self, total: u32) -> [u32; 6] {
        let count = |status: CallStatus| {
            let results = self.calls.values().filter_map(|call| call.result.as_ref());
            u32::try_from(results.filter(|result| result.status() == status).count()).expect("it is at most 200")
        };
        let [completed, failed, skipped, awaiting] =
            [CallStatus::Completed, CallStatus::Failed, CallStatus::Skipped, CallStatus::Awaiting].map(count);
        let not_run = total.saturating_sub(completed + failed + skipped + awaiting);
        [total, completed, failed, skipped, awaiting, not_run]
    }
}
