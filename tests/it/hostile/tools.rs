//! Tool lists that are made to mislead or to cost time: names, schemas, a second claim to a name.

use toolbatch::{
    proto::{BatchOptions, CallErrorReason, Tool, ToolCall},
    server::Server,
};

use crate::{
    backend::{ScriptedBackend, tool, tool_with_schema},
    rig::{Rig, batch, batch_with, call},
};

async fn with_tools(tools: Vec<Tool>) -> Rig {
    let backend = ScriptedBackend::start_with(tools).await;
    let configured = vec![backend.config("stub")];
    Rig::start_with(backend, configured, |_| {}).await
}

/// Calls each, and gives reason and message of its refusal.
async fn refusals(rig: &Rig, calls: Vec<ToolCall>) -> Vec<(CallErrorReason, String)> {
    let going_on = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    let ran = rig.run(batch_with(calls, going_on)).await;
    let refusal = |result: &toolbatch::proto::CallResult| {
        let error = result.error.clone().expect("it is refused");
        assert_eq!((result.attempts, error.outcome_unknown), (0, false), "nothing was sent: {error:?}");
        (error.reason(), error.message)
    };
    ran.results().iter().map(refusal).collect()
}

#[tokio::test]
async fn row_a_schema_out_of_its_bounds_stops_its_tool_alone() {
    let nested = |levels: usize| format!("{}{{}}{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    let doubling: Vec<String> = (0..40)
        .map(|i| format!(r##""a{i}":{{"anyOf":[{{"$ref":"#/$defs/a{0}"}},{{"$ref":"#/$defs/a{0}"}}]}}"##, i + 1))
        .collect();
    let doubling = format!(r##"{{"$ref":"#/$defs/a0","$defs":{{{},"a40":false}}}}"##, doubling.join(","));
    let schemas = [
        (r#"{"$ref":"http://127.0.0.1:1/schema.json"}"#.to_owned(), "127.0.0.1"),
        (r#"{"$ref":"file:///etc/passwd"}"#.to_owned(), "/etc/passwd"),
        (format!(r#"{{"title":"{}"}}"#, "x".repeat(65_536)), "at most 65536"),
        (nested(65), "64 levels"),
        (nested(8_000), "recursion"),
        (doubling, "levels"),
        (format!(r#"{{"enum":[{}0]}}"#, "0,".repeat(10_000)), "10000 values"),
        (r#"{"pattern":"(?=a)a"}"#.to_owned(), "(?=a)a"),
        (format!(r#"{{"pattern":"{}"}}"#, r"\\cA".repeat(10_000)), "escapes"),
        ("{".to_owned(), "line 1 column 1"),
    ];
    let names: Vec<String> = (0..schemas.len()).map(|n| format!("tool_{n}")).collect();
    let mut tools: Vec<Tool> =
        names.iter().zip(&schemas).map(|(name, (schema, _))| tool_with_schema(name, schema)).collect();
    tools.push(tool("echo"));
    let rig = with_tools(tools).await;
    let refused = refusals(&rig, names.iter().map(|name| call(name, "{}")).collect()).await;
    for ((name, (_, said)), (reason, message)) in names.iter().zip(&schemas).zip(refused) {
        assert_eq!(reason, CallErrorReason::ToolNotFound, "{message}");
        assert!(message.contains(name) && message.contains(said), "{said}: {message}");
    }
    assert_eq!(rig.run(batch(vec![call("echo", "{}")])).await.statuses(), ["completed"], "other tools go on");
    assert_eq!(rig.backend.journal().entries().len(), 1);
}

#[tokio::test]
async fn row_a_pattern_made_for_backtracking_is_answered_at_once() {
    let schema = r#"{"properties":{"a":{"pattern":"^(a+)+$"},"r":{"format":"regex"}}}"#;
    let rig = with_tools(vec![tool_with_schema("match", schema)]).await;
    let text = "a".repeat(200_000);
    let refused = refusals(&rig, vec![call("match", &format!(r#"{{"a":"{text}!"}}"#))]).await;
    assert_eq!(refused[0].0, CallErrorReason::InvalidArgs, "{}", refused[0].1);
}

#[tokio::test]
async fn row_a_name_that_looks_like_another_is_not_served() {
    let look_alikes = ["p\u{430}y", "pay\u{200b}", "\u{202e}yap", "ｐａｙ", "pay ", "p\u{e4}y"];
    let mut tools: Vec<Tool> = look_alikes.into_iter().map(tool).collect();
    tools.push(tool("echo"));
    let rig = with_tools(tools).await;
    // No list has it either, as none of these calls finds its tool.
    let calls = look_alikes.into_iter().map(|name| call(name, "{}")).collect();
    for (reason, message) in refusals(&rig, calls).await {
        assert_eq!(reason, CallErrorReason::ToolNotFound, "{message}");
    }
    assert_eq!(rig.run(batch(vec![call("echo", "{}")])).await.statuses(), ["completed"]);
}

#[tokio::test]
async fn row_two_backends_with_one_tool_are_refused_by_its_name() {
    let first = ScriptedBackend::start_with(vec![tool("pay")]).await;
    let second = ScriptedBackend::start_with(vec![tool("pay")]).await;
    let data = tempfile::tempdir().expect("a folder");
    let config = toolbatch::config::Config {
        listen: toolbatch::config::Listen::Tcp("127.0.0.1:0".parse().expect("an address")),
        data_dir: data.path().join("data"),
        backends: vec![first.config("one"), second.config("two")],
        ..toolbatch::config::Config::default()
    };
    let Err(error) = Server::start(config).await else { panic!("both serve `pay`") };
    let said = error.to_string();
    assert!(said.contains("`pay`") && said.contains("`one`") && said.contains("`two`"), "{said}");
}
