//! The core's one entry point: inputs in, facts and wishes out.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
    sync::Arc,
    time::Duration,
};

use super::{
    event::{Entry, Now, StepId, StopReason},
    gate::Gates,
    key::KeyRecord,
    keys::Keys,
    live::Live,
    outcome::{Fate, Outcome},
    spec::Spec,
    state::State,
    step::StepRecord,
    tools::{Target, Tools},
};

/// A task's number: rises, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskNo(pub u64);

/// A batch's number, over all tasks: rises, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchNo(pub u64);

/// One call of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallRef {
    /// Whose.
    pub batch: BatchNo,
    /// Which, from 0.
    pub index: u32,
}

/// Gives out step ids, each greater than the one before.
pub trait StepIds {
    /// The next id.
    fn next(&mut self) -> StepId;
}

/// What a step may look at.
pub struct Context<'a> {
    /// The time.
    pub now: Now,
    /// Where step ids come from.
    pub ids: &'a mut dyn StepIds,
    /// What the tools are now.
    pub tools: &'a dyn Tools,
}

/// What can happen to the core.
#[derive(Clone, Debug)]
pub enum Input {
    /// A batch was accepted.
    Start(Begin),
    /// What an earlier run of the server left unfinished is taken up again: all batches in one input, since what their running
    /// calls hold must be known before any other call starts.
    Resume(Vec<Resumed>),
    /// An attempt has ended.
    Outcome {
        /// Whose.
        batch: BatchNo,
        /// Which call.
        index: u32,
        /// Which attempt; an outcome of any but the latest is dropped.
        attempt: u32,
        /// How.
        outcome: Outcome,
    },
    /// A backend has answered `LookupCall`, or could not.
    Fate {
        /// Whose.
        batch: BatchNo,
        /// Which call.
        index: u32,
        /// The attempt that was asked about.
        attempt: u32,
        /// The answer.
        fate: Fate,
    },
    /// A timer may be due ([`Core::next_due`]).
    Tick,
    /// The tool lists have changed.
    ToolsChanged,
    /// No further call of the batches starts. What ends with a task is stopped in one input, or what one batch gives back would be
    /// taken up by another that is yet to hear of it.
    Stop {
        /// Which batches.
        batches: Vec<BatchNo>,
        /// Why.
        reason: StopReason,
        /// Calls that are running are cut off; they fail with `outcome_unknown`.
        abort: bool,
    },
    /// Somebody found out what became of a key that nothing runs under ([`Core::runs_under`]).
    KeySettled {
        /// The task.
        task: TaskNo,
        /// The key.
        key: Arc<str>,
        /// What is on record from now on.
        record: KeyRecord,
    },
    /// The server is about to stop: no further call or attempt starts, in any batch; running ones finish.
    Drain,
}

/// A batch that goes live.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Its number.
    pub batch: BatchNo,
    /// Its task's number, the scope of its keys.
    pub task: TaskNo,
    /// The tenant, which is part of idempotency keys.
    pub tenant: Arc<str>,
    /// Its id, which is part of unkeyed calls' idempotency keys.
    pub batch_id: Arc<str>,
    /// What it is.
    pub spec: Arc<Spec>,
    /// What is stored for those of its keys that [`Core::knows_key`] denies.
    pub keys: Vec<(Arc<str>, KeyRecord)>,
}

/// A batch that an interruption left unfinished.
#[derive(Clone, Debug)]
pub struct Resumed {
    /// The batch.
    pub begin: Begin,
    /// The fold over its log.
    pub state: State,
    /// It was told to stop before the interruption, or is not to go on after it.
    pub stop: Option<StopReason>,
}

/// The facts and wishes of one or more steps. The facts must be durable before a wish is carried out or anyone is told.
#[derive(Debug, Default)]
pub struct Output {
    /// New log entries, in order.
    pub entries: Vec<(BatchNo, Entry)>,
    /// Steps that are new or have changed, in order.
    pub steps: Vec<(BatchNo, StepRecord)>,
    /// Keys whose record has changed, in order.
    pub keys: Vec<KeyChange>,
    /// What is to be done now.
    pub effects: Vec<Effect>,
}

/// A key's record that is new or has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyChange {
    /// The key's task.
    pub task: TaskNo,
    /// Its name.
    pub key: Arc<str>,
    /// What is on record from now on.
    pub record: KeyRecord,
    /// Nothing was on record before, for certain.
    pub is_first: bool,
}

/// A wish of the core.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send an attempt; answer with [`Input::Outcome`], exactly once.
    Send(Attempt),
    /// Ask the backend what became of an attempt; answer with [`Input::Fate`], exactly once.
    Lookup(Attempt),
    /// Cut an attempt off; its outcome will not count.
    Abort {
        /// Whose.
        batch: BatchNo,
        /// Which call.
        index: u32,
    },
}

/// One attempt of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Whose.
    pub batch: BatchNo,
    /// Which call.
    pub index: u32,
    /// From 1; 0 in a lookup for a call that this batch has not sent.
    pub attempt: u32,
    /// The call's step.
    pub step_id: StepId,
    /// Where it goes.
    pub target: Target,
    /// Names the logical call towards the backend.
    pub idempotency_key: String,
    /// An earlier attempt may have taken effect.
    pub in_doubt: bool,
    /// It follows an interruption: its backend may still be starting.
    pub resumed: bool,
}

/// All live batches. Single-owned: the engine's loop feeds it, and so does a test.
#[derive(Debug, Default)]
pub struct Core {
    pub(super) batches: BTreeMap<BatchNo, Live>,
    pub(super) keys: Keys,
    /// When calls in backoff, or calls that wait for their tool or their backend to appear, are due. Stale entries are passed over.
    pub(super) timers: BinaryHeap<Reverse<(Duration, BatchNo, u32)>>,
    /// What backends take, and who waits for them.
    pub(super) gates: Gates,
    /// Calls that wait for their tool to appear.
    pub(super) resolving: BTreeSet<(BatchNo, u32)>,
    /// Batches to look over before the step ends.
    pub(super) dirty: VecDeque<BatchNo>,
    pub(super) draining: bool,
}

impl Core {
    /// Takes in one input. What it brings about is appended to `out`.
    pub fn step(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Start(begin) => self.start(begin, cx, out),
            Input::Resume(batches) => self.resume(batches, cx, out),
            Input::Outcome { batch, index, attempt, outcome } => {
                self.outcome(CallRef { batch, index }, attempt, outcome, cx, out);
            }
            Input::Fate { batch, index, attempt, fate } => self.fate(CallRef { batch, index }, attempt, fate, cx, out),
            Input::Tick => self.tick(cx, out),
            Input::ToolsChanged => self.retry_resolving(cx, out),
            Input::Stop { batches, reason, abort } => self.stop(&batches, reason, abort, cx, out),
            Input::KeySettled { task, key, record } => self.put_key(task, key, record, out),
            Input::Drain => self.draining = true,
        }
        loop {
            while let Some(batch) = self.dirty.pop_front() {
                self.look_over(batch, cx, out);
            }
            if !self.open_gates(cx, out) {
                return;
            }
        }
    }

    /// When [`Input::Tick`] is next wanted, by the monotonic clock.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        if self.draining {
            return None;
        }
        let timer = self.timers.peek().map(|Reverse((due, _, _))| *due);
        timer.into_iter().chain(self.gates.next_due()).min()
    }

    /// Whether the core's record of a key is newer than the disk's, because a live batch names it.
    #[must_use]
    pub fn knows_key(&self, task: TaskNo, key: &Arc<str>) -> bool {
        self.keys.knows(task, key)
    }

    /// The core's record of a key that it knows.
    #[must_use]
    pub fn key_record(&self, task: TaskNo, key: &Arc<str>) -> Option<&KeyRecord> {
        self.keys.record(task, key)
    }

    /// A live batch's spec and state.
    #[must_use]
    pub fn batch(&self, batch: BatchNo) -> Option<(&Arc<Spec>, &State)> {
        self.batches.get(&batch).map(|live| (&live.spec, &live.state))
    }

    /// Why no further call of a live batch starts, if none does.
    #[must_use]
    pub fn stop_reason(&self, batch: BatchNo) -> Option<StopReason> {
        self.batches.get(&batch)?.stop_reason()
    }

    /// How many batches are live.
    #[must_use]
    pub fn open_batches(&self) -> usize {
        self.batches.len()
    }

    /// Whether an attempt is under way anywhere: what a draining server waits for.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.batches.values().any(Live::is_busy)
    }
}
