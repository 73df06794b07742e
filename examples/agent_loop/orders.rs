//! A tool backend: it plans orders, posts them unless their contract is locked, and unlocks contracts.

use std::{
    collections::HashSet,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, async_trait};
use toolbatch::proto::{
    CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
    ListToolsResponse, LookupCallRequest, LookupCallResponse, Tool, ToolFailure, call_tool_response::Outcome,
    tool_service_server::ToolService,
};

/// The order system. Clones are the same system.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    posted: Vec<String>,
    /// The contract was released.
    released: bool,
    /// Idempotency keys that were acted on.
    done: HashSet<String>,
}

impl Orders {
    /// What was posted, in order.
    pub(crate) fn posted(&self) -> Vec<String> {
        self.state().posted.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, tool: &str, args: &Value, idempotency_key: &str) -> Result<Value, String> {
        match tool {
            "plan_orders" => {
                let order = |item: &str, contract: &str| json!({"tool": "create_order", "key": format!("order-{item}"), "args": {"item": item, "contract": contract}});
                Ok(json!({"calls": [order("pump", "40040344"), order("valve", "40040343"), order("seal", "40040344")]}))
            }
            "create_order" => {
                let mut state = self.state();
                let item = args["item"].as_str().unwrap_or_default().to_owned();
                if args["contract"] == "40040343" && !state.released {
                    return Err("contract 40040343 is locked by another user".to_owned());
                }
                if state.done.insert(idempotency_key.to_owned()) {
                    state.posted.push(item.clone());
                }
                Ok(json!({"posted": item}))
            }
            "release_contract" => {
                self.state().released = true;
                Ok(json!({"released": args["contract"]}))
            }
            other => Err(format!("there is no tool {other}")),
        }
    }
}

#[async_trait]
impl ToolService for Orders {
    type CallToolWithProgressStream = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

    async fn list_tools(&self, _: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let tool = |name: &str, description: &str| Tool {
            name: name.into(),
            description: description.into(),
            ..Tool::default()
        };
        let tools = vec![
            tool("plan_orders", "Plans the orders as a list of calls"),
            tool("create_order", "Posts one order"),
            tool("release_contract", "Unlocks a contract"),
        ];
        Ok(Response::new(ListToolsResponse { tools, next_page_token: String::new() }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let CallToolRequest { tool, args_json, context } = request.into_inner();
        let key = context.map(|context| context.idempotency_key).unwrap_or_default();
        let args = serde_json::from_str(&args_json).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let outcome = match self.run(&tool, &args, &key) {
            Ok(result) => Outcome::ResultJson(result.to_string()),
            Err(message) => Outcome::Failure(ToolFailure { message, ..ToolFailure::default() }),
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
        Err(Status::unimplemented("orders are not looked up"))
    }
}
