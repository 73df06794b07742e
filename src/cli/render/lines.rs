//! Events as sentences: one line for what a reader wants to know, none for the rest.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{Palette, Tone, escape, words};
use crate::proto::{
    BatchEvent, BatchMode, BatchPlanned, BatchStarted, BatchStatus, BatchSummary, CallError, CallResult, CallRetrying,
    CallStatus, PlannedCall, batch_event::Event,
};

/// Tells a batch's events, and remembers from earlier ones what later ones leave out.
pub(super) struct Teller {
    palette: Palette,
    /// Call by index, as far as it was named: retries carry the index alone.
    names: BTreeMap<u32, String>,
}

impl Teller {
    pub(super) fn new(palette: Palette) -> Self {
        Self { palette, names: BTreeMap::new() }
    }

    /// The lines of one event.
    pub(super) fn tell(&mut self, event: &BatchEvent) -> Vec<String> {
        match &event.event {
            Some(Event::BatchPlanned(planned)) => self.planned(planned),
            Some(Event::BatchStarted(started)) => vec![self.started(&event.batch_id, started)],
            Some(Event::CallStarted(call)) => {
                let name = name(call.index, &call.tool, &call.key);
                self.names.insert(call.index, name.clone());
                if call.attempt > 1 { vec![format!("{name} attempt {}", call.attempt)] } else { Vec::new() }
            }
            Some(Event::CallRetrying(retrying)) => vec![self.retrying(event, retrying)],
            Some(Event::CallFinished(finished)) => {
                finished.result.iter().map(|result| result_line(result, self.palette)).collect()
            }
            Some(Event::BatchResumed(resumed)) => {
                vec![self.palette.paint(Tone::Waiting, &resumed_line(&resumed.in_doubt))]
            }
            Some(Event::BatchFinished(finished)) => {
                finished.summary.iter().flat_map(|summary| self.finished(summary)).collect()
            }
            // Progress is for eyes that wait; in a file it would drown the results.
            Some(Event::CallProgress(_)) => Vec::new(),
            None => vec![format!("event {} is of a kind that this client does not know", event.sequence)],
        }
    }

    /// What the call is called, by what was told of it so far.
    pub(super) fn name_of(&self, index: u32) -> String {
        self.names.get(&index).cloned().unwrap_or_else(|| format!("#{index}"))
    }

    fn started(&self, batch_id: &str, started: &BatchStarted) -> String {
        let mut parts = vec![words::count(started.total, "call")];
        if let Some(options) = &started.options {
            parts.push(words::mode(options.mode).into_owned());
            if options.mode == BatchMode::Parallel as i32 {
                parts.push(format!("at most {} at once", options.max_concurrency));
            }
            if !options.serialize_on.is_empty() {
                parts.push(format!("one at a time for each {}", options.serialize_on));
            }
            if options.stop_on_error == Some(false) {
                parts.push("going on after failures".to_owned());
            }
        }
        let line = format!("batch {batch_id} of task {}: {}", started.task_id, parts.join(", "));
        self.palette.paint(Tone::Strong, &escape::line(&line))
    }

    fn planned(&self, planned: &BatchPlanned) -> Vec<String> {
        let failing = planned.calls.iter().filter(|call| call.error.is_some()).count();
        let skipped = planned.calls.iter().filter(|call| !call.skipped_step_id.is_empty()).count();
        let total = planned.calls.len();
        let mut lines: Vec<String> = planned.calls.iter().map(|call| planned_line(call, self.palette)).collect();
        let summary =
            format!("plan: {total} calls, {skipped} to be skipped, {failing} that would fail; nothing was run");
        lines.push(self.palette.paint(if failing == 0 { Tone::Good } else { Tone::Bad }, &summary));
        lines
    }

    fn retrying(&self, event: &BatchEvent, retrying: &CallRetrying) -> String {
        let wait = event.time.as_ref().zip(retrying.retry_time.as_ref());
        let wait = wait.map_or(0, |(now, due)| words::millis_between(now, due));
        let why = retrying.error.as_ref().map(|error| format!(": {}", error_text(error))).unwrap_or_default();
        let line = format!(
            "{} attempt {} failed, again in {}{why}",
            self.name_of(retrying.index),
            retrying.attempt,
            words::duration(wait)
        );
        self.palette.paint(Tone::Waiting, &line)
    }

    /// Calls that were not run have no event of their own.
    fn finished(&self, summary: &BatchSummary) -> Vec<String> {
        let not_run = summary.results.iter().filter(|result| result.status == CallStatus::NotRun as i32);
        let mut lines: Vec<String> = not_run.map(|result| result_line(result, self.palette)).collect();
        lines.push(summary_line(summary, self.palette));
        lines
    }
}

/// `#3 create_sales_order [order-4]`.
fn name(index: u32, tool: &str, key: &str) -> String {
    let key = if key.is_empty() { String::new() } else { format!(" [{key}]") };
    escape::line(&format!("#{index} {tool}{key}")).into_owned()
}

/// What a call's status means, and the symbol that shows it.
pub(super) fn status_mark(status: i32) -> (Tone, &'static str) {
    match CallStatus::try_from(status) {
        Ok(CallStatus::Completed) => (Tone::Good, "✓"),
        Ok(CallStatus::Failed) => (Tone::Bad, "✗"),
        Ok(CallStatus::Skipped) => (Tone::Quiet, "="),
        Ok(CallStatus::Awaiting) => (Tone::Waiting, "‖"),
        Ok(CallStatus::NotRun) => (Tone::Quiet, "·"),
        Ok(CallStatus::Running) => (Tone::Waiting, "…"),
        Ok(CallStatus::Unspecified) | Err(_) => (Tone::Quiet, "?"),
    }
}

/// What a call's status means.
pub(crate) fn status_tone(status: i32) -> Tone {
    status_mark(status).0
}

/// The first line of an error's message, its reason, and whether the call may have taken effect.
pub(crate) fn error_text(error: &CallError) -> String {
    let first = error.message.lines().next().unwrap_or_default();
    let reason = words::error_reason(error.reason);
    let code = if error.code.is_empty() { String::new() } else { format!(", {}", error.code) };
    let doubt = if error.outcome_unknown { "; it may have taken effect" } else { "" };
    escape::line(&format!("{first} ({reason}{code}){doubt}")).into_owned()
}

/// One call's end: `#3 create_sales_order [order-4] failed after 152 ms: … (tool_failed)`.
fn result_line(result: &CallResult, palette: Palette) -> String {
    let name = name(result.index, &result.tool, &result.key);
    let status = words::call_status(result.status);
    let (tone, mark) = status_mark(result.status);
    let time = result.duration.as_ref().map(|duration| words::duration(words::millis(duration)));
    let attempts = if result.attempts > 1 { format!(" ({} attempts)", result.attempts) } else { String::new() };
    let mut line = match CallStatus::try_from(result.status) {
        Ok(CallStatus::Completed) => format!("completed in {}{attempts}", time.unwrap_or_default()),
        Ok(CallStatus::Failed) if result.attempts == 0 => "failed before it was sent".to_owned(),
        Ok(CallStatus::Failed) => format!("failed after {}{attempts}", time.unwrap_or_default()),
        Ok(CallStatus::Skipped) => format!("skipped, done by step {}", result.step_id),
        Ok(CallStatus::Awaiting) => format!("awaiting review {}", result.await_id),
        Ok(CallStatus::NotRun) => "not run".to_owned(),
        Ok(CallStatus::Running | CallStatus::Unspecified) | Err(_) => status.into_owned(),
    };
    if result.args_changed {
        line.push_str("; tool or args differ from the ones it ran with");
    }
    if result.result_omitted {
        line.extend(["; result not shown here: toolbatch step ", &result.step_id, " --result"]);
    }
    if let Some(error) = &result.error {
        line.push_str(": ");
        line.push_str(&error_text(error));
    }
    let line = escape::line(&line);
    match palette {
        Palette::Bare => format!("{name} {line}"),
        Palette::Coloured => format!("{} {name} {}", palette.paint(tone, mark), palette.paint(tone, &line)),
    }
}

fn planned_line(call: &PlannedCall, palette: Palette) -> String {
    let name = name(call.index, &call.tool, &call.key);
    if let Some(error) = &call.error {
        return format!("{name} {}", palette.paint(Tone::Bad, &format!("would fail: {}", error_text(error))));
    }
    let rest = if call.skipped_step_id.is_empty() {
        let tool = if call.base_tool == call.tool { String::new() } else { format!(" as {}", call.base_tool) };
        let lane = if call.lane.is_empty() { String::new() } else { format!(", in lane {}", call.lane) };
        format!("goes to {}{tool}{lane}", call.backend)
    } else {
        format!("is skipped, done by step {}", call.skipped_step_id)
    };
    format!("{name} {}", escape::line(&rest))
}

fn resumed_line(in_doubt: &[u32]) -> String {
    let start = "the server was restarted and took the batch up again";
    if in_doubt.is_empty() {
        return format!("{start}; no call was in flight");
    }
    let calls: Vec<String> = in_doubt.iter().map(|index| format!("#{index}")).collect();
    format!("{start}; in flight were {}", calls.join(", "))
}

/// `partial: 3 completed, 9 failed, of 12 calls`.
pub(crate) fn summary_line(summary: &BatchSummary, palette: Palette) -> String {
    let stop = match summary.stop_reason {
        0 => String::new(),
        reason => format!("; stopped by {}", words::stop_reason(reason)),
    };
    let tone = match BatchStatus::try_from(summary.status) {
        Ok(BatchStatus::Completed) => Tone::Good,
        Ok(BatchStatus::Partial | BatchStatus::Running) => Tone::Waiting,
        Ok(BatchStatus::Failed | BatchStatus::Unspecified) | Err(_) => Tone::Bad,
    };
    let status = palette.paint(tone, &words::batch_status(summary.status));
    format!("{status}: {}, of {}{stop}", summary.counts_in_words(), words::count(summary.total, "call"))
}
