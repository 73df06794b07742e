//! What a command shows: live on a terminal, as plain lines elsewhere, or as one JSON object per line.

pub(crate) mod escape;
pub(crate) mod feed;
pub(crate) mod json;
mod lines;
mod live;
mod palette;
pub(crate) mod table;
pub(crate) mod words;

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
};

pub(crate) use lines::{error_text, status_tone, summary_line};
pub(crate) use live::results_table;
pub(crate) use palette::{Palette, Tone};

use crate::proto::BatchEvent;

/// Shows a batch's events as they come.
pub(crate) trait Show {
    /// One event, in order, once.
    fn event(&mut self, event: &BatchEvent) -> io::Result<()>;

    /// Something about the connection, for people: it goes to standard error, whatever form the events take.
    fn notice(&mut self, text: &str);
}

/// The form of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One JSON object per line; on a terminal harmful characters are written as JSON escapes.
    Json {
        /// Standard output is a terminal.
        terminal: bool,
    },
    /// Lines without colour or control characters.
    Plain,
    /// Colour, symbols, a progress bar.
    Terminal {
        /// Off by `NO_COLOR`.
        palette: Palette,
    },
}

impl Form {
    /// The form that standard output, `--json`, `NO_COLOR` and `TERM` ask for.
    pub(crate) fn choose(json: bool) -> Self {
        Self::of(json, io::stdout().is_terminal(), |name| std::env::var_os(name))
    }

    fn of(json: bool, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        if json {
            return Self::Json { terminal };
        }
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        if !terminal || dumb {
            return Self::Plain;
        }
        let colourless = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::Terminal { palette: if colourless { Palette::Bare } else { Palette::Coloured } }
    }

    /// What shows a batch in this form.
    pub(crate) fn show(self, with_table: bool) -> Box<dyn Show> {
        match self {
            Self::Json { terminal } => Box::new(JsonLines { terminal }),
            Self::Plain => Box::new(PlainLines(lines::Teller::new(Palette::Bare))),
            Self::Terminal { palette } => Box::new(live::Live::new(palette, with_table)),
        }
    }

    /// It is read by people, so that an empty answer needs a word.
    pub(crate) fn is_for_people(self) -> bool {
        match self {
            Self::Json { .. } => false,
            Self::Plain | Self::Terminal { .. } => true,
        }
    }

    /// The colours of tables and records in this form.
    pub(crate) fn palette(self) -> Palette {
        match self {
            Self::Json { .. } | Self::Plain => Palette::Bare,
            Self::Terminal { palette } => palette,
        }
    }

    /// The width that lines are cut to; none where nobody's eyes are the limit.
    pub(crate) fn width(self) -> Option<usize> {
        match self {
            Self::Json { .. } | Self::Plain => None,
            Self::Terminal { .. } => Some(live::terminal_width()),
        }
    }
}

/// Writes a line to standard output at once.
pub(crate) fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a JSON object on a line of its own.
pub(crate) fn print_json(line: &str, terminal: bool) -> io::Result<()> {
    if terminal { print(&escape::json(line)) } else { print(line) }
}

/// Writes to standard error. Nothing can be done where that fails.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", escape::lines(text));
}

struct JsonLines {
    terminal: bool,
}

impl Show for JsonLines {
    fn event(&mut self, event: &BatchEvent) -> io::Result<()> {
        print_json(&json::event(event), self.terminal)
    }

    fn notice(&mut self, text: &str) {
        tell(text);
    }
}

struct PlainLines(lines::Teller);

impl Show for PlainLines {
    fn event(&mut self, event: &BatchEvent) -> io::Result<()> {
        self.0.tell(event).iter().try_for_each(|line| print(line))
    }

    fn notice(&mut self, text: &str) {
        tell(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_the_terminal_and_the_flags() {
        let form = |json, terminal, variables: &[(&str, &str)]| {
            let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            Form::of(json, terminal, value)
        };
        assert_eq!(form(true, true, &[]), Form::Json { terminal: true });
        assert_eq!(form(true, false, &[("NO_COLOR", "1")]), Form::Json { terminal: false });
        assert_eq!(
            form(false, true, &[("TERM", "xterm"), ("NO_COLOR", "")]),
            Form::Terminal { palette: Palette::Coloured }
        );
        assert_eq!(form(false, true, &[("NO_COLOR", "1")]), Form::Terminal { palette: Palette::Bare });
        assert_eq!(form(false, true, &[("TERM", "dumb")]), Form::Plain);
        assert_eq!(form(false, false, &[]), Form::Plain);
    }
}
