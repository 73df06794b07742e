//! The keys that calls run under at this moment.

use std::sync::Arc;

use super::{
    core::{Core, TaskNo},
    event::{StepId, Timestamp},
};

/// A key that a call runs under.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningKey {
    /// Its name.
    pub key: Arc<str>,
    /// The call's step, or, while nothing of it was sent, the step of the call before it.
    pub step_id: Option<StepId>,
    /// What that step's tool resolved to; empty without one.
    pub base_tool: String,
    /// What the idempotency key is derived from.
    pub generation: u64,
    /// When that step's first attempt was about to leave, or the call before ended.
    pub time: Option<Timestamp>,
}

impl Core {
    /// Whether a call runs under the key.
    #[must_use]
    pub fn runs_under(&self, task: TaskNo, key: &Arc<str>) -> bool {
        self.keys.holder(task, key).is_some()
    }

    /// The keys of a task that calls run under.
    #[must_use]
    pub fn running_keys(&self, task: TaskNo) -> Vec<RunningKey> {
        let mut found = Vec::new();
        for (batch, live) in self.batches.iter().filter(|(_, live)| live.task == task) {
            for (index, call) in (0..).zip(&live.spec.calls) {
                let Some(key) = &call.key else { continue };
                if self.keys.holder(task, key) != Some((*batch, index)) {
                    continue;
                }
                let (step_id, base_tool, generation, time) = match (live.running(index), self.keys.record(task, key)) {
                    (Some(running), _) => {
                        (Some(running.step_id), &*running.base_tool, running.generation, Some(running.start_time))
                    }
                    (None, Some(record)) => {
                        (Some(record.step_id), &*record.base_tool, record.generation, Some(record.update_time))
                    }
                    (None, None) => (None, "", 0, None),
                };
                found.push(RunningKey { key: key.clone(), step_id, base_tool: base_tool.into(), generation, time });
            }
        }
        found
    }
}
