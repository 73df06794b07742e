//! One JSON object per line, in the shapes of R11: names as in the contract, enum values in lower case, durations in whole
//! milliseconds, times in RFC 3339, results and args as the raw values that they are.

mod shapes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::words;
use crate::cli::usage::Totals;
use shapes::{
    BackendLine, BatchLine, Body, CardLine, CostLine, EndedTaskLine, ErrorLine, EventLine, KeyLine, OptionsLine,
    PlannedLine, Raw, RemovedBackendLine, ResultLine, ResultPart, RetryLine, StepLine, SummaryLine, ToolLine,
    UsageLine, UsageRowLine, UsageTotalLine, UsageTotalsLine,
};

use crate::proto::{
    Backend, Batch, BatchEvent, BatchOptions, BatchSummary, CallError, CallResult, FeedCard, KeyRecord, PlannedCall,
    Step, Tool, UsageRow, batch_event::Event,
};

/// An event of a batch.
pub(crate) fn event(event: &BatchEvent) -> String {
    let (name, body) = match &event.event {
        Some(Event::BatchPlanned(planned)) => {
            ("batch_planned", Body::Planned { calls: planned.calls.iter().map(planned_line).collect() })
        }
        Some(Event::BatchStarted(started)) => (
            "batch_started",
            Body::Started {
                task_id: &started.task_id,
                agent_id: &started.agent_id,
                total: started.total,
                options: started.options.as_ref().map(options_line),
            },
        ),
        Some(Event::CallStarted(call)) => (
            "call_started",
            Body::CallStarted {
                index: call.index,
                tool: &call.tool,
                key: &call.key,
                step_id: &call.step_id,
                attempt: call.attempt,
            },
        ),
        Some(Event::CallRetrying(retrying)) => (
            "call_retrying",
            Body::Retrying {
                index: retrying.index,
                step_id: &retrying.step_id,
                attempt: retrying.attempt,
                error: retrying.error.as_ref().map(error_line),
                retry_time: time(retrying.retry_time.as_ref()),
            },
        ),
        Some(Event::CallProgress(progress)) => (
            "call_progress",
            Body::Progress {
                index: progress.index,
                step_id: &progress.step_id,
                progress: progress.progress,
                total: Some(progress.total).filter(|total| *total > 0.0),
                message: &progress.message,
            },
        ),
        Some(Event::CallFinished(finished)) => {
            ("call_finished", Body::Finished(finished.result.as_ref().map(result_line)))
        }
        Some(Event::BatchResumed(resumed)) => ("batch_resumed", Body::Resumed { in_doubt: &resumed.in_doubt }),
        Some(Event::BatchFinished(finished)) => {
            ("batch_finished", Body::BatchFinished(finished.summary.as_ref().map(summary_line)))
        }
        None => ("unknown", Body::Unknown {}),
    };
    write(&EventLine {
        event: name,
        batch_id: &event.batch_id,
        sequence: event.sequence,
        time: time(event.time.as_ref()),
        body,
    })
}

/// A batch as `GetBatch` and `ListBatches` give it; the latter has no results.
pub(crate) fn batch(batch: &Batch, with_results: bool) -> String {
    let mut summary = batch.summary.as_ref().map(summary_line);
    if let Some(summary) = &mut summary
        && !with_results
    {
        summary.results = None;
    }
    write(&BatchLine {
        batch_id: &batch.batch_id,
        task_id: &batch.task_id,
        agent_id: &batch.agent_id,
        start_time: time(batch.start_time.as_ref()),
        end_time: time(batch.end_time.as_ref()),
        last_sequence: batch.last_sequence,
        options: batch.options.as_ref().map(options_line),
        summary,
    })
}

/// A step as `GetStep` and `ListSteps` give it; the latter has no args and no result.
pub(crate) fn step(step: &Step) -> String {
    write(&StepLine {
        step_id: &step.step_id,
        parent_step_id: &step.parent_step_id,
        task_id: &step.task_id,
        agent_id: &step.agent_id,
        tool: &step.tool,
        base_tool: &step.base_tool,
        backend: &step.backend,
        key: &step.key,
        index: step.index,
        status: words::call_status(step.status),
        attempts: step.attempts,
        start_time: time(step.start_time.as_ref()),
        end_time: time(step.end_time.as_ref()),
        args: raw(&step.args_json),
        result_bytes: step.result_bytes,
        result: result_part(&step.result_json),
        error: step.error.as_ref().map(error_line),
        await_id: &step.await_id,
        trace_id: &step.trace_id,
        usage: step.usage.iter().map(usage_line).collect(),
    })
}

/// A card of a task's feed, and where the feed goes on behind it.
pub(crate) fn card(card: &FeedCard, resume_token: &str) -> String {
    write(&CardLine {
        step_id: &card.step_id,
        parent_step_id: &card.parent_step_id,
        title: &card.title,
        status: words::call_status(card.status),
        detail: &card.detail,
        update_time: time(card.update_time.as_ref()),
        summary: card.summary.as_ref().map(summary_line),
        resume_token,
    })
}

/// A step's usage of one unit.
pub(crate) fn usage_row(row: &UsageRow) -> String {
    write(&UsageRowLine { step_id: &row.step_id, tool: &row.tool, usage: usage_line(row) })
}

/// A task's usage, added up.
pub(crate) fn usage_totals(totals: &Totals) -> String {
    let units = totals.units.iter().map(|((tool, unit, currency), total)| UsageTotalLine {
        tool,
        unit,
        steps: total.rows,
        quantity: total.quantity,
        cost: CostLine { cost_nanos: total.cost_nanos, currency },
    });
    let costs = totals.costs.iter().map(|(currency, nanos)| CostLine { cost_nanos: *nanos, currency });
    write(&UsageTotalsLine { totals: units.collect(), costs: costs.collect() })
}

/// A key of a task.
pub(crate) fn key(key: &KeyRecord) -> String {
    write(&KeyLine {
        key: &key.key,
        state: words::key_state(key.state),
        step_id: &key.step_id,
        base_tool: &key.base_tool,
        idempotency_key: &key.idempotency_key,
        update_time: time(key.update_time.as_ref()),
        settled_by: &key.settled_by,
    })
}

/// A task that was told to end.
pub(crate) fn ended_task(task_id: &str) -> String {
    write(&EndedTaskLine { task_id, ended: true })
}

/// A tool backend.
pub(crate) fn backend(backend: &Backend) -> String {
    write(&BackendLine {
        name: &backend.name,
        addresses: &backend.addresses,
        health: words::backend_health(backend.health),
        health_detail: &backend.health_detail,
        health_time: time(backend.health_time.as_ref()),
        max_concurrency: backend.max_concurrency,
        max_calls_per_second: Some(backend.max_calls_per_second).filter(|pace| *pace > 0.0),
        credential: &backend.credential,
        tools: backend.tools.iter().map(|tool| &*tool.name).collect(),
        configured: backend.configured,
    })
}

/// A backend that was taken out.
pub(crate) fn removed_backend(name: &str) -> String {
    write(&RemovedBackendLine { name, removed: true })
}

/// A tool of the agent's list.
pub(crate) fn tool(tool: &Tool) -> String {
    write(&ToolLine {
        name: &tool.name,
        description: &tool.description,
        input_schema: raw(&tool.input_schema_json),
        pauses: tool.pauses,
        reports_progress: tool.reports_progress,
        timeout_ms: tool.timeout.as_ref().map(words::millis),
    })
}

fn usage_line(row: &UsageRow) -> UsageLine<'_> {
    UsageLine { unit: &row.unit, quantity: row.quantity, cost_nanos: row.cost_nanos, currency: &row.currency }
}

fn write(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("the lines have string names and no maps of other types")
}

fn time(at: Option<&prost_types::Timestamp>) -> Option<String> {
    at.map(ToString::to_string)
}

fn options_line(options: &BatchOptions) -> OptionsLine<'_> {
    OptionsLine {
        mode: words::mode(options.mode),
        max_concurrency: options.max_concurrency,
        serialize_on: &options.serialize_on,
        stop_on_error: options.stop_on_error.unwrap_or(true),
        include_results: options.include_results.unwrap_or(true),
        call_timeout_ms: options.call_timeout.as_ref().map(words::millis),
        retry: options.retry.as_ref().map(|retry| RetryLine {
            max_attempts: retry.max_attempts,
            initial_backoff_ms: retry.initial_backoff.as_ref().map(words::millis),
            max_backoff_ms: retry.max_backoff.as_ref().map(words::millis),
            backoff_multiplier: retry.backoff_multiplier,
        }),
        in_doubt: words::in_doubt(options.in_doubt),
    }
}

fn planned_line(call: &PlannedCall) -> PlannedLine<'_> {
    PlannedLine {
        index: call.index,
        tool: &call.tool,
        base_tool: &call.base_tool,
        backend: &call.backend,
        key: &call.key,
        lane: &call.lane,
        skipped_step_id: &call.skipped_step_id,
        error: call.error.as_ref().map(error_line),
    }
}

fn error_line(error: &CallError) -> ErrorLine<'_> {
    ErrorLine {
        error: &error.message,
        error_reason: words::error_reason(error.reason),
        error_code: &error.code,
        outcome_unknown: error.outcome_unknown,
        retryable: error.retryable,
    }
}

fn result_line(result: &CallResult) -> ResultLine<'_> {
    ResultLine {
        index: result.index,
        tool: &result.tool,
        key: &result.key,
        status: words::call_status(result.status),
        step_id: &result.step_id,
        attempts: result.attempts,
        duration_ms: result.duration.as_ref().map(words::millis),
        result: result_part(&result.result_json),
        result_omitted: result.result_omitted,
        error: result.error.as_ref().map(error_line),
        args_changed: result.args_changed,
        await_id: &result.await_id,
    }
}

fn summary_line(summary: &BatchSummary) -> SummaryLine<'_> {
    SummaryLine {
        status: words::batch_status(summary.status),
        total: summary.total,
        succeeded: summary.succeeded,
        failed: summary.failed,
        skipped: summary.skipped,
        awaiting: summary.awaiting,
        not_run: summary.not_run,
        stop_reason: (summary.stop_reason != 0).then(|| words::stop_reason(summary.stop_reason)),
        results: Some(summary.results.iter().map(result_line).collect()),
    }
}

fn result_part(text: &str) -> ResultPart<'_> {
    let result = raw(text);
    let result_text = (result.is_none() && !text.is_empty()).then_some(text);
    ResultPart { result, result_text }
}

/// The text as a value, byte for byte but for line breaks between tokens, which become blanks: in a string JSON allows none,
/// so the value is the same, and the object stays on its line.
fn raw(text: &str) -> Option<Raw<'_>> {
    let value: &RawValue = serde_json::from_str(text).ok()?;
    if text.contains(['\n', '\r']) {
        let line = value.get().replace(['\n', '\r'], " ");
        return RawValue::from_string(line).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(value))
}
