//! What a model gets wrong: named in one message, all at once, with what would be right; and nothing runs.

use serde_json::json;
use toolbatch::proto::{CallToolRequest, call_tool_response::Outcome};

use super::{Answer, execute, invoke, sent};
use crate::rig::Rig;

/// What a model sends, and a part of what it is told.
const MISTAKES: &[(&str, &str)] = &[
    ("", "- calls: missing: expected an array"),
    (" \n", "- calls: missing: expected an array"),
    ("{\"calls\":\n[}", "are not valid JSON, at line 2, column 2: expected"),
    (r#"{"calls":[]} Now I will"#, "are not valid JSON, at line 1, column 14"),
    ("[]", r#"- the arguments: expected an object with "calls", found an array"#),
    (
        r#""{\"calls\":[{\"tool\":\"effect\"}]}""#,
        "- the arguments: expected an object with \"calls\", found the string",
    ),
    (r#"{"calls":"[{\"tool\":\"effect\"}]"}"#, "- calls: \"[{\\\"tool\\\""),
    (r#"{"calls":"[{\"tool\":\"effect\"}]"}"#, "not as its text, which is not parsed"),
    (r#"{"calls":{"tool":"effect"}}"#, "- calls: expected an array"),
    (r#"{"calls":[]}"#, "- calls: 0 calls arrived; expected 1 to 200"),
    (
        r#"{"calls":[{"tool":"effect","args":"{\"id\":\"a\"}"}]}"#,
        "- calls[0].args: expected an object, found the string",
    ),
    (r#"{"calls":[{"tool":"effect","args":null}]}"#, "- calls[0].args: expected an object, found null"),
    (r#"{"calls":[{"tool":"effect","args":[]}]}"#, "- calls[0].args: expected an object, found an array"),
    (
        r#"{"calls":[{"tool":"effect","args":{"id":"a","id":"b"}}]}"#,
        "- calls[0].args: member \"id\" stands twice in one object, at line 1, column 11",
    ),
    (r#"{"calls":[{"tool":"effect","args":{"id":"\ud800"}}]}"#, r"- calls[0].args: \ud800 is a lone surrogate"),
    (r#"{"calls":[{"args":{}}]}"#, "- calls[0].tool: missing: expected a tool's name"),
    (r#"{"calls":[{"tool":""}]}"#, "- calls[0].tool: nothing arrived; expected 1 to 256 bytes"),
    (
        r#"{"calls":[{"tool":"effect","arguments":{}}]}"#,
        "- calls[0].arguments: unknown field; did you mean args? Known are tool, args, key",
    ),
    (r#"{"calls":[{"tool":"effect","parameters":{}}]}"#, "- calls[0].parameters: unknown field; did you mean args?"),
    (r#"{"calls":[{"tool":"effect","input":{}}]}"#, "- calls[0].input: unknown field; did you mean args?"),
    (r#"{"calls":[{"name":"effect"}]}"#, "- calls[0].name: unknown field; did you mean tool?"),
    (
        r#"{"calls":[{"tool":"effect","key":"k"},{"tool":"effect","key":"k"}]}"#,
        "- calls[1].key: calls 0 and 1 both have the key \"k\"",
    ),
    (r#"{"calls":[{"tool":"effect","key":7}]}"#, "- calls[0].key: expected a string, found the number 7"),
    (
        r#"{"calls":[{"tool":"effect"}],"mode":"PARALLEL"}"#,
        "- mode: expected \"sequential\" or \"parallel\", found the string \"PARALLEL\"; did you mean \"parallel\"?",
    ),
    (
        r#"{"calls":[{"tool":"effect"}],"max_concurrency":"4"}"#,
        "- max_concurrency: expected a whole number from 0 to 16, found the string \"4\"",
    ),
    (
        r#"{"calls":[{"tool":"effect"}],"max_concurrency":17}"#,
        "- max_concurrency: 17 arrived; expected 1 to 16, or 0 for 4",
    ),
    (r#"{"calls":[{"tool":"effect"}],"serialize_on":"doc"}"#, "- serialize_on: \"doc\" arrived with sequential mode"),
    (r#"{"calls":[{"tool":"effect"}],"mode":"parallel","serialize_on":"a..b"}"#, "- serialize_on: "),
    (
        r#"{"calls":[{"tool":"effect"}],"stop_on_error":"no"}"#,
        "- stop_on_error: expected true or false, found the string \"no\"",
    ),
    (
        r#"{"calls":[{"tool":"effect"}],"options":{"mode":"parallel"}}"#,
        "- options: unknown field; write what is in it (mode) one level up. Known are calls, mode, max_concurrency, serialize_on, stop_on_error, include_results",
    ),
    (
        r#"{"calls":[{"tool":"effect"}],"maxConcurrency":4}"#,
        "- maxConcurrency: unknown field; did you mean max_concurrency? Known are calls, mode, max_concurrency, serialize_on, stop_on_error, include_results",
    ),
    (
        r#"{"calls":[{"tool":"effect"}],"in_doubt":"fail"}"#,
        "- in_doubt: unknown field; known are calls, mode, max_concurrency, serialize_on, stop_on_error, include_results",
    ),
];

#[tokio::test]
async fn every_common_mistake_is_named_with_what_is_right() {
    let rig = Rig::start().await;
    for (args, expected) in MISTAKES {
        let answer = execute(&rig, args).await;
        let told = answer.refusal();
        assert!(told.starts_with("execute_tool_batch ran nothing. ") && told.contains(expected), "{args}: {told}");
    }
    for args in ["", "{", r#"{"invocations":[]}"#, r#"{"invocations":[{"name":"effect","arguments":"{\"a\":"}]}"#] {
        let answer = invoke(&rig, args).await;
        assert!(answer.refusal().starts_with("batch_tool ran nothing. "), "{args}");
    }
    assert!(rig.backend.journal().entries().is_empty());
    assert!(rig.list_batches("", 0, "").await.expect("listed").batches.is_empty(), "nothing is recorded");
}

#[tokio::test]
async fn all_faults_are_named_at_once_and_each_one_once() {
    let rig = Rig::start().await;
    let args = r#"{"cals":1,"mode":"both","max_concurrency":99,"serialize_on":"a","calls":[5,{"tool":"x","args":[]},
        {"tool":"","key":"k"},{"tool":"y","args":{"a":1,"a":2},"key":"k"}]}"#;
    let answer = execute(&rig, args).await;
    let lines: Vec<&str> = answer.refusal().lines().collect();
    let fields: Vec<&str> = lines[1..].iter().filter_map(|line| line.strip_prefix("- ")?.split(": ").next()).collect();
    assert_eq!(
        fields,
        [
            "cals",
            "calls[0]",
            "calls[1].args",
            "mode",
            "calls[2].tool",
            "calls[3].args",
            "calls[3].key",
            "max_concurrency"
        ]
    );
    assert_eq!(lines.len(), 1 + fields.len(), "one line for each");

    let many = json!({"calls": vec![json!({"tool": "", "args": {}}); 200]}).to_string();
    let answer = execute(&rig, &many).await;
    assert!(answer.refusal().ends_with("\nand 150 more") && answer.refusal().lines().count() == 52);
    let shapes = json!({"calls": vec![json!([]); 200]}).to_string();
    assert!(execute(&rig, &shapes).await.refusal().ends_with("\nand 150 more"));
}

#[tokio::test]
async fn what_stands_beside_the_arguments_is_checked_too() {
    let rig = Rig::start().await;
    let args_json = r#"{"calls":[{"tool":"echo","args":5}]}"#.to_owned();
    let call = CallToolRequest { tool: "execute_tool_batch".into(), args_json, context: None };
    let answer = Answer(sent(&rig, call.clone()).await.expect("an answer"));
    let told = answer.refusal();
    assert!(told.contains("- calls[0].args: ") && told.contains("- context.task_id: nothing arrived"), "{told}");
    let context = toolbatch::proto::CallContext {
        task_id: "T".into(),
        agent_id: "a\n".into(),
        key: "k".repeat(512) + "\u{7f}",
        ..Default::default()
    };
    let answer = Answer(sent(&rig, CallToolRequest { context: Some(context), ..call }).await.expect("an answer"));
    let told = answer.refusal();
    assert!(
        told.matches("- context.key: ").count() == 2
            && told.contains("513 bytes arrived")
            && told.contains("- context.agent_id: "),
        "{told}"
    );
}

#[tokio::test]
async fn c50_each_reference_that_leads_to_no_list_is_told_why() {
    let rig = Rig::start().await;
    let effect = |id: &str| json!({"tool": "effect", "args": {"id": id}});
    let list = json!({"calls": [effect("a"), effect("b"), effect("c")]}).to_string();
    rig.set_variable("T", "VAR_1", &list).await.expect("set");
    rig.set_variable("T", "VAR_2", r#""[{\"tool\":\"effect\"}]""#).await.expect("set");
    for (text, words) in [
        ("run ${VAR_1}.calls", "inside a larger text"),
        ("${VAR_1}.calls ", "inside a larger text"),
        ("${VAR_1}", "an object, whose field calls holds a list; expected the list: ${VAR_1}.calls"),
        ("${VAR_3}.calls", "missing step output VAR_3"),
        ("${VAR_1}.calls[0]", "leads to an object"),
        ("${VAR_2}", "leads to a string"),
        ("", "no list to run"),
    ] {
        let answer = execute(&rig, &json!({ "calls": text }).to_string()).await;
        let told = answer.refusal();
        assert!(told.contains("- calls: ") && told.contains(words) && told.lines().count() == 2, "{text}: {told}");
    }
    assert!(rig.backend.journal().entries().is_empty());
    let answer = execute(&rig, r#"{"calls":"${VAR_1}.calls"}"#).await;
    assert_eq!(answer.statuses(), ["completed"; 3]);

    let wrong = r#"{"plan":[{"tool":"echo"},{"name":"echo","args":[]},{"tool":"","key":"\u0000"}]}"#;
    rig.set_variable("T", "wrong", wrong).await.expect("set");
    let answer = execute(&rig, r#"{"calls":"${wrong}.plan","max_concurrency":99}"#).await;
    let told = answer.refusal();
    for part in
        ["- ${wrong}.plan[1].name: ", "- ${wrong}.plan[1].tool: ", "- ${wrong}.plan[1].args: ", "- max_concurrency: "]
    {
        assert!(told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn c51_what_no_batch_may_call_fails_the_call() {
    let rig = Rig::start().await;
    let ok = json!({"tool": "effect", "args": {"id": "ok"}});
    let wrapped =
        json!({"tool": "multi_tool_use.parallel", "args": {"tool_uses": [{"recipient_name": "functions.effect"}]}});
    let args = json!({"stop_on_error": false, "calls": [
        {"tool": "execute_tool_batch", "args": {"calls": [ok]}}, {"tool": "batch_tool", "args": {"invocations": []}},
        {"tool": "ask_user"}, wrapped, {"tool": "functions.effect", "args": {"id": "z"}}, ok]});
    let answer = execute(&rig, &args.to_string()).await;
    assert_eq!(answer.json()["status"], json!("partial"));
    let reasons = answer.each("error_reason");
    let no_batch = json!("tool_not_batchable");
    assert_eq!(reasons[..3], [no_batch.clone(), no_batch.clone(), no_batch]);
    // In open mode every tool is allowed, so an unknown one is one that nobody serves.
    assert_eq!(reasons[3..5], [json!("tool_not_found"), json!("tool_not_found")]);
    for (error, name) in answer.each("error").iter().zip([
        "execute_tool_batch",
        "batch_tool",
        "ask_user",
        "multi_tool_use.parallel",
        "functions.effect",
    ]) {
        assert!(error.as_str().expect("a message").contains(name), "{error}");
    }
    assert_eq!(rig.backend.journal().ids(), ["ok"]);
    let stopped = execute(&rig, r#"{"calls":[{"tool":"ask_user"},{"tool":"effect","args":{"id":"x"}}]}"#).await;
    assert_eq!(
        (stopped.statuses(), stopped.json()["status"].clone()),
        (vec!["failed".to_owned(), "not_run".to_owned()], json!("failed"))
    );
    let inside =
        invoke(&rig, r#"{"invocations":[{"name":"batch_tool"},{"name":"effect","arguments":{"id":"ok2"}}]}"#).await;
    assert_eq!(inside.statuses(), ["failed", "completed"]);
}

/// Texts that are wrong in every place where they can be cut or doubled: an answer, never a fault of the server.
#[tokio::test]
async fn any_text_is_answered() {
    let rig = Rig::start().await;
    let good =
        r#"{"calls":[{"tool":"fail","args":{"é":"\ud83d\ude00\ud800","n":[1e400]},"key":"k"}],"mode":"parallel"}"#;
    for (cut, _) in good.char_indices() {
        let doubled = good[..cut].to_owned() + &good[good.floor_char_boundary(cut.saturating_sub(1))..];
        for args in [&good[..cut], &good[cut..], &doubled] {
            for tool in ["execute_tool_batch", "batch_tool"] {
                let call = super::request(tool, "", args);
                let answer = sent(&rig, call).await.expect("an answer");
                assert!(matches!(answer.outcome, Some(Outcome::Failure(_) | Outcome::ResultJson(_))), "{args}");
            }
        }
    }
    let deep =
        format!(r#"{{"calls":[{{"tool":"echo","args":{}}}]}}"#, "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000));
    let answer = execute(&rig, &deep).await;
    assert!(answer.refusal().contains("more than 100 levels"), "{}", answer.refusal());
    assert!(execute(&rig, &"[".repeat(1_000_000)).await.refusal().contains("not valid JSON"));
}
