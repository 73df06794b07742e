use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;
use tonic::transport::Channel;

use super::*;
use crate::proto::{CallContext, tool_service_client::ToolServiceClient};

struct Fixture {
    system: OrderSystem,
    client: ToolServiceClient<Channel>,
    /// Serves for as long as it is held.
    tasks: JoinSet<Result<(), transport::Error>>,
}

async fn fixture() -> Fixture {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let system = OrderSystem::default();
    let mut tasks = JoinSet::new();
    tasks.spawn(system.clone().serve(listener, CancellationToken::new()));
    Fixture { system, client: ToolServiceClient::connect(address).await.unwrap(), tasks }
}

fn call(tool: &str, contract: &str, idempotency_key: &str) -> CallToolRequest {
    let rest = if tool == "change_order" { r#""order":"450001""# } else { r#""item":"pump \"P\"""# };
    CallToolRequest {
        tool: tool.into(),
        args_json: format!(r#"{{"contract":"{contract}",{rest},"quantity":3}}"#),
        context: Some(CallContext { idempotency_key: idempotency_key.into(), ..CallContext::default() }),
    }
}

fn lookup(idempotency_key: &str) -> LookupCallRequest {
    let context = Some(CallContext { idempotency_key: idempotency_key.into(), ..CallContext::default() });
    LookupCallRequest { context, ..LookupCallRequest::default() }
}

fn result(outcome: Option<Outcome>) -> serde_json::Value {
    match outcome {
        Some(Outcome::ResultJson(json)) => serde_json::from_str(&json).unwrap(),
        other => panic!("no result: {other:?}"),
    }
}

fn failure(outcome: Option<Outcome>) -> ToolFailure {
    match outcome {
        Some(Outcome::Failure(failure)) => failure,
        other => panic!("no failure: {other:?}"),
    }
}

#[tokio::test]
async fn a_contract_is_locked_while_it_is_processed_and_free_afterwards() {
    let Fixture { system, mut client, tasks } = fixture().await;
    let mut create = async |contract, key| {
        client.call_tool(call("create_sales_order", contract, key)).await.unwrap().into_inner().outcome
    };
    let Ok(posting) = system.begin(call("change_order", "40040343", "k1")) else { panic!("not begun") };

    let refused = failure(create("40040343", "k2").await);
    assert_eq!(refused.message, "contract 40040343 is being processed by another user");
    assert_eq!((refused.code.as_str(), refused.retryable), ("LOCKED", false));
    assert_eq!(system.posted(), 0);
    assert_eq!(result(create("40040344", "k3").await)["contract"], "40040344");

    assert_eq!(result(Some(posting.post()))["order"], "450001");
    assert_eq!(result(create("40040343", "k2").await)["item"], "pump \"P\"");
    assert_eq!(system.posted(), 3);
    drop(tasks);
}

#[tokio::test]
async fn a_change_reports_each_stage_and_then_its_outcome() {
    let Fixture { mut client, tasks, .. } = fixture().await;
    let change = CallToolWithProgressRequest { call: Some(call("change_order", "40040343", "k1")) };
    let stream = client.call_tool_with_progress(change).await.unwrap().into_inner();
    let events: Vec<Event> = stream.map(|event| event.unwrap().event.unwrap()).collect().await;
    let stages: Vec<(f64, f64)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Progress(progress) => Some((progress.progress, progress.total)),
            Event::Response(_) => None,
        })
        .collect();
    assert_eq!(stages, [(1.0, 3.0), (2.0, 3.0), (3.0, 3.0)]);
    let Some(Event::Response(last)) = events.last().cloned() else { panic!("no outcome: {events:?}") };
    assert_eq!(result(last.outcome)["order"], "450001");
    drop(tasks);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_lock_behind() {
    let Fixture { mut client, tasks, .. } = fixture().await;
    let change = CallToolWithProgressRequest { call: Some(call("change_order", "40040343", "c1")) };
    let mut changing = client.call_tool_with_progress(change).await.unwrap().into_inner();
    changing.next().await.unwrap().unwrap();
    drop(changing);
    // The server hears of it a moment later; until then the contract is locked.
    loop {
        let outcome = client.call_tool(call("create_sales_order", "40040343", "k")).await.unwrap().into_inner().outcome;
        match outcome {
            Some(Outcome::Failure(failure)) => assert_eq!(failure.code, "LOCKED"),
            outcome => break assert_eq!(result(outcome)["contract"], "40040343"),
        }
    }
    drop(tasks);
}

#[tokio::test]
async fn a_repeat_under_the_same_idempotency_key_changes_nothing() {
    let Fixture { system, mut client, tasks } = fixture().await;
    let fate = |response: Response<LookupCallResponse>| response.into_inner().fate.unwrap();
    assert!(matches!(fate(client.lookup_call(lookup("k1")).await.unwrap()), Fate::Unknown(_)));
    let first = client.call_tool(call("create_sales_order", "40040343", "k1")).await.unwrap().into_inner();
    let second = client.call_tool(call("create_sales_order", "40040343", "k1")).await.unwrap().into_inner();
    assert_eq!(first, second);
    assert_eq!(system.posted(), 1);
    let Fate::Landed(landed) = fate(client.lookup_call(lookup("k1")).await.unwrap()) else { panic!("not landed") };
    assert_eq!(landed, first);
    drop(tasks);
}

#[tokio::test]
async fn wrong_calls_are_failures() {
    let Fixture { mut client, tasks, .. } = fixture().await;
    let mut code = async |call| failure(client.call_tool(call).await.unwrap().into_inner().outcome).code;
    assert_eq!(code(call("delete_order", "40040343", "")).await, "NO_SUCH_TOOL");
    let args = |tool: &str, args: &str| CallToolRequest { tool: tool.into(), args_json: args.into(), context: None };
    assert_eq!(code(args("create_sales_order", "{}")).await, "INVALID_ARGS");
    let other = r#"{"contract":"40040343","order":"1","quantity":1}"#;
    assert_eq!(code(args("change_order", other)).await, "NO_SUCH_ORDER");
    drop(tasks);
}
