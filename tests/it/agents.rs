//! R12 and R3: who shows which token, and what each may do.

use tonic::{Code, Request};
use toolbatch::{
    config::{Agent, Binding, Config, Operator, Secret, Token},
    proto::{
        CallErrorReason, EndTaskRequest, ExecuteBatchRequest, ListToolsRequest, SetVariableRequest, SettleKeyRequest,
        batch_event::Event,
        settle_key_request::{Fate, NotLanded},
    },
};

use crate::{
    backend::ScriptedBackend,
    refusal::{refusal, violations},
    rig::{Rig, batch, batch_with, call, keyed},
};

const ORDERS: &str = "orders-token-canary-secret-7f3a9";
const READER: &str = "reader-token-canary-secret-7f3a9";
const OPS: &str = "ops-token-canary-secret-7f3a9";

/// A server with two agents and an operator; one agent may run batches.
async fn start() -> Rig {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let tokens = tempfile::tempdir().expect("a folder");
    let secret = |name: &str, token: &str| {
        let path = tokens.path().join(name);
        std::fs::write(&path, token).expect("a file");
        vec![Token::Secret(Secret::File(path))]
    };
    let tool = |name: &str| Binding { name: name.into(), tool: name.into() };
    let orders = Agent {
        id: "orders".into(),
        tenant: "default".into(),
        tokens: secret("orders", ORDERS),
        tools: vec![
            tool("execute_tool_batch"),
            tool("batch_tool"),
            tool("ask_user"),
            Binding { name: "Ask the boss".into(), tool: "ask_user".into() },
            tool("effect"),
            Binding { name: "Do it".into(), tool: "effect".into() },
        ],
    };
    let reader = Agent {
        id: "reader".into(),
        tenant: "default".into(),
        tokens: secret("reader", READER),
        tools: vec![tool("echo")],
    };
    let ops = Operator { id: "ops".into(), tokens: secret("ops", OPS) };
    // The tokens are read at the start; their files may go after it.
    Rig::start_with(backend, backends, |config: &mut Config| {
        config.agents = vec![orders, reader];
        config.operators = vec![ops];
    })
    .await
}

fn with<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a header"));
    request
}

/// Runs a batch with a token; gives each call's status and why it failed, or the refusal.
async fn run(rig: &Rig, token: &str, request: ExecuteBatchRequest) -> Result<Vec<CallErrorReason>, (Code, String)> {
    let stream = rig.batches().execute_batch(with(token, request)).await.map_err(|status| refusal(&status))?;
    let (mut stream, mut reasons) = (stream.into_inner(), Vec::new());
    while let Some(message) = stream.message().await.expect("the stream goes on") {
        if let Some(Event::BatchFinished(finished)) = message.event.and_then(|event| event.event) {
            let results = finished.summary.expect("a summary").results;
            reasons = results
                .iter()
                .map(|result| {
                    result.error.as_ref().map_or(CallErrorReason::Unspecified, toolbatch::proto::CallError::reason)
                })
                .collect();
        }
    }
    Ok(reasons)
}

fn effect() -> ExecuteBatchRequest {
    batch(vec![call("effect", r#"{"id":"a"}"#)])
}

#[tokio::test]
async fn every_service_but_health_asks_for_a_token() {
    let rig = start().await;
    let denied =
        |status: &tonic::Status| assert_eq!(refusal(status), (Code::Unauthenticated, "UNAUTHENTICATED".to_owned()));
    denied(&rig.refused(effect()).await);
    denied(&rig.get_batch("x").await.expect_err("no token"));
    denied(&rig.set_variable("T", "", "1").await.expect_err("no token"));
    denied(&rig.tools().list_tools(ListToolsRequest::default()).await.expect_err("no token"));
    for wrong in ["", "orders-token-canary-secret-7f3a8", "orders"] {
        let error = run(&rig, wrong, effect()).await.expect_err("no token of anyone's");
        assert_eq!(error.0, Code::Unauthenticated, "{wrong:?}");
    }
    let mut basic = Request::new(ListToolsRequest::default());
    basic.metadata_mut().insert("authorization", format!("Basic {ORDERS}").parse().expect("a header"));
    let status = rig.tools().list_tools(basic).await.expect_err("not a bearer token");
    assert!(!status.message().contains(ORDERS), "{status:?}");
    denied(&status);

    let mut health = tonic_health::pb::health_client::HealthClient::new(rig.channel.clone());
    health.check(tonic_health::pb::HealthCheckRequest::default()).await.expect("health asks for none");
    assert_eq!(run(&rig, ORDERS, effect()).await, Ok(vec![CallErrorReason::Unspecified]));
    assert_eq!(rig.backend.journal().entries().len(), 1);
}

#[tokio::test]
async fn an_agent_runs_batches_only_where_its_list_says_so_and_acts_as_itself() {
    let rig = start().await;
    let as_agent = |agent: &str| ExecuteBatchRequest { agent_id: agent.into(), ..effect() };
    let batches = run(&rig, READER, effect()).await.expect_err("it has no such tool");
    assert_eq!(batches, (Code::PermissionDenied, "BATCHES_NOT_ALLOWED".to_owned()));
    let plan = ExecuteBatchRequest { validate_only: true, ..effect() };
    assert_eq!(run(&rig, READER, plan).await, Err(batches), "refused wherever the real run would be");
    let other = run(&rig, ORDERS, as_agent("reader")).await.expect_err("that is another agent");
    assert_eq!(other, (Code::PermissionDenied, "AGENT_NOT_YOURS".to_owned()));
    assert_eq!(run(&rig, ORDERS, as_agent("orders")).await, Ok(vec![CallErrorReason::Unspecified]));
    assert_eq!(run(&rig, OPS, as_agent("orders")).await, Ok(vec![CallErrorReason::Unspecified]), "operators may");
    let status = rig.batches().execute_batch(with(OPS, as_agent("nobody"))).await.expect_err("there is no such agent");
    assert_eq!(violations(&status)[0].0, "agent_id");
    // Of an operator's own, every tool.
    assert_eq!(run(&rig, OPS, batch(vec![call("echo", "{}")])).await, Ok(vec![CallErrorReason::Unspecified]));
}

#[tokio::test]
async fn c51_tools_that_no_batch_may_call_are_refused_under_any_name() {
    let rig = start().await;
    let calls = vec![
        call("execute_tool_batch", r#"{"calls":[{"tool":"effect","args":{"id":"x"}}]}"#),
        call("batch_tool", r#"{"invocations":[]}"#),
        call("ask_user", "{}"),
        call("Ask the boss", "{}"),
        call(
            "multi_tool_use.parallel",
            r#"{"tool_uses":[{"recipient_name":"functions.effect","parameters":{"id":"y"}}]}"#,
        ),
        call("functions.effect", r#"{"id":"z"}"#),
        call("effect", r#"{"id":"ok"}"#),
        call("Do it", r#"{"id":"too"}"#),
    ];
    let go_on = toolbatch::proto::BatchOptions { stop_on_error: Some(false), ..Default::default() };
    let reasons = run(&rig, ORDERS, batch_with(calls.clone(), go_on)).await.expect("it is taken in");
    let expected = [
        [CallErrorReason::ToolNotBatchable; 4].as_slice(),
        &[CallErrorReason::ToolNotAllowed; 2],
        &[CallErrorReason::Unspecified; 2],
    ]
    .concat();
    assert_eq!(reasons, expected);
    let ran: Vec<_> = rig.backend.journal().entries().iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(ran, ["ok", "too"]);
    // The first failure stops the rest by default.
    run(&rig, ORDERS, batch(calls)).await.expect("it is taken in");
    assert_eq!(rig.backend.journal().entries().len(), 2);
}

#[tokio::test]
async fn an_agent_sees_its_own_list() {
    let rig = start().await;
    let names = async |token: &str, agent_id: &str| {
        let request = ListToolsRequest { agent_id: agent_id.into(), page_size: 100, ..Default::default() };
        let page = rig.tools().list_tools(with(token, request)).await.map_err(|status| refusal(&status))?;
        Ok::<_, (Code, String)>(page.into_inner().tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>())
    };
    let orders = names(ORDERS, "").await.expect("a list");
    assert!(orders.contains(&"Do it".to_owned()) && orders.contains(&"effect".to_owned()), "{orders:?}");
    assert!(!orders.contains(&"echo".to_owned()), "{orders:?}");
    assert_eq!(names(OPS, "orders").await, Ok(orders));
    assert_eq!(names(READER, "").await, Ok(vec!["echo".to_owned()]));
    assert_eq!(names(READER, "orders").await.expect_err("another's").0, Code::PermissionDenied);
    assert!(names(OPS, "").await.expect("a list").contains(&"echo".to_owned()));
}

#[tokio::test]
async fn settling_is_for_operators_and_records_say_who_did_it() {
    let rig = start().await;
    let gate = rig.backend.hold("lost");
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 });
    let lost = keyed("k", "effect", r#"{"id":"lost"}"#);
    let options = toolbatch::proto::BatchOptions { call_timeout: timeout, ..Default::default() };
    assert_eq!(run(&rig, ORDERS, batch_with(vec![lost], options)).await, Ok(vec![CallErrorReason::TimedOut]));
    drop(gate);
    let settle =
        || SettleKeyRequest { task_id: "T".into(), key: "k".into(), fate: Some(Fate::NotLanded(NotLanded {})) };
    let refused = rig.tasks().settle_key(with(ORDERS, settle())).await.expect_err("an agent");
    assert_eq!(refusal(&refused), (Code::PermissionDenied, "OPERATORS_ONLY".to_owned()));
    let settled = rig.tasks().settle_key(with(OPS, settle())).await.expect("an operator").into_inner();
    assert_eq!(settled.key.expect("a key").settled_by, "ops");
    let variable = SetVariableRequest { task_id: "T".into(), name: String::new(), value_json: "1".into() };
    assert_eq!(
        rig.tasks().set_variable(with(READER, variable)).await.expect("an agent may").into_inner().name,
        "VAR_1"
    );
    let end = EndTaskRequest { task_id: "T".into(), reason: String::new() };
    rig.tasks().end_task(with(ORDERS, end)).await.expect("an agent may");
}
