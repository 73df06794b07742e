//! The tools as a `ToolService`.

use std::pin::Pin;

use tokio_stream::Stream;
use tonic::{Request, Response, Status, async_trait};
use toolbatch::proto::{
    CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
    ListToolsResponse, LookupCallRequest, LookupCallResponse, ToolProgress,
    call_tool_response::Outcome,
    call_tool_with_progress_response::Event,
    lookup_call_response::{Fate, NotLanded},
    tool_service_server::ToolService,
};

use super::{
    act::{self, Count, Fault, Ledger},
    tools,
};

/// All tools of the suite.
#[derive(Default)]
pub(super) struct Tools {
    ledger: Ledger,
}

impl Tools {
    async fn run(&self, request: CallToolRequest) -> Result<CallToolResponse, Status> {
        let tool = request.tool.clone();
        match act::act(&self.ledger, request).await {
            Ok(response) => Ok(response),
            Err(Fault::Declared(failure)) => Ok(act::outcome(Outcome::Failure(failure))),
            Err(Fault::Unknown) => Err(Status::unimplemented(format!("there is no tool {tool:?}"))),
            Err(Fault::Broken(error)) => {
                eprintln!("{tool}: {error:#}");
                Err(Status::unknown("the tool failed without saying what it did; its log says more"))
            }
        }
    }
}

#[async_trait]
impl ToolService for Tools {
    type CallToolWithProgressStream = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

    async fn list_tools(&self, request: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        page(&request.into_inner()).map(Response::new)
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        self.run(request.into_inner()).await.map(Response::new)
    }

    async fn call_tool_with_progress(
        &self,
        request: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        let call = request.into_inner().call.unwrap_or_default();
        let reported = progress(&call);
        let response = self.run(call).await?;
        let events = reported.map(Event::Progress).chain([Event::Response(response)]);
        let messages = events.map(|event| Ok(CallToolWithProgressResponse { event: Some(event) }));
        Ok(Response::new(Box::pin(tokio_stream::iter(messages))))
    }

    async fn lookup_call(&self, request: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        let LookupCallRequest { tool, args_json: _, context } = request.into_inner();
        if tool != "ledger" {
            return Err(Status::unimplemented(format!("{tool:?} cannot be looked up")));
        }
        let key = context.unwrap_or_default().idempotency_key;
        let fate = self.ledger.landed(&key).map_or(Fate::NotLanded(NotLanded {}), Fate::Landed);
        Ok(Response::new(LookupCallResponse { fate: Some(fate) }))
    }
}

/// What a call reports on its way.
fn progress(call: &CallToolRequest) -> impl Iterator<Item = ToolProgress> + Send + use<> {
    let to = match act::read(&call.args_json) {
        Ok(Count { to }) if call.tool == "count" => to,
        Ok(_) | Err(_) => 0,
    };
    (1..=to).map(move |n| ToolProgress { progress: n.into(), total: to.into(), message: format!("{n} of {to}") })
}

fn page(request: &ListToolsRequest) -> Result<ListToolsResponse, Status> {
    let ListToolsRequest { agent_id: _, page_size, page_token } = request;
    let tools = tools::declared();
    let from = if page_token.is_empty() { Some(0) } else { page_token.parse().ok().filter(|from| *from < tools.len()) };
    let from = from.ok_or_else(|| Status::invalid_argument("page_token: it was not given out here"))?;
    let size = match usize::try_from(*page_size) {
        Ok(0) => tools.len(),
        Ok(size) => size,
        Err(_) => return Err(Status::invalid_argument(format!("page_size: expected 0 or more, found {page_size}"))),
    };
    let to = from.saturating_add(size).min(tools.len());
    let next_page_token = if to < tools.len() { to.to_string() } else { String::new() };
    Ok(ListToolsResponse { tools: tools[from..to].to_vec(), next_page_token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_order_are_the_whole_list() {
        let (mut names, mut page_token) = (Vec::new(), String::new());
        loop {
            let request = ListToolsRequest { page_size: 5, page_token, ..ListToolsRequest::default() };
            let answer = page(&request).unwrap();
            names.extend(answer.tools.into_iter().map(|tool| tool.name));
            page_token = answer.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        let all: Vec<String> = tools::declared().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, all);
        for (page_size, page_token) in [(-1, ""), (0, "x"), (0, "13")] {
            let request = ListToolsRequest { page_size, page_token: page_token.into(), ..ListToolsRequest::default() };
            assert_eq!(page(&request).unwrap_err().code(), tonic::Code::InvalidArgument, "{page_size} {page_token}");
        }
    }

    #[tokio::test]
    async fn only_a_tool_that_is_not_there_is_unimplemented() {
        let call = |tool: &str| CallToolRequest { tool: tool.into(), ..CallToolRequest::default() };
        let tools = Tools::default();
        assert_eq!(tools.run(call("nothing")).await.unwrap_err().code(), tonic::Code::Unimplemented);
        assert_eq!(tools.run(call("crash")).await.unwrap_err().code(), tonic::Code::Unknown);
        let refused = tools.run(call("large")).await.unwrap().outcome.unwrap();
        assert!(matches!(refused, Outcome::Failure(failure) if failure.code == "INVALID_ARGS"));
    }
}
