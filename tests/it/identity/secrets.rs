//! Row "secrets": what is placed in args, results, keys and tokens stands in no log, error or listing.

use std::{path::Path, process::Command};

use prost::Message;
use tonic::{Code, Request, Status};
use toolbatch::proto::{
    CallError, ExecuteBatchRequest, ListBatchesRequest, ListKeysRequest, ListStepsRequest, ListToolsRequest,
    ListUsageRequest, SetVariableRequest, batch_event::Event,
};

use super::{ORDERS, exchange::exchange, start, with};
use crate::{
    canary::{self, CANARY},
    process::{Program, Signal},
    rig::{Client, batch, call, keyed},
};

/// What a refusal, or a batch's failed calls, say.
async fn complaints(client: &Client, request: Request<ExecuteBatchRequest>) -> Result<Vec<CallError>, Status> {
    let mut stream = client.batches().execute_batch(request).await?.into_inner();
    let mut errors = Vec::new();
    while let Some(message) = stream.message().await? {
        if let Some(Event::CallFinished(finished)) = message.event.and_then(|event| event.event) {
            errors.extend(finished.result.and_then(|result| result.error));
        }
    }
    Ok(errors)
}

/// Args that are wrong, each with a secret in it, and what becomes of their calls.
fn wrong_args() -> Vec<(&'static str, String)> {
    vec![
        ("effect", format!(r#"{{"id":"x","ms":"{CANARY}"}}"#)),
        ("effect", format!(r#"{{"id":["{CANARY}"]}}"#)),
        ("effect", format!(r#"{{"id":"x","ms":{{"a":"{CANARY}"}}}}"#)),
        ("echo", format!(r#"{{"a":"{CANARY}""#)),
        ("echo", format!(r#"{{"a":"{CANARY}"}} {CANARY}"#)),
        ("echo", format!(r#"{{"a":{CANARY}}}"#)),
        ("echo", format!(r#""{CANARY}""#)),
        ("echo", format!(r#"["{CANARY}"]"#)),
        ("echo", format!(r#"{{"a":"{CANARY}\ud800"}}"#)),
        ("echo", format!(r#"{{"a":"{CANARY}","a":"{CANARY}"}}"#)),
        ("raw", format!(r#"{{"text":"{CANARY} is no JSON"}}"#)),
        ("raw", format!(r#"{{"text":"{{\"a\":\"{CANARY}\""}}"#)),
    ]
}

/// Whether a refusal was for its sender alone: it quotes a word of what arrived (R1), and nothing of it is kept.
fn is_refusal(status: &Status) -> bool {
    status.code() == Code::InvalidArgument
}

#[tokio::test]
async fn secrets_stand_in_no_error_that_is_kept() {
    let rig = start().await;
    assert!(ORDERS.contains(CANARY), "the token is one");
    let mut kept = 0;
    for (tool, args) in wrong_args() {
        match complaints(&rig, with(ORDERS, batch(vec![call(tool, &args)]))).await {
            Ok(errors) => {
                kept += errors.len();
                assert_eq!(errors.len(), 1, "{tool} {args} fails");
                assert!(!format!("{errors:?}").contains(CANARY), "{tool} {args}: {errors:?}");
            }
            Err(status) => assert!(is_refusal(&status), "{status:?}"),
        }
    }
    assert_eq!(kept, 5, "three that do not fit their schema, and two results that are no JSON");
    for value in [CANARY.to_owned(), format!("Basic {CANARY}"), format!("Bearer {CANARY}")] {
        let mut request = Request::new(ListToolsRequest::default());
        request.metadata_mut().insert("authorization", value.parse().expect("a header"));
        let refused = rig.tools().list_tools(request).await.expect_err("no token");
        assert!(!format!("{refused:?}").contains(CANARY), "{refused:?}");
    }
}

/// Args that are one object, so that their call is taken in and fails later.
fn is_taken(args: &str) -> bool {
    serde_json::from_str::<serde_json::Map<_, _>>(args)
        .is_ok_and(|members: serde_json::Map<_, _>| !members.contains_key("a"))
}

#[tokio::test]
async fn secrets_stand_in_no_listing() {
    let rig = start().await;
    let secret = format!(r#"{{"id":"{CANARY}"}}"#);
    let mut calls = vec![keyed("k", "echo", &secret)];
    calls.extend(wrong_args().iter().filter(|(_, args)| is_taken(args)).map(|(tool, args)| call(tool, args)));
    let options = toolbatch::proto::BatchOptions { stop_on_error: Some(false), ..Default::default() };
    let request = ExecuteBatchRequest { options: Some(options), ..batch(calls) };
    assert_eq!(complaints(&rig, with(ORDERS, request)).await.expect("taken in").len(), 5);
    let set = SetVariableRequest { task_id: "T".into(), name: "V".into(), value_json: secret };
    rig.tasks().set_variable(with(ORDERS, set)).await.expect("it is set");
    let end = toolbatch::proto::EndTaskRequest { task_id: "T".into(), reason: String::new() };
    rig.tasks().end_task(with(ORDERS, end)).await.expect("it ends");
    let task_id = || "T".to_owned();
    let lists = [
        ("BatchService/ListBatches", ListBatchesRequest::default().encode_to_vec()),
        ("TaskService/ListSteps", ListStepsRequest { task_id: task_id(), ..Default::default() }.encode_to_vec()),
        ("TaskService/ListKeys", ListKeysRequest { task_id: task_id(), ..Default::default() }.encode_to_vec()),
        ("TaskService/ListUsage", ListUsageRequest { task_id: task_id(), ..Default::default() }.encode_to_vec()),
        ("ToolService/ListTools", ListToolsRequest::default().encode_to_vec()),
    ];
    for (rpc, request) in lists {
        let answer = exchange(&rig.channel, rpc, with(ORDERS, request), usize::MAX).await;
        answer.end.unwrap_or_else(|status| panic!("{rpc}: {status:?}"));
        assert!(!answer.messages.is_empty(), "{rpc} lists something");
        for message in &answer.messages {
            assert!(!String::from_utf8_lossy(message).contains(CANARY), "{rpc}: {message:?}");
        }
    }
}

#[tokio::test]
async fn secrets_stand_in_no_log_of_the_program_over_crashes_and_wrong_configurations() {
    let mut program = Program::new("10m").await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    std::fs::write(&file, ORDERS).expect("a file");
    let people = |token: &str| {
        format!(
            "[[agents]]\nid = \"orders\"\n{token}\ntools = [\"execute_tool_batch\", \"echo\", \"raw\", \"fail\", \"status\"]\n"
        )
    };
    let good = people(&format!("token_file = \"{}\"\ntoken_env = \"CANARY_TOKEN\"", file.display()));
    program.configure(&good);
    let from_environment = format!("from-the-environment-{CANARY}");
    program.set_environment(&[("TOOLBATCH_LOG", Path::new("debug")), ("CANARY_TOKEN", Path::new(&from_environment))]);
    let client = program.start().await;
    let before = canary::lines();
    let secret = format!(r#"{{"id":"{CANARY}"}}"#);
    // Foreign text that would forge a line.
    let forged = r#"{"text":"\u001b[31m\r\nforged \u202e"}"#;
    for (tool, args) in [("echo", secret.as_str()), ("fail", forged), ("status", forged)] {
        // A key is a name: spans at debug show it.
        let request = with(ORDERS, batch(vec![keyed("k", tool, args)]));
        // The second and third use the key again, which is refused; both go through everything that logs.
        let _ = complaints(&client, request).await;
        complaints(&client, with(&from_environment, batch(vec![call(tool, args)]))).await.expect("taken in");
    }
    for (tool, args) in wrong_args() {
        let _ = complaints(&client, with(ORDERS, batch(vec![call(tool, &args)]))).await;
    }
    complaints(&client, with(&format!("nobodys-{CANARY}"), batch(Vec::new()))).await.expect_err("nobody's");
    // A token where its hash should be, and one that is none.
    for (times, wrong) in [(1, people(&format!("token_sha256 = \"{CANARY}\""))), (2, good.clone())] {
        std::fs::write(&file, format!("{CANARY} is no token")).expect("a file");
        program.configure(&wrong);
        program.signal(Signal::HangUp);
        program.logged_times("what was there before goes on", times).await;
    }
    // What runs at a crash is read back.
    let gate = program.backend.hold("echo");
    let slow = with(ORDERS, batch(vec![keyed("slow", "echo", &secret)]));
    let stream = client.batches().execute_batch(slow).await.expect("taken in");
    program.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.key == "slow")).await;
    program.crash().await;
    gate.release();
    drop(stream);
    std::fs::write(&file, ORDERS).expect("a file");
    let client = program.start().await;
    complaints(&client, with(ORDERS, batch(vec![call("echo", &secret)]))).await.expect("it serves");
    refused_command(program.endpoint()).await;
    for line in program.log() {
        let harmless = |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
        assert!(line.chars().all(harmless) && line.starts_with(|c: char| c.is_ascii_digit()), "{line:?}");
    }
    program.signal(Signal::Terminate);
    program.ended().await;
    assert!(canary::lines() > before + 100, "the log was looked through");
}

/// A command with a token that is nobody's says nothing of it.
async fn refused_command(endpoint: String) {
    let listed = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolbatch"));
        command.args(["batches", "--server", &endpoint, "--tenant", "acme"]).env("TOOLBATCH_TOKEN", CANARY).output()
    });
    let output = listed.await.expect("no panic").expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("authorization: Bearer TOKEN") && !said.contains(CANARY), "{said}");
}
