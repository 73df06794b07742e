//! The names of fields: what an unknown one most likely stands for, and where a known one belongs.

use serde_json::value::RawValue;

use super::read::{Kind, Members, QUOTED_CHARS, kind};

/// How like a name must be to be suggested (normalised Damerau-Levenshtein, 0 to 1): `retries` finds `retry` (0.57), while
/// `call_timeout` is not offered `calls` (0.33).
const LIKENESS_MIN: f64 = 0.5;
/// What other tool-calling formats call our fields; models mix them up. Which of ours is meant depends on the object.
const SYNONYMS: &[(&str, &str)] = &[
    ("name", "tool"),
    ("function", "tool"),
    ("arguments", "args"),
    ("parameters", "args"),
    ("input", "args"),
    ("id", "key"),
    ("idempotency_key", "key"),
    ("parallel", "mode"),
    ("tool", "name"),
    ("function", "name"),
    ("args", "arguments"),
    ("parameters", "arguments"),
    ("input", "arguments"),
    ("calls", "invocations"),
    ("tool_calls", "invocations"),
    ("invocations", "calls"),
    ("tool_calls", "calls"),
];

/// The fields of one kind of object.
pub(super) struct Shape {
    pub(super) fields: &'static [&'static str],
    /// Fields that stand here by mistake, and where they belong.
    pub(super) elsewhere: &'static [(&'static [&'static str], &'static str)],
}

impl Shape {
    /// What to say of a member that is no field of this shape.
    pub(super) fn unknown(&self, name: &str, value: &RawValue) -> String {
        let known = self.fields.join(", ");
        if let Some(near) = nearest(name, self.fields) {
            return format!("unknown field; did you mean {near}? Known are {known}");
        }
        if let Some((_, place)) = self.elsewhere.iter().find(|(names, _)| names.contains(&name)) {
            return format!("unknown field here; it belongs {place}. Known here are {known}");
        }
        match self.inside(value) {
            Some(fields) => format!("unknown field; write what is in it ({fields}) one level up. Known are {known}"),
            None => format!("unknown field; known are {known}"),
        }
    }

    /// The fields of this shape that an object holds one level too deep.
    fn inside(&self, value: &RawValue) -> Option<String> {
        if kind(value) != Kind::Object {
            return None;
        }
        let members: Members<'_> = serde_json::from_str(value.get()).ok()?;
        let fields: Vec<&str> = self.fields.iter().copied().filter(|field| members.get(field).is_some()).collect();
        (!fields.is_empty()).then(|| fields.join(", "))
    }
}

/// The known name that `name` most likely stands for.
pub(super) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // A name of any length may arrive, and the comparison is quadratic in it.
    let name: String = name.chars().take(QUOTED_CHARS).collect::<String>().to_lowercase();
    let meant = |candidate: &str| SYNONYMS.contains(&(name.as_str(), candidate));
    if let Some(ours) = known.iter().find(|candidate| meant(candidate)) {
        return Some(ours);
    }
    known
        .iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&name, candidate), *candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}
