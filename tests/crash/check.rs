//! The promises (docs/reliability.md), checked over three histories: J, what the backend did; E, what clients saw; L, what the server
//! replays after its last start. Each finding names the promise that is broken.

use std::collections::{BTreeMap, HashMap};

use prost::Message as _;
use toolbatch::proto::{
    Batch, BatchEvent, BatchMode, BatchStatus, CallStatus, ExecuteBatchRequest, InDoubtPolicy, StopReason,
};

use crate::{
    backend::{Asked, Entry},
    client::{Stream, finishes},
    fold::{Call, Cause, Fold, fold},
    load::calls,
};

/// What a batch without `max_concurrency` runs at once.
const DEFAULT_WIDTH: u32 = 4;

/// One batch: what was asked for, and E and L of it.
#[derive(Clone, Debug)]
pub(crate) struct Story {
    pub(crate) request: ExecuteBatchRequest,
    pub(crate) streams: Vec<Stream>,
    pub(crate) log: Vec<BatchEvent>,
    pub(crate) state: Batch,
}

/// Everything that a run left behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) journal: Vec<Entry>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) stories: Vec<Story>,
    /// When the server was killed, in the order of the journal's stamps.
    pub(crate) kills: Vec<usize>,
}

/// What a run did, to show that it did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) kills: usize,
    pub(crate) batches: usize,
    pub(crate) executions: usize,
    pub(crate) events: usize,
    pub(crate) interruptions: usize,
    pub(crate) repeats: usize,
    pub(crate) lookups: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.kills += more.kills;
        self.batches += more.batches;
        self.executions += more.executions;
        self.events += more.events;
        self.interruptions += more.interruptions;
        self.repeats += more.repeats;
        self.lookups += more.lookups;
    }
}

impl Story {
    fn policy(&self) -> InDoubtPolicy {
        match self.request.options.as_ref().map(toolbatch::proto::BatchOptions::in_doubt) {
            Some(InDoubtPolicy::Lookup) => InDoubtPolicy::Lookup,
            Some(InDoubtPolicy::Fail) => InDoubtPolicy::Fail,
            Some(InDoubtPolicy::Rerun | InDoubtPolicy::Unspecified) | None => InDoubtPolicy::Rerun,
        }
    }

    fn stops_on_error(&self) -> bool {
        self.request.options.as_ref().and_then(|options| options.stop_on_error).unwrap_or(true)
    }

    fn is_sequential(&self) -> bool {
        self.request.options.as_ref().is_none_or(|options| options.mode() != BatchMode::Parallel)
    }

    /// How many calls run at once.
    pub(crate) fn width(&self) -> usize {
        let options = self.request.options.clone().unwrap_or_default();
        let width = match (options.mode(), options.max_concurrency) {
            (BatchMode::Unspecified | BatchMode::Sequential, _) => 1,
            (BatchMode::Parallel, 0) => DEFAULT_WIDTH,
            (BatchMode::Parallel, width) => width,
        };
        width as usize
    }

    fn key(&self, index: u32) -> Option<(&str, &str)> {
        let call = calls(&self.request).get(index as usize)?;
        (!call.key.is_empty()).then_some((self.request.task_id.as_str(), call.key.as_str()))
    }

    fn lane(&self, index: u32) -> Option<String> {
        let options = self.request.options.as_ref()?;
        let args: serde_json::Value =
            serde_json::from_str(&calls(&self.request).get(index as usize)?.args_json).ok()?;
        let lane = args.get(&options.serialize_on)?;
        Some(lane.to_string())
    }

    pub(crate) fn fold(&self) -> Fold {
        fold(&self.log, self.stops_on_error())
    }
}

/// All that is wrong with a run; nothing where all promises held.
pub(crate) fn check(evidence: &Evidence) -> Vec<String> {
    let folds: Vec<Fold> = evidence.stories.iter().map(Story::fold).collect();
    let mut found = Vec::new();
    for (story, fold) in evidence.stories.iter().zip(&folds) {
        let journal: Vec<&Entry> =
            evidence.journal.iter().filter(|entry| entry.batch_id == story.request.batch_id).collect();
        let mut faults = fold.faults.clone();
        streams(story, &mut faults);
        summary(story, fold, &journal, &mut faults);
        executions(story, fold, &journal, evidence, &mut faults);
        order(story, &journal, &mut faults);
        finished_stays_finished(story, &journal, &mut faults);
        found.extend(faults.into_iter().map(|fault| format!("{}: {fault}", story.request.batch_id)));
    }
    let known = |entry: &&Entry| evidence.stories.iter().any(|story| story.request.batch_id == entry.batch_id);
    found.extend(
        evidence
            .journal
            .iter()
            .filter(|entry| !known(entry))
            .map(|entry| format!("I3: the backend did {entry:?} of a batch that nobody knows")),
    );
    keys(evidence, &folds, &mut found);
    idempotency(evidence, &mut found);
    found
}

/// What the run did.
pub(crate) fn tally(evidence: &Evidence) -> Tally {
    let folds = evidence.stories.iter().map(Story::fold);
    let interruptions =
        folds.map(|fold| fold.calls.values().map(|call| call.interruptions).sum::<usize>()).sum::<usize>();
    let mut first = std::collections::HashSet::new();
    let repeats = evidence.journal.iter().filter(|entry| !first.insert((&entry.batch_id, entry.index)));
    let seen = evidence.stories.iter().flat_map(|story| &story.streams).map(|stream| stream.events.len());
    Tally {
        kills: evidence.kills.len(),
        batches: evidence.stories.len(),
        executions: evidence.journal.len(),
        events: seen.sum(),
        interruptions,
        repeats: repeats.count(),
        lookups: evidence.asked.len(),
    }
}

/// I2, I13: what any client saw is in the log, byte for byte, in unbroken order.
fn streams(story: &Story, faults: &mut Vec<String>) {
    for stream in &story.streams {
        let mut expected = stream.after;
        for seen in stream.events.iter().filter(|seen| seen.event.sequence > 0) {
            expected += 1;
            let sequence = seen.event.sequence;
            if sequence != expected {
                faults.push(format!("I13: a stream after {} has {sequence} where {expected} is due", stream.after));
            }
            let place = usize::try_from(sequence).expect("it is small") - 1;
            let kept = story.log.get(place).map(prost::Message::encode_to_vec);
            if kept.as_ref() != Some(&seen.event.encode_to_vec()) {
                faults.push(format!("I2: {}", difference(&seen.event, story.log.get(place))));
            }
        }
        if stream.ended && expected != story.log.len() as u64 {
            faults.push(format!("I13: a stream ended with OK after {expected} of {} events", story.log.len()));
        }
    }
}

/// What a client saw and what the log has, from where they differ.
fn difference(seen: &BatchEvent, kept: Option<&BatchEvent>) -> String {
    let (seen_text, kept_text) = (format!("{seen:?}"), format!("{kept:?}"));
    let inner = kept_text.trim_start_matches("Some(");
    let same = seen_text.chars().zip(inner.chars()).take_while(|(one, other)| one == other).count();
    let from = |text: &str| text.chars().skip(same).take(200).collect::<String>();
    let sequence = seen.sequence;
    format!("sequence {sequence}: a client saw .. {}, and the log has .. {}", from(&seen_text), from(inner))
}

/// I14: one end, and the log, the summary, `GetBatch` and the journal agree.
fn summary(story: &Story, fold: &Fold, journal: &[&Entry], faults: &mut Vec<String>) {
    let Some(summary) = &fold.summary else { return };
    if story.state.summary.as_ref() != Some(summary) || story.state.last_sequence != story.log.len() as u64 {
        faults.push(format!("I14: GetBatch says {:?}, BatchFinished {summary:?}", story.state));
    }
    let total = u32::try_from(calls(&story.request).len()).expect("it is at most 200");
    let counts = fold.counts(total);
    let told = [summary.total, summary.succeeded, summary.failed, summary.skipped, summary.awaiting, summary.not_run];
    if told != counts {
        faults.push(format!("I14: the summary counts {told:?}, the log {counts:?}"));
    }
    let [_, completed, _, skipped, awaiting, not_run] = counts;
    let status = match completed + skipped {
        done if done == total => BatchStatus::Completed,
        0 if awaiting == 0 => BatchStatus::Failed,
        _ => BatchStatus::Partial,
    };
    let stopped = summary.stop_reason() != StopReason::Unspecified;
    if summary.status() != status || stopped != (not_run > 0) {
        let (told, reason) = (summary.status(), summary.stop_reason());
        faults.push(format!("I14: the summary says {told:?} and {reason:?}, the log {status:?}, {not_run} not run"));
    }
    for result in &summary.results {
        let finished = fold.calls.get(&result.index).and_then(|call| call.result.as_ref());
        let agrees = match finished {
            Some(finished) => finished == result,
            None => result.status() == CallStatus::NotRun,
        };
        if !agrees {
            faults.push(format!("I14: the summary says {result:?}, the log {finished:?}"));
        }
        let ran = journal.iter().any(|entry| entry.index == result.index);
        // A lookup may have told that an earlier batch's attempt under the same key has landed.
        let looked_up = result.attempts == 0 && story.key(result.index).is_some();
        if result.status() == CallStatus::Completed && !ran && !looked_up {
            faults.push(format!("I14: call {} is completed, and the backend never saw it", result.index));
        }
        if matches!(result.status(), CallStatus::Skipped | CallStatus::NotRun) && ran {
            faults.push(format!("I14: call {} is {:?}, and the backend ran it", result.index, result.status()));
        }
    }
}

/// I3, I4, I5: what the backend did is what the log explains, with what R5 says on each attempt.
fn executions(story: &Story, fold: &Fold, journal: &[&Entry], evidence: &Evidence, faults: &mut Vec<String>) {
    let nothing = Call::default();
    for entry in journal {
        let call = fold.calls.get(&entry.index).unwrap_or(&nothing);
        let place = (entry.attempt as usize).wrapping_sub(1);
        let Some((_, cause)) = call.attempts.get(place) else {
            faults.push(format!("I3: the log has no CallStarted for {entry:?}"));
            continue;
        };
        let asked = evidence
            .asked
            .iter()
            .any(|asked| asked.idempotency_key == entry.idempotency_key && asked.stamp < entry.start && !asked.landed);
        let fault = match (cause, story.policy()) {
            (Cause::First, _) if entry.in_doubt && story.key(entry.index).is_none() => "it is the first, in doubt",
            (Cause::Interruption, InDoubtPolicy::Rerun) if !entry.in_doubt => "a rerun that is not in doubt",
            (Cause::Interruption, InDoubtPolicy::Fail) => "a rerun, though the policy is FAIL",
            (Cause::Interruption, InDoubtPolicy::Lookup) if !asked => "a rerun that no lookup allowed",
            _ => continue,
        };
        faults.push(format!("I5: {fault}: {entry:?}"));
    }
    for (index, call) in &fold.calls {
        let of_call: Vec<&Entry> = journal.iter().copied().filter(|entry| entry.index == *index).collect();
        if of_call.iter().any(|entry| entry.idempotency_key != of_call[0].idempotency_key) {
            faults.push(format!("I5: the attempts of call {index} have several idempotency keys"));
        }
        // A start that was not durable before its request left would be written, and sent, a second time.
        let mut seen = std::collections::HashSet::new();
        if let Some(again) = of_call.iter().find(|entry| !seen.insert(entry.attempt)) {
            faults.push(format!("I3: one CallStarted, and two attempts: {again:?}"));
        }
        let retries = call.attempts.iter().filter(|(_, cause)| *cause == Cause::Retry).count();
        if lives(&of_call).iter().any(|life| life.len() > 1 + retries) {
            faults.push(format!("I4: call {index} ran more than once though nobody killed the server"));
        }
        if call.interruptions > evidence.kills.len() {
            faults.push(format!("I4: call {index} was interrupted {} times", call.interruptions));
        }
    }
}

/// I10, I11: no more at once than allowed, and in the order given where there is one.
fn order(story: &Story, journal: &[&Entry], faults: &mut Vec<String>) {
    let width = story.width();
    for life in lives(journal) {
        if at_once(&life) > width {
            faults.push(format!("I10: {} calls ran at once; {width} may", at_once(&life)));
        }
        // A parallel one of width 1 may pass over a call that waits for its key.
        if story.is_sequential() && !in_order(&life) {
            faults.push("I10: a sequential batch did not run in order".to_owned());
        }
    }
    let mut lanes: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
    for entry in journal {
        if let Some(lane) = story.lane(entry.index) {
            lanes.entry(lane).or_default().push(entry);
        }
    }
    for (lane, entries) in lanes {
        if lives(&entries).iter().any(|life| at_once(life) > 1 || !in_order(life)) {
            faults.push(format!("I11: lane {lane} did not run one at a time, in order"));
        }
    }
}

/// The entries by the connection that they came by, and so by the server's process: a call that left before a kill may begin at the
/// backend after it, and no server can know.
fn lives<'a>(entries: &[&'a Entry]) -> Vec<Vec<&'a Entry>> {
    let mut lives: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        lives.entry(entry.peer).or_default().push(entry);
    }
    lives.into_values().collect()
}

fn at_once(entries: &[&Entry]) -> usize {
    let runs = |stamp: usize, entry: &&&Entry| entry.start <= stamp && entry.end.is_none_or(|end| stamp < end);
    entries.iter().map(|entry| entries.iter().filter(|other| runs(entry.start, other)).count()).max().unwrap_or(0)
}

fn in_order(entries: &[&Entry]) -> bool {
    entries.is_sorted_by_key(|entry| entry.index)
}

/// I1 for calls without a key too: once a client saw a call's end, the backend never sees the call again.
fn finished_stays_finished(story: &Story, journal: &[&Entry], faults: &mut Vec<String>) {
    for seen in story.streams.iter().flat_map(|stream| &stream.events) {
        let Some(index) = finishes(&seen.event) else { continue };
        if let Some(entry) = journal.iter().find(|entry| entry.index == index && entry.start > seen.stamp) {
            faults.push(format!("I1: a client had seen the end of call {index} when it ran again: {entry:?}"));
        }
    }
}

/// I1, I5: a key runs until it is completed, and never again.
fn keys(evidence: &Evidence, folds: &[Fold], found: &mut Vec<String>) {
    let mut completed: HashMap<_, Vec<(&Story, u32, u32)>> = HashMap::new();
    let mut unknown: Vec<(&str, &str)> = Vec::new();
    for (story, fold) in evidence.stories.iter().zip(folds) {
        for (index, call) in &fold.calls {
            let (Some(key), Some(result)) = (story.key(*index), &call.result) else { continue };
            if matches!(result.status(), CallStatus::Completed | CallStatus::Awaiting) {
                completed.entry(key).or_default().push((story, *index, result.attempts));
            }
            if result.error.as_ref().is_some_and(|error| error.outcome_unknown) {
                unknown.push(key);
            }
        }
    }
    for (key, by) in &completed {
        let [(story, index, attempts)] = by[..] else {
            found.push(format!("I1: key {key:?} is completed {} times", by.len()));
            continue;
        };
        let of_key = |entry: &&Entry| (entry.task_id.as_str(), entry.key.as_str()) == *key;
        let last = evidence.journal.iter().rfind(of_key);
        let explains = |last: &Entry| match attempts {
            // A lookup told what an earlier batch's attempt had done.
            0 => last.has_landed(),
            _ => last.batch_id == story.request.batch_id && last.index == index,
        };
        if !last.is_some_and(explains) {
            let batch = &story.request.batch_id;
            found.push(format!("I1: key {key:?} was completed by {batch}/{index}, and ran afterwards: {last:?}"));
        }
        let seen = story.streams.iter().flat_map(|stream| &stream.events);
        let told = seen.filter(|seen| finishes(&seen.event) == Some(index)).map(|seen| seen.stamp).min();
        if let Some(again) =
            evidence.journal.iter().filter(of_key).find(|entry| told.is_some_and(|told| entry.start > told))
        {
            found.push(format!("I1: key {key:?} was seen completed, and ran again: {again:?}"));
        }
    }
    for entry in evidence.journal.iter().filter(|entry| entry.in_doubt && entry.attempt == 1) {
        if !unknown.contains(&(entry.task_id.as_str(), entry.key.as_str())) {
            found.push(format!("I5: a first attempt is in doubt though its key was never unknown: {entry:?}"));
        }
    }
}

/// I5: an idempotency key names one logical call; what a backend said has landed is never run again under LOOKUP.
fn idempotency(evidence: &Evidence, found: &mut Vec<String>) {
    let mut logical: HashMap<&str, Vec<&Entry>> = HashMap::new();
    for entry in &evidence.journal {
        logical.entry(&entry.idempotency_key).or_default().push(entry);
    }
    for (idempotency_key, entries) in logical {
        let first = entries[0];
        let same = |entry: &&Entry| match first.key.as_str() {
            "" => (&entry.batch_id, entry.index) == (&first.batch_id, first.index),
            key => entry.key == key && entry.task_id == first.task_id,
        };
        if let Some(other) = entries.iter().find(|entry| !same(entry)) {
            found.push(format!("I5: {idempotency_key} names two calls: {first:?} and {other:?}"));
        }
        let landed = evidence.asked.iter().filter(|asked| asked.landed && asked.idempotency_key == idempotency_key);
        if let Some(told) = landed.map(|asked| asked.stamp).min()
            && let Some(again) = entries.iter().find(|entry| entry.start > told)
        {
            found.push(format!("I5: the backend had said that it landed, and it ran again: {again:?}"));
        }
    }
}
