//! One batch, as its durable log shows it, and the rules that each further entry keeps. Written from the rules: it shares nothing
//! with the fold that the server uses.

use std::{collections::HashMap, fmt};

use super::timeline::Word;
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::{BatchStatus, CallError, CallFinished, Ending, Entry, Event, Reason, StopReason},
        key::{KeyRecord, KeyState, keyed_idempotency_key, unkeyed_idempotency_key},
        spec::{CallSpec, InDoubtPolicy, Mode, Spec},
        summary::Counts,
    },
    engine::sim::clients::TENANT,
};

/// What is on record of the keys, by task and name.
pub(super) type Keys = HashMap<(TaskNo, String), KeyRecord>;

/// An entry of a batch's log, for people.
struct At<'a>(BatchNo, &'a Entry);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch number {} entry {}: {:?}", self.0.0, self.1.sequence, self.1.event)
    }
}

/// Where a call stands, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Waiting,
    Sent,
    InDoubt,
    Backoff,
    Ended,
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    pub(super) starts: u32,
    retries: u32,
    pub(super) step: Option<String>,
    pub(super) generation: u64,
    /// The latest attempt was told of doubt.
    pub(super) in_doubt: bool,
    /// Some attempt was.
    pub(super) doubted: bool,
    /// What the backend said of it to this run of the server.
    pub(super) word: Option<Word>,
    /// The latest attempt that has reached the backend.
    pub(super) reached: u32,
    /// It was aborted, and its attempt or question may still be on its way.
    pub(super) cut_off: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) no: BatchNo,
    pub(super) task: TaskNo,
    pub(super) spec: Spec,
    pub(super) log: Vec<Entry>,
    pub(super) calls: Vec<Call>,
    /// Why no further call starts.
    pub(super) causes: Vec<StopReason>,
    /// What was in flight at an interruption is not taken up again either.
    pub(super) closed: bool,
    /// The server was interrupted, and the batch was not taken up yet.
    pub(super) interrupted: bool,
    /// In a row, by what is stored of it.
    pub(super) crashes: u32,
    /// How many calls had ended when that was stored.
    pub(super) ended_calls: usize,
    pub(super) over: bool,
}

impl Track {
    pub(super) fn new(no: BatchNo, task: TaskNo, spec: Spec) -> Self {
        let call = Call {
            place: Place::Waiting,
            starts: 0,
            retries: 0,
            step: None,
            generation: 0,
            in_doubt: false,
            doubted: false,
            word: None,
            reached: 0,
            cut_off: false,
        };
        Self {
            no,
            task,
            calls: vec![call; spec.calls.len()],
            spec,
            log: Vec::new(),
            causes: Vec::new(),
            closed: false,
            interrupted: false,
            crashes: 0,
            ended_calls: 0,
            over: false,
        }
    }

    pub(super) fn call(&self, index: u32) -> (&Call, &CallSpec) {
        (&self.calls[index as usize], &self.spec.calls[index as usize])
    }

    pub(super) fn ended(&self) -> usize {
        self.calls.iter().filter(|call| call.place == Place::Ended).count()
    }

    pub(super) fn idempotency_key(&self, index: u32, generation: u64) -> String {
        if let Some(key) = &self.spec.calls[index as usize].key {
            return keyed_idempotency_key(TENANT, &self.spec.task_id, key, generation);
        }
        unkeyed_idempotency_key(TENANT, self.spec.batch_id.as_deref().expect("batches here have ids"), index)
    }

    /// Whether a call holds a slot, its lane and its key, by the log.
    pub(super) fn runs(&self, index: usize) -> bool {
        match self.calls[index].place {
            Place::Sent | Place::InDoubt | Place::Backoff => true,
            Place::Waiting | Place::Ended => false,
        }
    }

    fn blocked(&self, index: usize) -> bool {
        let calls = &self.spec.calls;
        let sequential = matches!(self.spec.options.mode, Mode::Sequential { .. });
        let before =
            |other: usize| sequential || (calls[other].lane.is_some() && calls[other].lane == calls[index].lane);
        (0..index).any(|other| before(other) && self.calls[other].place != Place::Ended)
    }

    /// Takes in the next entry. `held`: another batch runs a call under this key.
    pub(super) fn observe(&mut self, entry: &Entry, keys: &Keys, held: &dyn Fn(&str) -> bool) {
        let at = &At(self.no, entry);
        assert_eq!(entry.sequence, self.log.len() as u64 + 1, "I13: sequence numbers are without gap: {at}");
        assert!(!self.over, "I14: BatchFinished is the last entry: {at}");
        assert_eq!(matches!(entry.event, Event::BatchStarted), self.log.is_empty(), "I14: one start: {at}");
        let resumes = matches!(entry.event, Event::BatchResumed { .. });
        assert_eq!(resumes, self.interrupted, "I20: a batch goes on with BatchResumed after each crash: {at}");
        match &entry.event {
            Event::BatchStarted => {}
            Event::CallStarted { .. } => self.started(&entry.event, keys, held, at),
            Event::CallRetrying { index, attempt, error, .. } => {
                let bound = self.spec.options.retry.max_attempts;
                assert!(self.causes.is_empty(), "I12: a stopped batch repeats nothing: {at}");
                let call = &mut self.calls[*index as usize];
                assert_eq!((call.place, call.starts), (Place::Sent, *attempt), "I4: what was sent is repeated: {at}");
                call.retries += 1;
                assert!(error.retryable && call.retries < bound, "I4: the policy allows the repeat: {at}");
                call.place = Place::Backoff;
            }
            Event::CallFinished(finished) => self.finished(finished, keys, at),
            Event::BatchResumed { in_doubt } => {
                self.interrupted = false;
                if self.spec.direct {
                    self.causes.push(StopReason::Parked);
                    self.closed = true;
                }
                let flying = |index: &u32| matches!(self.calls[*index as usize].place, Place::Sent | Place::InDoubt);
                let flying: Vec<u32> = (0..).take(self.calls.len()).filter(flying).collect();
                assert_eq!(in_doubt, &flying, "I4: BatchResumed names what was in flight: {at}");
                for call in &mut self.calls {
                    call.word = None;
                }
                for index in flying {
                    self.calls[index as usize].place = Place::InDoubt;
                }
            }
            Event::BatchFinished { status, counts, stop_reason } => self.finish(*status, *counts, *stop_reason, at),
        }
        self.log.push(entry.clone());
    }

    fn started(&mut self, event: &Event, keys: &Keys, held: &dyn Fn(&str) -> bool, at: &At<'_>) {
        let Event::CallStarted { index, step_id, attempt, in_doubt, generation, .. } = event else { return };
        let (call, spec) = self.call(*index);
        let policy = self.spec.options.in_doubt;
        assert_eq!(*attempt, call.starts + 1, "I4: attempts are counted one by one: {at}");
        let doubt = match call.place {
            Place::Sent | Place::Ended => panic!("I4: a call starts again only after a failure or a crash: {at}"),
            Place::InDoubt => {
                assert!(!self.closed, "I12: an ended task's and a parked batch's calls are not repeated: {at}");
                match policy {
                    InDoubtPolicy::Rerun => true,
                    InDoubtPolicy::Fail => panic!("I5: policy FAIL repeats nothing: {at}"),
                    InDoubtPolicy::Lookup => {
                        assert_eq!(call.word, Some(Word::NotLanded), "I5: LOOKUP repeats what did not land: {at}");
                        false
                    }
                }
            }
            Place::Backoff => call.doubted,
            Place::Waiting => {
                assert!(!self.blocked(*index as usize), "I10, I11: lists and lanes run in order: {at}");
                let key = spec.key.as_deref().unwrap_or_default();
                assert!(!held(key), "I1: one call at a time under a key: {at}");
                let record = keys.get(&(self.task, key.to_owned()));
                assert_eq!(*generation, record.map_or(0, |record| record.generation), "I5: the key's generation: {at}");
                match record.map(|record| &record.state) {
                    Some(KeyState::Completed { .. }) => panic!("I1: a completed key runs never again: {at}"),
                    Some(KeyState::Unknown) => match policy {
                        InDoubtPolicy::Rerun => true,
                        InDoubtPolicy::Fail => panic!("I5: policy FAIL runs no unknown key: {at}"),
                        InDoubtPolicy::Lookup => {
                            assert_eq!(call.word, Some(Word::NotLanded), "I5: LOOKUP runs what did not land: {at}");
                            false
                        }
                    },
                    Some(KeyState::Failed) | None => false,
                }
            }
        };
        assert_eq!(*in_doubt, doubt, "I5: in_doubt tells whether an earlier attempt may have landed: {at}");
        let goes_on = call.place == Place::InDoubt;
        assert!(self.causes.is_empty() || goes_on, "I12: nothing starts after {:?}: {at}", self.causes);
        let call = &mut self.calls[*index as usize];
        let step = step_id.to_string();
        assert_eq!(call.step.get_or_insert(step.clone()), &step, "I4: a call's attempts are one step: {at}");
        if call.place != Place::Waiting {
            assert_eq!(call.generation, *generation, "I5: a call's attempts share their idempotency key: {at}");
        }
        (call.place, call.starts, call.generation) = (Place::Sent, *attempt, *generation);
        (call.in_doubt, call.doubted) = (*in_doubt, call.doubted || *in_doubt);
        let width = match self.spec.options.mode {
            Mode::Sequential { .. } => 1,
            Mode::Parallel { max_concurrency } => max_concurrency as usize,
        };
        let running = (0..self.calls.len()).filter(|index| self.runs(*index)).count();
        assert!(running <= width, "I10: {running} at once where {width} may be: {at}");
    }

    fn finished(&mut self, finished: &CallFinished, keys: &Keys, at: &At<'_>) {
        let (call, spec) = self.call(finished.index);
        assert_ne!(call.place, Place::Ended, "I14: a call ends once: {at}");
        assert_eq!(finished.attempts, call.starts, "I14: attempts counts every CallStarted: {at}");
        if let Some(step) = &call.step {
            assert_eq!(step, &finished.step_id.to_string(), "I14: a call ends as the step it began: {at}");
        }
        if call.place == Place::Waiting {
            assert!(!self.blocked(finished.index as usize), "I10, I11: a call ends in its turn: {at}");
        }
        let record = spec.key.as_ref().and_then(|key| keys.get(&(self.task, key.to_string())));
        let closed = self.closed || self.spec.options.in_doubt == InDoubtPolicy::Fail;
        if let (Place::InDoubt, true, None, Ending::Failed(error)) = (call.place, closed, call.word, &finished.ending) {
            let in_doubt = [Reason::InDoubt, Reason::Cancelled].contains(&error.reason);
            assert!(in_doubt && error.outcome_unknown, "I5: what is not repeated is left unknown: {at}");
        }
        if let Ending::Skipped { .. } = &finished.ending {
            let record = record.unwrap_or_else(|| panic!("I1: what is done is skipped: {at}"));
            assert!(matches!(record.state, KeyState::Completed { .. }), "I1: what is done is skipped: {at}");
            assert_eq!((call.starts, record.step_id), (0, finished.step_id), "I1: the step that ran it: {at}");
        } else if let Some(key) = &spec.key {
            key_is_told(finished, record, key, at);
        }
        match &finished.ending {
            Ending::Failed(_) if self.spec.options.stop_on_error => self.causes.push(StopReason::CallFailed),
            Ending::Awaiting { .. } => self.causes.push(StopReason::AwaitingReview),
            Ending::Failed(_) | Ending::Completed { .. } | Ending::Skipped { .. } => {}
        }
        let aborted = |error: &CallError| error.reason == Reason::Cancelled && error.outcome_unknown;
        let call = &mut self.calls[finished.index as usize];
        call.place = Place::Ended;
        call.cut_off = matches!(&finished.ending, Ending::Failed(error) if aborted(error));
    }

    fn finish(&mut self, status: BatchStatus, counts: Counts, stop_reason: Option<StopReason>, at: &At<'_>) {
        let total = self.calls.len();
        let mut expected = Counts { total: u32::try_from(total).expect("few"), ..Counts::default() };
        assert!((0..total).all(|index| !self.runs(index)), "I14: a batch ends after its calls: {at}");
        for entry in &self.log {
            if let Event::CallFinished(finished) = &entry.event {
                *match finished.ending {
                    Ending::Completed { .. } => &mut expected.completed,
                    Ending::Awaiting { .. } => &mut expected.awaiting,
                    Ending::Skipped { .. } => &mut expected.skipped,
                    Ending::Failed(_) => &mut expected.failed,
                } += 1;
            }
        }
        expected.waiting = u32::try_from(total - self.ended()).expect("few");
        assert_eq!(counts, expected, "I14: the counts add up: {at}");
        let by_rule = if counts.completed + counts.skipped == counts.total {
            BatchStatus::Completed
        } else if counts.failed + counts.waiting == counts.total {
            BatchStatus::Failed
        } else {
            BatchStatus::Partial
        };
        assert_eq!(status, by_rule, "I14: the status follows from the counts: {at}");
        match stop_reason {
            None => assert_eq!(counts.waiting, 0, "I14: calls are left out for a reason: {at}"),
            Some(reason) => {
                assert!(counts.waiting > 0 && self.causes.contains(&reason), "I14: of {:?}: {at}", self.causes);
            }
        }
        self.over = true;
    }
}

/// A call's end is on its key's record, in the same commit.
fn key_is_told(finished: &CallFinished, record: Option<&KeyRecord>, key: &str, at: &At<'_>) {
    let expected = match &finished.ending {
        Ending::Completed { result } => KeyState::Completed { result_bytes: result.bytes, await_id: None },
        Ending::Awaiting { await_id, result } => {
            KeyState::Completed { result_bytes: result.bytes, await_id: Some(await_id.clone()) }
        }
        Ending::Failed(error) if error.outcome_unknown && finished.attempts == 0 => {
            let unknown = record.is_some_and(|record| record.state == KeyState::Unknown);
            return assert!(unknown, "I5: what was not sent leaves key {key} as it was: {at}");
        }
        Ending::Failed(error) if error.outcome_unknown => KeyState::Unknown,
        Ending::Failed(_) => KeyState::Failed,
        Ending::Skipped { .. } => return,
    };
    let found = record.map(|record| (&record.state, record.step_id));
    assert_eq!(found, Some((&expected, finished.step_id)), "I1: key {key} knows how its call ended: {at}");
}
