//! A sample tool backend: an order system that locks a contract while one of its orders is posted, as ERPs do.
//!
//! It shows what a backend does: list its tools with their schemas, answer a failure as a failure, report progress, remember
//! what it did under an idempotency key so that a repeat changes nothing, and tell what became of an earlier attempt.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio_stream::{Stream, wrappers::TcpListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, transport};

use crate::proto::{
    CallToolRequest, CallToolResponse, CallToolWithProgressRequest, CallToolWithProgressResponse, ListToolsRequest,
    ListToolsResponse, LookupCallRequest, LookupCallResponse, Tool, ToolFailure, ToolProgress,
    call_tool_response::Outcome,
    call_tool_with_progress_response::Event,
    lookup_call_response::{Fate, Unknown},
    tool_service_server::{ToolService, ToolServiceServer},
};

/// What a posting takes, by its quantity: fixed, so that the demo runs the same way every time.
const POSTING_MS: [u64; 6] = [400, 350, 300, 150, 200, 250];
/// What is there from the start, for `change_order`.
const FIRST_ORDERS: [&str; 3] = ["450001", "450002", "450003"];
/// What a change goes through; each stage is reported.
const STAGES: [&str; STAGE_COUNT as usize] = ["checking the price", "checking the stock", "posting"];
const STAGE_COUNT: u32 = 3;

const CREATE_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "contract": {"type": "string", "pattern": "^[0-9]{8}$"},
    "item": {"type": "string", "minLength": 1},
    "quantity": {"type": "integer", "minimum": 1}
  },
  "required": ["contract", "item", "quantity"],
  "additionalProperties": false
}"#;
const CHANGE_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "contract": {"type": "string", "pattern": "^[0-9]{8}$"},
    "order": {"type": "string"},
    "quantity": {"type": "integer", "minimum": 1}
  },
  "required": ["contract", "order", "quantity"],
  "additionalProperties": false
}"#;

/// The order system. Clones are the same system.
#[derive(Clone, Default)]
pub(crate) struct OrderSystem {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Contracts that are being processed.
    locked: HashSet<String>,
    /// What was answered, by idempotency key.
    answered: HashMap<String, String>,
    /// Postings that took effect.
    posted: u32,
}

#[derive(Deserialize)]
struct CreateOrder {
    contract: String,
    item: String,
    quantity: u32,
}

#[derive(Deserialize)]
struct ChangeOrder {
    contract: String,
    order: String,
    quantity: u32,
}

/// A posting under way. It holds its contract's lock until it is dropped, by its end or by a caller that goes away.
struct Posting {
    system: OrderSystem,
    contract: String,
    idempotency_key: String,
    takes: Duration,
    /// What is answered, all but the number of a new order.
    order: Option<String>,
    rest: String,
}

impl OrderSystem {
    /// Serves until `stop`.
    pub(crate) async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), transport::Error> {
        transport::Server::builder()
            .add_service(ToolServiceServer::new(self))
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), stop.cancelled_owned())
            .await
    }

    /// How many postings took effect.
    pub(crate) fn posted(&self) -> u32 {
        self.state().posted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and every change is whole by itself.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the contract's lock, or gives the outcome where there is nothing to post.
    fn begin(&self, call: CallToolRequest) -> Result<Posting, Outcome> {
        let idempotency_key = call.context.unwrap_or_default().idempotency_key;
        let (contract, order, quantity, rest) = match call.tool.as_str() {
            "create_sales_order" => {
                let args: CreateOrder = parse(&call.args_json)?;
                let rest = format!(r#""item":{},"quantity":{}"#, serde_json::Value::from(args.item), args.quantity);
                (args.contract, None, args.quantity, rest)
            }
            "change_order" => {
                let args: ChangeOrder = parse(&call.args_json)?;
                if !FIRST_ORDERS.contains(&args.order.as_str()) {
                    return Err(failure("NO_SUCH_ORDER", format!("there is no order {}", args.order)));
                }
                (args.contract, Some(args.order), args.quantity, format!(r#""quantity":{}"#, args.quantity))
            }
            other => return Err(failure("NO_SUCH_TOOL", format!("there is no tool {other}"))),
        };
        let mut state = self.state();
        // The same call again, such as after a restart of toolbatch: it took effect, so it gets its answer, not a second order.
        if let Some(answer) = state.answered.get(&idempotency_key) {
            return Err(Outcome::ResultJson(answer.clone()));
        }
        if !state.locked.insert(contract.clone()) {
            return Err(failure("LOCKED", format!("contract {contract} is being processed by another user")));
        }
        drop(state);
        let takes = Duration::from_millis(POSTING_MS[quantity as usize % POSTING_MS.len()]);
        Ok(Posting { system: self.clone(), contract, idempotency_key, takes, order, rest })
    }
}

impl Posting {
    /// Takes effect.
    fn post(self) -> Outcome {
        let mut state = self.system.state();
        state.posted += 1;
        let order = self.order.clone().unwrap_or_else(|| format!("{}", 500_000 + state.posted));
        let answer = format!(r#"{{"order":"{order}","contract":"{}",{}}}"#, self.contract, self.rest);
        if !self.idempotency_key.is_empty() {
            state.answered.insert(self.idempotency_key.clone(), answer.clone());
        }
        drop(state);
        Outcome::ResultJson(answer)
    }
}

impl Drop for Posting {
    fn drop(&mut self) {
        self.system.state().locked.remove(&self.contract);
    }
}

type Progress = Pin<Box<dyn Stream<Item = Result<CallToolWithProgressResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ToolService for OrderSystem {
    async fn list_tools(&self, _: Request<ListToolsRequest>) -> Result<Response<ListToolsResponse>, Status> {
        let create = Tool {
            name: "create_sales_order".into(),
            description: "Creates a sales order under a contract.".into(),
            input_schema_json: CREATE_SCHEMA.into(),
            ..Tool::default()
        };
        let change = Tool {
            name: "change_order".into(),
            description: "Changes an order's quantity.".into(),
            input_schema_json: CHANGE_SCHEMA.into(),
            reports_progress: true,
            ..Tool::default()
        };
        Ok(Response::new(ListToolsResponse { tools: vec![create, change], next_page_token: String::new() }))
    }

    async fn call_tool(&self, request: Request<CallToolRequest>) -> Result<Response<CallToolResponse>, Status> {
        let outcome = match self.begin(request.into_inner()) {
            Ok(posting) => {
                tokio::time::sleep(posting.takes).await;
                posting.post()
            }
            Err(outcome) => outcome,
        };
        Ok(Response::new(response(outcome)))
    }

    type CallToolWithProgressStream = Progress;

    async fn call_tool_with_progress(
        &self,
        request: Request<CallToolWithProgressRequest>,
    ) -> Result<Response<Progress>, Status> {
        let call = request.into_inner().call.unwrap_or_default();
        let begun = (self.begin(call), 0);
        Ok(Response::new(Box::pin(stream::unfold(Some(begun), |state| async {
            let (event, next) = match state? {
                (Ok(posting), stage) if stage < STAGE_COUNT => (progress(stage), Some((Ok(posting), stage + 1))),
                (Ok(posting), _) => (Event::Response(response(posting.post())), None),
                (Err(outcome), _) => (Event::Response(response(outcome)), None),
            };
            if let Some((Ok(posting), _)) = &next {
                tokio::time::sleep(posting.takes / STAGE_COUNT).await;
            }
            Some((Ok(CallToolWithProgressResponse { event: Some(event) }), next))
        }))))
    }

    async fn lookup_call(&self, request: Request<LookupCallRequest>) -> Result<Response<LookupCallResponse>, Status> {
        let key = request.into_inner().context.unwrap_or_default().idempotency_key;
        let fate = match self.state().answered.get(&key) {
            Some(answer) => Fate::Landed(response(Outcome::ResultJson(answer.clone()))),
            // "Not landed" would promise that it never will, and the request may still be on its way.
            None => Fate::Unknown(Unknown {}),
        };
        Ok(Response::new(LookupCallResponse { fate: Some(fate) }))
    }
}

fn parse<'a, A: Deserialize<'a>>(args: &'a str) -> Result<A, Outcome> {
    serde_json::from_str(args).map_err(|error| failure("INVALID_ARGS", error.to_string()))
}

/// A failure after which nothing has changed. It is not marked retryable: whether a lock is worth waiting for is for the
/// caller to say.
fn failure(code: &str, message: String) -> Outcome {
    Outcome::Failure(ToolFailure { message, code: code.to_owned(), retryable: false })
}

fn response(outcome: Outcome) -> CallToolResponse {
    CallToolResponse { outcome: Some(outcome), ..CallToolResponse::default() }
}

fn progress(stage: u32) -> Event {
    Event::Progress(ToolProgress {
        progress: f64::from(stage + 1),
        total: f64::from(STAGE_COUNT),
        message: STAGES[stage as usize].to_owned(),
    })
}
