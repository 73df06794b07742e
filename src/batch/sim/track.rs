//! One batch as its log shows it, and the rules that each further entry must keep. Written from the rules, not from the core: it
//! shares nothing with `State`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{
    backend::{absence, refusal, target},
    check::Seen,
    plan::View,
};
use crate::batch::{
    core::{BatchNo, Input, TaskNo},
    event::{
        BatchStatus, CallError, CallFinished, Ending, Entry, Event, Reason, ResultMark, StepId, StopReason, Timestamp,
    },
    key::{KeyRecord, KeyState},
    outcome::{Fate, Outcome},
    spec::{InDoubtPolicy, Mode, Spec},
    state::State,
    summary::Counts,
};

/// Where a call stands, as the log has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Waiting,
    /// Under way.
    Sent,
    /// It was under way when the server was interrupted.
    InDoubt,
    Backoff,
    Ended,
}

/// A backend's word on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Landed,
    NotLanded,
}

/// One call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    pub(super) starts: u32,
    pub(super) retries: u32,
    /// How often it was under way at an interruption.
    pub(super) interruptions: u32,
    pub(super) step: Option<StepId>,
    pub(super) first_start: Timestamp,
    pub(super) generation: u64,
    /// Some attempt of it was told of doubt.
    pub(super) in_doubt: bool,
    /// How its latest attempt failed, while it is in backoff.
    pub(super) failure: Option<CallError>,
    /// When its next attempt is due, in the world's time. Known only to the run of the server that set it.
    pub(super) due: Option<u64>,
    /// The attempt that its backend is being asked about.
    pub(super) asking: Option<u32>,
    /// How the answer that is being asked about got lost, if this run of the server saw that.
    pub(super) lost: Option<CallError>,
    /// What the backend said of the latest attempt, until the call is sent again. Nobody but this call knows it.
    pub(super) word: Option<Word>,
    /// This run of the server found it under way.
    pub(super) resumed: bool,
    pub(super) end: Option<CallFinished>,
}

/// One batch.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) batch: BatchNo,
    pub(super) task: TaskNo,
    pub(super) spec: Arc<Spec>,
    pub(super) log: Vec<Entry>,
    /// The fold that the core shares with recovery.
    pub(super) state: State,
    pub(super) calls: Vec<Call>,
    /// What is on record beside the log: it was told to stop.
    pub(super) stop: Option<StopReason>,
    /// Why no further call may start.
    pub(super) cause: Option<StopReason>,
    /// The same, as far as the log alone shows it.
    logged_cause: Option<StopReason>,
    inlined: u64,
    pub(super) over: bool,
}

/// What a rule about keys needs to know of all batches.
pub(super) struct Surroundings<'a> {
    pub(super) records: &'a HashMap<(TaskNo, Arc<str>), KeyRecord>,
    /// Whether a call of another batch is under way under the key, in doubt, or in backoff.
    pub(super) held: &'a dyn Fn(&Arc<str>) -> bool,
    /// By idempotency key: an attempt may have taken effect, and nobody knows.
    pub(super) doubts: &'a HashMap<String, bool>,
    pub(super) idempotency_key: &'a dyn Fn(u32, u64) -> String,
    /// All steps so far.
    pub(super) used: &'a HashSet<StepId>,
}

impl Track {
    pub(super) fn new(batch: BatchNo, task: TaskNo, spec: Arc<Spec>) -> Self {
        let call = Call {
            place: Place::Waiting,
            starts: 0,
            retries: 0,
            interruptions: 0,
            step: None,
            first_start: Timestamp::default(),
            generation: 0,
            in_doubt: false,
            failure: None,
            due: None,
            asking: None,
            lost: None,
            word: None,
            resumed: false,
            end: None,
        };
        let state = State::new(spec.calls.len(), spec.options.stop_on_error);
        Self {
            batch,
            task,
            calls: vec![call; spec.calls.len()],
            spec,
            log: Vec::new(),
            state,
            stop: None,
            cause: None,
            logged_cause: None,
            inlined: 0,
            over: false,
        }
    }

    /// How many calls may hold a slot.
    pub(super) fn width(&self) -> usize {
        match self.spec.options.mode {
            Mode::Sequential { .. } => 1,
            Mode::Parallel { max_concurrency } => max_concurrency as usize,
        }
    }

    fn sequential(&self) -> bool {
        matches!(self.spec.options.mode, Mode::Sequential { .. })
    }

    /// The calls that hold a slot for certain.
    pub(super) fn running(&self) -> usize {
        self.calls.iter().filter(|call| call.runs()).count()
    }

    /// Whether an earlier call of the same lane, or any earlier one in sequential mode, has not ended.
    pub(super) fn blocked(&self, index: usize) -> bool {
        let lane = &self.spec.calls[index].lane;
        let before = |other: usize| self.sequential() || (lane.is_some() && self.spec.calls[other].lane == *lane);
        (0..index).any(|other| before(other) && self.calls[other].place != Place::Ended)
    }

    /// Takes in the next entry of the log. Panics where it breaks a rule.
    pub(super) fn observe(&mut self, entry: &Entry, seen: &Seen<'_>, around: &Surroundings<'_>) {
        let at = format!("batch {} entry {}", self.batch.0, entry.sequence);
        assert_eq!(entry.sequence, self.log.len() as u64 + 1, "sequence numbers are without gap: {at}");
        assert!(!self.over, "BatchFinished is the last entry: {at} is {:?}", entry.event);
        assert_eq!(entry.time, seen.now.wall, "entries bear the time of their step: {at}");
        let first = matches!(entry.event, Event::BatchStarted);
        assert_eq!(
            first,
            self.log.is_empty(),
            "BatchStarted is the first entry and no other: {at} is {:?}",
            entry.event
        );
        match &entry.event {
            Event::BatchStarted => {}
            Event::CallStarted { .. } => self.started(&entry.event, seen, around, &at),
            Event::CallRetrying { .. } => self.retrying(&entry.event, seen, &at),
            Event::CallFinished(finished) => self.finished(finished, seen, around, &at),
            Event::BatchResumed { in_doubt } => self.resumed(in_doubt, seen, &at),
            Event::BatchFinished { status, counts, stop_reason } => self.ended(*status, *counts, *stop_reason, &at),
        }
        let fits = self.state.apply(entry);
        assert_eq!(fits, Ok(()), "the log can be folded: {at}");
        self.log.push(entry.clone());
    }

    fn started(&mut self, event: &Event, seen: &Seen<'_>, around: &Surroundings<'_>, at: &str) {
        let Event::CallStarted { index, step_id, attempt, in_doubt, base_tool, backend, generation } = event else {
            return;
        };
        let place = *index as usize;
        let spec = Arc::clone(&self.spec);
        let (call, wanted) = (&self.calls[place], &spec.calls[place]);
        assert!(!seen.draining, "a draining server starts no attempt: {at}");
        assert!(
            matches!(call.place, Place::Waiting | Place::InDoubt | Place::Backoff),
            "one attempt of a call at a time: {at} starts call {index}, which is {:?}",
            call.place
        );
        assert!(
            self.cause.is_none() || call.place == Place::InDoubt,
            "no CallStarted after the stop ({:?}): {at} starts call {index}, which is {:?}",
            self.cause,
            call.place
        );
        if call.place == Place::InDoubt {
            let policy = spec.options.in_doubt;
            assert_ne!(policy, InDoubtPolicy::Fail, "policy FAIL repeats nothing: {at} call {index}");
            assert_ne!(self.stop, Some(StopReason::TaskEnded), "an ended task's calls are not repeated: {at}");
        }
        assert_eq!(*attempt, call.starts + 1, "attempts are counted one by one: {at} call {index}");
        match call.step {
            Some(step) => assert_eq!(*step_id, step, "all attempts of a call are one step: {at} call {index}"),
            None => assert!(!around.used.contains(step_id), "a new call is a new step: {at} call {index}"),
        }
        if call.place == Place::Waiting {
            assert!(
                !self.blocked(place),
                "lanes and sequential lists run in order, never two at once: {at} call {index}"
            );
            if let Some(key) = &wanted.key {
                let record = around.records.get(&(self.task, key.clone()));
                let completed = record.is_some_and(|record| matches!(record.state, KeyState::Completed { .. }));
                assert!(!completed, "a completed key runs never again: {at} call {index} key {key}");
                assert!(!(around.held)(key), "one key never twice at once: {at} call {index} key {key}");
                let current = record.map_or(0, |record| record.generation);
                assert_eq!(*generation, current, "a call runs under its key's generation: {at} call {index}");
            }
        } else {
            assert_eq!(*generation, call.generation, "attempts share their idempotency key: {at} call {index}");
        }
        let target = target(&wanted.tool);
        assert_eq!((base_tool, backend), (&target.base_tool, &target.backend), "a call goes to its tool: {at}");
        assert_eq!(seen.view(&wanted.tool), View::Ready, "only what is there is called: {at} call {index}");
        let doubt = around.doubts.get(&(around.idempotency_key)(*index, *generation)).copied().unwrap_or(false);
        let doubt = doubt && call.word != Some(Word::NotLanded);
        assert_eq!(
            *in_doubt, doubt,
            "in_doubt tells exactly whether an earlier attempt may have landed: {at} call {index}"
        );
        if let Some(due) = call.due {
            assert!(
                seen.time >= due,
                "a retry waits out its backoff: {at} call {index} left {} early",
                due - seen.time
            );
        }
        let call = &mut self.calls[place];
        if call.place == Place::Waiting {
            call.first_start = seen.now.wall;
        }
        (call.place, call.starts, call.step) = (Place::Sent, *attempt, Some(*step_id));
        (call.generation, call.in_doubt) = (*generation, call.in_doubt || *in_doubt);
        (call.failure, call.due) = (None, None);
        let running = self.running();
        assert!(running <= self.width(), "at most max_concurrency at once: {at} makes it {running}");
    }

    fn retrying(&mut self, event: &Event, seen: &Seen<'_>, at: &str) {
        let Event::CallRetrying { index, step_id, attempt, error, retry_time } = event else { return };
        let policy = self.spec.options.retry;
        let call = &mut self.calls[*index as usize];
        assert_eq!(call.place, Place::Sent, "only a sent attempt is repeated by the policy: {at} call {index}");
        assert_eq!((Some(*step_id), *attempt), (call.step, call.starts), "CallRetrying names the attempt: {at}");
        assert!(call.retries + 1 < policy.max_attempts, "attempts are bounded by the policy: {at} call {index}");
        assert!(error.retryable, "only what can succeed is repeated: {at} call {index}");
        assert!(self.cause.is_none(), "a stopped batch repeats nothing: {at} call {index}");
        let mut wait = policy.initial_backoff.as_secs_f64();
        for _ in 0..call.retries {
            wait *= policy.backoff_multiplier;
        }
        let wait = Duration::from_secs_f64(wait).min(policy.max_backoff);
        let found = Duration::from_nanos(u64::try_from(retry_time.0 - seen.now.wall.0).expect("backoffs lie ahead"));
        assert!(
            found.abs_diff(wait) < Duration::from_micros(1),
            "backoff grows as agreed: {at}: {found:?} for {wait:?}"
        );
        call.retries += 1;
        call.place = Place::Backoff;
        call.failure = Some(error.clone());
        call.due = Some(seen.time + u64::try_from(found.as_nanos()).expect("backoffs are short"));
        (call.asking, call.lost) = (None, None);
    }

    fn resumed(&mut self, in_doubt: &[u32], seen: &Seen<'_>, at: &str) {
        assert!(matches!(seen.input, Input::Resume(_)), "BatchResumed stands for a restart: {at}");
        let sent = |call: &Call| matches!(call.place, Place::Sent | Place::InDoubt);
        let in_flight: Vec<u32> =
            (0..).zip(&self.calls).filter(|(_, call)| sent(call)).map(|(index, _)| index).collect();
        assert_eq!(in_doubt, in_flight, "BatchResumed names exactly the calls in flight: {at}");
        for index in in_doubt {
            let call = &mut self.calls[*index as usize];
            (call.place, call.resumed) = (Place::InDoubt, true);
            call.interruptions += 1;
        }
    }

    fn finished(&mut self, finished: &CallFinished, seen: &Seen<'_>, around: &Surroundings<'_>, at: &str) {
        let place = finished.index as usize;
        let call = &self.calls[place];
        assert_ne!(call.place, Place::Ended, "a call ends once: {at} call {place}");
        assert_eq!(finished.attempts, call.starts, "attempts counts every CallStarted: {at} call {place}");
        let begin = if call.starts > 0 { call.first_start } else { seen.now.wall };
        let nanos = u64::try_from(seen.now.wall.0 - begin.0).unwrap_or(0);
        assert_eq!(finished.duration, Duration::from_nanos(nanos), "the duration runs from the first attempt: {at}");
        let skips = matches!(finished.ending, Ending::Skipped { .. });
        if let Some(step) = call.step {
            assert_eq!(finished.step_id, step, "a call ends as the step it began: {at} call {place}");
        } else {
            let used = around.used.contains(&finished.step_id);
            assert_eq!(used, skips, "a new call is a new step, a skipped one an old one: {at} call {place}");
        }
        if call.place == Place::Waiting {
            assert!(!self.blocked(place), "a call ends in its turn: {at} call {place}");
            assert!(
                self.cause.is_none() || call.asking.is_some(),
                "what was not begun is not run after a stop: {at} call {place}"
            );
        }
        match &finished.ending {
            Ending::Completed { result } | Ending::Awaiting { result, .. } => {
                let heard = seen.heard(self.batch, finished.index);
                assert_eq!(heard, Some(result.bytes), "a result is what the tool answered: {at} call {place}");
                self.inlines(*result, at);
            }
            Ending::Failed(error) => self.failed(place, error, seen, around, at),
            Ending::Skipped { .. } => self.skipped(finished, seen, around, at),
        }
        let cause = match &finished.ending {
            Ending::Awaiting { .. } => Some(StopReason::AwaitingReview),
            Ending::Failed(_) if self.spec.options.stop_on_error => Some(StopReason::CallFailed),
            Ending::Failed(_) | Ending::Completed { .. } | Ending::Skipped { .. } => None,
        };
        self.logged_cause = self.logged_cause.or(cause);
        self.cause = self.cause.or(cause);
        let call = &mut self.calls[place];
        call.place = Place::Ended;
        (call.failure, call.due, call.asking, call.lost) = (None, None, None, None);
        call.end = Some(finished.clone());
    }

    fn failed(&self, place: usize, error: &CallError, seen: &Seen<'_>, around: &Surroundings<'_>, at: &str) {
        let (call, spec) = (&self.calls[place], &self.spec.calls[place]);
        assert!(error.message.len() <= 2 * 1_024, "messages are cut at 2 KiB in events: {at}");
        if let (Place::Backoff, Some(_)) = (call.place, self.cause) {
            let last = call.failure.as_ref();
            assert_eq!(Some(error), last, "a call in backoff at a stop ends with its last failure: {at} call {place}");
        }
        let record = spec.key.as_ref().and_then(|key| around.records.get(&(self.task, key.clone())));
        let unknown = record.is_some_and(|record| record.state == KeyState::Unknown);
        if call.starts == 0 && unknown && call.word.is_none() {
            assert!(error.outcome_unknown, "what was not sent leaves an unknown key unknown: {at} call {place}");
            let differs = record.is_some_and(|record| seen.differs(record, spec));
            if differs || self.spec.options.in_doubt == InDoubtPolicy::Fail {
                assert_eq!(
                    error.reason,
                    Reason::InDoubt,
                    "an unknown key, other args or policy FAIL: {at} call {place}"
                );
            }
        } else if call.starts == 0 {
            let refused = [refusal(error.reason, &spec.tool), absence(&spec.tool)];
            assert!(
                call.word.is_some() || refused.contains(error),
                "a call that was not sent fails by R3 or by doubt: {at} call {place}: {error:?}"
            );
        }
        if let Input::Tick = seen.input
            && call.place != Place::Backoff
            && seen.view(&spec.tool) == View::NotYet
        {
            let wait = if call.resumed { 60 } else { 5 };
            let since = seen.now.mono;
            assert!(
                since >= Duration::from_secs(wait),
                "a call waits {wait} s for its tool: {at}: {since:?} after the start"
            );
        }
    }

    fn skipped(&mut self, finished: &CallFinished, seen: &Seen<'_>, around: &Surroundings<'_>, at: &str) {
        let Ending::Skipped { result, await_id, args_changed } = &finished.ending else { return };
        let place = finished.index as usize;
        let spec = &self.spec.calls[place];
        assert_eq!(self.calls[place].place, Place::Waiting, "only what never ran is skipped: {at}");
        let record = spec.key.as_ref().and_then(|key| around.records.get(&(self.task, key.clone())));
        let record = record.unwrap_or_else(|| panic!("only a key that is done is skipped: {at} call {place}"));
        let KeyState::Completed { result_bytes, await_id: review } = &record.state else {
            panic!("only a key that is done is skipped: {at} call {place}: {record:?}")
        };
        assert_eq!(finished.step_id, record.step_id, "skipped names the step that ran it: {at} call {place}");
        let changed = seen.differs(record, spec);
        assert_eq!(*args_changed, changed, "args_changed tells whether tool or args differ: {at} call {place}");
        if changed {
            assert_eq!((result, await_id), (&None, &None), "another call's result is not shown: {at} call {place}");
        } else {
            let result = result.unwrap_or_else(|| panic!("the original's result is known: {at} call {place}"));
            assert_eq!((result.bytes, await_id), (*result_bytes, review), "the original's result: {at} call {place}");
            self.inlines(result, at);
        }
    }

    fn inlines(&mut self, mark: ResultMark, at: &str) {
        let small = mark.bytes <= 4_095 && self.inlined + mark.bytes <= 262_143;
        let expected = self.spec.options.include_results && small;
        assert_eq!(mark.inlined, expected, "inlining by R6: {at}: {} after {}", mark.bytes, self.inlined);
        if mark.inlined {
            self.inlined += mark.bytes;
        }
    }

    fn ended(&mut self, status: BatchStatus, counts: Counts, stop_reason: Option<StopReason>, at: &str) {
        let mut expected = Counts { total: u32::try_from(self.calls.len()).unwrap(), ..Counts::default() };
        for (index, call) in (0..).zip(&self.calls) {
            match &call.end {
                None => {
                    assert_eq!(call.place, Place::Waiting, "a batch ends after its calls: {at} call {index}");
                    assert_eq!(call.asking, None, "a batch ends after its questions: {at} call {index}");
                    expected.waiting += 1;
                }
                Some(end) => {
                    assert_eq!(end.index, index, "results stand by index: {at}");
                    let folded = self.state.calls[index as usize].finished();
                    assert_eq!(folded, Some(end), "the summary has what the events had: {at} call {index}");
                    *match end.ending {
                        Ending::Completed { .. } => &mut expected.completed,
                        Ending::Awaiting { .. } => &mut expected.awaiting,
                        Ending::Failed(_) => &mut expected.failed,
                        Ending::Skipped { .. } => &mut expected.skipped,
                    } += 1;
                }
            }
        }
        assert_eq!(counts, expected, "the counts add up: {at}");
        let by_rule = if expected.completed + expected.skipped == expected.total {
            BatchStatus::Completed
        } else if expected.failed + expected.waiting == expected.total {
            BatchStatus::Failed
        } else {
            BatchStatus::Partial
        };
        assert_eq!(status, by_rule, "the status by R7: {at}: {counts:?}");
        assert!(expected.waiting == 0 || self.cause.is_some(), "calls are left out for a reason: {at}");
        let reason = self.cause.filter(|_| expected.waiting > 0);
        assert_eq!(stop_reason, reason, "stop_reason is the first one, where a call was not run: {at}");
        self.over = true;
    }

    /// The server was interrupted: what only it knew is gone.
    pub(super) fn rebooted(&mut self) {
        for call in &mut self.calls {
            (call.due, call.asking, call.lost, call.resumed) = (None, None, None, false);
            call.word = None;
        }
        self.cause = self.stop.or(self.logged_cause);
    }
}

impl Call {
    /// Whether it holds a slot, by the log.
    pub(super) fn runs(&self) -> bool {
        match self.place {
            Place::Sent | Place::InDoubt | Place::Backoff => true,
            Place::Waiting | Place::Ended => false,
        }
    }

    /// What must come of an answer that counts.
    pub(super) fn expects(&self, outcome: &Outcome, spec: &Spec, stopped: bool) -> Expected {
        let tries = self.retries + 1 < spec.options.retry.max_attempts && !stopped;
        let fails = |retryable: bool, outcome_unknown| {
            if retryable && tries { Expected::Retry } else { Expected::Fail { outcome_unknown } }
        };
        match outcome {
            Outcome::Completed { .. } => Expected::Complete,
            Outcome::Awaiting { .. } => Expected::Await,
            Outcome::Failed { retryable, .. } => fails(*retryable, false),
            Outcome::NotSent { reason, .. } => fails(*reason == Reason::BackendUnavailable, self.in_doubt),
            Outcome::Unknown { .. } if spec.options.in_doubt == InDoubtPolicy::Lookup => Expected::Question,
            Outcome::Unknown { .. } => Expected::Fail { outcome_unknown: true },
        }
    }

    /// What must come of a backend's word that counts.
    pub(super) fn expects_of(&self, fate: &Fate, spec: &Spec, stopped: bool) -> Expected {
        match fate {
            Fate::Landed(Outcome::Completed { .. }) => Expected::Complete,
            Fate::Landed(Outcome::Awaiting { .. }) => Expected::Await,
            Fate::Landed(Outcome::Failed { .. }) => Expected::Fail { outcome_unknown: false },
            Fate::Landed(Outcome::NotSent { .. } | Outcome::Unknown { .. }) | Fate::Unknown { .. } => {
                Expected::Fail { outcome_unknown: true }
            }
            Fate::NotLanded if self.lost.is_some() => {
                let tries = self.retries + 1 < spec.options.retry.max_attempts && !stopped;
                if tries { Expected::Retry } else { Expected::Fail { outcome_unknown: false } }
            }
            Fate::NotLanded => Expected::Begin { in_doubt: false },
        }
    }
}

/// What an answer must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Complete,
    Await,
    Fail {
        outcome_unknown: bool,
    },
    Retry,
    Question,
    /// It is sent as soon as its tool is there and the batch still runs.
    Begin {
        in_doubt: bool,
    },
}
