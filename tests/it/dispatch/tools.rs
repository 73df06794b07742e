//! What the backends serve, and what a call's name comes to.

use std::{collections::BTreeSet, time::Duration};

use toolbatch::{
    batch::{
        event::Reason,
        tools::{Resolution, Tools as _},
    },
    config,
    dispatch::{Attempt, Backends, Presence, probe},
    proto::Tool,
};

use super::{LONG, SHORT, attempt, backends, is_ready, not_sent, refused, stub};
use crate::backend::{ScriptedBackend, stub_tools, tool, tool_with_schema};

#[tokio::test]
async fn c51_what_no_batch_may_call_is_refused_before_anything_else() {
    let mut tools = stub_tools();
    tools.push(Tool { pauses: true, ..tool("wait_for_boss") });
    tools.push(tool("await_review"));
    let stub = ScriptedBackend::start_with(tools).await;
    let backends = backends(&[stub.config("stub")]).await;
    for name in ["execute_tool_batch", "batch_tool", "ask_user", "await_review", "await_anything", "wait_for_boss"] {
        let message = refused(&backends.resolve("", name, "{}", false), Reason::ToolNotBatchable);
        assert!(message.contains(name), "{message}");
    }
    for (name, meant) in [("functions.effect", "`effect`"), ("efect", "`effect`"), ("order_changes", "`order_change`")]
    {
        let message = refused(&backends.resolve("", name, r#"{"id":"z"}"#, false), Reason::ToolNotFound);
        assert!(
            message.contains(&format!("`{name}`")) && message.contains(&format!("did you mean {meant}")),
            "{message}"
        );
    }
    let message = refused(&backends.resolve("", "multi_tool_use.parallel", "{}", false), Reason::ToolNotFound);
    assert!(message.contains("`multi_tool_use.parallel`") && !message.contains("did you mean"), "{message}");
    is_ready(&backends, "effect", r#"{"id":"ok"}"#);
    assert_eq!(backends.base_tool("", "Create order"), "Create order");
}

#[tokio::test]
async fn args_are_checked_against_the_tools_schema() {
    let mut tools = stub_tools();
    tools.push(tool_with_schema("broken", r#"{"type":"strng"}"#));
    tools.push(tool_with_schema("numbers", r#"{"type":"object","additionalProperties":{"type":"number"}}"#));
    tools.push(Tool { timeout: Some(prost_types::Duration { seconds: 3, nanos: 0 }), ..tool("quick") });
    tools.push(Tool { timeout: Some(prost_types::Duration { seconds: -3, nanos: 0 }), ..tool("past") });
    let stub = ScriptedBackend::start_with(tools).await;
    let backends = backends(&[stub.config("stub")]).await;
    let message = refused(&backends.resolve("", "effect", r#"{"id":7,"x":1}"#, false), Reason::InvalidArgs);
    for part in ["/id", "string", "found a number", "x"] {
        assert!(message.contains(part), "{message}");
    }
    is_ready(&backends, "numbers", r#"{"a":12345678901234567890123,"b":9007199254740993,"d":1e400,"f":-0}"#);
    is_ready(&backends, "echo", r#"{"anything":[1e400]}"#);
    let message = refused(&backends.resolve("", "broken", "{}", false), Reason::ToolNotFound);
    assert!(message.contains("strng"), "{message}");
    let listed = backends.list_tools();
    assert!(listed.iter().any(|listed| listed.tool.name == "broken" && listed.schema_fault.is_some()));
    assert_eq!(listed.len(), stub_tools().len() + 4, "over several pages");
    for (name, timeout) in [("quick", Some(Duration::from_secs(3))), ("past", None), ("echo", None)] {
        assert!(
            matches!(backends.resolve("", name, "{}", false), Resolution::Ready(target) if target.timeout == timeout),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_unknown_tool_may_still_come_while_a_backend_was_never_reached() {
    let mut late = ScriptedBackend::start_with(vec![tool("late_tool")]).await;
    late.crash().await;
    let stub = ScriptedBackend::start().await;
    let backends =
        backends(&[config::Backend { name: "late".to_owned(), ..late.config("late") }, stub.config("stub")]).await;
    let mut changes = backends.changes();
    changes.borrow_and_update();
    let Resolution::NotYet(error) = backends.resolve("", "late_tool", "{}", false) else {
        panic!("a backend was never reached");
    };
    assert_eq!(error.reason, Reason::BackendUnavailable);
    assert!(error.message.contains("`late_tool`") && error.message.contains(late.address()), "{}", error.message);
    assert!(matches!(&backends.states()[0].presence, Presence::NeverReached { error: Some(_) }));
    is_ready(&backends, "echo", "{}");
    late.restart().await;
    changes.changed().await.expect("the backends are there");
    assert!(
        matches!(backends.resolve("", "late_tool", "{}", false), Resolution::Ready(target) if target.backend == "late")
    );
    refused(&backends.resolve("", "no_tool", "{}", false), Reason::ToolNotFound);
}

#[tokio::test]
async fn a_backend_that_is_away_keeps_its_list_and_is_listed_again_when_it_is_back() {
    let (mut stub, backends) = stub().await;
    let mut changes = backends.changes();
    changes.borrow_and_update();
    stub.crash().await;
    let down = Attempt { connect_wait: SHORT, ..attempt("echo", "{}") };
    not_sent(&backends.call(down, &|_| {}).await, Reason::BackendUnavailable);
    assert!(matches!(&backends.states()[0].presence, Presence::Away { .. }));
    is_ready(&backends, "echo", "{}");
    stub.set_tools(vec![tool("fresh")]);
    stub.restart().await;
    changes.changed().await.expect("the backends are there");
    is_ready(&backends, "fresh", "{}");
    refused(&backends.resolve("", "echo", "{}", false), Reason::ToolNotFound);
    let state = backends.states().remove(0);
    assert_eq!((state.name.as_str(), state.presence, state.tools.len()), ("stub", Presence::Reached, 1));
}

#[tokio::test]
async fn a_tool_is_served_by_one_backend() {
    let mut first = ScriptedBackend::start_with(vec![tool("shared"), tool("own")]).await;
    let second = ScriptedBackend::start_with(vec![tool("shared"), tool("other")]).await;
    let config = [first.config("one"), second.config("two")];
    let backends = Backends::new(
        &config,
        &[],
        std::sync::Arc::default(),
        std::sync::Arc::default(),
        toolbatch::dispatch::Instance::default(),
    )
    .expect("the configuration is right");
    let conflict = backends.first_look(LONG).await.expect_err("both serve `shared`");
    assert_eq!(conflict.tool, "shared");
    assert_eq!(BTreeSet::from([conflict.first.as_str(), conflict.second.as_str()]), BTreeSet::from(["one", "two"]));
    assert!(
        matches!(backends.resolve("", "shared", "{}", false), Resolution::Ready(target) if target.backend == conflict.first)
    );
    for (name, backend) in [("own", "one"), ("other", "two")] {
        assert!(
            matches!(backends.resolve("", name, "{}", false), Resolution::Ready(target) if target.backend == backend)
        );
    }

    // Who serves a tool goes on, when another claims it later.
    let mut changes = backends.changes();
    changes.borrow_and_update();
    first.set_tools(vec![tool("own"), tool("other")]);
    first.crash().await;
    first.restart().await;
    changes.changed().await.expect("the backends are there");
    for (name, backend) in [("other", "two"), ("shared", "two"), ("own", "one")] {
        assert!(
            matches!(backends.resolve("", name, "{}", false), Resolution::Ready(target) if target.backend == backend),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_probe_lists_one_address_once() {
    let mut stub = ScriptedBackend::start().await;
    let tls = config::BackendTls::default();
    assert_eq!(probe(&tls, stub.address()).await.expect("it is up").len(), stub_tools().len());
    stub.crash().await;
    let error = probe(&tls, stub.address()).await.expect_err("it is down").to_string();
    assert!(error.contains(stub.address()) && error.contains("refused"), "{error}");
    let error = probe(&tls, "ftp://localhost:1").await.expect_err("no address").to_string();
    assert!(error.contains("ftp://localhost:1"), "{error}");
}
