//! A batch of a model: begun or attached to, then followed to its end.

use std::sync::Arc;

use tonic::Status;

use super::{
    BatchTool, ToolCall, render,
    request::{self, Asked},
};
use crate::{
    batch::{
        event::{CallFinished, Event as Entry},
        spec::Spec,
    },
    engine::{
        Engine, Error,
        watch::{Told, Watch},
    },
    proto::{
        CallToolResponse, ToolProgress, call_tool_response::Outcome, call_tool_with_progress_response::Event,
        execute_batch_request::Source,
    },
    service::{batch::checked, caller::Caller, check, convert, status},
};

/// What became of a call of one of the tools.
pub(super) enum Begun {
    /// Nothing is run. The message says why.
    Refused(String),
    /// The batch runs, or has run.
    Running(Box<Run>),
}

/// A batch that is followed. Dropping it changes nothing for the batch.
pub(super) struct Run {
    engine: Engine,
    caller: Caller,
    tool: BatchTool,
    batch_id: Arc<str>,
    watch: Watch,
    /// How many of its calls have ended.
    ended: u32,
}

/// Begins the batch that a model asks for, or attaches to the one that its key names.
pub(super) async fn begin(
    engine: &Engine,
    caller: &Caller,
    ToolCall { tool, call, trace }: ToolCall,
) -> Result<Begun, Status> {
    // 16 MiB of JSON take a while to read, which no other request should wait for.
    let (tenant, owner) = (caller.tenant(), caller.tenant());
    let asked = tokio::task::spawn_blocking(move || request::read(&owner, tool, call)).await;
    let Asked { request, key, mut faults } = match asked.map_err(|_| status::engine(Error::Stopping))? {
        Ok(asked) => asked,
        Err(message) => return Ok(Begun::Refused(message)),
    };
    let running = |(batch_id, watch)| {
        let (engine, caller) = (engine.clone(), caller.clone());
        Begun::Running(Box::new(Run { engine, caller, tool, batch_id, watch, ended: 0 }))
    };
    let refused = |error| taken(error, &key);
    if faults.is_empty() {
        let known = Some(request.batch_id.as_str()).filter(|id| !id.is_empty());
        let attached = engine.attach(&tenant, known, check::content_digest(&request)).await.map_err(refused)?;
        if let Some(attached) = attached {
            return Ok(running(attached));
        }
    }
    let reference = match &request.source {
        Some(Source::CallsRef(reference)) => Some(reference.clone()),
        Some(Source::CallList(_)) | None => None,
    };
    match checked(engine, &tenant, request).await? {
        Ok(spec) if faults.is_empty() => {
            engine.execute(&tenant, Spec { trace, ..spec }).await.map(running).map_err(refused)
        }
        Ok(_) => Ok(Begun::Refused(faults.message())),
        Err(refusal) => {
            faults.add(refusal.violations(), reference.as_deref());
            Ok(Begun::Refused(faults.message()))
        }
    }
}

/// The id of a batch was made from the key, so a model or its caller knows nothing but that.
fn taken(error: Error, key: &str) -> Status {
    if matches!(error, Error::AlreadyExists { .. }) { status::batch_key_taken(key) } else { status::engine(error) }
}

impl Run {
    /// Progress, or the answer, which is the last.
    pub(super) async fn event(&mut self) -> Result<Event, Status> {
        match self.next().await? {
            Some(progress) => Ok(Event::Progress(progress)),
            None => self.response().await.map(Event::Response),
        }
    }

    /// Waits for the next call to end; `None` once the batch has.
    pub(super) async fn next(&mut self) -> Result<Option<ToolProgress>, Status> {
        while let Some(told) = self.watch.next().await {
            if let Told::Line(line) = told.map_err(status::engine)?
                && let Entry::CallFinished(finished) = &line.entry.event
            {
                self.ended += 1;
                return Ok(Some(self.progress(finished)));
            }
        }
        Ok(None)
    }

    fn progress(&self, finished: &CallFinished) -> ToolProgress {
        let calls = &self.watch.outline.calls;
        let tool = calls.get(finished.index as usize).map_or("", |call| &*call.tool);
        let status = render::call_status(convert::call_status(&finished.ending));
        let total = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        ToolProgress {
            progress: f64::from(self.ended),
            total: f64::from(total),
            message: format!("{} of {total}: {tool} {status}", self.ended),
        }
    }

    /// The result of the batch, which has ended. It becomes the task's next variable, unless it was there before this call.
    pub(super) async fn response(&self) -> Result<CallToolResponse, Status> {
        let at = self.watch.located();
        let view = self.engine.read(move |reader| reader.batch(at)).await.map_err(status::engine)?;
        let summary = convert::summary(&view);
        let result = match self.tool {
            BatchTool::Execute => render::batch(&summary),
            BatchTool::Invocations => render::invocations(&summary),
        };
        let variable = if self.watch.began { self.keep(&view.outline.task_id, &result).await } else { String::new() };
        Ok(CallToolResponse {
            outcome: Some(Outcome::ResultJson(result)),
            step_id: self.batch_id.to_string(),
            variable,
            ..CallToolResponse::default()
        })
    }

    /// The name that the result is kept under. The calls have run, so whatever prevents it is no failure of theirs.
    async fn keep(&self, task_id: &str, result: &str) -> String {
        let writer = self.caller.name();
        match self.engine.set_variable(&self.caller.tenant(), task_id, None, result.to_owned().into(), writer).await {
            Ok(name) => name,
            Err(error) => {
                tracing::warn!(%error, batch_id = %self.batch_id, "the result of a batch became no variable");
                String::new()
            }
        }
    }
}
