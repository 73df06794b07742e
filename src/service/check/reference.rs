//! A list by reference (R2): the form of a reference.

use super::Violation;
use crate::json::{cut, quote};

/// What of a name stands in a message.
const MAX_NAME_BYTES: usize = 80;

const FIELD: &str = "calls_ref";

const EXPECTED: &str =
    "expected one reference and nothing else: ${NAME}, then any of .field and [2], such as ${VAR_1}.calls";

/// Why a request's own `calls_ref` gives no list: it is no reference, or the task has no output of that name.
pub(super) fn unresolved(text: &str) -> Violation {
    let description = match Reference::parse(text) {
        Ok(reference) => format!(
            "{}: missing step output {}; expected the name of an output that this task has",
            quote(text),
            cut(reference.name, MAX_NAME_BYTES)
        ),
        Err(Malformed::Empty) => format!("an empty text arrived, so there is no list to run; {EXPECTED}"),
        Err(Malformed::Embedded) => {
            format!("{} holds a reference inside a larger text, which cannot become a list; {EXPECTED}", quote(text))
        }
        Err(Malformed::Other) => format!("{} is no reference; {EXPECTED}", quote(text)),
    };
    Violation::new(FIELD, description)
}

/// `${NAME}` and its accessors.
struct Reference<'a> {
    name: &'a str,
}

enum Malformed {
    Empty,
    /// There is a reference in it, and something else.
    Embedded,
    Other,
}

impl<'a> Reference<'a> {
    fn parse(text: &'a str) -> Result<Self, Malformed> {
        if text.is_empty() {
            return Err(Malformed::Empty);
        }
        let start = text.find("${").ok_or(Malformed::Other)?;
        let (name, mut accessors) = text[start + 2..].split_once('}').ok_or(Malformed::Other)?;
        if !is_name(name) {
            return Err(Malformed::Other);
        }
        while let Some(rest) = after_accessor(accessors) {
            accessors = rest;
        }
        if start > 0 || !accessors.is_empty() { Err(Malformed::Embedded) } else { Ok(Self { name }) }
    }
}

/// Letters, digits and `_`, no digit first.
pub(super) fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What follows the `.field` or `[2]` that `text` starts with.
fn after_accessor(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        return (!index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest);
    }
    let field = text.strip_prefix('.')?;
    let end = field.find(|c: char| ".[]".contains(c) || c.is_whitespace()).unwrap_or(field.len());
    (end > 0).then_some(&field[end..])
}
