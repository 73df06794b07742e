//! Structured logs, to standard error.
//!
//! What is logged is chosen by the environment variable [`FILTER_VARIABLE`]: a level (`debug`), levels by module
//! (`toolbatch=debug,h2=warn`), or both, as `tracing-subscriber`'s filter takes them. Unset or blank: the level that the
//! program chose for toolbatch itself, and only warnings and errors of the libraries under it. Args and results of calls are
//! never logged at `info` or below; `debug` and `trace` of the libraries can show parts of messages.
//!
//! Each attempt of a call is a span `tool_execution` of the target `toolbatch::tool_execution` at level `debug`: with
//! `TOOLBATCH_LOG=info,toolbatch::tool_execution=debug` it is a line once it has ended, with task, batch, step, tool, key, attempt,
//! trace id, status, and the time that it took.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, IsTerminal as _},
};

use tracing::{Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    EnvFilter,
    filter::ParseError,
    fmt::{MakeWriter, format::FmtSpan},
    util::SubscriberInitExt as _,
};

/// The environment variable that chooses what is logged.
pub const FILTER_VARIABLE: &str = "TOOLBATCH_LOG";

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people: a line for each event, coloured on a terminal only.
    #[default]
    Text,
    /// For collectors: one JSON object for each event.
    Json,
}

/// Logging that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variable holds no filter.
    #[error(
        "{FILTER_VARIABLE}={text:?} is no log filter: {source}; expected a level (error, warn, info, debug, trace, off) or \
             levels by module, such as \"info\" or \"warn,toolbatch=debug\""
    )]
    Filter {
        /// What the variable holds.
        text: String,
        /// Why it is refused.
        source: ParseError,
    },
    /// The variable holds bytes that are no text.
    #[error("{FILTER_VARIABLE}={0:?} is not UTF-8; expected a log filter such as \"info\"")]
    NotText(OsString),
    /// The process logs already: this was called a second time.
    #[error("logging is set up already")]
    AlreadySet,
}

/// Turns logging on for the whole process; called once, before anything is logged.
pub fn init(format: LogFormat, default_level: LevelFilter) -> Result<(), Error> {
    let filter = filter(env::var_os(FILTER_VARIABLE).as_deref(), default_level)?;
    let colours = io::stderr().is_terminal();
    subscriber(format, filter, colours, io::stderr).try_init().map_err(|_| Error::AlreadySet)
}

fn filter(text: Option<&OsStr>, default_level: LevelFilter) -> Result<EnvFilter, Error> {
    let text = text.unwrap_or_default();
    let text = text.to_str().ok_or_else(|| Error::NotText(text.to_owned()))?.trim();
    let libraries = default_level.min(LevelFilter::WARN);
    let default = format!("{libraries},toolbatch={default_level}");
    let chosen = if text.is_empty() { &default } else { text };
    EnvFilter::builder().parse(chosen).map_err(|source| Error::Filter { text: chosen.to_owned(), source })
}

fn subscriber<W>(format: LogFormat, filter: EnvFilter, colours: bool, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    // A span is a line of its own once it has ended, with what it took.
    let lines = tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE);
    let lines = lines.with_env_filter(filter).with_writer(writer).with_ansi(colours);
    match format {
        LogFormat::Text => Box::new(lines.finish()),
        LogFormat::Json => Box::new(lines.json().flatten_event(true).with_span_list(false).finish()),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        os::unix::ffi::OsStrExt as _,
        sync::{Arc, Mutex},
    };

    use super::*;

    /// Keeps what is written, for the test to read.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that events of several levels and targets leave behind.
    fn lines(format: LogFormat, text: Option<&str>, colours: bool) -> Vec<String> {
        let memory = Memory::default();
        let writer = memory.clone();
        let filter = filter(text.map(OsStr::new), LevelFilter::INFO).unwrap();
        tracing::subscriber::with_default(subscriber(format, filter, colours, move || writer.clone()), || {
            tracing::info!(batch_id = "b1", calls = 3, "batch accepted");
            tracing::debug!("step");
            tracing::info!(target: "h2", "frame");
            tracing::warn!(target: "h2", "reset");
        });
        let bytes = memory.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(String::from).collect()
    }

    #[test]
    fn text_is_one_line_an_event_without_colours_off_a_terminal() {
        let lines = lines(LogFormat::Text, None, false);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0].contains(" INFO toolbatch::telemetry::tests: batch accepted batch_id=\"b1\" calls=3"),
            "{lines:?}"
        );
        assert!(lines[1].contains(" WARN h2: reset"), "{lines:?}");
        assert!(!lines.concat().contains('\u{1b}'));
    }

    #[test]
    fn text_has_colours_on_a_terminal() {
        assert!(lines(LogFormat::Text, None, true).concat().contains('\u{1b}'));
    }

    #[test]
    fn json_is_one_object_an_event() {
        let lines = lines(LogFormat::Json, None, false);
        let event: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(event["level"], "INFO");
        assert_eq!(event["message"], "batch accepted");
        assert_eq!(event["batch_id"], "b1");
        assert_eq!(event["calls"], 3);
    }

    #[test]
    fn the_variable_chooses() {
        assert_eq!(lines(LogFormat::Text, Some("debug"), false).len(), 4);
        assert_eq!(lines(LogFormat::Text, Some("off,h2=info"), false).len(), 2);
        assert_eq!(lines(LogFormat::Text, Some(" "), false).len(), 2, "blank is as unset");
    }

    #[test]
    fn a_malformed_filter_is_an_error_that_names_it() {
        let error = filter(Some(OsStr::new("toolbatch=loud")), LevelFilter::INFO).unwrap_err().to_string();
        assert!(error.starts_with("TOOLBATCH_LOG=\"toolbatch=loud\" is no log filter: "), "{error}");
        let error = filter(Some(OsStr::from_bytes(b"\xff")), LevelFilter::INFO).unwrap_err().to_string();
        assert!(error.contains("is not UTF-8"), "{error}");
    }

    #[test]
    fn a_quiet_default_quietens_the_libraries_too() {
        let quiet = filter(None, LevelFilter::ERROR).unwrap();
        assert_eq!(quiet.max_level_hint(), Some(LevelFilter::ERROR));
    }
}
