//! `ToolService`, as agents see it.

use std::{collections::HashMap, sync::Arc};

use tonic::{Request, Response, Status, async_trait};

use super::{TENANT, caller::Caller, page, status, stream::Events};
use crate::{
    dispatch::ToolLists,
    engine::Engine,
    proto::{self, tool_service_server::ToolService},
};

/// Serves `ToolService` from an engine.
pub(super) struct Tools {
    pub(super) engine: Engine,
    pub(super) lists: Arc<ToolLists>,
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
        let list = ["tools", TENANT, &agent_id];
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

    async fn call_tool(&self, _: Request<proto::CallToolRequest>) -> Result<Response<proto::CallToolResponse>, Status> {
        Err(status::not_served("CallTool"))
    }

    async fn call_tool_with_progress(
        &self,
        _: Request<proto::CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        Err(status::not_served("CallToolWithProgress"))
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
        let all = self.engine.list_tools().await.map_err(status::engine)?;
        let mut tools = all.into_iter().map(|listed| listed.tool);
        let Some(list) = self.lists.of(agent_id) else { return Ok(tools.collect()) };
        let by_name: HashMap<String, proto::Tool> = tools.by_ref().map(|tool| (tool.name.clone(), tool)).collect();
        let bound =
            |(name, base): (&String, &String)| Some(proto::Tool { name: name.clone(), ..by_name.get(base)?.clone() });
        Ok(list.iter().filter_map(bound).collect())
    }
}
