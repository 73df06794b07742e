//! `ToolService`, as agents see it.

use std::{collections::HashMap, sync::Arc};

use tonic::{Request, Response, Status, async_trait};

use super::{
    caller::Caller,
    convert, direct, page, status,
    stream::{self, Events},
    tool_batch::{self, BatchTool, ToolCall},
    trace,
};
use crate::{
    dispatch::ToolLists,
    engine::Engine,
    proto::{self, tool_service_server::ToolService},
    schema,
};

/// Serves `ToolService` from an engine.
pub(super) struct Tools {
    pub(super) engine: Engine,
    pub(super) lists: Arc<ToolLists>,
}

/// What a call is of.
enum Callee {
    Batch(BatchTool),
    Ordinary,
    /// The agent's list has no such name.
    NotAllowed(proto::CallToolResponse),
}

#[async_trait]
impl ToolService for Tools {
    type CallToolWithProgressStream = Events<proto::CallToolWithProgressResponse>;

    async fn list_tools(
        &self,
        request: Request<proto::ListToolsRequest>,
    ) -> Result<Response<proto::ListToolsResponse>, Status> {
        let caller = Caller::of(&request)?;
        let proto::ListToolsRequest { agent_id, page_size, page_token } = request.into_inner();
        let agent_id = caller.acts_for(&self.lists, &agent_id)?;
        let limit = page::size(page_size)?;
        let tenant = caller.tenant();
        let list = ["tools", &*tenant, &agent_id];
        let from = page::cursor(&list, &page_token)?.map_or(0, u64::from_be_bytes);
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let all = self.listed(&agent_id).await?;
        let count = all.len();
        let mut tools: Vec<proto::Tool> = all.into_iter().skip(from).take(limit).collect();
        tools.truncate(page::fitting(&tools));
        let end = from.saturating_add(tools.len());
        let next_page_token = if count > end { page::token(&list, &(end as u64).to_be_bytes()) } else { String::new() };
        Ok(Response::new(proto::ListToolsResponse { tools, next_page_token }))
    }

    async fn call_tool(
        &self,
        request: Request<proto::CallToolRequest>,
    ) -> Result<Response<proto::CallToolResponse>, Status> {
        let trace = trace::of(request.metadata());
        let caller = Caller::of(&request)?;
        let mut call = request.into_inner();
        match self.callee(&caller, &mut call)? {
            Callee::Batch(tool) => {
                tool_batch::call(&self.engine, &caller, ToolCall { tool, call, trace }).await.map(Response::new)
            }
            Callee::NotAllowed(answer) => Ok(Response::new(answer)),
            Callee::Ordinary => {
                let tenant = caller.tenant();
                direct::call(&self.engine, &tenant, &call, trace).await.map(Response::new)
            }
        }
    }

    async fn call_tool_with_progress(
        &self,
        request: Request<proto::CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        let deadline = stream::deadline(request.metadata());
        let trace = trace::of(request.metadata());
        let caller = Caller::of(&request)?;
        let mut call = request.into_inner().call.unwrap_or_default();
        match self.callee(&caller, &mut call)? {
            Callee::Batch(tool) => tool_batch::follow(&self.engine, &caller, ToolCall { tool, call, trace }, deadline)
                .await
                .map(Response::new),
            Callee::NotAllowed(answer) => {
                let event = Some(proto::call_tool_with_progress_response::Event::Response(answer));
                let message = proto::CallToolWithProgressResponse { event };
                Ok(Response::new(Box::pin(tokio_stream::once(Ok(message)))))
            }
            Callee::Ordinary => {
                direct::follow(&self.engine, &caller.tenant(), &call, trace, deadline).await.map(Response::new)
            }
        }
    }

    async fn lookup_call(
        &self,
        _: Request<proto::LookupCallRequest>,
    ) -> Result<Response<proto::LookupCallResponse>, Status> {
        Err(status::not_served("LookupCall"))
    }
}

impl Tools {
    /// What an agent can call, by the names of its list; every tool for who has none.
    async fn listed(&self, agent_id: &str) -> Result<Vec<proto::Tool>, Status> {
        let served = self.engine.list_tools().await.map_err(status::engine)?;
        // A backend's tool of the same name can never be called, as the batch tools answer to it.
        let served = served.into_iter().map(|listed| listed.tool).filter(|tool| BatchTool::named(&tool.name).is_none());
        let all = served.chain(schema::batch_tools());
        let Some(list) = self.lists.bindings(agent_id) else { return Ok(all.collect()) };
        let by_name: HashMap<String, proto::Tool> = all.map(|tool| (tool.name.clone(), tool)).collect();
        let bound =
            |(name, base): (&String, &String)| Some(proto::Tool { name: name.clone(), ..by_name.get(base)?.clone() });
        Ok(list.iter().filter_map(bound).collect())
    }

    /// Puts the agent that a call is for into it, and looks its tool up in the agent's list.
    fn callee(&self, caller: &Caller, call: &mut proto::CallToolRequest) -> Result<Callee, Status> {
        let context = call.context.get_or_insert_default();
        context.agent_id = caller.acts_for(&self.lists, &context.agent_id)?;
        let Some(base_tool) = self.lists.base_tool(&context.agent_id, &call.tool) else {
            let message = self.lists.not_allowed(&context.agent_id, &call.tool);
            return Ok(Callee::NotAllowed(convert::failure(message, "TOOL_NOT_ALLOWED")));
        };
        Ok(BatchTool::named(&base_tool).map_or(Callee::Ordinary, Callee::Batch))
    }
}
