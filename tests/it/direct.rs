//! `CallTool` and `CallToolWithProgress`: a call as a direct step (R11).

use tokio::task::JoinSet;
use tonic::{Code, Status};
use toolbatch::proto::{
    CallContext, CallStatus, CallToolRequest, CallToolResponse, CallToolWithProgressRequest, KeyState, Tool,
    WatchTaskRequest, call_tool_response::Outcome, call_tool_with_progress_response::Event, settle_key_request::Fate,
};

use crate::{
    backend::{ScriptedBackend, stub_tools, tool},
    process::{Program, Signal},
    refusal::{not_found, refusal},
    rig::{Client, Rig, batch, keyed},
};

fn request(key: &str, tool: &str, args: &str) -> CallToolRequest {
    let context = CallContext { task_id: "T".into(), key: key.into(), ..CallContext::default() };
    CallToolRequest { tool: tool.into(), args_json: args.into(), context: Some(context) }
}

async fn call(client: &Client, key: &str, tool: &str, args: &str) -> Result<CallToolResponse, Status> {
    let answer = client.tools().call_tool(request(key, tool, args)).await;
    answer.map(tonic::Response::into_inner)
}

async fn answer(client: &Client, key: &str, tool: &str, args: &str) -> CallToolResponse {
    call(client, key, tool, args).await.expect("it is answered")
}

/// A call under the key "k" whose effect "a" has begun at its backend; the test holds it there.
async fn begun(
    client: &Client,
    backend: &ScriptedBackend,
) -> JoinSet<Result<tonic::Response<CallToolResponse>, Status>> {
    let mut tools = client.tools();
    let mut calls = JoinSet::new();
    calls.spawn(async move { tools.call_tool(request("k", "effect", r#"{"id":"a"}"#)).await });
    backend.journal().wait_for(|entries| entries.len() == 1).await;
    calls
}

fn result(response: &CallToolResponse) -> &str {
    match &response.outcome {
        Some(Outcome::ResultJson(result)) => result,
        other => panic!("the outcome is {other:?}"),
    }
}

fn code(response: &CallToolResponse) -> &str {
    match &response.outcome {
        Some(Outcome::Failure(failure)) => &failure.code,
        other => panic!("the outcome is {other:?}"),
    }
}

#[tokio::test]
async fn a_result_is_untouched_and_kept_as_the_next_variable() {
    let rig = Rig::start().await;
    let args = " {\"z\": 1.10, \"a\":[1e400] } ";
    let first = answer(&rig, "", "echo", args).await;
    assert_eq!((result(&first), first.variable.as_str()), (args, "VAR_1"));
    let large = answer(&rig, "", "blob", r#"{"bytes":100000}"#).await;
    assert_eq!((result(&large).len(), large.variable.as_str()), (100_000, "VAR_2"));
    let omitted = answer(&rig, "", "blob", r#"{"bytes":4000000}"#).await;
    assert_eq!((result(&omitted), omitted.result_omitted, omitted.variable.as_str()), ("", true, "VAR_3"));
    assert_eq!(rig.read_result(&omitted.step_id, 0).await.expect("it is there").0.len(), 4_000_000);
    assert_eq!(rig.set_variable("T", "", "1").await.expect("set"), "VAR_4");
    // A reference finds what the variable holds.
    let calls = r#"{"text":"[{\"tool\":\"echo\"}]"}"#;
    assert_eq!(answer(&rig, "", "raw", calls).await.variable, "VAR_5");
    let source = Some(toolbatch::proto::execute_batch_request::Source::CallsRef("${VAR_5}".into()));
    let by_reference = toolbatch::proto::ExecuteBatchRequest { source, ..batch(Vec::new()) };
    assert_eq!(rig.run(by_reference).await.statuses(), ["completed"]);
}

#[tokio::test]
async fn nobody_sees_the_batch_that_it_runs_as() {
    let rig = Rig::start().await;
    let response = answer(&rig, "", "echo", "{}").await;
    let step = rig.get_step(&response.step_id).await.expect("it is there");
    assert_eq!((step.status(), step.parent_step_id.as_str()), (CallStatus::Completed, ""));
    assert!(rig.list_batches("T", 0, "").await.expect("a list").batches.is_empty());
    assert!(rig.list_batches("", 0, "").await.expect("a list").batches.is_empty());
    assert_eq!(rig.backend.journal().entries()[0].batch_id, "");
    not_found(
        &rig.get_batch(&response.step_id).await.expect_err("none"),
        "BATCH_NOT_FOUND",
        ("batch", &response.step_id),
    );
}

#[tokio::test]
async fn a_key_runs_once_over_direct_steps_and_batches() {
    let rig = Rig::start().await;
    let (first, second) =
        tokio::join!(answer(&rig, "k", "effect", r#"{"id":"a"}"#), answer(&rig, "k", "effect", r#"{"id":"a"}"#));
    assert_eq!(result(&first), result(&second));
    assert_eq!(first.step_id, second.step_id);
    assert!(first.skipped != second.skipped);
    let variables = [first.variable.as_str(), second.variable.as_str()];
    assert!(variables.contains(&"VAR_1") && variables.contains(&""), "{variables:?}");
    let other = answer(&rig, "k", "effect", r#"{"id":"b"}"#).await;
    assert_eq!((code(&other), other.skipped, other.args_changed), ("KEY_REUSED", true, true));
    assert_eq!(rig.run(batch(vec![keyed("k", "effect", r#"{"id":"a"}"#)])).await.statuses(), ["skipped"]);
    assert_eq!(rig.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn a_failed_key_runs_again_and_a_review_is_told_again() {
    let rig = Rig::start().await;
    let args = r#"{"id":"f","fail":1}"#;
    assert_eq!(code(&answer(&rig, "f", "flaky", args).await), "STUB");
    assert_eq!(result(&answer(&rig, "f", "flaky", args).await), "true");
    let review = r#"{"id":"w","result":"[1]"}"#;
    for skipped in [false, true] {
        let response = answer(&rig, "r", "review", review).await;
        let Some(Outcome::Awaiting(awaiting)) = &response.outcome else { panic!("it awaits") };
        assert_eq!((awaiting.await_id.as_str(), awaiting.result_json.as_str()), ("w", "[1]"));
        assert_eq!(response.skipped, skipped);
    }
}

#[tokio::test]
async fn what_no_batch_may_call_can_be_called_directly_and_refusals_have_codes() {
    let pauses = Tool { pauses: true, ..tool("echo") };
    let mut tools = stub_tools();
    tools.retain(|tool| tool.name != "echo");
    tools.push(pauses);
    let backend = ScriptedBackend::start_with(tools).await;
    let backends = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, backends, |_| {}).await;
    assert_eq!(rig.run(batch(vec![keyed("", "echo", "{}")])).await.statuses(), ["failed"]);
    assert_eq!(result(&answer(&rig, "", "echo", "{}").await), "{}");
    assert_eq!(code(&answer(&rig, "", "no_such_thing", "{}").await), "TOOL_NOT_FOUND");
    assert_eq!(code(&answer(&rig, "", "effect", "{}").await), "INVALID_ARGS");
    let lost = answer(&rig, "", "hollow", "{}").await;
    assert_eq!((code(&lost), lost.outcome_unknown), ("BAD_RESPONSE", true));
    let wrong = CallToolRequest { args_json: "[".into(), ..CallToolRequest::default() };
    let wrong = rig.tools().call_tool(wrong).await.expect("it is answered").into_inner();
    assert_eq!(code(&wrong), "INVALID_REQUEST");
    let Some(Outcome::Failure(failure)) = &wrong.outcome else { panic!("it failed") };
    for field in ["tool", "args_json", "context.task_id"] {
        assert!(failure.message.contains(field), "{field}: {}", failure.message);
    }
    assert!(wrong.step_id.is_empty());
}

#[tokio::test]
async fn progress_comes_before_the_response() {
    let rig = Rig::start().await;
    let held = rig.backend.hold("progress");
    let request = CallToolWithProgressRequest { call: Some(request("", "progress", r#"{"n":3}"#)) };
    let mut stream = rig.tools().call_tool_with_progress(request).await.expect("it runs").into_inner();
    let first = stream.message().await.expect("it goes well").and_then(|message| message.event);
    assert!(matches!(first, Some(Event::Progress(_))), "it is told while the tool runs: {first:?}");
    held.release();
    let mut last = None;
    while let Some(message) = stream.message().await.expect("it goes well") {
        assert!(!matches!(last, Some(Event::Response(_))), "the response is last");
        last = message.event;
    }
    let Some(Event::Response(response)) = last else { panic!("there is a response") };
    assert_eq!((result(&response), response.variable.as_str()), ("3", "VAR_1"));
}

#[tokio::test]
async fn its_cards_stand_alone_in_the_feed() {
    let rig = Rig::start().await;
    let step = answer(&rig, "", "echo", "{}").await;
    rig.end_task("T", "").await.expect("it ends");
    let request = WatchTaskRequest { task_id: "T".into(), resume_token: String::new() };
    let mut stream = rig.tasks().watch_task(request).await.expect("a feed").into_inner();
    let mut cards = Vec::new();
    while let Some(message) = stream.message().await.expect("the feed ends well") {
        cards.extend(message.card);
    }
    let shown: Vec<_> = cards.iter().map(|card| (&*card.step_id, &*card.parent_step_id, &*card.title)).collect();
    assert_eq!(shown, [(&*step.step_id, "", "echo"); 2], "its start and its end, and no batch around them");
}

#[tokio::test]
async fn an_ended_task_runs_nothing() {
    let rig = Rig::start().await;
    answer(&rig, "", "echo", "{}").await;
    rig.end_task("T", "").await.expect("it ends");
    let status = call(&rig, "", "echo", "{}").await.expect_err("refused");
    assert_eq!(refusal(&status), (Code::FailedPrecondition, "TASK_ENDED".to_owned()));
}

#[tokio::test]
async fn a_crash_leaves_the_outcome_unknown_and_a_repeat_is_in_doubt() {
    let mut program = Program::new("5s").await;
    let gate = program.backend.hold("a");
    let client = program.start().await;
    let mut calls = begun(&client, &program.backend).await;
    let first = program.backend.journal().entries().remove(0);
    program.crash().await;
    calls.join_next().await.expect("one call").expect("no panic").expect_err("the server is gone");
    let client = program.start().await;
    gate.release();
    let step = client.get_step(&first.step_id).await.expect("it is there");
    let error = step.error.as_ref().expect("an error");
    assert_eq!((step.status(), error.outcome_unknown), (CallStatus::Failed, true));
    assert!(error.message.contains("repeat the call under its key"), "{}", error.message);
    let unknown = client.keys(&[KeyState::Unknown], 10).await.expect("a list");
    assert_eq!(unknown.iter().map(|key| &*key.key).collect::<Vec<_>>(), ["k"]);
    let again = answer(&client, "k", "effect", r#"{"id":"a"}"#).await;
    assert_eq!((result(&again), again.variable.as_str()), (r#"{"id":"a"}"#, "VAR_1"));
    let entries = program.backend.journal().entries();
    assert_eq!(entries.len(), 2, "only the repeat ran it again");
    assert!(entries[1].in_doubt);
    assert_eq!(entries[1].idempotency_key, first.idempotency_key);
}

#[tokio::test]
async fn batches_between_direct_steps_are_listed_in_whole_pages() {
    let rig = Rig::start().await;
    let mut batches = Vec::new();
    for _ in 0..3 {
        answer(&rig, "", "echo", "{}").await;
        answer(&rig, "", "echo", "{}").await;
        batches.insert(0, rig.run(batch(vec![keyed("", "echo", "{}")])).await.batch_id().to_owned());
    }
    answer(&rig, "", "echo", "{}").await;
    for task in ["T", ""] {
        let (mut listed, mut token) = (Vec::new(), String::new());
        loop {
            let page = rig.list_batches(task, 1, &token).await.expect("a page");
            listed.extend(page.batches.iter().map(|batch| batch.batch_id.clone()));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
            assert_eq!(page.batches.len(), 1, "a page is whole where there is a next one");
        }
        assert_eq!(listed, batches);
    }
}

#[tokio::test]
async fn a_caller_that_leaves_costs_nothing_but_its_answer() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let mut calls = begun(&rig, &rig.backend).await;
    calls.shutdown().await;
    gate.release();
    let repeat = answer(&rig, "k", "effect", r#"{"id":"a"}"#).await;
    assert_eq!((result(&repeat), repeat.skipped), (r#"{"id":"a"}"#, true));
    assert_eq!(rig.backend.journal().ids(), ["a"]);
    assert_eq!(rig.set_variable("T", "", "1").await.expect("set"), "VAR_2", "its result is VAR_1");
}

#[tokio::test]
async fn c45_a_deadline_of_a_direct_step_leaves_it_running() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let call = request("k", "effect", r#"{"id":"a"}"#);
    let mut with_progress = tonic::Request::new(CallToolWithProgressRequest { call: Some(call) });
    with_progress.metadata_mut().insert("grpc-timeout", "200m".parse().expect("a timeout"));
    let mut stream = rig.tools().call_tool_with_progress(with_progress).await.expect("it runs").into_inner();
    let status = stream.message().await.expect_err("its time is over");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("the same context.key"), "{status}");
    gate.release();
    assert!(answer(&rig, "k", "effect", r#"{"id":"a"}"#).await.skipped);
    assert_eq!(rig.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn a_stop_of_the_server_lets_it_finish() {
    let mut program = Program::new("30s").await;
    let gate = program.backend.hold("a");
    let client = program.start().await;
    let mut calls = begun(&client, &program.backend).await;
    program.signal(Signal::Terminate);
    program.logged("stopping").await;
    gate.release();
    let answered = calls.join_next().await.expect("one call").expect("no panic").expect("it is answered").into_inner();
    assert_eq!((result(&answered), answered.variable.as_str()), (r#"{"id":"a"}"#, "VAR_1"));
    assert!(program.ended().await.success());
    let client = program.start().await;
    assert!(answer(&client, "k", "effect", r#"{"id":"a"}"#).await.skipped);
}

#[tokio::test]
async fn what_a_crash_left_open_is_settled_and_then_told_without_a_run() {
    let mut program = Program::new("5s").await;
    let gate = program.backend.hold("a");
    let client = program.start().await;
    let _calls = begun(&client, &program.backend).await;
    program.crash().await;
    gate.release();
    let client = program.start().await;
    client.settle("k", Fate::LandedResultJson("[7]".into())).await.expect("it is settled");
    let told = answer(&client, "k", "effect", r#"{"id":"a"}"#).await;
    assert_eq!((result(&told), told.skipped, told.variable.as_str()), ("[7]", true, ""));
    assert_eq!(program.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn a_store_with_one_is_whole_and_has_no_batch() {
    let mut rig = Rig::start().await;
    answer(&rig, "k", "blob", r#"{"bytes":100000}"#).await;
    rig.stop().await;
    let mut check = std::process::Command::new(env!("CARGO_BIN_EXE_toolbatch"));
    let checked = check.args(["store", "check", "--json"]).arg(rig.data.path().join("data")).output();
    let checked = checked.expect("the program runs");
    let json: serde_json::Value = serde_json::from_slice(&checked.stdout).expect("one object");
    assert_eq!(json["checked"]["faults"], 0, "{json}");
    assert_eq!((&json["checked"]["batches"], &json["checked"]["steps"]), (&0.into(), &1.into()));
}
