//! The tools' side of a world: what names come to at the moment, and the journal of what really ran.

use uuid::Uuid;

use super::plan::{Deed, TOOLS, View};
use crate::batch::{
    core::{Attempt, BatchNo, StepIds, TaskNo},
    event::{CallError, Reason, StepId},
    gate::Limits,
    tools::{Resolution, Target, Tools},
};

/// Ids that rise over all runs of the server.
#[derive(Debug, Default)]
pub(super) struct Ids(u128);

impl StepIds for Ids {
    fn next(&mut self) -> StepId {
        self.0 += 1;
        StepId(Uuid::from_u128(self.0))
    }
}

/// What each of [`TOOLS`] comes to now, and how many calls their backends take at once (0: any number).
#[derive(Clone, Debug)]
pub(super) struct Toolbox(pub(super) Vec<View>, pub(super) u32);

/// The place of a tool's name in [`TOOLS`].
pub(super) fn position(tool: &str) -> usize {
    TOOLS.iter().position(|(name, _)| *name == tool).expect("batches name only these tools")
}

pub(super) fn target(tool: &str) -> Target {
    let base_tool = TOOLS[position(tool)].1.to_owned();
    Target { backend: format!("{base_tool}'s backend"), base_tool, timeout: None }
}

pub(super) fn refusal(reason: Reason, tool: &str) -> CallError {
    CallError {
        reason,
        message: format!("{tool} is refused"),
        outcome_unknown: false,
        retryable: false,
        code: String::new(),
    }
}

/// What a call fails with whose tool does not appear in time.
pub(super) fn absence(tool: &str) -> CallError {
    CallError {
        reason: Reason::BackendUnavailable,
        message: format!("{tool} was never reached"),
        outcome_unknown: false,
        retryable: true,
        code: String::new(),
    }
}

impl Tools for Toolbox {
    fn resolve(&self, _agent_id: &str, tool: &str, _args: &str, _direct: bool) -> Resolution {
        match self.0[position(tool)] {
            View::Ready => Resolution::Ready(target(tool)),
            View::Refused(reason) => Resolution::Refused(refusal(reason, tool)),
            View::NotYet => Resolution::NotYet(absence(tool)),
        }
    }

    fn base_tool(&self, _agent_id: &str, tool: &str) -> String {
        TOOLS[position(tool)].1.to_owned()
    }

    fn limits(&self, _backend: &str) -> Limits {
        Limits { max_concurrency: self.1, ..Limits::default() }
    }
}

/// One line: one execution of one attempt.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) batch: BatchNo,
    pub(super) task: TaskNo,
    pub(super) index: u32,
    pub(super) key: Option<String>,
    pub(super) lane: Option<String>,
    pub(super) attempt: u32,
    pub(super) idempotency_key: String,
    pub(super) in_doubt: bool,
    /// When the server heard of its end, or lost sight of it.
    pub(super) end: Option<u64>,
    pub(super) deed: Deed,
    /// The server has on record how it ended.
    pub(super) heard: bool,
}

/// Everything that ran, in the order it began.
#[derive(Debug, Default)]
pub(super) struct Journal(pub(super) Vec<Execution>);

impl Journal {
    pub(super) fn open(&self) -> impl Iterator<Item = &Execution> {
        self.0.iter().filter(|line| line.end.is_none())
    }

    /// What is true of an attempt when the backend is asked: the effect that came of it, if one did.
    pub(super) fn landed(&self, asked: &Attempt) -> Option<Deed> {
        let mut lines = self.0.iter().rev().filter(|line| line.idempotency_key == asked.idempotency_key);
        lines.find(|line| line.deed.landed()).map(|line| line.deed)
    }

    /// The server hears of the attempt's end, or stops listening.
    pub(super) fn close(&mut self, batch: BatchNo, index: u32, attempt: u32, at: u64) {
        let same = |line: &&mut Execution| line.batch == batch && line.index == index && line.attempt == attempt;
        for line in self.0.iter_mut().filter(same) {
            line.end.get_or_insert(at);
        }
    }

    /// The call is cut off: what runs may go on, but nobody listens any more.
    pub(super) fn abandon(&mut self, batch: BatchNo, index: u32, at: u64) {
        for line in self.0.iter_mut().filter(|line| line.batch == batch && line.index == index) {
            line.end.get_or_insert(at);
        }
    }

    pub(super) fn close_all(&mut self, at: u64) {
        for line in &mut self.0 {
            line.end.get_or_insert(at);
        }
    }
}
