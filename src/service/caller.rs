//! Who calls (R12), and what they may do.

use std::sync::Arc;

use tonic::{Request, Status};

use super::status;
use crate::dispatch::{EXECUTE_TOOL_BATCH, ToolLists};

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Nobody is asked: agent and operator in one.
    Anyone,
    /// An agent, which acts as itself.
    Agent(Arc<str>),
    /// An operator, who may act for any agent.
    Operator(Arc<str>),
}

impl Caller {
    /// Who sent a request.
    pub(super) fn of<T>(request: &Request<T>) -> Result<Self, Status> {
        // The layer in front put it there; what did not come past it is nobody's.
        request.extensions().get().cloned().ok_or_else(|| status::unauthenticated("the request came without a token"))
    }

    /// How records name them.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Anyone => "local",
            Self::Agent(id) | Self::Operator(id) => id,
        }
    }

    /// The agent that they act for, given the one that the request names.
    pub(super) fn acts_for(&self, lists: &ToolLists, named: &str) -> Result<String, Status> {
        match self {
            Self::Agent(id) if named.is_empty() || named == &**id => Ok(id.to_string()),
            Self::Agent(id) => Err(status::denied(
                "AGENT_NOT_YOURS",
                &format!("agent_id {named:?} arrived; agent {id:?} acts for itself alone: leave agent_id empty"),
            )),
            Self::Anyone | Self::Operator(_) if named.is_empty() || lists.knows(named) => Ok(named.to_owned()),
            Self::Anyone | Self::Operator(_) => {
                Err(status::invalid("agent_id", format!("{named:?} is no agent of the configuration")))
            }
        }
    }

    /// Refuses whoever is no operator.
    pub(super) fn must_be_operator(&self, rpc: &str) -> Result<(), Status> {
        match self {
            Self::Anyone | Self::Operator(_) => Ok(()),
            Self::Agent(id) => {
                Err(status::denied("OPERATORS_ONLY", &format!("{rpc} is for operators; {id:?} is an agent")))
            }
        }
    }
}

/// Whether the agent may run batches: not unless its list says so (R3).
pub(super) fn may_run_batches(lists: &ToolLists, agent_id: &str) -> Result<(), Status> {
    let listed = lists.of(agent_id).is_none_or(|list| list.values().any(|tool| tool == EXECUTE_TOOL_BATCH));
    if listed {
        return Ok(());
    }
    let message = format!(
        "agent {agent_id:?} may not run batches: {EXECUTE_TOOL_BATCH} is not in its tool list; an operator can add it"
    );
    Err(status::denied("BATCHES_NOT_ALLOWED", &message))
}
