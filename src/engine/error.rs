//! Why the engine cannot do what it was asked to.

use crate::{batch::state::Misfit, dispatch, json, store};

/// Why the engine cannot do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such thing, or it belongs to another tenant: nobody can tell which.
    #[error("there is no {kind} {}", json::quote(id))]
    NotFound {
        /// "batch", "step", "task", "key" or "backend".
        kind: &'static str,
        /// What was asked for.
        id: String,
    },
    /// The batch id is taken, by a batch with another content or by a step.
    #[error(
        "batch_id {batch_id:?} is taken by {by}: choose another id, or send the same content to attach to the batch"
    )]
    AlreadyExists {
        /// The id.
        batch_id: String,
        /// By what.
        by: &'static str,
    },
    /// Nothing new is taken in an ended task.
    #[error("task {task_id:?} has ended: go on in another task")]
    TaskEnded {
        /// The task.
        task_id: String,
    },
    /// Only a key whose outcome is unknown can be settled.
    #[error("key {key:?} is {is}: only a key whose outcome is unknown can be settled")]
    KeyNotUnknown {
        /// The key.
        key: String,
        /// What it is instead.
        is: &'static str,
    },
    /// A reader asks for what comes after an entry that is not there.
    #[error(
        "after_sequence is {after}, but the batch's last event so far is {last}: send the sequence of the last event received"
    )]
    PastTheEnd {
        /// What was asked for.
        after: u64,
        /// The last there is.
        last: u64,
    },
    /// As many batches run as may.
    #[error("limits.open_batches = {most} is reached")]
    TooManyOpen {
        /// How many that is.
        most: usize,
    },
    /// As many batches of one agent run as may.
    #[error("agent {agent:?} has limits.agent_open_batches = {most} unfinished batches")]
    AgentHasTooMany {
        /// Which agent.
        agent: String,
        /// How many that is.
        most: usize,
    },
    /// A backend is not registered, or not taken out.
    #[error(transparent)]
    Backend(#[from] dispatch::Refusal),
    /// The server is about to stop: try again in a moment.
    #[error("the server is stopping: try again in a moment")]
    Stopping,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl From<Misfit> for Error {
    fn from(misfit: Misfit) -> Self {
        Self::Store(store::Error::Damaged(format!("a batch's log: {misfit}")))
    }
}
