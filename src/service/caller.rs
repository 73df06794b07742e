//! Who calls (R12), and what they may do.

use std::sync::Arc;

use tonic::{Request, Status};

use super::status;
use crate::{
    config::{self, DEFAULT_TENANT},
    dispatch::{EXECUTE_TOOL_BATCH, ToolLists},
    json,
};

/// The metadata by which operators name a tenant.
pub(super) const TENANT_HEADER: &str = "toolbatch-tenant";

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Principal {
    /// Nobody is asked: agent and operator in one.
    Anyone,
    /// An agent, which acts as itself in its tenant.
    Agent {
        /// As the configuration names it.
        id: Arc<str>,
        /// Whose tasks it shares.
        tenant: Arc<str>,
    },
    /// An operator, who may act for any agent of any tenant.
    Operator(Arc<str>),
}

impl Principal {
    /// The caller that a principal is in the tenant that its request names.
    pub(super) fn within(self, named: Option<&str>) -> Result<Caller, Status> {
        let tenant = match &self {
            Self::Agent { tenant, .. } if named.is_none_or(|named| named == &**tenant) => Arc::clone(tenant),
            Self::Agent { id, tenant } => {
                let message = format!(
                    "{TENANT_HEADER} names another tenant than {tenant}, which agent {id:?} belongs to: leave it out"
                );
                return Err(status::denied("TENANT_NOT_YOURS", &message));
            }
            Self::Anyone if named.is_some_and(|named| named != DEFAULT_TENANT) => {
                return Err(status::invalid(
                    TENANT_HEADER,
                    format!(
                        "names a tenant, but this server asks nobody for a token and so has {DEFAULT_TENANT:?} alone: \
                         leave it out, or configure agents and operators"
                    ),
                ));
            }
            Self::Anyone | Self::Operator(_) => {
                let named = config::tenant(named.unwrap_or(DEFAULT_TENANT));
                named.map_err(|fault| status::invalid(TENANT_HEADER, fault))?.into()
            }
        };
        Ok(Caller { principal: self, tenant })
    }
}

/// Who sent a request, and whose things it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    principal: Principal,
    tenant: Arc<str>,
}

impl Caller {
    /// Who sent a request.
    pub(super) fn of<T>(request: &Request<T>) -> Result<Self, Status> {
        // The layer in front put it there; what did not come past it is nobody's.
        request.extensions().get().cloned().ok_or_else(status::unauthenticated)
    }

    /// The tenant that everything in the request belongs to: what belongs to another is not there for it.
    pub(super) fn tenant(&self) -> Arc<str> {
        Arc::clone(&self.tenant)
    }

    /// The agent that calls, where one does and is known by its token.
    pub(super) fn agent(&self) -> Option<&Arc<str>> {
        match &self.principal {
            Principal::Agent { id, .. } => Some(id),
            Principal::Anyone | Principal::Operator(_) => None,
        }
    }

    /// How records name them.
    pub(super) fn name(&self) -> &str {
        match &self.principal {
            Principal::Anyone => "local",
            Principal::Agent { id, .. } | Principal::Operator(id) => id,
        }
    }

    /// The agent that they act for, given the one that the request names.
    pub(super) fn acts_for(&self, lists: &ToolLists, named: &str) -> Result<String, Status> {
        match &self.principal {
            Principal::Agent { id, .. } if named.is_empty() || named == &**id => Ok(id.to_string()),
            Principal::Agent { id, .. } => {
                let named = json::quote(named);
                let message =
                    format!("agent_id {named} arrived; agent {id:?} acts for itself alone: leave agent_id empty");
                Err(status::denied("AGENT_NOT_YOURS", &message))
            }
            Principal::Anyone | Principal::Operator(_) if named.is_empty() || lists.knows(&self.tenant, named) => {
                Ok(named.to_owned())
            }
            Principal::Anyone | Principal::Operator(_) => {
                let (named, tenant) = (json::quote(named), &self.tenant);
                Err(status::invalid(
                    "agent_id",
                    format!("{named} is no agent of the tenant {tenant} in the configuration"),
                ))
            }
        }
    }

    /// Refuses whoever is no operator what the path names.
    pub(super) fn must_be_operator(&self, path: &str) -> Result<(), Status> {
        match &self.principal {
            Principal::Anyone | Principal::Operator(_) => Ok(()),
            Principal::Agent { id, .. } => {
                let rpc = path.rsplit('/').next().map(json::quote).unwrap_or_default();
                Err(status::denied("OPERATORS_ONLY", &format!("{rpc} is for operators; {id:?} is an agent")))
            }
        }
    }
}

/// Whether the agent may run batches: not unless its list says so (R3).
pub(super) fn may_run_batches(lists: &ToolLists, agent_id: &str) -> Result<(), Status> {
    if lists.allows(agent_id, EXECUTE_TOOL_BATCH) {
        return Ok(());
    }
    let message = format!(
        "agent {agent_id:?} may not run batches: {EXECUTE_TOOL_BATCH} is not in its tool list; an operator can add it"
    );
    Err(status::denied("BATCHES_NOT_ALLOWED", &message))
}
