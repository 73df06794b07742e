//! Backends that are registered while the server runs.

use std::collections::BTreeMap;

use tonic::{Code, Request};
use toolbatch::{
    config::{Agent, Operator, Secret, Token},
    proto::{
        Backend, BackendHealth, CallContext, CallErrorReason, CallToolRequest, CallToolWithProgressRequest,
        ListBackendsRequest, ListToolsRequest, RegisterBackendRequest, ToolCall,
    },
};

use crate::{
    backend::{ScriptedBackend, tool, tool_with_schema},
    commands::toolbatch,
    process::{Program, Signal},
    refusal::{refusal, violations},
    rig::{Ran, Rig, batch, batch_with, call, parallel},
};

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}","ms":2}}"#))
}

async fn serving(tools: &[&str]) -> ScriptedBackend {
    ScriptedBackend::start_with(tools.iter().map(|name| tool(name)).collect()).await
}

/// A server whose configured backend serves `other` alone.
async fn rig() -> Rig {
    let stub = serving(&["other"]).await;
    let backends = vec![stub.config("stub")];
    Rig::start_with(stub, backends, |_| {}).await
}

#[tokio::test]
async fn a_registered_backend_serves_at_once_over_restarts_and_until_it_is_taken_out() {
    let mut rig = rig().await;
    let erp = serving(&["effect"]).await;
    let registered = rig.register("erp", &[erp.address()]).await.expect("it is there");
    assert_eq!(
        (registered.health(), registered.tools.len(), registered.configured),
        (BackendHealth::Serving, 1, false)
    );
    assert_eq!(rig.run(batch(vec![effect("a")])).await.statuses(), ["completed"]);
    rig.restart().await;
    assert_eq!(rig.run(batch(vec![effect("b")])).await.statuses(), ["completed"]);
    let listed = rig.backends(1).await;
    let names: Vec<_> = listed.iter().map(|backend| (&*backend.name, backend.configured)).collect();
    assert_eq!(names, [("erp", false), ("stub", true)]);
    assert_eq!(listed[0].addresses, [erp.address()]);
    assert!(listed[0].health_time.is_some());

    rig.deregister("erp").await.expect("it is there");
    let gone = rig.run(batch(vec![effect("c")])).await;
    assert_eq!(gone.results()[0].error.as_ref().expect("it failed").reason(), CallErrorReason::ToolNotFound);
    rig.restart().await;
    assert_eq!(rig.backends(10).await.len(), 1);
    assert_eq!(erp.journal().ids(), ["a", "b"]);
}

/// I27, over the real program: a call in flight ends where it began, those that come later go to the new addresses, and under load
/// none is lost or done twice, however often the backend moves.
#[tokio::test]
async fn i27_a_backend_that_is_registered_anew_under_load_loses_and_doubles_nothing() {
    let mut program = Program::new("10s").await;
    program.backend.set_tools(vec![tool("other")]);
    let client = program.start().await;
    let places = [serving(&["effect"]).await, serving(&["effect"]).await];
    client.register("erp", &[places[0].address()]).await.expect("it is there");

    let gate = places[0].hold("0");
    let ids: Vec<String> = (0..200).map(|id| id.to_string()).collect();
    let calls = ids.iter().map(|id| effect(id)).collect();
    let events = client.open(batch_with(calls, parallel(4))).await.expect("taken in");
    places[0].journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "0")).await;
    for turn in 1..=20 {
        client.register("erp", &[places[turn % 2].address()]).await.expect("it is there");
    }
    client.register("erp", &[places[1].address()]).await.expect("it is there");
    places[1].journal().wait_for(|entries| !entries.is_empty()).await;
    drop(gate);
    let ran = Ran { events: events.rest().await.expect("it ends") };
    assert!(ran.results().iter().all(|result| result.attempts == 1 && result.error.is_none()), "{:?}", ran.statuses());
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for id in places.iter().flat_map(|place| place.journal().ids()) {
        *done.entry(id).or_default() += 1;
    }
    assert_eq!(done, ids.into_iter().map(|id| (id, 1)).collect(), "each once");

    program.crash().await;
    let client = program.start().await;
    assert_eq!(client.backends(10).await[0].addresses, [places[1].address()]);
    assert_eq!(client.run(batch(vec![effect("after")])).await.statuses(), ["completed"]);
}

/// R12: a backend's credential goes with each call, is rotated by a signal, and is seen nowhere else.
#[tokio::test]
async fn a_credential_goes_with_each_call_and_is_read_again_at_sighup() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret");
    std::fs::write(&path, "Bearer canary-one").expect("a file");
    let mut program = Program::new("10s").await;
    program.backend.set_tools(vec![tool("other")]);
    let value = path.display();
    program.append(&format!("[credentials.sap]\nheader = \"authorization\"\nvalue_file = \"{value}\""));
    let client = program.start().await;
    let erp = serving(&["effect"]).await;
    let register = |credential: &str| {
        let (name, addresses, credential) = ("erp".into(), vec![erp.address().to_owned()], credential.into());
        let backend = Some(Backend { name, addresses, credential, ..Backend::default() });
        RegisterBackendRequest { backend }
    };
    let status = client.registry().register_backend(register("none")).await.expect_err("there is none");
    assert_eq!(violations(&status)[0].0, "backend.credential");
    client.registry().register_backend(register("sap")).await.expect("it is there");
    client.run(batch(vec![effect("a")])).await;
    std::fs::write(&path, "Bearer canary-two").expect("a file");
    program.signal(Signal::HangUp);
    program.logged("were read again").await;
    client.run(batch(vec![effect("b")])).await;
    program.crash().await;
    let client = program.start().await;
    client.run(batch(vec![effect("c")])).await;
    let entries = erp.journal().entries();
    let shown: Vec<_> = entries.iter().filter_map(|entry| entry.metadata.get("authorization")?.to_str().ok()).collect();
    assert_eq!(shown, ["Bearer canary-one", "Bearer canary-two", "Bearer canary-two"]);
    let listed = client.backends(10).await;
    assert_eq!(listed[0].credential, "sap");
    assert!(!format!("{listed:?}").contains("canary") && !program.has_logged("canary"));
}

#[tokio::test]
async fn a_call_that_waits_for_a_connection_goes_to_the_backend_in_its_place() {
    let rig = rig().await;
    let (mut old, new) = (serving(&["effect"]).await, serving(&["effect"]).await);
    rig.register("erp", &[old.address()]).await.expect("it is there");
    old.crash().await;
    let events = rig.open(batch(vec![effect("a")])).await.expect("taken in");
    rig.register("erp", &[new.address()]).await.expect("it is there");
    assert_eq!(Ran { events: events.rest().await.expect("it ends") }.statuses(), ["completed"]);
    assert_eq!(new.journal().ids(), ["a"]);
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused_and_changes_nothing() {
    let rig = rig().await;
    let mut erp = serving(&["effect"]).await;
    let address = erp.address().to_owned();
    rig.register("erp", &[&address]).await.expect("it is there");

    let status = rig.register("Erp", &["ftp://x", &address, &address]).await.expect_err("no name, no address");
    let fields: Vec<_> = violations(&status).into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["backend.name", "backend.addresses[0]", "backend.addresses[2]"]);
    assert_eq!(rig.register("crm", &[]).await.expect_err("no address").code(), Code::InvalidArgument);
    let status = rig.register("crm", &[&address]).await.expect_err("`effect` is taken");
    assert_eq!(refusal(&status), (Code::AlreadyExists, "TOOL_TAKEN".to_owned()));
    assert!(status.message().contains("`effect`") && status.message().contains("`erp`"), "{}", status.message());
    let status = rig.register("stub", &[&address]).await.expect_err("it is configured");
    assert_eq!(refusal(&status), (Code::FailedPrecondition, "BACKEND_CONFIGURED".to_owned()));
    let status = rig.deregister("stub").await.expect_err("it is configured");
    assert_eq!(refusal(&status), (Code::FailedPrecondition, "BACKEND_CONFIGURED".to_owned()));
    let status = rig.deregister("nobody").await.expect_err("it is not there");
    assert_eq!(refusal(&status), (Code::NotFound, "BACKEND_NOT_FOUND".to_owned()));
    for address in [
        "http://10.0.0.1:1",
        "http://0.0.0.0:1",
        "http://169.254.169.254:80",
        "http://[::ffff:169.254.169.254]:80",
        "http://[fe80::1]:1",
        "http://224.0.0.1:1",
        "http://metadata.google.internal:80",
        "http://Metadata.Google.Internal.:80",
        "unix:/run/tools.sock",
    ] {
        let status = rig.register("crm", &[address]).await.expect_err(address);
        assert_eq!(refusal(&status), (Code::PermissionDenied, "ADDRESS_NOT_ALLOWED".to_owned()), "{address}");
    }
    erp.crash().await;
    let status = rig.register("erp", &[&address]).await.expect_err("it is away");
    assert_eq!(refusal(&status), (Code::Unavailable, "BACKEND_UNREACHABLE".to_owned()));
    erp.restart().await;
    assert_eq!(rig.run(batch(vec![effect("a")])).await.statuses(), ["completed"]);
    assert_eq!(rig.backends(10).await.len(), 2);
}

#[tokio::test]
async fn row_a_backend_with_a_tool_that_cannot_be_served_is_refused_by_the_tools_name() {
    let rig = rig().await;
    let faulty = |schema: &str| tool_with_schema("broken", schema);
    let nested = format!("{}{{}}{}", r#"{"not":"#.repeat(65), "}".repeat(65));
    let rows = [
        (faulty(r#"{"type":"strng"}"#), "`broken`", "strng"),
        (faulty("{"), "`broken`", "line 1"),
        (faulty(r#"{"$ref":"http://127.0.0.1:1/schema.json"}"#), "`broken`", "127.0.0.1"),
        (faulty(r#"{"$ref":"file:///etc/passwd"}"#), "`broken`", "/etc/passwd"),
        (faulty(&format!(r#"{{"title":"{}"}}"#, "x".repeat(65_536))), "`broken`", "65536"),
        (faulty(&nested), "`broken`", "64 levels"),
        (faulty(&format!(r#"{{"enum":[{}0]}}"#, "0,".repeat(10_000))), "`broken`", "10000 values"),
        (faulty(r#"{"pattern":"(?=a)a"}"#), "`broken`", "(?=a)a"),
        (tool("p\u{430}y"), "\"p\u{430}y\"", "printable ASCII"),
        (tool("pay\u{200b}"), r#""pay\u{200b}""#, "printable ASCII"),
        (tool(""), "\"\"", "printable ASCII"),
        (tool(&"x".repeat(10_000)), "…", "1 to 256"),
    ];
    for (wrong, name, cause) in rows {
        let erp = ScriptedBackend::start_with(vec![tool("effect"), wrong]).await;
        let status = rig.register("erp", &[erp.address()]).await.expect_err(cause);
        assert_eq!(refusal(&status).0, Code::InvalidArgument, "{status:?}");
        let violations = violations(&status);
        assert_eq!(violations[0].0, "backend.addresses");
        assert!(status.message().contains(name) && status.message().contains(cause), "{}", status.message());
        assert!(status.message().len() < 2_000, "{}", status.message());
    }
    let effects = rig.run(batch(vec![effect("a")])).await;
    assert_eq!(effects.results()[0].error.as_ref().expect("no backend has it").reason(), CallErrorReason::ToolNotFound);
    assert_eq!(rig.backends(10).await.len(), 1);
}

#[tokio::test]
async fn row_a_backend_with_a_tool_that_another_serves_is_refused_and_the_first_goes_on() {
    let rig = rig().await;
    let (erp, crm) = (serving(&["effect"]).await, serving(&["find", "effect"]).await);
    rig.register("erp", &[erp.address()]).await.expect("it is there");
    for (name, tool, holder) in [("crm", "`effect`", "`erp`"), ("files", "`other`", "`stub`")] {
        let second = if name == "crm" { &crm } else { &rig.backend };
        let status = rig.register(name, &[second.address()]).await.expect_err("it is taken");
        assert_eq!(refusal(&status), (Code::AlreadyExists, "TOOL_TAKEN".to_owned()));
        assert!(status.message().contains(tool) && status.message().contains(holder), "{}", status.message());
    }
    // One that is registered already may not take another's tool either, and keeps its own.
    crm.set_tools(vec![tool("find")]);
    rig.register("crm", &[crm.address()]).await.expect("nobody else has it");
    crm.set_tools(vec![tool("effect")]);
    let status = rig.register("crm", &[crm.address()]).await.expect_err("it is taken");
    assert_eq!(refusal(&status), (Code::AlreadyExists, "TOOL_TAKEN".to_owned()));
    assert_eq!(rig.run(batch(vec![effect("a")])).await.statuses(), ["completed"]);
    assert_eq!((erp.journal().ids(), crm.journal().ids().len()), (vec!["a".to_owned()], 0));
}

const VIA: &str = "toolbatch-via";

fn via<T>(hops: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(VIA, hops.parse().expect("a header"));
    request
}

#[tokio::test]
async fn row_a_server_that_is_registered_as_its_own_backend_is_refused() {
    let rig = rig().await;
    let own = rig.endpoint().to_owned();
    let status = rig.register("loop", &[&own]).await.expect_err("it is the server itself");
    assert_eq!(refusal(&status), (Code::FailedPrecondition, "BACKEND_IS_THIS_SERVER".to_owned()));
    assert_eq!(rig.backends(10).await.len(), 1);
    // Whatever comes back later, as a ring closes or an address moves.
    rig.run(batch(vec![call("other", "{}")])).await;
    let entry = rig.backend.journal().entries().remove(0);
    let id = entry.metadata.get(VIA).expect("each call names its way").to_str().expect("a text").to_owned();
    let context = Some(CallContext { task_id: "T".into(), ..CallContext::default() });
    let other = CallToolRequest { tool: "other".into(), args_json: "{}".into(), context };
    for (hops, reason) in [
        (id.clone(), "CALLED_BY_ITSELF"),
        (format!("another,{id}"), "CALLED_BY_ITSELF"),
        ("a,b".into(), "TOO_MANY_HOPS"),
    ] {
        let list = rig.tools().list_tools(via(&hops, ListToolsRequest::default())).await.map(drop);
        let whole = rig.tools().call_tool(via(&hops, other.clone())).await.map(drop);
        let followed = CallToolWithProgressRequest { call: Some(other.clone()) };
        let followed = rig.tools().call_tool_with_progress(via(&hops, followed)).await.map(drop);
        for answer in [list, whole, followed] {
            assert_eq!(refusal(&answer.expect_err("refused")), (Code::FailedPrecondition, reason.to_owned()), "{hops}");
        }
    }
    assert_eq!(rig.backend.journal().entries().len(), 1, "nothing of it was called");
}

#[tokio::test]
async fn row_a_toolbatch_behind_another_is_called_and_a_third_is_not() {
    let last = Rig::start().await;
    let middle = rig().await;
    middle.register("last", &[last.endpoint()]).await.expect("one behind another");
    let ran = middle.run(batch(vec![effect("a")])).await;
    assert_eq!(ran.statuses(), ["completed"]);
    let entry = last.backend.journal().entries().remove(0);
    let hops = entry.metadata.get(VIA).expect("each call names its way").to_str().expect("a text").to_owned();
    assert_eq!(hops.split(',').count(), 2, "{hops}");
    // As from a third in front: the last one refuses what the middle one passes on.
    let context = Some(CallContext { task_id: "T".into(), ..CallContext::default() });
    let request = CallToolRequest { tool: "effect".into(), args_json: r#"{"id":"b"}"#.into(), context };
    let answer = middle.tools().call_tool(via("first", request)).await.expect("a step of its own").into_inner();
    assert!(format!("{answer:?}").contains("more than one toolbatch"), "{answer:?}");
    assert_eq!(last.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn the_registry_is_for_operators() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = |name: &str| {
        std::fs::write(folder.path().join(name), format!("{name}-token-0123456789")).expect("a file");
        vec![Token::Secret(Secret::File(folder.path().join(name)))]
    };
    let stub = serving(&["other"]).await;
    let backends = vec![stub.config("stub")];
    let rig = Rig::start_with(stub, backends, |config| {
        let tenant = "default".into();
        config.agents = vec![Agent { id: "orders".into(), tenant, tokens: secret("orders"), tools: vec![] }];
        config.operators = vec![Operator { id: "ops".into(), tokens: secret("ops") }];
    })
    .await;
    for (who, expected) in [("orders", Err(Code::PermissionDenied)), ("ops", Ok(1))] {
        let mut request = Request::new(ListBackendsRequest::default());
        let token = format!("Bearer {who}-token-0123456789").parse().expect("a header");
        request.metadata_mut().insert("authorization", token);
        let listed = rig.registry().list_backends(request).await;
        assert_eq!(listed.map(|page| page.into_inner().backends.len()).map_err(|status| status.code()), expected);
    }
}

#[tokio::test]
async fn backends_are_added_listed_and_removed_by_commands() {
    let rig = rig().await;
    let erp = serving(&["effect"]).await;
    let added = toolbatch(&rig, &["backend", "add", "erp", erp.address(), "--max-concurrency", "2"], "").await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    assert!(added.out.starts_with("backend    erp\n") && added.out.contains("tools      effect\n"), "{}", added.out);
    let table = toolbatch(&rig, &["backends"], "").await;
    let rows: Vec<_> = table.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(rows[1], ["erp", "serving", "1", "registration", erp.address()]);
    assert_eq!(rows[2][..4], ["stub", "serving", "1", "configuration"]);
    assert!(added.out.contains("takes      2 calls at once\n"), "{}", added.out);
    let lines = toolbatch(&rig, &["backends", "--json"], "").await;
    assert!(lines.out.starts_with(r#"{"name":"erp""#) && lines.out.contains(r#""max_concurrency":2"#), "{}", lines.out);
    let removed = toolbatch(&rig, &["backend", "remove", "erp"], "").await;
    assert_eq!(removed.code, Some(0), "{}", removed.err);
    let lines = toolbatch(&rig, &["backends", "--json"], "").await;
    let line: serde_json::Value = serde_json::from_str(&lines.out).expect("one object");
    assert_eq!((&line["name"], &line["tools"]), (&"stub".into(), &serde_json::json!(["other"])));
    let again = toolbatch(&rig, &["backend", "remove", "erp"], "").await;
    assert_eq!((again.code, &*again.out), (Some(2), ""));
    assert!(again.err.contains("NOT_FOUND, BACKEND_NOT_FOUND"), "{}", again.err);
}
