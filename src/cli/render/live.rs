//! The terminal: a line per call as it lands, above a bar that shows what runs; at the end a table.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    time::Duration,
};

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{
    Palette, Show, escape,
    lines::{self, Teller},
    table::{self, Cell},
    tell, words,
};
use crate::proto::{BatchEvent, BatchSummary, CallProgress, CallResult, batch_event::Event};

/// How often the bar's clock moves.
const TICK: Duration = Duration::from_millis(250);
/// The width that is taken where the terminal tells none.
const WIDTH_DEFAULT: usize = 100;
/// How much of an inlined result stands in the table; `batch` and `step` show all.
const RESULT_CHARS: usize = 200;

/// The terminal's width in columns.
pub(super) fn terminal_width() -> usize {
    Term::stdout().size_checked().map_or(WIDTH_DEFAULT, |(_, columns)| usize::from(columns))
}

/// Shows a batch on a terminal.
pub(super) struct Live {
    palette: Palette,
    with_table: bool,
    teller: Teller,
    bar: ProgressBar,
    /// What runs now, by index, with the progress last reported.
    running: BTreeMap<u32, String>,
}

impl Live {
    pub(super) fn new(palette: Palette, with_table: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {elapsed}  {wide_msg}");
        bar.set_style(style.expect("the template is a constant that a test parses").progress_chars("━━─"));
        Self { palette, with_table, teller: Teller::new(palette), bar, running: BTreeMap::new() }
    }

    /// Above the bar, straight to standard output, so that a closed output is noticed.
    fn print(&self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.bar.suspend(|| {
            let mut out = io::stdout().lock();
            for line in lines {
                writeln!(out, "{line}")?;
            }
            out.flush()
        })
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::BatchStarted(started) => {
                self.bar.set_length(u64::from(started.total));
                self.bar.reset();
                self.bar.set_draw_target(ProgressDrawTarget::stdout());
                self.bar.enable_steady_tick(TICK);
            }
            Event::CallStarted(call) => {
                self.running.insert(call.index, String::new());
            }
            Event::CallProgress(progress) => {
                self.running.insert(progress.index, progress_text(progress));
            }
            Event::CallFinished(finished) => {
                if let Some(result) = &finished.result {
                    self.running.remove(&result.index);
                }
                self.bar.inc(1);
            }
            Event::BatchFinished(_) => self.bar.finish_and_clear(),
            Event::BatchPlanned(_) | Event::CallRetrying(_) | Event::BatchResumed(_) => {}
        }
        let running: Vec<String> =
            self.running.iter().map(|(index, progress)| format!("{}{progress}", self.teller.name_of(*index))).collect();
        self.bar.set_message(running.join("  "));
    }
}

impl Show for Live {
    fn event(&mut self, event: &BatchEvent) -> io::Result<()> {
        let lines = self.teller.tell(event);
        if let Some(event) = &event.event {
            self.follow(event);
        }
        match &event.event {
            Some(Event::BatchFinished(finished)) if self.with_table => {
                let Some(summary) = &finished.summary else { return Ok(()) };
                let mut lines = vec![String::new()];
                lines.extend(results_table(summary, self.palette, Some(terminal_width())));
                lines.push(lines::summary_line(summary, self.palette));
                self.print(&lines)
            }
            Some(_) | None => self.print(&lines),
        }
    }

    fn notice(&mut self, text: &str) {
        self.bar.suspend(|| tell(text));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn progress_text(progress: &CallProgress) -> String {
    let share = if progress.total > 0.0 {
        format!(" {}/{}", progress.progress, progress.total)
    } else {
        format!(" {}", progress.progress)
    };
    let message = if progress.message.is_empty() { String::new() } else { format!(" {}", progress.message) };
    escape::line(&format!("{share}{message}")).into_owned()
}

/// A batch's results, one row per call.
pub(crate) fn results_table(summary: &BatchSummary, palette: Palette, width: Option<usize>) -> Vec<String> {
    let rows = summary.results.iter().map(row).collect();
    table::lines(&["#", "TOOL", "KEY", "STATUS", "TIME", "RESULT"], rows, palette, width)
}

fn row(result: &CallResult) -> Vec<Cell> {
    let tone = lines::status_tone(result.status);
    let time = result.duration.as_ref().map(|duration| words::duration(words::millis(duration)));
    let outcome = match &result.error {
        Some(error) => lines::error_text(error),
        None if result.result_omitted => format!("toolbatch step {} --result", result.step_id),
        None if !result.await_id.is_empty() => format!("review {}", result.await_id),
        // Between tokens a line break is a blank, and in strings JSON has none.
        None => result.result_json.chars().take(RESULT_CHARS).collect::<String>().replace(['\n', '\r'], " "),
    };
    vec![
        Cell::new(result.index.to_string()),
        Cell::new(&result.tool),
        Cell::new(&result.key),
        Cell::toned(words::call_status(result.status), tone),
        Cell::new(time.unwrap_or_default()),
        Cell::new(outcome),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{CallError, CallErrorReason, CallStatus};

    #[test]
    fn the_bar_is_built_from_its_template() {
        let live = Live::new(Palette::Bare, true);
        assert!(live.bar.is_hidden());
    }

    #[test]
    fn the_table_shows_results_errors_and_where_the_rest_is() {
        let result = |index, status: CallStatus| CallResult {
            index,
            tool: "t".into(),
            status: status.into(),
            step_id: format!("s{index}"),
            ..CallResult::default()
        };
        let summary = BatchSummary {
            results: vec![
                CallResult { result_json: "{\"a\":\n1}".into(), ..result(0, CallStatus::Completed) },
                CallResult { result_omitted: true, key: "k".into(), ..result(1, CallStatus::Completed) },
                CallResult {
                    error: Some(CallError {
                        reason: CallErrorReason::TimedOut.into(),
                        message: "no answer\nin time".into(),
                        outcome_unknown: true,
                        ..CallError::default()
                    }),
                    ..result(2, CallStatus::Failed)
                },
                result(3, CallStatus::NotRun),
            ],
            ..BatchSummary::default()
        };
        assert_eq!(
            results_table(&summary, Palette::Bare, None),
            [
                "#  TOOL  KEY  STATUS     RESULT",
                "0  t          completed  {\"a\": 1}",
                "1  t     k    completed  toolbatch step s1 --result",
                "2  t          failed     no answer (timed_out); it may have taken effect",
                "3  t          not_run",
            ]
        );
    }

    #[test]
    fn progress_reads_as_share_and_message() {
        let progress = |progress, total, message: &str| {
            progress_text(&CallProgress { progress, total, message: message.into(), ..CallProgress::default() })
        };
        assert_eq!(progress(2.0, 3.0, "stock\u{1b}"), " 2/3 stock\\u001b");
        assert_eq!(progress(0.5, 0.0, ""), " 0.5");
    }
}
