//! The regular expressions of a schema: what they may cost in all.

use jsonschema::{PatternOptions, Regex};
use serde_json::Value;

use super::message::plain;

/// The most bytes that one pattern compiles to, and the most that its automaton may grow to while it matches.
const MAX_COMPILED_BYTES: usize = 2 * 1_024 * 1_024;

/// The most bytes that all patterns of one schema compile to: 64 KiB of text hold thousands of patterns of 2 MiB.
const MAX_ALL_COMPILED_BYTES: usize = 32 * 1_024 * 1_024;

/// The most escapes such as `\cA` in one pattern: the checker reads a pattern from its start again for each of them.
const MAX_CONTROL_ESCAPES: usize = 16;

/// What of a pattern is shown.
const MAX_SHOWN_BYTES: usize = 40;

/// How the patterns of `schema` are to be compiled: to an engine whose time is linear in the text, with a share of the bound for each.
pub(super) fn options(schema: &Value) -> Result<PatternOptions<Regex>, String> {
    let patterns = patterns(schema);
    let is_slow = |pattern: &&&str| pattern.matches("\\c").count() > MAX_CONTROL_ESCAPES;
    if let Some(pattern) = patterns.iter().find(is_slow) {
        let shown = plain(pattern, MAX_SHOWN_BYTES);
        return Err(format!("the pattern {shown} has more than {MAX_CONTROL_ESCAPES} escapes that begin with \\c"));
    }
    let share = (MAX_ALL_COMPILED_BYTES / patterns.len().max(1)).min(MAX_COMPILED_BYTES);
    Ok(PatternOptions::regex().size_limit(share).dfa_size_limit(share))
}

/// Every text that may be compiled.
fn patterns(schema: &Value) -> Vec<&str> {
    let mut patterns = Vec::new();
    let mut waiting = vec![schema];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => waiting.extend(items),
            Value::Object(members) => {
                waiting.extend(members.values());
                patterns.extend(members.get("pattern").and_then(Value::as_str));
                let named = members.get("patternProperties").and_then(Value::as_object);
                patterns.extend(named.into_iter().flat_map(|named| named.keys().map(String::as_str)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    patterns
}
