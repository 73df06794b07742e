//! A list by reference (R2): the form of a reference.

use std::fmt;

use super::Violation;
use crate::json::{Step, quote};

pub(super) const FIELD: &str = "calls_ref";

const EXPECTED: &str =
    "expected one reference and nothing else: ${NAME}, then any of .field and [2], such as ${VAR_1}.calls";

/// For a list that was encoded once too often.
const AS_TEXT: &str = "; or the list itself, as a list and not as its text, which is not parsed";

/// `${NAME}` and its accessors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    pub(super) name: &'a str,
    pub(super) steps: Vec<Step<'a>>,
}

/// Why a text is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    Empty,
    /// There is a reference in it, and something else.
    Embedded,
    Other,
}

impl Malformed {
    pub(super) fn violation(self, text: &str) -> Violation {
        let description = match self {
            Self::Empty => format!("an empty text arrived, so there is no list to run; {EXPECTED}"),
            Self::Embedded => {
                format!(
                    "{} holds a reference inside a larger text, which cannot become a list; {EXPECTED}",
                    quote(text)
                )
            }
            Self::Other => {
                let advice = if text.trim_start().starts_with(['[', '{']) { AS_TEXT } else { "" };
                format!("{} is no reference; {EXPECTED}{advice}", quote(text))
            }
        };
        Violation::new(FIELD, description)
    }
}

impl<'a> Reference<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Malformed> {
        if text.is_empty() {
            return Err(Malformed::Empty);
        }
        let start = text.find("${").ok_or(Malformed::Other)?;
        let (name, mut rest) = text[start + 2..].split_once('}').ok_or(Malformed::Other)?;
        if !is_name(name) {
            return Err(Malformed::Other);
        }
        let mut steps = Vec::new();
        while let Some((step, behind)) = accessor(rest) {
            steps.push(step);
            rest = behind;
        }
        if start > 0 || !rest.is_empty() { Err(Malformed::Embedded) } else { Ok(Self { name, steps }) }
    }

    /// The reference with its first accessors only.
    pub(super) fn up_to(&self, steps: usize) -> Self {
        Self { name: self.name, steps: self.steps[..steps].to_vec() }
    }
}

impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${{{}}}", self.name)?;
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Letters, digits and `_`, no digit first.
pub(super) fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether `.field` can name this member.
pub(super) fn is_field(name: &str) -> bool {
    !name.is_empty() && !name.contains(ends_field)
}

fn ends_field(c: char) -> bool {
    ".[]".contains(c) || c.is_whitespace()
}

/// The `.field` or `[2]` that `text` starts with, and what follows it. No array has an element that is too far for a number.
fn accessor(text: &str) -> Option<(Step<'_>, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        let is_index = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        return is_index.then(|| (Step::Index(index.parse().unwrap_or(usize::MAX)), rest));
    }
    let field = text.strip_prefix('.')?;
    let end = field.find(ends_field).unwrap_or(field.len());
    (end > 0).then_some((Step::Field(&field[..end]), &field[end..]))
}
