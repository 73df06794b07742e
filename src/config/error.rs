//! What can be wrong with a configuration, and where in its text.

use std::{fmt, io};

/// A configuration that cannot be used (exit code 2).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("{origin}: {source}")]
    Unreadable {
        /// The file's path.
        origin: String,
        /// Why not.
        source: io::Error,
    },
    /// The text breaks rules; shown with one line per fault: `toolbatch.toml:4:1: unknown field "lisen"; ...`.
    #[error("{}", Report { origin, faults })]
    Invalid {
        /// What the text was called, usually the file's path.
        origin: String,
        /// At least one, in the order of the text.
        faults: Vec<Fault>,
    },
}

/// One fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What arrived, what was expected, what to do.
    pub message: String,
}

struct Report<'a> {
    origin: &'a str,
    faults: &'a [Fault],
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Fault { line, column, message }) in self.faults.iter().enumerate() {
            let separator = if number == 0 { "" } else { "\n" };
            write!(f, "{separator}{}:{line}:{column}: {message}", self.origin)?;
        }
        Ok(())
    }
}

/// Collects the faults of one text.
pub(super) struct Faults<'a> {
    text: &'a str,
    found: Vec<Fault>,
}

impl<'a> Faults<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, found: Vec::new() }
    }

    /// Adds a fault at a byte offset. An offset past the text, or within a character, counts as the character before it.
    pub(super) fn add(&mut self, offset: usize, message: impl Into<String>) {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.found.push(Fault {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
            message: message.into(),
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them, in the order of the text.
    pub(super) fn into_sorted(mut self) -> Vec<Fault> {
        self.found.sort();
        self.found
    }
}
