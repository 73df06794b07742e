//! All that is wrong with a model's JSON, in one message that it can act on: each fault with its field as the model wrote it, what
//! came, and what is allowed.

use super::BatchTool;
use crate::{
    batch_json::{Problem, Problems},
    json,
    service::check::Violation,
};

/// The most faults that are told: enough to mend a list by, few enough to read. The others are counted.
const TOLD_MAX: usize = 50;
/// What of a reference stands before a place in its list.
const REFERENCE_MAX: usize = 80;

/// Faults, each with its field in the model's own words.
pub(super) struct Faults {
    tool: BatchTool,
    told: Vec<Problem>,
    /// How many of them are of the shape.
    shapes: usize,
    /// How many are not told.
    more: usize,
    /// The shape was not told whole, so nobody knows which of the broken rules merely follow from it.
    shape_cut: bool,
}

impl Faults {
    /// The faults of the shape.
    pub(super) fn new(tool: BatchTool, problems: Problems) -> Self {
        let (shapes, shape_cut) = (problems.told.len(), problems.more > 0);
        Self { tool, told: problems.told, shapes, more: problems.more, shape_cut }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The rules that are broken, but for what only follows from a fault of the shape. `reference` is the one that the list
    /// came by.
    pub(super) fn add<'v>(&mut self, violations: impl IntoIterator<Item = &'v Violation>, reference: Option<&str>) {
        if self.shape_cut {
            return;
        }
        for violation in violations {
            let path = self.path(&violation.field, reference);
            if self.told[..self.shapes].iter().any(|shape| covers(&shape.path, &path)) {
                continue;
            }
            if self.told.len() < TOLD_MAX {
                self.told.push(Problem { path, message: violation.description.clone() });
            } else {
                self.more += 1;
            }
        }
    }

    /// The field of a batch as it stands in the tool's arguments, or beside them.
    fn path(&self, field: &str, reference: Option<&str>) -> String {
        let (list, tool, args) = match self.tool {
            BatchTool::Execute => ("calls", "tool", "args"),
            BatchTool::Invocations => ("invocations", "name", "arguments"),
        };
        if let Some(option) = field.strip_prefix("options.") {
            return option.to_owned();
        }
        let (list, place) = if let Some(place) = field.strip_prefix("call_list.calls") {
            (list, place)
        } else if let Some(place) = field.strip_prefix("calls_ref") {
            // A place in the list is one in the variable that the reference leads to.
            let found_at = reference.filter(|_| !place.is_empty()).unwrap_or(list);
            (json::cut(found_at, REFERENCE_MAX), place)
        } else if field == "call_list" {
            (list, "")
        } else if ["task_id", "agent_id"].contains(&field) {
            return format!("context.{field}");
        } else {
            return field.to_owned();
        };
        match place.rsplit_once('.') {
            Some((index, "args_json")) => format!("{list}{index}.{args}"),
            Some((index, "tool")) => format!("{list}{index}.{tool}"),
            Some(_) | None => format!("{list}{place}"),
        }
    }

    /// The message.
    pub(super) fn message(&self) -> String {
        let name = self.tool.name();
        let count = self.told.len() + self.more;
        let faults = if count == 1 { "one fault" } else { "every fault named here" };
        let mut lines = vec![format!("{name} ran nothing. Mend {faults} and call it again:")];
        for Problem { path, message } in &self.told {
            let path = if path.is_empty() { "the arguments" } else { path };
            lines.push(format!("- {path}: {message}"));
        }
        if self.more > 0 {
            lines.push(format!("and {} more", self.more));
        }
        lines.join("\n")
    }
}

/// Whether a fault at `outer` is the reason for whatever is wrong at `inner`.
fn covers(outer: &str, inner: &str) -> bool {
    if outer.is_empty() {
        return !inner.starts_with("context.");
    }
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
