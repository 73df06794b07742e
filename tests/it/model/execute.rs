//! `execute_tool_batch`: what it answers, how it is repeated, and that it outlives its caller.

use std::time::Duration;

use serde_json::{Value, json};
use tonic::{Code, Request};
use toolbatch::proto::batch_event::Event;

use super::{Answer, execute, followed, request, sent};
use crate::{
    process::Program,
    refusal::refusal,
    rig::{Ran, Rig, batch, keyed},
};

const DIGITS: &str =
    r#"{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;

#[tokio::test]
async fn the_answer_has_the_members_of_each_outcome() {
    let rig = Rig::start().await;
    let answer = execute(
        &rig,
        r#"{"stop_on_error":false,"calls":[{"tool":"echo","key":"k","args":{"a":1}},{"tool":"fail"},
            {"tool":"blob","args":{"bytes":5000}},{"tool":"echo"},{"tool":"review","args":{"id":"r"}},{"tool":"echo"}]}"#,
    )
    .await;
    let json = answer.json();
    let counts = ["total", "succeeded", "failed", "skipped", "awaiting", "not_run"].map(|name| json[name].clone());
    assert_eq!(counts, [6, 3, 1, 0, 1, 1].map(Value::from));
    assert_eq!((&json["status"], &json["stop_reason"]), (&json!("partial"), &json!("awaiting_review")));
    let results = json["results"].as_array().expect("results");
    let names = |index: usize| results[index].as_object().expect("one object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(0), ["duration_ms", "index", "key", "result", "status", "step_id", "tool"]);
    assert_eq!(names(1), ["duration_ms", "error", "error_reason", "index", "status", "step_id", "tool"]);
    assert_eq!(names(2), ["duration_ms", "index", "result_omitted", "status", "step_id", "tool"]);
    assert_eq!(names(4), ["await_id", "duration_ms", "index", "result", "status", "step_id", "tool"]);
    assert_eq!(names(5), ["index", "status", "tool"]);
    assert_eq!(results[0]["result"], json!({"a": 1}));
    assert_eq!((&results[1]["error"], &results[1]["error_reason"]), (&json!("it failed"), &json!("tool_failed")));
    assert_eq!((&results[4]["await_id"], &results[4]["result"]), (&json!("r"), &Value::Null));
    let step = rig.get_step(results[0]["step_id"].as_str().expect("an id")).await.expect("kept");
    assert_eq!(step.parent_step_id, answer.0.step_id, "the call's step is under the batch's");
    assert_eq!(rig.get_batch(&answer.0.step_id).await.expect("kept").summary.expect("ended").total, 6);

    let again = execute(&rig, r#"{"calls":[{"tool":"echo","key":"k","args":{"a":2}}],"include_results":false}"#).await;
    assert_eq!(again.json()["results"][0]["args_changed"], json!(true));
    assert_eq!((again.statuses(), again.json()["status"].clone()), (vec!["skipped".to_owned()], json!("completed")));
    let same = execute(&rig, r#"{"calls":[{"tool":"echo","key":"k","args":{"a":1}}],"include_results":false}"#).await;
    assert_eq!(same.json()["results"][0]["result_omitted"], json!(true));
    assert_eq!(same.json().get("stop_reason"), None);
}

#[tokio::test]
async fn c17_digits_pass_byte_for_byte() {
    let rig = Rig::start().await;
    let call = format!(r#"{{"tool":"echo","args":{DIGITS}}}"#);
    let answer = execute(&rig, &format!(r#"{{"calls":[{call}]}}"#)).await;
    let text = answer.text();
    assert!(text.contains(&format!(r#""result":{DIGITS}"#)), "{text}");
}

#[tokio::test]
async fn c18_what_is_no_json_or_no_text_leaves_the_answer_valid() {
    let rig = Rig::start().await;
    for wrong in [r#"{\"mean\":NaN}"#, r#"{\"a\":1} {\"b\":2}"#] {
        let calls = format!(r#"{{"calls":[{{"tool":"raw","args":{{"text":"{wrong}"}}}},{{"tool":"echo"}}]}}"#);
        let answer = execute(&rig, &calls).await;
        assert_eq!(answer.statuses(), ["failed", "not_run"]);
        let result = &answer.json()["results"][0];
        assert_eq!((&result["error_reason"], &result["outcome_unknown"]), (&json!("bad_response"), &json!(true)));
        assert!(result["error"].as_str().expect("a message").contains("line 1, column"), "{result}");
        assert_eq!(answer.json()["stop_reason"], json!("call_failed"));
    }
    let half = r#"{"calls":[{"tool":"raw","args":{"text":"[\"\\ud800x\",\"\\ud83d\\ude00\"]"}}]}"#;
    let answer = execute(&rig, half).await;
    assert_eq!(answer.json()["results"][0]["result"], json!(["\u{fffd}x", "\u{1f600}"]));
    let step_id = answer.each("step_id")[0].as_str().expect("an id").to_owned();
    assert_eq!(rig.get_step(&step_id).await.expect("kept").result_json, r#"["\ud800x","\ud83d\ude00"]"#);
}

#[tokio::test]
async fn c29_results_stand_in_the_order_of_the_calls() {
    let rig = Rig::start().await;
    let held = ["a", "b", "c"].map(|id| rig.backend.hold(id));
    let calls = ["a", "b", "c"].map(|id| format!(r#"{{"tool":"effect","args":{{"id":"{id}"}}}}"#)).join(",");
    let args = format!(r#"{{"mode":"parallel","calls":[{calls}]}}"#);
    let ((told, answer), ()) =
        tokio::join!(followed(&rig, request("execute_tool_batch", "", &args)), let_go_backwards(&rig, held));
    assert_eq!(answer.each("index"), [0, 1, 2]);
    assert_eq!(answer.each("result"), ["a", "b", "c"].map(|id| json!({ "id": id })));
    let told: Vec<_> = told.iter().map(|told| (told.progress, told.total, told.message.as_str())).collect();
    let expected = [(1.0, 3.0, "1 of 3: effect completed"), (2.0, 3.0, "2 of 3: effect completed")];
    assert_eq!((told.len(), &told[..2]), (3, &expected[..]));
}

/// Lets the calls go from the last to the first, each once the one behind it has ended.
pub(super) async fn let_go_backwards(rig: &Rig, held: [crate::backend::Held; 3]) {
    rig.backend.journal().wait_for(|entries| entries.len() == 3).await;
    let batches = rig.list_batches("T", 1, "").await.expect("listed").batches;
    let mut events = rig.watch(&batches[0].batch_id, 0).await.expect("it runs");
    for (held, index) in held.into_iter().rev().zip([2, 1, 0]) {
        held.release();
        events
            .until(|event| {
                matches!(event, Event::CallFinished(call) if call.result.as_ref().is_some_and(|call| call.index == index))
            })
            .await;
    }
}

#[tokio::test]
async fn progress_names_each_call_that_ended() {
    let rig = Rig::start().await;
    let args = r#"{"calls":[{"tool":"echo"},{"tool":"fail"},{"tool":"echo"}]}"#;
    let (told, answer) = followed(&rig, request("execute_tool_batch", "", args)).await;
    let messages: Vec<_> = told.iter().map(|told| told.message.as_str()).collect();
    assert_eq!(messages, ["1 of 3: echo completed", "2 of 3: fail failed"]);
    assert_eq!(answer.statuses(), ["completed", "failed", "not_run"]);
    let (told, answer) = followed(&rig, request("execute_tool_batch", "", "{}")).await;
    assert!(told.is_empty() && answer.refusal().contains("calls: missing"));
}

#[tokio::test]
async fn a_repeat_under_the_same_key_is_the_same_batch() {
    let mut rig = Rig::start().await;
    let args = r#"{"calls":[{"tool":"effect","args":{"id":"a"}}]}"#;
    let of = |key: &str, args: &str| request("execute_tool_batch", key, args);
    let first = sent(&rig, of("k", args)).await.expect("run");
    assert_eq!(first.variable, "VAR_1");
    let (told, again) = followed(&rig, of("k", &args.replace(":[", ": [ "))).await;
    assert_eq!(told.len(), 1, "an attached one is told from its beginning");
    assert_eq!(again.0, toolbatch::proto::CallToolResponse { variable: String::new(), ..first.clone() });
    rig.restart().await;
    assert_eq!(sent(&rig, of("k", args)).await.expect("run").step_id, first.step_id);
    assert_eq!(rig.backend.journal().ids(), ["a"]);
    for (tool, args) in [
        ("execute_tool_batch", r#"{"calls":[{"tool":"effect","args":{"id":"b"}}]}"#),
        ("batch_tool", r#"{"invocations":[{"name":"effect","arguments":"{\"id\":\"a\"}"}]}"#),
    ] {
        let status = sent(&rig, request(tool, "k", args)).await.expect_err("another content");
        assert_eq!(refusal(&status), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()));
        assert!(status.message().contains("context.key \"k\""), "{status:?}");
    }
    // The key of a call, of another task, and another key are other matters.
    let other = sent(&rig, of("k2", args)).await.expect("run");
    assert_eq!(other.variable, "VAR_2");
    let mut elsewhere = of("k", args);
    elsewhere.context.as_mut().expect("it has one").task_id = "U".into();
    assert_ne!(sent(&rig, elsewhere).await.expect("run").step_id, first.step_id);
    rig.run(batch(vec![keyed("k", "effect", r#"{"id":"c"}"#)])).await;
    assert_eq!(rig.backend.journal().ids(), ["a", "a", "a", "c"]);
}

#[tokio::test]
async fn twenty_repeats_at_once_are_one_batch_and_one_variable() {
    let rig = std::sync::Arc::new(Rig::start().await);
    let mut repeats = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let rig = std::sync::Arc::clone(&rig);
        let call = request("execute_tool_batch", "k", r#"{"calls":[{"tool":"effect","args":{"id":"a","ms":50}}]}"#);
        repeats.spawn(async move { sent(&rig, call).await.expect("run") });
    }
    let answers = repeats.join_all().await;
    let mut variables: Vec<&str> = answers.iter().map(|answer| answer.variable.as_str()).collect();
    variables.sort_unstable();
    assert_eq!(variables.iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(), [&"VAR_1"]);
    assert!(answers.iter().all(|answer| answer.outcome == answers[0].outcome));
    assert_eq!(rig.backend.journal().ids(), ["a"]);
}

#[tokio::test]
async fn the_result_becomes_the_next_variable() {
    let rig = Rig::start().await;
    rig.set_variable("T", "", "1").await.expect("set");
    let list = r#"{"calls":[{"tool":"raw","args":{"text":"[{\"tool\":\"effect\",\"args\":{\"id\":\"x\"}}]"}}]}"#;
    let made = execute(&rig, list).await;
    assert_eq!(made.0.variable, "VAR_2");
    let ran = execute(&rig, r#"{"calls":"${VAR_2}.results[0].result"}"#).await;
    assert_eq!(ran.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().ids().last().map(String::as_str), Some("x"));
}

#[tokio::test]
async fn two_hundred_calls_by_reference_take_one_short_argument() {
    let rig = Rig::start().await;
    let calls: Vec<_> = (0..200).map(|n| json!({"tool": "effect", "args": {"id": n.to_string()}})).collect();
    rig.set_variable("T", "", &json!({ "calls": calls }).to_string()).await.expect("set");
    let answer = execute(&rig, r#"{"calls":"${VAR_1}.calls","include_results":false}"#).await;
    assert_eq!(answer.json()["succeeded"], json!(200));
    assert_eq!(answer.each("index"), (0..200).map(Value::from).collect::<Vec<_>>());
    let ids: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    assert_eq!(rig.backend.journal().ids(), ids);
}

#[tokio::test]
async fn an_ended_task_is_a_status() {
    let rig = Rig::start().await;
    rig.set_variable("T", "", "1").await.expect("set");
    rig.end_task("T", "").await.expect("ended");
    let status = sent(&rig, request("execute_tool_batch", "", r#"{"calls":[{"tool":"echo"}]}"#)).await;
    assert_eq!(refusal(&status.expect_err("refused")), (Code::FailedPrecondition, "TASK_ENDED".to_owned()));
}

/// What ran is told all the same; only the variable has no task to be in.
#[tokio::test]
async fn a_task_that_ends_meanwhile_costs_the_variable_and_not_the_answer() {
    let rig = Rig::start().await;
    let held = rig.backend.hold("a");
    let list = r#"{"calls":[{"tool":"effect","args":{"id":"a"}},{"tool":"echo"}]}"#;
    let end = async {
        rig.backend.journal().wait_for(|entries| !entries.is_empty()).await;
        rig.end_task("T", "").await.expect("ended");
        held.release();
    };
    let (answer, ()) = tokio::join!(execute(&rig, list), end);
    assert_eq!(answer.statuses(), ["completed", "not_run"]);
    assert_eq!((answer.json()["stop_reason"].clone(), answer.0.variable.as_str()), (json!("task_ended"), ""));
}

/// The second part of C45: the caller's patience ends, the batch does not.
#[tokio::test]
async fn c45_the_caller_leaves_the_batch_stays() {
    let rig = Rig::start().await;
    let held = rig.backend.hold("2");
    let calls: Vec<_> = (1..=5).map(|n| json!({"tool": "effect", "args": {"id": n.to_string()}})).collect();
    let mut call = Request::new(request("execute_tool_batch", "k", &json!({ "calls": calls }).to_string()));
    call.set_timeout(Duration::from_millis(500));
    let status = rig.tools().call_tool(call).await.expect_err("too late");
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    held.release();
    let batches = rig.list_batches("T", 0, "").await.expect("listed").batches;
    assert_eq!(batches.len(), 1);
    let events = rig.watch(&batches[0].batch_id, 0).await.expect("it goes on").rest().await.expect("it ends");
    assert_eq!(Ran { events }.statuses(), ["completed"; 5]);
    assert_eq!(rig.backend.journal().ids(), ["1", "2", "3", "4", "5"]);
    let again = sent(&rig, request("execute_tool_batch", "k", &json!({ "calls": calls }).to_string())).await;
    assert_eq!(Answer(again.expect("attached")).json()["succeeded"], json!(5));
    assert_eq!(rig.backend.journal().ids().len(), 5, "the repeat found it");
}

/// C50's first list, whose second call kills the server: the resumed batch goes on with the list that it started with.
#[tokio::test]
async fn c50_a_resumed_batch_is_found_under_its_key() {
    let mut program = Program::new("5s").await;
    let client = program.start().await;
    let calls = ["a", "b", "c"].map(|id| json!({"tool": "effect", "args": {"id": id}}));
    client.set_variable("T", "", &json!({ "calls": calls }).to_string()).await.expect("set");
    let held = program.backend.hold("b");
    let by_reference = || request("execute_tool_batch", "k", r#"{"calls":"${VAR_1}.calls"}"#);
    let mut lost = tokio::task::JoinSet::new();
    let call = by_reference();
    lost.spawn(async move { sent(&client, call).await });
    program.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "b")).await;
    program.crash().await;
    assert!(lost.join_all().await[0].is_err(), "the answer is lost");
    drop(held);
    let client = program.start().await;
    client.set_variable("T", "VAR_1", r#"{"calls":[]}"#).await.expect("set");
    let answer = Answer(sent(&client, by_reference()).await.expect("attached"));
    assert_eq!(answer.statuses(), ["completed"; 3]);
    assert_eq!(answer.0.variable, "", "whoever asked first is gone, and this one only attached");
    let ids = program.backend.journal().ids();
    let counts = ["a", "b", "c"].map(|id| ids.iter().filter(|ran| *ran == id).count());
    assert_eq!(counts, [1, 2, 1]);
}
