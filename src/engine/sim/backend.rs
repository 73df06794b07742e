//! The tools' side of a world: it does what the plan says, and everything it is asked stands on the timeline.

use std::{pin::Pin, sync::Arc, time::Duration};

use tokio_stream::{Stream, StreamExt as _, wrappers::ReceiverStream};
use tonic::{Request, Response, Status, transport};

use super::{
    plan::Plan,
    timeline::{Execution, Happened, Question, Timeline, Word},
};
use crate::{
    batch::{
        event::Reason,
        sim::plan::{Answer, Deed, Script, TOOLS},
    },
    dispatch::pipe::Listener,
    proto::{
        CallContext, CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse,
        ListToolsRequest, ListToolsResponse, LookupCallRequest, LookupCallResponse, Tool, ToolAwaiting, ToolFailure,
        call_tool_response::Outcome,
        lookup_call_response::{Fate, NotLanded, Unknown},
        tool_service_server::{ToolService, ToolServiceServer},
    },
};

/// Longer than any call may take.
const NEVER: Duration = Duration::from_hours(24);

#[derive(Clone)]
struct Tools {
    plan: Arc<Plan>,
    timeline: Timeline,
}

/// Serves until it is dropped, from `absence` on.
pub(super) async fn serve(plan: Arc<Plan>, timeline: Timeline, listener: Listener, absence: Duration) {
    tokio::time::sleep(absence).await;
    let connections = ReceiverStream::new(listener).map(Ok::<_, std::io::Error>);
    let tools = ToolServiceServer::new(Tools { plan, timeline });
    let served = transport::Server::builder().add_service(tools).serve_with_incoming(connections).await;
    served.expect("a pipe does not fail");
}

/// The JSON text that an effect of so many bytes answers with: the same for every attempt, and for no other call.
pub(super) fn result(idempotency_key: &str, bytes: u64) -> String {
    let bytes = usize::try_from(bytes).expect("results are small");
    let mut text = idempotency_key.repeat(1 + bytes / idempotency_key.len());
    text.truncate(bytes - 2);
    format!("\"{text}\"")
}

fn outcome(deed: Deed, idempotency_key: &str) -> Outcome {
    match deed {
        Deed::Completed { bytes } => Outcome::ResultJson(result(idempotency_key, bytes)),
        Deed::Awaiting { bytes } => Outcome::Awaiting(ToolAwaiting {
            await_id: format!("review of {idempotency_key}"),
            result_json: result(idempotency_key, bytes),
        }),
        Deed::Failed { retryable, message } => {
            Outcome::Failure(ToolFailure { message: "x".repeat(message), code: "E1".into(), retryable })
        }
    }
}

fn response(outcome: Option<Outcome>) -> CallToolResponse {
    CallToolResponse { outcome, ..CallToolResponse::default() }
}

impl Tools {
    /// The call's batch. A direct step is told of none, but of its agent as all are.
    fn number(&self, context: &CallContext) -> usize {
        let number = Plan::number(&context.agent_id);
        assert_eq!(
            context.batch_id.is_empty(),
            self.plan.direct[number],
            "only a direct step is of no batch: {context:?}"
        );
        number
    }

    fn script(&self, context: &CallContext) -> Script {
        let call = &self.plan.batches[self.number(context)].calls[context.index as usize];
        call.attempt(context.attempt.saturating_sub(1) as usize).clone()
    }

    /// What came of the effect that an attempt under this idempotency key had.
    fn landed(&self, idempotency_key: &str) -> Option<Deed> {
        let happened = self.timeline.so_far();
        let mut deeds = happened.iter().rev().filter_map(|(_, what)| match what {
            Happened::Ran(ran) if ran.idempotency_key == idempotency_key => ran.deed.filter(|deed| deed.landed()),
            Happened::Ran(_)
            | Happened::Committed(_)
            | Happened::Asked(_)
            | Happened::Told { .. }
            | Happened::Acknowledged(_)
            | Happened::Crashed => None,
        });
        deeds.next()
    }
}

#[tonic::async_trait]
impl ToolService for Tools {
    async fn list_tools(&self, _: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let tool = |(name, _): (&str, &str)| Tool { name: name.into(), ..Tool::default() };
        Ok(Response::new(ListToolsResponse { tools: TOOLS.map(tool).into(), next_page_token: String::new() }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let context = request.into_inner().context.unwrap_or_default();
        let Script { answer, ms, .. } = self.script(&context);
        self.timeline.push(Happened::Ran(Execution {
            batch: self.number(&context),
            index: context.index,
            attempt: context.attempt,
            step_id: context.step_id,
            key: context.key,
            idempotency_key: context.idempotency_key.clone(),
            in_doubt: context.in_doubt,
            deed: answer.deed(),
        }));
        tokio::time::sleep(Duration::from_millis(ms)).await;
        match answer {
            Answer::Heard(deed) => Ok(Response::new(response(Some(outcome(deed, &context.idempotency_key))))),
            Answer::NotSent(_) => Err(Status::unimplemented("no such method")),
            Answer::Lost(Reason::TimedOut, _) => {
                tokio::time::sleep(NEVER).await;
                Err(Status::deadline_exceeded("long ago"))
            }
            Answer::Lost(Reason::BackendUnavailable, _) => Err(Status::unavailable("lost on the way")),
            Answer::Lost(..) => Ok(Response::new(response(None))),
        }
    }

    type CallToolWithProgressStream = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

    async fn call_tool_with_progress(
        &self,
        _: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        Err(Status::unimplemented("no tool here reports progress"))
    }

    async fn lookup_call(&self, request: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        let context = request.into_inner().context.unwrap_or_default();
        let Script { can_tell, tell_ms, .. } = self.script(&context);
        let (answer, fate) = match self.landed(&context.idempotency_key) {
            _ if !can_tell => (Word::CannotTell, Fate::Unknown(Unknown {})),
            Some(deed) => (Word::Landed, Fate::Landed(response(Some(outcome(deed, &context.idempotency_key))))),
            None => (Word::NotLanded, Fate::NotLanded(NotLanded {})),
        };
        let batch = self.number(&context);
        self.timeline.push(Happened::Asked(Question { batch, index: context.index, answer }));
        tokio::time::sleep(Duration::from_millis(tell_ms)).await;
        Ok(Response::new(LookupCallResponse { fate: Some(fate) }))
    }
}
