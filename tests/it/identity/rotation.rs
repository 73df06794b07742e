//! Tokens change while the server runs: SIGHUP reads agents and operators again.

use sha2::{Digest as _, Sha256};
use tonic::{Code, Status};
use toolbatch::proto::ListToolsRequest;

use super::{hex, with};
use crate::{
    process::{Program, Signal},
    refusal::refusal,
    rig::{Client, batch, call},
};

const OLD: &str = "the-old-token-0123456789";
const NEW: &str = "the-new-token-0123456789";
const READ_AGAIN: &str = "were read again";
const KEPT: &str = "what was there before goes on";

fn agent(tokens: &str, tools: &str) -> String {
    format!("[[agents]]\nid = \"orders\"\ntenant = \"acme\"\n{tokens}\ntools = [{tools}]\n")
}

fn digest(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// The names of the tools that a token gives.
async fn tools(client: &Client, token: &str) -> Result<Vec<String>, Status> {
    let page = client.tools().list_tools(with(token, ListToolsRequest::default())).await?.into_inner();
    Ok(page.tools.into_iter().map(|tool| tool.name).collect())
}

#[tokio::test]
async fn tokens_are_rotated_and_revoked_without_a_restart() {
    let mut program = Program::new("10m").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, OLD).expect("a file");
    let from_file = format!("token_file = \"{}\"", file.display());
    program.configure(&agent(&from_file, "\"execute_tool_batch\", \"echo\""));
    let client = program.start().await;
    let unknown = |status: Status| (refusal(&status), status.message().to_owned());
    let stranger = unknown(tools(&client, "a-token-of-nobody-at-all").await.expect_err("it is nobody's"));
    assert_eq!(stranger.0.0, Code::Unauthenticated);
    assert_eq!(tools(&client, OLD).await.expect("its list").len(), 2);
    assert_eq!(unknown(tools(&client, NEW).await.expect_err("not yet")), stranger);
    // A stream that was opened with the old token outlives it.
    let gate = program.backend.hold("echo");
    let slow = batch(vec![call("echo", "{}"), call("effect", r#"{"id":"1"}"#)]);
    let mut events = client.batches().execute_batch(with(OLD, slow)).await.expect("taken in").into_inner();
    program.backend.journal().wait_for(|entries| entries.len() == 1).await;

    // Both hold for a while; the new one stands in the configuration as a hash alone. The agent gets another tool, too.
    let new = format!("token_sha256 = [\"{}\"]", digest(NEW));
    program.configure(&agent(&format!("{from_file}\n{new}"), "\"execute_tool_batch\", \"echo\", \"effect\""));
    program.signal(Signal::HangUp);
    program.logged_times(READ_AGAIN, 1).await;
    for token in [OLD, NEW] {
        assert_eq!(tools(&client, token).await.expect("its list").len(), 3, "{token}");
    }

    program.configure(&agent(&new, "\"execute_tool_batch\", \"echo\", \"effect\""));
    program.signal(Signal::HangUp);
    program.logged_times(READ_AGAIN, 2).await;
    assert_eq!(unknown(tools(&client, OLD).await.expect_err("it is revoked")), stranger, "as one that never was");
    assert_eq!(tools(&client, NEW).await.expect("its list").len(), 3);
    gate.release();
    while events.message().await.expect("it goes on").is_some() {}
    assert_eq!(program.backend.journal().ids(), ["", "1"], "a call is looked up when its turn comes");
}

#[tokio::test]
async fn a_wrong_configuration_changes_nothing() {
    let mut program = Program::new("10m").await;
    let good = agent(&format!("token_sha256 = \"{}\"", digest(OLD)), "\"echo\"");
    program.configure(&good);
    let client = program.start().await;
    let wrong = [
        // No TOML; a token that cannot be read; a field that nothing knows; nobody left.
        format!("{good}\n[[agents"),
        agent("token_file = \"/nowhere/at/all\"", "\"echo\", \"effect\""),
        format!("{good}tokn = \"x\"\n"),
        String::new(),
    ];
    for (times, wrong) in (1..).zip(wrong) {
        program.configure(&wrong);
        program.signal(Signal::HangUp);
        program.logged_times(KEPT, times).await;
        assert_eq!(tools(&client, OLD).await.expect("its list"), ["echo"], "{wrong}");
    }
    program.configure(&good.replace("\"echo\"", "\"echo\", \"effect\""));
    program.signal(Signal::HangUp);
    program.logged(READ_AGAIN).await;
    assert_eq!(tools(&client, OLD).await.expect("its list").len(), 2, "the next good one is taken");
}
