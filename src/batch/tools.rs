//! The core's view of the tools: what a call's name means at the moment that its turn comes.

use std::time::Duration;

use super::{event::CallError, gate::Limits};

/// Answers from what is known now; never waits.
pub trait Tools {
    /// What `tool`, called by `agent_id` with `args`, comes to (R3): in a batch, or in a direct step, which may call more.
    fn resolve(&self, agent_id: &str, tool: &str, args: &str, direct: bool) -> Resolution;

    /// The base tool that `tool` names for `agent_id`; `tool` itself where it names none. Never refuses: a completed key is
    /// compared before anything of R3 is looked at.
    fn base_tool(&self, agent_id: &str, tool: &str) -> String;

    /// What a backend takes, over all batches; everything, where nobody says.
    fn limits(&self, _backend: &str) -> Limits {
        Limits::default()
    }
}

/// What a call's tool comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Resolution {
    /// It can be sent.
    Ready(Target),
    /// The call fails by R3; nothing is sent.
    Refused(CallError),
    /// Nothing serves it yet, but a configured backend was never reached, so it may come: ask again when the tools change, or
    /// fail with this error after 5 s (60 s for a resumed call).
    NotYet(CallError),
}

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The tool by the name that its backend knows.
    pub base_tool: String,
    /// The backend's name.
    pub backend: String,
    /// The tool's own bound on one attempt.
    pub timeout: Option<Duration>,
}
