//! `TaskService`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream as chunks};
use tonic::{Request, Response, Status, async_trait};

use super::{
    caller::Caller,
    check, convert, feed, key, page, status,
    stream::{self, Events},
    usage, variable,
};
use crate::{
    batch::{
        event::{Ending, StepId},
        outcome::Payload,
    },
    engine::{
        Engine, Error,
        read::{Reader, StepView},
    },
    prices::Prices,
    proto::{self, task_service_server::TaskService},
    store::records::{BatchRecord, Outline},
};

/// A result up to this size is part of its step; a larger one is read in pieces.
const STEP_RESULT_MAX: u64 = 1024 * 1024;
/// The piece that `ReadStepResult` sends at once.
const CHUNK: usize = 256 * 1024;
/// How many pieces are read at once: the next ones, while one is sent.
const READ_AHEAD: usize = 3;
/// The tool that a batch's own step names.
const BATCH_TOOL: &str = "execute_tool_batch";

/// Serves `TaskService` from an engine.
pub(super) struct Tasks {
    pub(super) engine: Engine,
    pub(super) prices: Arc<Prices>,
}

#[async_trait]
impl TaskService for Tasks {
    type ReadStepResultStream = Events<proto::ReadStepResultResponse>;
    type WatchTaskStream = Events<proto::WatchTaskResponse>;

    async fn get_step(
        &self,
        request: Request<proto::GetStepRequest>,
    ) -> Result<Response<proto::GetStepResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let step_id = request.into_inner().step_id;
        let prices = Arc::clone(&self.prices);
        let step = self
            .engine
            .read(move |reader| get_step(reader, &tenant, &step_id, &prices))
            .await
            .map_err(status::engine)?;
        Ok(Response::new(proto::GetStepResponse { step: Some(step) }))
    }

    async fn read_step_result(
        &self,
        request: Request<proto::ReadStepResultRequest>,
    ) -> Result<Response<Self::ReadStepResultStream>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let proto::ReadStepResultRequest { step_id, offset } = request.into_inner();
        let wanted = step_id.clone();
        let result =
            self.engine.read(move |reader| step_result(reader, &tenant, &wanted)).await.map_err(status::engine)?;
        let result = result.map_err(|state| status::no_result(&step_id, state))?;
        let end = result.bytes;
        if offset > end {
            return Err(status::past_result(offset, end));
        }
        let engine = self.engine.clone();
        let read = move |offset: u64| {
            let (engine, result) = (engine.clone(), result.clone());
            async move {
                let bytes = (CHUNK as u64).min(result.bytes - offset);
                let chunk = engine.read(move |reader| reader.payload(&result, offset, bytes)).await;
                Ok(proto::ReadStepResultResponse { chunk: chunk.map_err(status::engine)? })
            }
        };
        let chunks = chunks::iter((offset..end).step_by(CHUNK)).map(read).buffered(READ_AHEAD);
        Ok(Response::new(Box::pin(chunks)))
    }

    async fn list_steps(
        &self,
        request: Request<proto::ListStepsRequest>,
    ) -> Result<Response<proto::ListStepsResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let proto::ListStepsRequest { task_id, parent_step_id, page_size, page_token } = request.into_inner();
        let limit = page::size(page_size)?;
        if task_id.is_empty() && parent_step_id.is_empty() {
            return Err(status::invalid(
                "task_id",
                "is empty; expected a task's id, or a batch's id in parent_step_id",
            ));
        }
        let list = ["steps", &*tenant, &task_id, &parent_step_id];
        let after = page::cursor(&list, &page_token)?.map(|cursor| StepId(uuid::Uuid::from_bytes(cursor)));
        let (owner, task_name, parent) = (Arc::clone(&tenant), task_id.clone(), parent_step_id.clone());
        let page = self
            .engine
            .read(move |reader| {
                let (task, of) = scope(reader, &owner, &task_name, &parent)?;
                reader.steps(task, of, after, limit)
            })
            .await
            .map_err(status::engine)?;
        let mut steps: Vec<proto::Step> = page.items.iter().map(|view| step(view, &self.prices)).collect();
        let fitting = page::fitting(&steps);
        let next = if fitting < steps.len() {
            steps.truncate(fitting);
            page.items.get(fitting - 1).map(|last| Bytes::copy_from_slice(last.record.step_id.0.as_bytes()))
        } else {
            page.next
        };
        let next_page_token = next.map(|cursor| page::token(&list, &cursor)).unwrap_or_default();
        Ok(Response::new(proto::ListStepsResponse { steps, next_page_token }))
    }

    async fn end_task(
        &self,
        request: Request<proto::EndTaskRequest>,
    ) -> Result<Response<proto::EndTaskResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let request = request.into_inner();
        check::check_end(&request).map_err(|refusal| status::refusal(&refusal))?;
        self.engine.end_task(&tenant, &request.task_id, &request.reason).await.map_err(status::engine)?;
        Ok(Response::new(proto::EndTaskResponse {}))
    }

    async fn set_variable(
        &self,
        request: Request<proto::SetVariableRequest>,
    ) -> Result<Response<proto::SetVariableResponse>, Status> {
        let caller = Caller::of(&request)?;
        variable::set(&self.engine, &caller, request.into_inner()).await.map(Response::new)
    }

    async fn list_usage(
        &self,
        request: Request<proto::ListUsageRequest>,
    ) -> Result<Response<proto::ListUsageResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        usage::list(&self.engine, &tenant, &self.prices, request.into_inner()).await.map(Response::new)
    }

    async fn list_keys(
        &self,
        request: Request<proto::ListKeysRequest>,
    ) -> Result<Response<proto::ListKeysResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        key::list(&self.engine, &tenant, request.into_inner()).await.map(Response::new)
    }

    async fn settle_key(
        &self,
        request: Request<proto::SettleKeyRequest>,
    ) -> Result<Response<proto::SettleKeyResponse>, Status> {
        let caller = Caller::of(&request)?;
        key::settle(&self.engine, &caller, request.into_inner()).await.map(Response::new)
    }

    async fn watch_task(
        &self,
        request: Request<proto::WatchTaskRequest>,
    ) -> Result<Response<Self::WatchTaskStream>, Status> {
        let deadline = stream::deadline(request.metadata());
        let tenant = Caller::of(&request)?.tenant();
        feed::watch(&self.engine, tenant, request.into_inner(), deadline).await.map(Response::new)
    }
}

/// Which steps a listing is of. A batch that is not the named task's is as unknown as one that is nobody's.
fn scope(
    reader: &Reader,
    tenant: &str,
    task_id: &str,
    parent: &str,
) -> Result<(crate::batch::core::TaskNo, Option<crate::batch::core::BatchNo>), Error> {
    if parent.is_empty() {
        return Ok((reader.known_task(tenant, task_id)?, None));
    }
    let at = reader.find(tenant, parent)?;
    if !task_id.is_empty() && reader.known_task(tenant, task_id)? != at.task {
        return Err(Error::NotFound { kind: "batch", id: parent.into() });
    }
    Ok((at.task, Some(at.batch)))
}

/// A step's result, or why it has none.
fn step_result(reader: &Reader, tenant: &str, step_id: &str) -> Result<Result<Payload, &'static str>, Error> {
    match reader.step(tenant, step_id) {
        Ok(view) => Ok(match view.record.end {
            None => Err("is still running"),
            Some(end) => end.result.ok_or("failed"),
        }),
        Err(Error::NotFound { .. }) if reader.locate(tenant, step_id)?.is_some() => {
            Ok(Err("is a batch, and each of its calls has its own"))
        }
        Err(error) => Err(error),
    }
}

/// A call's step with its args and result, or a batch's own step.
fn get_step(reader: &Reader, tenant: &str, step_id: &str, prices: &Prices) -> Result<proto::Step, Error> {
    let view = match reader.step(tenant, step_id) {
        Ok(view) => view,
        Err(Error::NotFound { .. }) => {
            let Some(at) = reader.locate(tenant, step_id)? else {
                return Err(Error::NotFound { kind: "step", id: step_id.into() });
            };
            let head = reader.head(at)?;
            return Ok(batch_step(&head, &reader.outline(&head)?));
        }
        Err(error) => return Err(error),
    };
    let args = reader.args(&view.head, &view.outline, view.record.index)?;
    let result = view.record.end.as_ref().and_then(|end| end.result.as_ref());
    let result_json = match result {
        Some(result) if result.bytes <= STEP_RESULT_MAX => text(&reader.payload(result, 0, result.bytes)?),
        Some(_) | None => String::new(),
    };
    Ok(proto::Step { args_json: text(&args), result_json, ..step(&view, prices) })
}

/// A call's step without its args and result.
fn step(view: &StepView, prices: &Prices) -> proto::Step {
    let record = &view.record;
    let call = view.outline.calls.get(record.index as usize);
    let tool = call.map_or_else(String::new, |call| call.tool.to_string());
    let mut message = proto::Step {
        step_id: record.step_id.to_string(),
        parent_step_id: if view.head.direct { String::new() } else { view.head.batch_id.clone() },
        task_id: view.outline.task_id.clone(),
        agent_id: view.outline.agent_id.clone(),
        tool: tool.clone(),
        base_tool: record.base_tool.clone(),
        backend: record.backend.clone(),
        key: call.and_then(|call| call.key.as_deref()).unwrap_or_default().to_owned(),
        index: record.index,
        trace_id: view.head.trace.id(),
        status: proto::CallStatus::Running.into(),
        attempts: record.attempts,
        start_time: Some(convert::timestamp(record.start_time)),
        ..proto::Step::default()
    };
    let Some(end) = &record.end else { return message };
    message.status = convert::call_status(&end.finished.ending).into();
    message.end_time = Some(convert::timestamp(end.time));
    message.result_bytes = end.result.as_ref().map_or(0, |result| result.bytes);
    match &end.finished.ending {
        Ending::Failed(error) => message.error = Some(convert::call_error(error)),
        Ending::Awaiting { await_id, .. } => message.await_id.clone_from(await_id),
        Ending::Completed { .. } | Ending::Skipped { .. } => {}
    }
    message.usage = usage::rows(record, &tool, prices);
    message
}

/// A batch's own step: completed once the batch has ended, however its calls went (R10).
fn batch_step(head: &BatchRecord, outline: &Outline) -> proto::Step {
    let status = if head.end.is_some() { proto::CallStatus::Completed } else { proto::CallStatus::Running };
    proto::Step {
        step_id: head.batch_id.clone(),
        task_id: outline.task_id.clone(),
        agent_id: outline.agent_id.clone(),
        tool: BATCH_TOOL.into(),
        base_tool: BATCH_TOOL.into(),
        status: status.into(),
        attempts: 1,
        trace_id: head.trace.id(),
        start_time: Some(convert::timestamp(head.start_time)),
        end_time: head.end.map(|end| convert::timestamp(end.end.time)),
        ..proto::Step::default()
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
