//! The smallest tool backend: one tool that greets.
//!
//! ```sh
//! cargo run --example tool_backend
//! ```

use std::pin::Pin;

use tokio_stream::Stream;
use tonic::{Request, Response, Status, async_trait, transport::Server};
use toolbatch::proto::{
    CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
    ListToolsResponse, LookupCallRequest, LookupCallResponse, Tool, ToolFailure,
    call_tool_response::Outcome,
    tool_service_server::{ToolService, ToolServiceServer},
};

struct Greeter;

#[async_trait]
impl ToolService for Greeter {
    type CallToolWithProgressStream = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

    async fn list_tools(&self, _: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let greet = Tool {
            name: "greet".into(),
            description: "Greets someone by name".into(),
            input_schema_json: r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#
                .into(),
            ..Tool::default()
        };
        Ok(Response::new(ListToolsResponse { tools: vec![greet], next_page_token: String::new() }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let call = request.into_inner();
        // `context.idempotency_key` is the same for every attempt of one logical call: a tool that changes something remembers
        // it, and answers a repeat with what it answered first.
        let outcome = match serde_json::from_str::<serde_json::Value>(&call.args_json) {
            Ok(args) => {
                Outcome::ResultJson(serde_json::json!({ "greeting": format!("Hello, {}", args["name"]) }).to_string())
            }
            // A failure is an answer, not a gRPC status: it says for certain that nothing happened.
            Err(error) => Outcome::Failure(ToolFailure { message: error.to_string(), ..ToolFailure::default() }),
        };
        Ok(Response::new(CallToolResponse { outcome: Some(outcome), ..CallToolResponse::default() }))
    }

    async fn call_tool_with_progress(
        &self,
        _: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Self::CallToolWithProgressStream>, Status> {
        Err(Status::unimplemented("no tool here reports progress"))
    }

    async fn lookup_call(&self, _: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        Err(Status::unimplemented("greetings are not remembered"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Server::builder().add_service(ToolServiceServer::new(Greeter)).serve("127.0.0.1:7001".parse()?).await?;
    Ok(())
}
