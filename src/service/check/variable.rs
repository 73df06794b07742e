//! What is stored under a name.

use bytes::Bytes;

use super::{MAX_TASK_ID_BYTES, Refusal, Violations, reference, text};
use crate::{engine::variables::MAX_NAME_BYTES, json, proto};

/// The longest value of a variable: what a request may hold (R1), so that a list by reference is no larger than one that is sent.
pub const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// A variable's name, where the client chose one, and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// `None`: the next free `VAR_<n>`.
    pub name: Option<String>,
    /// JSON text, as it came.
    pub value: Bytes,
}

/// Checks what sets a variable. Takes as long as 16 MiB of JSON take to read.
///
/// # Errors
/// Every rule that it breaks.
pub fn check_variable(request: proto::SetVariableRequest) -> Result<Assignment, Refusal> {
    let mut violations = Violations::default();
    text::check(&mut violations, "task_id", &request.task_id, 1, MAX_TASK_ID_BYTES);
    let name = Some(request.name).filter(|name| !name.is_empty());
    if let Some(name) = &name {
        check_name(&mut violations, name);
    }
    if request.value_json.len() > MAX_VALUE_BYTES {
        let found = request.value_json.len();
        violations.add("value_json", format!("{found} bytes arrived; expected at most {MAX_VALUE_BYTES} (16 MiB)"));
    } else if let Err(fault) = json::check_value(&request.value_json) {
        violations.add("value_json", format!("{fault}; expected one JSON value"));
    }
    violations.refuse()?;
    Ok(Assignment { name, value: request.value_json.into() })
}

fn check_name(violations: &mut Violations, name: &str) {
    if name.len() > MAX_NAME_BYTES {
        let (found, quoted) = (name.len(), json::quote(name));
        violations.add("name", format!("{found} bytes arrived: {quoted}; expected at most {MAX_NAME_BYTES}"));
    } else if !reference::is_name(name) {
        let quoted = json::quote(name);
        violations.add(
            "name",
            format!("{quoted} arrived; expected A to Z, a to z, digits and _, no digit first, such as VAR_1; or nothing, for the next free VAR_<n>"),
        );
    }
}
