//! A direct step: one call as a batch of one that nobody sees as a batch (R11).

use futures_util::stream;
use tokio::time::Instant;
use tonic::Status;

use super::{
    check, convert, status,
    stream::{Events, within},
};
use crate::{
    batch::{
        event::{CallError, CallFinished, Ending, Event, Reason},
        outcome::Payload,
        spec::Spec,
        trace::Trace,
    },
    engine::{
        Engine, Error,
        read::{Located, Reader},
        watch::{Told, Watch},
    },
    proto::{
        self, CallToolResponse, CallToolWithProgressResponse, ToolAwaiting, ToolFailure, ToolProgress,
        call_tool_response::Outcome, call_tool_with_progress_response::Event as Wire,
    },
};

/// The largest result that a response holds.
const RESULT_MAX: u64 = 3 * 1024 * 1024;

/// Runs a direct step to its end. It goes on where the client leaves.
pub(super) async fn call(
    engine: &Engine,
    tenant: &str,
    request: &proto::CallToolRequest,
    trace: Option<Trace>,
) -> Result<CallToolResponse, Status> {
    let mut step = match Step::start(engine, tenant, request, trace).await? {
        Ok(step) => step,
        Err(refused) => return Ok(refused),
    };
    loop {
        if let Wire::Response(response) = step.next().await? {
            return Ok(response);
        }
    }
}

/// The same, with its progress on the way.
pub(super) async fn follow(
    engine: &Engine,
    tenant: &str,
    request: &proto::CallToolRequest,
    trace: Option<Trace>,
    deadline: Option<Instant>,
) -> Result<Events<CallToolWithProgressResponse>, Status> {
    let wrap = |event| CallToolWithProgressResponse { event: Some(event) };
    let step = match Step::start(engine, tenant, request, trace).await? {
        Ok(step) => step,
        Err(refused) => return Ok(Box::pin(tokio_stream::once(Ok(wrap(Wire::Response(refused)))))),
    };
    Ok(Box::pin(stream::unfold(Some(step), move |step| async move {
        let mut step = step?;
        let event = within(deadline, step.next()).await;
        let goes_on = matches!(event, Ok(Wire::Progress(_)));
        Some((event.map(wrap), goes_on.then_some(step)))
    })))
}

/// A direct step that runs.
struct Step {
    engine: Engine,
    task_id: String,
    watch: Watch,
    finished: Option<CallFinished>,
}

impl Step {
    /// Starts one, or answers what R1 refuses.
    async fn start(
        engine: &Engine,
        tenant: &str,
        request: &proto::CallToolRequest,
        trace: Option<Trace>,
    ) -> Result<Result<Self, CallToolResponse>, Status> {
        let spec = match check::check_direct(request) {
            Ok(spec) => spec,
            Err(refusal) => {
                // A ToolFailure has no list of violations; the few that a call can have stand in its message.
                let all: Vec<_> =
                    refusal.violations().map(|one| format!("{}: {}", one.field, one.description)).collect();
                return Ok(Err(convert::failure(all.join("; "), "INVALID_REQUEST")));
            }
        };
        let task_id = spec.task_id.clone();
        let (_, watch) = engine.execute(tenant, Spec { trace, ..spec }).await.map_err(status::engine)?;
        Ok(Ok(Self { engine: engine.clone(), task_id, watch, finished: None }))
    }

    /// Its next progress, or its outcome.
    async fn next(&mut self) -> Result<Wire, Status> {
        while let Some(told) = self.watch.next().await {
            match told.map_err(status::engine)? {
                Told::Progress(news) => {
                    let (progress, total, message) = (news.progress, news.total, news.message);
                    return Ok(Wire::Progress(ToolProgress { progress, total, message }));
                }
                Told::Line(line) => {
                    if let Event::CallFinished(finished) = &line.entry.event {
                        self.finished = Some(finished.clone());
                    }
                }
            }
        }
        // Only the end of its task keeps a direct step from its turn while the server runs.
        let Some(finished) = self.finished.take() else {
            return Err(status::engine(Error::TaskEnded { task_id: self.task_id.clone() }));
        };
        let at = self.watch.located();
        let response = self.engine.read(move |reader| response(reader, at, &finished)).await;
        Ok(Wire::Response(response.map_err(status::engine)?))
    }
}

/// A step's outcome from its record, which for a skipped call is the original's.
fn response(reader: &Reader, at: Located, finished: &CallFinished) -> Result<CallToolResponse, Error> {
    let skipped = matches!(finished.ending, Ending::Skipped { .. });
    let args_changed = matches!(finished.ending, Ending::Skipped { args_changed: true, .. });
    let mut message = CallToolResponse {
        step_id: finished.step_id.to_string(),
        skipped,
        args_changed,
        ..CallToolResponse::default()
    };
    if args_changed {
        let text =
            "an earlier call completed this key with another tool or other args: use another key for another call";
        return Ok(CallToolResponse { outcome: convert::failure(text.into(), "KEY_REUSED").outcome, ..message });
    }
    let end = reader.step_record(at.task, finished.step_id)?.1.end;
    let result = end.as_ref().and_then(|end| end.result.as_ref());
    // The log has up to 2 KiB of an error, the step all that is kept.
    let ending = match &end {
        Some(end) if !skipped => &end.finished.ending,
        Some(_) | None => &finished.ending,
    };
    let await_id = match ending {
        Ending::Failed(error) => {
            message.outcome_unknown = error.outcome_unknown;
            message.outcome = Some(Outcome::Failure(tool_failure(error)));
            None
        }
        Ending::Completed { .. } => Some(None),
        Ending::Awaiting { await_id, .. } => Some(Some(await_id.clone())),
        Ending::Skipped { await_id, .. } => Some(await_id.clone()),
    };
    if let Some(await_id) = await_id {
        let result_json = text(reader, result)?;
        message.result_omitted = result_json.is_none();
        let result_json = result_json.unwrap_or_default();
        message.outcome = Some(match await_id {
            Some(await_id) => Outcome::Awaiting(ToolAwaiting { await_id, result_json }),
            None => Outcome::ResultJson(result_json),
        });
    }
    if !skipped {
        let usage = end.iter().flat_map(|end| &end.usage);
        message.usage =
            usage.map(|item| proto::UsageItem { unit: item.unit.clone(), quantity: item.quantity }).collect();
        message.variable = reader.head(at)?.variable.map(|number| format!("VAR_{number}")).unwrap_or_default();
    }
    Ok(message)
}

/// A result as text; `None` where it is too large for a response.
fn text(reader: &Reader, result: Option<&Payload>) -> Result<Option<String>, Error> {
    let Some(result) = result else { return Ok(Some("null".into())) };
    if result.bytes > RESULT_MAX {
        return Ok(None);
    }
    let bytes = reader.payload(result, 0, result.bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A tool's own failure under its own code, any other under its reason's name.
fn tool_failure(error: &CallError) -> ToolFailure {
    let code = if error.reason == Reason::ToolFailed {
        error.code.clone()
    } else {
        let name = convert::call_error(error).reason().as_str_name();
        name.trim_start_matches("CALL_ERROR_REASON_").into()
    };
    ToolFailure { message: error.message.clone(), code, retryable: error.retryable }
}
