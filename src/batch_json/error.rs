use std::fmt;

use super::MAX_BYTES;

/// The most problems that are told: enough to correct a list by, few enough to read. The others are counted.
pub(super) const MAX_PROBLEMS: usize = 50;

/// Why a text is no batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Longer than [`MAX_BYTES`].
    #[error(
        "the batch is {bytes} bytes long, more than the {MAX_BYTES} that are read; split the list, or pass large contents by reference"
    )]
    TooLarge {
        /// How long it is.
        bytes: usize,
    },
    /// It is no JSON; the message gives line and column.
    #[error("not valid JSON: {0}")]
    Syntax(String),
    /// It is JSON, but not of this shape.
    #[error("{0}")]
    Invalid(Problems),
}

/// Everything that is wrong with the shape of a text, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// In the order of the text, at most 50.
    pub told: Vec<Problem>,
    /// How many more there are.
    pub more: usize,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `calls[3].args`; empty for the whole.
    pub path: String,
    /// What came, what is allowed.
    pub message: String,
}

impl Problems {
    /// Nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    pub(super) fn push(&mut self, path: &str, message: String) {
        if self.told.len() < MAX_PROBLEMS {
            self.told.push(Problem { path: path.to_owned(), message });
        } else {
            self.more += 1;
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the batch" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.told.iter().enumerate() {
            let line_break = if position == 0 { "" } else { "\n" };
            write!(f, "{line_break}{problem}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more", self.more)?;
        }
        Ok(())
    }
}
