//! R1: a request is checked whole, before anything runs. It becomes a [`Spec`], or every rule that it breaks is named.

mod backend;
mod calls;
mod content;
mod direct;
mod duration;
mod fit;
mod options;
mod reference;
mod resolve;
mod task;
mod text;
mod variable;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use crate::{
    batch::spec::Spec,
    engine::variables::Output,
    json,
    proto::{self, execute_batch_request::Source},
};

pub use backend::check_backend;
pub use calls::{MAX_ARGS_BYTES, MAX_KEY_BYTES, MAX_TOOL_BYTES};
pub use content::content_digest;
pub use direct::check_direct;
pub use fit::{Fitted, MAX_STATUS_BYTES, fit};
pub use options::{MAX_ATTEMPTS, MAX_BACKOFF, MAX_CALL_TIMEOUT, MAX_CONCURRENCY, MAX_MULTIPLIER};
pub use resolve::named_output;
pub use task::{MAX_REASON_BYTES, check_end, check_settle};
pub use text::{MAX_AGENT_ID_BYTES, MAX_BATCH_ID_BYTES, MAX_TASK_ID_BYTES};
pub use variable::{Assignment, MAX_VALUE_BYTES, check_variable};

/// The longest description of one violation. The longest that this module writes itself has less; what is cut is text from elsewhere.
const MAX_DESCRIPTION_BYTES: usize = 1024;

/// The longest path of a field, for the same reason.
const MAX_FIELD_BYTES: usize = 256;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field, such as `call_list.calls[3].key`; at most 256 bytes.
    pub field: String,
    /// What arrived, and what is allowed; at most 1 KiB, so that a few always fit into one status.
    pub description: String,
}

impl Violation {
    /// Cuts what is too long.
    #[must_use]
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        let (mut field, mut description) = (field.into(), description.into());
        field.truncate(json::cut(&field, MAX_FIELD_BYTES).len());
        description.truncate(json::cut(&description, MAX_DESCRIPTION_BYTES).len());
        Self { field, description }
    }
}

/// A request that breaks at least one rule of R1 or R2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", fit::message(self))]
pub struct Refusal {
    first: Violation,
    rest: Vec<Violation>,
}

impl Refusal {
    /// A request that breaks one rule.
    #[must_use]
    pub fn new(violation: Violation) -> Self {
        Self { first: violation, rest: Vec::new() }
    }

    /// Every broken rule, in the order of the request's fields; one at least.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> + Clone {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// How many rules are broken; one at least.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + self.rest.len()
    }
}

/// A list of calls and the path by which a client knows it: `call_list.calls`, or `calls_ref` for one that came by reference.
#[derive(Clone, Copy, Debug)]
struct List<'a> {
    /// As they were sent, or as they stood in the variable.
    calls: &'a [proto::ToolCall],
    /// The path of the list; `[3].key` is put behind it.
    field: &'a str,
}

/// Checks a request with the list that it holds itself. One by reference is refused, as if its task had no outputs.
///
/// # Errors
/// Every violation of R1, in the order of the request's fields.
pub fn check(request: &proto::ExecuteBatchRequest) -> Result<Spec, Refusal> {
    check_with_output(request, &Output::default())
}

/// Checks a request, with what its task has under the name that its reference is to.
///
/// # Errors
/// Every violation of R1 and R2, in the order of the request's fields.
pub fn check_with_output(request: &proto::ExecuteBatchRequest, output: &Output) -> Result<Spec, Refusal> {
    match &request.source {
        Some(Source::CallList(list)) => check_with(request, Ok(List { calls: &list.calls, field: "call_list.calls" })),
        Some(Source::CallsRef(text)) => {
            let calls = resolve::calls(text, output);
            check_with(request, calls.as_deref().map(|calls| List { calls, field: "calls_ref" }).map_err(Clone::clone))
        }
        None => check_with(request, Err(no_source())),
    }
}

/// Checks a request with its list already found, or with the reasons why there is none. Where there is none, the rest of the request is
/// checked all the same.
fn check_with(request: &proto::ExecuteBatchRequest, list: Result<List<'_>, Refusal>) -> Result<Spec, Refusal> {
    let mut violations = Violations::default();
    text::check(&mut violations, "task_id", &request.task_id, 1, MAX_TASK_ID_BYTES);
    text::check(&mut violations, "agent_id", &request.agent_id, 0, MAX_AGENT_ID_BYTES);
    text::check(&mut violations, "batch_id", &request.batch_id, 0, MAX_BATCH_ID_BYTES);

    // The options come after the list in the request, but say where its lanes are.
    let mut in_options = Violations::default();
    let unset = proto::BatchOptions::default();
    let (options, path) = options::check(&mut in_options, request.options.as_ref().unwrap_or(&unset));
    let calls = match list {
        Ok(list) => calls::check(&mut violations, list, path.as_ref()),
        Err(Refusal { first, rest }) => {
            violations.0.push(first);
            violations.0.extend(rest);
            Vec::new()
        }
    };
    violations.0.append(&mut in_options.0);

    violations.refuse()?;
    Ok(Spec {
        task_id: request.task_id.clone(),
        agent_id: request.agent_id.clone(),
        batch_id: (!request.batch_id.is_empty()).then(|| request.batch_id.clone()),
        calls,
        options,
        direct: false,
        trace: None,
        content_digest: content_digest(request),
    })
}

/// Checks the key that a call has where it is no call of a list: the one in its context.
#[must_use]
pub fn check_key(field: &str, key: &str) -> Vec<Violation> {
    let mut violations = Violations::default();
    text::check(&mut violations, field, key, 0, MAX_KEY_BYTES);
    violations.0
}

fn no_source() -> Refusal {
    Refusal::new(Violation::new(
        "call_list",
        "neither call_list nor calls_ref arrived; expected a list of 1 to 200 calls in call_list, or in calls_ref a reference to one, \
         such as ${VAR_1}.calls",
    ))
}

/// The violations found so far. A check that finds one goes on with whatever value is at hand: the request is refused, so the value
/// is never seen.
#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    fn add(&mut self, field: impl Into<String>, description: impl Into<String>) {
        self.0.push(Violation::new(field, description));
    }

    fn refuse(self) -> Result<(), Refusal> {
        let mut all = self.0.into_iter();
        match all.next() {
            None => Ok(()),
            Some(first) => Err(Refusal { first, rest: all.collect() }),
        }
    }
}
