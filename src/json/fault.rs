//! What is wrong with a JSON text, and where.

use std::fmt;

use super::{
    check::{MAX_DEPTH, MAX_NODES},
    quote::{cut, quote},
};

/// What of the text at fault is shown: a word, not a paragraph.
const MAX_FOUND_BYTES: usize = 32;

/// The one thing that is wrong with a JSON text: the first that a reader meets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It breaks the grammar of RFC 8259.
    #[error("{place}: expected {expected}, found {found}")]
    Malformed {
        /// Where the grammar breaks.
        place: Place,
        /// What the grammar has there.
        expected: &'static str,
        /// What stands there, quoted and cut.
        found: String,
    },
    /// It is a JSON value, but no object.
    #[error("expected one JSON object, found {0}")]
    NotAnObject(Kind),
    /// Two members of one object have the same name, once unescaped; readers differ on which of them counts.
    #[error("member {name} stands twice in one object, at {place}; expected each name once")]
    DuplicateMember {
        /// Quoted and cut.
        name: String,
        /// Where the later of the two stands.
        place: Place,
    },
    /// A `\uD800` to `\uDFFF` without its other half: no UTF-8 can carry it.
    #[error("{escape} is a lone surrogate, half of a character, at {place}; expected both halves")]
    LoneSurrogate {
        /// The escape as it stands in the text.
        escape: String,
        /// Where it stands.
        place: Place,
    },
    /// An object or array opens beyond the allowed depth.
    #[error("more than {MAX_DEPTH} levels of objects and arrays, at {place}; expected at most {MAX_DEPTH}")]
    TooDeep {
        /// Where it opens.
        place: Place,
    },
    /// It holds more values than a reader should have to build.
    #[error("more than {MAX_NODES} values, at {place}; expected at most {MAX_NODES}")]
    TooManyNodes {
        /// Where the first value too many stands.
        place: Place,
    },
}

impl Fault {
    pub(super) fn malformed(text: &str, at: usize, expected: &'static str) -> Self {
        Self::Malformed { place: Place::of(text, at), expected, found: found(text, at) }
    }

    /// The fault without what the text has there, for messages that others read than who wrote the text.
    #[must_use]
    pub fn without_text(&self) -> String {
        match self {
            Self::Malformed { place, expected, .. } => format!("{place}: expected {expected}"),
            Self::DuplicateMember { place, .. } => format!("a member stands twice in one object, at {place}"),
            Self::NotAnObject(_) | Self::LoneSurrogate { .. } | Self::TooDeep { .. } | Self::TooManyNodes { .. } => {
                self.to_string()
            }
        }
    }
}

/// What the text has at a fault: one punctuation mark, or the word up to the next one.
fn found(text: &str, at: usize) -> String {
    let rest = &text[text.floor_char_boundary(at)..];
    let is_border = |c: char| c.is_whitespace() || "[]{}:,\"".contains(c);
    match rest.chars().next() {
        None => "the end of the text".to_owned(),
        Some(first) if is_border(first) => quote(&rest[..first.len_utf8()]),
        Some(_) => quote(cut(rest.split(is_border).next().unwrap_or(rest), MAX_FOUND_BYTES)),
    }
}

/// A place in a text. Both numbers count from 1; a line ends after its LF; a column is a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Place {
    /// Reads the text up to `at`, so it is made only once there is a fault to report.
    pub(super) fn of(text: &str, at: usize) -> Self {
        let before = cut(text, at);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self { line: 1 + before.matches('\n').count(), column: 1 + before[line_start..].chars().count() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The kinds of JSON value that are no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// Any number.
    Number,
    /// Any string.
    String,
    /// Any array.
    Array,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
        })
    }
}
