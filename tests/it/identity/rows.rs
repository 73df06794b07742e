//! The rows of table 4a, each with its status.

use std::{collections::BTreeSet, process::Command};

use bytes::Bytes;
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use tonic::{Code, Request, Status};
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    CallContext, CallToolRequest, CallToolWithProgressRequest, ExecuteBatchRequest, GetStepRequest, ListBatchesRequest,
    ListBatchesResponse, ListStepsRequest, ListStepsResponse, ListToolsRequest, SetVariableRequest, SettleKeyRequest,
    Step, ToolCall, WatchTaskRequest,
    batch_event::Event,
    execute_batch_request::Source,
    settle_key_request::{Fate, NotLanded},
};

use super::{OPS, ORDERS, READER, SPY, exchange::exchange, hex, start, with, within};
use crate::{
    refusal::{header_bytes, refusal, violations},
    rig::{Ran, Rig, batch, call, keyed},
};

/// All that a client can tell a refusal by.
fn shape(status: &Status) -> String {
    format!("{:?} {} {:?}", status.code(), status.message(), status.get_error_details())
}

async fn run(rig: &Rig, request: Request<ExecuteBatchRequest>) -> Result<Ran, Status> {
    let mut stream = rig.batches().execute_batch(request).await?.into_inner();
    let mut events = Vec::new();
    while let Some(message) = stream.message().await? {
        events.extend(message.event);
    }
    Ok(Ran { events })
}

async fn steps(rig: &Rig, token: &str) -> Vec<Step> {
    let request = ListStepsRequest { task_id: "T".into(), ..ListStepsRequest::default() };
    rig.tasks().list_steps(with(token, request)).await.expect("a page").into_inner().steps
}

#[tokio::test]
async fn no_unknown_or_malformed_token_and_two_authorization_values_are_refused_alike() {
    let rig = start().await;
    let list = |values: &[&str]| {
        let mut request = Request::new(ListToolsRequest::default());
        for value in values {
            request.metadata_mut().append("authorization", value.parse().expect("a header"));
        }
        let mut tools = rig.tools();
        async move { tools.list_tools(request).await }
    };
    let good = format!("Bearer {ORDERS}");
    list(&[&good]).await.expect("its list");
    let long = format!("Bearer {}", "x".repeat(10_000));
    let mut shapes = BTreeSet::new();
    for values in [
        [].as_slice(),
        &[""],
        &["Bearer"],
        &["Bearer "],
        &[ORDERS],
        &["Bearer another-token-0123456789"],
        &["Basic b3JkZXJzOm9yZGVycw=="],
        &[&long],
        &[&good, &good],
        &[&good, "Bearer another-token-0123456789"],
    ] {
        let refused = list(values).await.expect_err("nobody's");
        assert_eq!(refusal(&refused), (Code::Unauthenticated, "UNAUTHENTICATED".to_owned()), "{values:?}");
        shapes.insert(shape(&refused));
    }
    assert_eq!(shapes.len(), 1, "{shapes:?}");
}

#[tokio::test]
async fn a_token_is_asked_for_before_the_body_is_read() {
    let rig = start().await;
    let address = rig.endpoint().strip_prefix("http://").expect("TCP");
    let socket = tokio::net::TcpStream::connect(address).await.expect("it listens");
    let (requests, connection) = h2::client::handshake(socket).await.expect("it speaks HTTP/2");
    let mut driving = tokio::task::JoinSet::new();
    driving.spawn(connection);
    let mut requests = requests.ready().await.expect("it is there");
    let request = |path: &str, token: &str| {
        let uri = format!("http://{address}/toolbatch.v1.{path}");
        let request = http::Request::post(uri).header("content-type", "application/grpc").header("te", "trailers");
        request.header("authorization", format!("Bearer {token}")).body(()).expect("a request")
    };
    // Neither body ever comes.
    for (path, token, status) in [
        ("BatchService/ExecuteBatch", "another-token-0123456789", "16"),
        ("TaskService/SettleKey", ORDERS, "7"),
        ("RegistryService/RegisterBackend", ORDERS, "7"),
    ] {
        let (answer, _body) = requests.send_request(request(path, token), false).expect("it is sent");
        let answer = answer.await.expect("an answer");
        assert_eq!(answer.headers().get("grpc-status").expect("a status"), status, "{path}");
    }
}

#[test]
fn listening_beyond_loopback_without_tokens_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("toolbatch.toml");
    std::fs::write(&file, "listen = \"0.0.0.0:0\"\n").expect("a file");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_toolbatch"));
    let output = serve.args(["serve", "--config"]).arg(&file).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("insecure = true"), "{output:?}");
}

#[tokio::test]
async fn what_is_for_operators_is_denied_to_agents_and_nothing_is_done() {
    let rig = start().await;
    let lost = ToolCall { tool: "silent".into(), ..keyed("k", "silent", "{}") };
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 });
    let options = toolbatch::proto::BatchOptions { call_timeout: timeout, ..Default::default() };
    let request = ExecuteBatchRequest { options: Some(options), ..batch(vec![lost]) };
    run(&rig, with(ORDERS, request)).await.expect("it runs");
    let settle =
        || SettleKeyRequest { task_id: "T".into(), key: "k".into(), fate: Some(Fate::NotLanded(NotLanded {})) };
    let refused = rig.tasks().settle_key(with(ORDERS, settle())).await.expect_err("an agent");
    assert_eq!(refusal(&refused), (Code::PermissionDenied, "OPERATORS_ONLY".to_owned()));
    for rpc in ["RegisterBackend", "DeregisterBackend", "ListBackends", "AnythingElse"] {
        let path = format!("RegistryService/{rpc}");
        let refused = exchange(&rig.channel, &path, with(ORDERS, Vec::new()), 1).await.end.expect_err("an agent");
        assert_eq!(refusal(&refused), (Code::PermissionDenied, "OPERATORS_ONLY".to_owned()), "{rpc}");
    }
    // It is unknown as before, so that an operator can still settle it, in the agent's tenant alone.
    let elsewhere = rig.tasks().settle_key(with(OPS, settle())).await.expect_err("another tenant");
    assert_eq!(elsewhere.code(), Code::NotFound);
    let settled = rig.tasks().settle_key(within("acme", with(OPS, settle()))).await.expect("an operator");
    assert_eq!(settled.into_inner().key.expect("a key").settled_by, "ops");
}

#[tokio::test]
async fn a_tenant_is_the_agents_own_or_the_one_that_an_operator_names() {
    let rig = start().await;
    let list = |request: Request<ListBatchesRequest>| {
        let mut batches = rig.batches();
        async move { batches.list_batches(request).await }
    };
    let agents = |tenant: &str| list(within(tenant, with(SPY, ListBatchesRequest::default())));
    agents("globex").await.expect("its own");
    let mut denied = BTreeSet::new();
    for other in ["acme", "default", "nobody", "a/b", ""] {
        let refused = agents(other).await.expect_err("another's");
        assert_eq!(refusal(&refused), (Code::PermissionDenied, "TENANT_NOT_YOURS".to_owned()), "{other}");
        denied.insert(shape(&refused));
    }
    assert_eq!(denied.len(), 1, "whether there is such a tenant is not told: {denied:?}");
    for wrong in ["", "a b", "../acme", &"x".repeat(65)] {
        let refused = list(within(wrong, with(OPS, ListBatchesRequest::default()))).await.expect_err("no tenant");
        assert_eq!(violations(&refused)[0].0, "toolbatch-tenant", "{wrong}");
    }
    let mut twice = within("acme", with(OPS, ListBatchesRequest::default()));
    twice.metadata_mut().append("toolbatch-tenant", "globex".parse().expect("a header"));
    assert_eq!(violations(&list(twice).await.expect_err("two tenants"))[0].0, "toolbatch-tenant");
    // Open mode has one tenant.
    let open = Rig::start().await;
    let named = |tenant| within(tenant, Request::new(ListBatchesRequest::default()));
    open.batches().list_batches(named("default")).await.expect("its one tenant");
    let refused = open.batches().list_batches(named("acme")).await.expect_err("another");
    assert_eq!(violations(&refused)[0].0, "toolbatch-tenant");
}

#[tokio::test]
async fn an_agent_id_that_is_not_the_callers_is_never_trusted() {
    let rig = start().await;
    let long = "x".repeat(1024 * 1024);
    for named in ["reader", "spy", "ops", "nobody", "\r\n\u{1b}[31m\u{202e}", &long] {
        let direct = || CallToolRequest {
            tool: "echo".into(),
            args_json: "{}".into(),
            context: Some(CallContext { task_id: "T".into(), agent_id: named.into(), ..CallContext::default() }),
        };
        let request = ExecuteBatchRequest { agent_id: named.into(), ..batch(vec![call("echo", "{}")]) };
        let list = ListToolsRequest { agent_id: named.into(), ..ListToolsRequest::default() };
        let progress = CallToolWithProgressRequest { call: Some(direct()) };
        for refused in [
            rig.batches().execute_batch(with(ORDERS, request)).await.expect_err("another's"),
            rig.tools().call_tool(with(ORDERS, direct())).await.expect_err("another's"),
            rig.tools().call_tool_with_progress(with(ORDERS, progress)).await.expect_err("another's"),
            rig.tools().list_tools(with(ORDERS, list)).await.expect_err("another's"),
        ] {
            assert_eq!(refusal(&refused), (Code::PermissionDenied, "AGENT_NOT_YOURS".to_owned()));
            assert!(!refused.message().chars().any(char::is_control), "{refused:?}");
            assert!(header_bytes(&refused) < 2_048, "{refused:?}");
        }
    }
    // An operator may name an agent, but of the tenant that the request is about.
    let as_reader = |tenant| {
        let list = ListToolsRequest { agent_id: "reader".into(), ..ListToolsRequest::default() };
        let mut tools = rig.tools();
        async move { tools.list_tools(within(tenant, with(OPS, list))).await }
    };
    as_reader("acme").await.expect("its list");
    assert_eq!(violations(&as_reader("globex").await.expect_err("no agent there"))[0].0, "agent_id");
    assert!(rig.backend.journal().entries().is_empty());
}

#[tokio::test]
async fn what_toolbatch_sets_in_a_call_context_is_dropped_where_an_agent_sends_it() {
    let rig = start().await;
    let context = CallContext {
        task_id: "T".into(),
        agent_id: "orders".into(),
        key: "k".into(),
        batch_id: "sent-by-agent".into(),
        step_id: "sent-by-agent".into(),
        index: 77,
        attempt: 77,
        idempotency_key: "sent-by-agent".into(),
        in_doubt: true,
    };
    let request = CallToolRequest { tool: "echo".into(), args_json: "{}".into(), context: Some(context) };
    let answer = rig.tools().call_tool(with(ORDERS, request)).await.expect("it runs").into_inner();
    let entry = rig.backend.journal().entries().remove(0);
    assert_eq!((entry.task_id.as_str(), entry.agent_id.as_str(), entry.key.as_str()), ("T", "orders", "k"));
    assert_eq!((entry.index, entry.attempt, entry.in_doubt), (0, 1, false));
    assert_eq!(entry.step_id, answer.step_id);
    assert!(!format!("{entry:?}").contains("sent-by-agent"), "{entry:?}");
}

#[tokio::test]
async fn the_callers_credentials_never_reach_a_backend() {
    let rig = start().await;
    let context = Some(CallContext { task_id: "T".into(), ..CallContext::default() });
    let direct = || CallToolRequest { tool: "echo".into(), args_json: "{}".into(), context: context.clone() };
    for (token, tenant) in [(ORDERS, "acme"), (OPS, "acme")] {
        let mut request = within(tenant, with(token, batch(vec![call("echo", "{}")])));
        request.metadata_mut().insert("cookie", token.parse().expect("a header"));
        run(&rig, request).await.expect("it runs");
        rig.tools().call_tool(within(tenant, with(token, direct()))).await.expect("it runs");
    }
    let entries = rig.backend.journal().entries();
    assert_eq!(entries.len(), 4);
    for entry in entries {
        for name in ["authorization", "cookie", "toolbatch-tenant"] {
            assert!(!entry.metadata.contains_key(name), "{:?}", entry.metadata);
        }
        let all = format!("{:?}", entry.metadata);
        assert!(!all.contains(ORDERS) && !all.contains(OPS), "{all}");
    }
}

#[tokio::test]
async fn a_variable_is_there_in_its_own_tenants_task_alone() {
    let rig = start().await;
    let list = r#"{"calls":[{"tool":"echo","args":{"id":"from the list"}}]}"#;
    let variable = SetVariableRequest { task_id: "T".into(), name: "PLAN".into(), value_json: list.into() };
    // Another agent of the same tenant runs what this one leaves.
    rig.tasks().set_variable(with(READER, variable)).await.expect("it is set");
    let by_reference = |name: &str| ExecuteBatchRequest {
        source: Some(Source::CallsRef(format!("${{{name}}}.calls"))),
        ..batch(Vec::new())
    };
    let foreign = run(&rig, with(SPY, by_reference("PLAN"))).await.expect_err("another's");
    let absent = run(&rig, with(SPY, by_reference("NONE"))).await.expect_err("nobody's");
    assert_eq!(violations(&foreign)[0].0, "calls_ref");
    assert_eq!(shape(&foreign), shape(&absent).replace("NONE", "PLAN"), "told apart from one that does not exist");
    assert!(rig.backend.journal().entries().is_empty());
    run(&rig, with(ORDERS, by_reference("PLAN"))).await.expect("it runs");
    assert_eq!(rig.backend.journal().ids(), ["from the list"]);
}

#[tokio::test]
async fn guessed_ids_find_nothing() {
    let rig = start().await;
    run(&rig, with(ORDERS, batch(vec![call("echo", "{}")]))).await.expect("it runs");
    let known = steps(&rig, ORDERS).await.remove(0).step_id;
    let number = uuid::Uuid::parse_str(&known).expect("a UUID").as_u128();
    let mut tasks = rig.tasks();
    // Those around it, itself among them, and those of the moments around it.
    let around = (0..500).map(|n| number - 250 + n);
    let moments = (0..500_u128).map(|n| number.wrapping_add(n << 80).wrapping_sub(250 << 80));
    let mut own = 0;
    for guess in around.chain(moments) {
        let step_id = uuid::Uuid::from_u128(guess).to_string();
        let request = |token| with(token, GetStepRequest { step_id: step_id.clone() });
        let refused = tasks.get_step(request(SPY)).await.expect_err("another's");
        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(refused.message(), format!("there is no step \"{step_id}\""));
        own += usize::from(tasks.get_step(request(ORDERS)).await.is_ok());
    }
    assert_eq!(own, 2, "the owner finds it, once in each series");
}

#[tokio::test]
async fn a_foreign_key_looks_unused() {
    let rig = start().await;
    run(&rig, with(ORDERS, batch(vec![keyed("k", "echo", "{}")]))).await.expect("it runs");
    let plan = || ExecuteBatchRequest { validate_only: true, ..batch(vec![keyed("k", "echo", "{}")]) };
    let skipped = async |request| {
        let mut ran = run(&rig, request).await.expect("it is planned");
        let Some(Event::BatchPlanned(plan)) = ran.events.remove(0).event else { panic!("no plan") };
        !plan.calls[0].skipped_step_id.is_empty()
    };
    assert!(skipped(with(ORDERS, plan())).await);
    assert!(!skipped(with(SPY, plan())).await);
    let ran = run(&rig, with(SPY, batch(vec![keyed("k", "echo", "{}")]))).await.expect("it runs");
    assert_eq!(ran.statuses(), ["completed"], "not skipped");
    assert_eq!(rig.backend.journal().entries().len(), 2);
}

/// A token as the server makes it: its mark is no secret, so anyone can.
fn forged(list: &[&str], cursor: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in list {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(cursor);
    format!("{}{}", hex(&hash.finalize()[..8]), hex(cursor))
}

#[tokio::test]
async fn altered_tokens_are_refused_and_forged_ones_show_what_the_caller_may_see() {
    let rig = start().await;
    for token in [ORDERS, ORDERS, SPY, SPY] {
        run(&rig, with(token, batch(vec![call("echo", "{}")]))).await.expect("it runs");
    }
    let pages = |page_token: String| {
        let request = ListBatchesRequest { page_size: 1, page_token, ..ListBatchesRequest::default() };
        exchange(&rig.channel, "BatchService/ListBatches", with(SPY, request.encode_to_vec()), 1)
    };
    let page = |bytes: &Bytes| ListBatchesResponse::decode(bytes.clone()).expect("a page");
    let own = page(&pages(String::new()).await.messages[0]);
    let good = own.next_page_token;
    for place in 0..good.len() {
        let digit = if good.as_bytes()[place] == b'0' { "1" } else { "0" };
        let altered = format!("{}{digit}{}", &good[..place], &good[place + 1..]);
        let refused = pages(altered).await.end.expect_err("it is altered");
        assert_eq!(violations(&refused)[0].0, "page_token");
    }
    // One that is forged begins elsewhere in the caller's own list.
    let forged_page = pages(forged(&["batches", "globex", ""], &u64::MAX.to_be_bytes())).await;
    assert_eq!(page(&forged_page.messages[0]).batches[0].batch_id, own.batches[0].batch_id);
    let foreign = steps(&rig, ORDERS).await.remove(0).step_id;
    let cursor = uuid::Uuid::parse_str(&foreign).expect("a UUID").into_bytes();
    let page_token = forged(&["steps", "globex", "T", ""], &cursor);
    let request = ListStepsRequest { task_id: "T".into(), page_token, ..ListStepsRequest::default() };
    let answer = exchange(&rig.channel, "TaskService/ListSteps", with(SPY, request.encode_to_vec()), 1).await;
    let listed = ListStepsResponse::decode(answer.messages[0].clone()).expect("a page").steps;
    assert!(listed.iter().all(|step| step.agent_id == "spy"), "{listed:?}");
    forged_places(&rig).await;
}

/// A feed's token names batches by number, and "T" of "acme" has some of them.
async fn forged_places(rig: &Rig) {
    let (mut taken, mut shown) = (0, BTreeSet::new());
    for task in 0..8 {
        for batch in 0..8 {
            let resume_token = forged(&["feed", "globex", "T", &task.to_string()], &[100, batch, 0]);
            let request = WatchTaskRequest { task_id: "T".into(), resume_token };
            let answer = exchange(&rig.channel, "TaskService/WatchTask", with(SPY, request.encode_to_vec()), 1).await;
            match answer.end {
                Ok(()) => {
                    taken += 1;
                    let card = toolbatch::proto::WatchTaskResponse::decode(answer.messages[0].clone());
                    shown.insert(card.expect("a card").card.expect("a card").step_id);
                }
                Err(status) if status.code() == Code::NotFound => taken += 1,
                Err(status) => assert_eq!(status.code(), Code::InvalidArgument, "{status:?}"),
            }
        }
    }
    assert_eq!(taken, 8, "one number is that of the task, and its tokens are read");
    let request = ListBatchesRequest::default();
    let own = rig.batches().list_batches(with(SPY, request)).await.expect("a page").into_inner().batches;
    let own: BTreeSet<_> = own.into_iter().map(|batch| batch.batch_id).collect();
    assert_eq!(shown, own, "its own batches, and no other");
    // More places than any feed has.
    let many: Vec<u8> = [100].into_iter().chain((0..300).flat_map(|_| [1, 0])).collect();
    for task in 0..8 {
        let resume_token = forged(&["feed", "globex", "T", &task.to_string()], &many);
        let request = WatchTaskRequest { task_id: "T".into(), resume_token };
        let refused = rig.tasks().watch_task(with(SPY, request)).await.expect_err("too many");
        assert_eq!(violations(&refused)[0].0, "resume_token");
    }
}

#[tokio::test]
async fn ids_that_could_forge_a_log_line_are_refused() {
    let rig = start().await;
    for text in ["a\r\nb", "\u{1b}[31mred", "a\0b", "\u{85}", "a\tb"] {
        let request = || batch(vec![call("echo", "{}")]);
        for (field, request) in [
            ("task_id", ExecuteBatchRequest { task_id: text.into(), ..request() }),
            ("batch_id", ExecuteBatchRequest { batch_id: text.into(), ..request() }),
            ("call_list.calls[0].key", batch(vec![keyed(text, "echo", "{}")])),
            ("call_list.calls[0].tool", batch(vec![call(text, "{}")])),
        ] {
            let refused = run(&rig, with(ORDERS, request)).await.expect_err("it is refused");
            assert_eq!(violations(&refused)[0].0, field, "{text:?}");
            assert!(!refused.message().chars().any(char::is_control), "{refused:?}");
        }
    }
    // Text is no id, so it comes back as it was, for its reader to escape; nothing of it is in what the server says itself.
    let text = "\u{1b}[31m\r\nforged\u{202e}";
    let refused = rig.tasks().get_step(with(ORDERS, GetStepRequest { step_id: text.into() })).await.expect_err("none");
    assert_eq!(refused.code(), Code::NotFound);
    assert!(!refused.message().contains(['\u{1b}', '\r', '\n', '\u{202e}']), "{refused:?}");
}

#[tokio::test]
async fn ids_are_never_paths() {
    let rig = start().await;
    let files = || {
        let mut all = BTreeSet::new();
        let mut folders = vec![rig.data.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path.clone());
                }
                all.insert(path);
            }
        }
        all
    };
    let before = files();
    let long = "x".repeat(256);
    let ids = ["../../escape", "/etc/escape", "%2e%2e%2fescape", "CON", "a/b", "b/c", "..", ".", long.as_str()];
    // Results that are too large for a record are files of their own.
    let large = format!(r#"{{"text":"{}"}}"#, "y".repeat(200_000));
    for task in ids {
        let batch_id = task[..task.len().min(128)].to_owned();
        let request =
            ExecuteBatchRequest { task_id: task.into(), batch_id, ..batch(vec![keyed(task, "echo", &large)]) };
        let ran = run(&rig, with(ORDERS, request)).await.expect("it runs");
        assert_eq!(ran.statuses(), ["completed"], "{task}");
    }
    for new in files().difference(&before) {
        let name = new.file_name().expect("a name").to_string_lossy();
        assert!(ids.iter().all(|id| id.len() < 3 || !name.contains(id)) && !name.contains("escape"), "{new:?}");
    }
    assert!(!std::path::Path::new("/etc/escape").exists());
    assert!(!rig.data.path().parent().expect("a folder").join("escape").exists());
}
