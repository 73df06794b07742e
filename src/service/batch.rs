//! `BatchService`.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::{
    caller::{Caller, may_run_batches},
    check::{self, Refusal},
    convert, page, status,
    stream::{self, Events},
    trace,
};
use crate::{
    batch::{core::BatchNo, spec::Spec},
    clock::Clock,
    dispatch::ToolLists,
    engine::{
        Engine, Error, PlannedCall,
        read::{BatchView, Located, Reader},
    },
    proto::{self, batch_event, batch_service_server::BatchService, execute_batch_request::Source},
    store::records::BatchRecord,
};

/// Serves `BatchService` from an engine.
pub(super) struct Batches {
    pub(super) engine: Engine,
    pub(super) clock: Clock,
    pub(super) lists: Arc<ToolLists>,
}

fn execute_response(event: proto::BatchEvent) -> proto::ExecuteBatchResponse {
    proto::ExecuteBatchResponse { event: Some(event) }
}

fn watch_response(event: proto::BatchEvent) -> proto::WatchBatchResponse {
    proto::WatchBatchResponse { event: Some(event) }
}

#[async_trait]
impl BatchService for Batches {
    type ExecuteBatchStream = Events<proto::ExecuteBatchResponse>;
    type WatchBatchStream = Events<proto::WatchBatchResponse>;

    async fn execute_batch(
        &self,
        request: Request<proto::ExecuteBatchRequest>,
    ) -> Result<Response<Self::ExecuteBatchStream>, Status> {
        let deadline = stream::deadline(request.metadata());
        let trace = trace::of(request.metadata());
        let caller = Caller::of(&request)?;
        let tenant = caller.tenant();
        let mut request = request.into_inner();
        request.agent_id = caller.acts_for(&self.lists, &request.agent_id)?;
        may_run_batches(&self.lists, &request.agent_id)?;
        let known = Some(request.batch_id.as_str()).filter(|id| !id.is_empty());
        let digest = check::content_digest(&request);
        if request.validate_only {
            if let Some(batch_id) = known {
                self.engine.claimed(&tenant, batch_id, digest).await.map_err(status::engine)?;
            }
            return self.plan(&tenant, request).await;
        }
        let attached = self.engine.attach(&tenant, known, digest).await.map_err(status::engine)?;
        let (batch_id, watch) = if let Some(attached) = attached {
            attached
        } else {
            let spec = Spec { trace, ..self.checked(&tenant, request).await? };
            self.engine.execute(&tenant, spec).await.map_err(status::engine)?
        };
        Ok(Response::new(stream::events(self.engine.clone(), batch_id, watch, deadline, execute_response)))
    }

    async fn watch_batch(
        &self,
        request: Request<proto::WatchBatchRequest>,
    ) -> Result<Response<Self::WatchBatchStream>, Status> {
        let deadline = stream::deadline(request.metadata());
        let tenant = Caller::of(&request)?.tenant();
        let proto::WatchBatchRequest { batch_id, after_sequence } = request.into_inner();
        let watch = self.engine.watch(&tenant, &batch_id, after_sequence).await.map_err(status::engine)?;
        Ok(Response::new(stream::events(self.engine.clone(), batch_id.into(), watch, deadline, watch_response)))
    }

    async fn get_batch(
        &self,
        request: Request<proto::GetBatchRequest>,
    ) -> Result<Response<proto::GetBatchResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let batch_id = request.into_inner().batch_id;
        let view = self.engine.read(move |reader| reader.batch(reader.find(&tenant, &batch_id)?)).await;
        let batch = convert::batch(&view.map_err(status::engine)?);
        Ok(Response::new(proto::GetBatchResponse { batch: Some(batch) }))
    }

    async fn list_batches(
        &self,
        request: Request<proto::ListBatchesRequest>,
    ) -> Result<Response<proto::ListBatchesResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let proto::ListBatchesRequest { task_id, page_size, page_token } = request.into_inner();
        let limit = page::size(page_size)?;
        let list = ["batches", &*tenant, &task_id];
        let before = page::cursor(&list, &page_token)?.map(|cursor| BatchNo(u64::from_be_bytes(cursor)));
        let (owner, task_name) = (Arc::clone(&tenant), task_id.clone());
        let page = self
            .engine
            .read(move |reader| {
                let task = match task_name.as_str() {
                    "" => None,
                    task_id => Some(reader.known_task(&owner, task_id)?),
                };
                let page = reader.batches(&owner, task, before, limit)?;
                let mut batches = Vec::with_capacity(page.items.len());
                for (at, head) in &page.items {
                    batches.push(listed(reader, *at, head)?);
                }
                Ok((batches, page.next))
            })
            .await;
        let (batches, next) = page.map_err(status::engine)?;
        let next_page_token = next.map(|cursor| page::token(&list, &cursor)).unwrap_or_default();
        Ok(Response::new(proto::ListBatchesResponse { batches, next_page_token }))
    }

    async fn cancel_batch(
        &self,
        request: Request<proto::CancelBatchRequest>,
    ) -> Result<Response<proto::CancelBatchResponse>, Status> {
        let tenant = Caller::of(&request)?.tenant();
        let proto::CancelBatchRequest { batch_id, abort_running } = request.into_inner();
        let view = self.engine.cancel(&tenant, &batch_id, abort_running).await.map_err(status::engine)?;
        Ok(Response::new(proto::CancelBatchResponse { batch: Some(convert::batch(&view)) }))
    }
}

/// A batch without its results: from its head where it has ended, from its log where it runs.
fn listed(reader: &Reader, at: Located, head: &BatchRecord) -> Result<proto::Batch, Error> {
    let outline = reader.outline(head)?;
    if head.end.is_some() {
        return Ok(convert::ended_batch(head, &outline));
    }
    let head = reader.head(at)?;
    let state = reader.state(at, outline.calls.len(), &outline.options)?;
    let results = vec![None; state.calls.len()];
    let mut batch = convert::batch(&BatchView { head, outline, state, results });
    if let Some(summary) = &mut batch.summary {
        summary.results.clear();
    }
    Ok(batch)
}

/// Checks the request whole, with the list that its reference leads to (R1, R2). The status is for what went wrong on the way.
pub(super) async fn checked(
    engine: &Engine,
    tenant: &str,
    request: proto::ExecuteBatchRequest,
) -> Result<Result<Spec, Refusal>, Status> {
    let name = match &request.source {
        Some(Source::CallsRef(text)) => check::named_output(text),
        Some(Source::CallList(_)) | None => None,
    };
    let Some(name) = name else { return Ok(check::check(&request)) };
    let output = engine.variable(tenant, &request.task_id, name).await.map_err(status::engine)?;
    // Somebody else's output can be large, and no other request should wait while it is read.
    let checked = tokio::task::spawn_blocking(move || check::check_with_output(&request, &output)).await;
    checked.map_err(|_| status::engine(Error::Stopping))
}

impl Batches {
    async fn checked(&self, tenant: &str, request: proto::ExecuteBatchRequest) -> Result<Spec, Status> {
        checked(&self.engine, tenant, request).await?.map_err(|refusal| status::refusal(&refusal))
    }

    /// Checks the request and shows what would become of it; runs nothing.
    async fn plan(
        &self,
        tenant: &str,
        request: proto::ExecuteBatchRequest,
    ) -> Result<Response<Events<proto::ExecuteBatchResponse>>, Status> {
        let batch_id = request.batch_id.clone();
        let spec = self.checked(tenant, request).await?;
        let shown = spec.clone();
        let planned = self.engine.plan(tenant, spec).await.map_err(status::engine)?;
        let event = proto::BatchEvent {
            batch_id,
            sequence: 0,
            time: Some(convert::timestamp(self.clock.now().wall)),
            event: Some(batch_event::Event::BatchPlanned(plan_message(&shown, planned))),
        };
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(execute_response(event))))))
    }
}

fn plan_message(spec: &Spec, planned: Vec<PlannedCall>) -> proto::BatchPlanned {
    let text = |text: &Option<Arc<str>>| text.as_deref().unwrap_or_default().to_owned();
    let calls = (0..).zip(&spec.calls).zip(planned).map(|((index, call), planned)| proto::PlannedCall {
        index,
        tool: call.tool.to_string(),
        base_tool: planned.base_tool,
        backend: planned.backend,
        key: text(&call.key),
        lane: text(&call.lane),
        skipped_step_id: planned.skipped_step_id.map(|step_id| step_id.to_string()).unwrap_or_default(),
        error: planned.error.as_ref().map(convert::call_error),
    });
    proto::BatchPlanned { calls: calls.collect() }
}
