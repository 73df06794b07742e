//! Whole turns of models, as the APIs give them, and what goes back (tests/data/README.md).

use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use toolbatch::proto::{CallToolResponse, call_tool_response::Outcome};

use super::{request, sent};
use crate::rig::Rig;

#[derive(Deserialize)]
struct Transcript<'a> {
    variables: serde_json::Map<String, Value>,
    #[serde(borrow)]
    assistant: Message<'a>,
    reply: Value,
}

#[derive(Deserialize)]
struct Message<'a> {
    /// Of Anthropic's.
    #[serde(borrow)]
    content: Option<Vec<Block<'a>>>,
    /// Of OpenAI's.
    #[serde(default)]
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct Block<'a> {
    r#type: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolCall {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// Every transcript of an API: its name and text.
fn transcripts(api: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/transcripts").join(api);
    let files = fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read").path());
    let found: Vec<_> =
        files.map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("text"))).collect();
    assert!(found.len() >= 2, "{found:?}");
    found
}

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/apis").join(name);
    let schema = serde_json::from_str(&fs::read_to_string(path).expect("it is there")).expect("JSON");
    jsonschema::validator_for(&schema).expect("a schema")
}

async fn rig_for(transcript: &Transcript<'_>) -> Rig {
    let rig = Rig::start().await;
    for (name, value) in &transcript.variables {
        rig.set_variable("T", name, &value.to_string()).await.expect("set");
    }
    rig
}

/// What a model is given to read, and whether it is an error.
fn content(response: CallToolResponse) -> (String, bool) {
    match response.outcome.expect("an outcome") {
        Outcome::ResultJson(text) => (without_chance(&text), false),
        Outcome::Failure(failure) => (failure.message, true),
        Outcome::Awaiting(awaiting) => panic!("a batch waits for nobody: {awaiting:?}"),
    }
}

/// The text without what differs from run to run, otherwise byte for byte.
fn without_chance(text: &str) -> String {
    let (mut settled, mut rest) = (String::new(), text);
    loop {
        let next = [("\"step_id\":\"", '"', "STEP"), ("\"duration_ms\":", ',', "0")]
            .into_iter()
            .filter_map(|(mark, end, shown)| rest.find(mark).map(|at| (at + mark.len(), end, shown)))
            .min();
        let Some((at, end, shown)) = next else { return settled + rest };
        settled += &rest[..at];
        settled += shown;
        rest = &rest[at..][rest[at..].find(end).expect("the value ends")..];
    }
}

#[tokio::test]
async fn what_anthropic_s_models_send_is_answered_by_tool_results() {
    let valid = schema("anthropic_tool_result.json");
    for (name, text) in transcripts("anthropic") {
        let transcript: Transcript<'_> = serde_json::from_str(&text).expect("a transcript");
        let rig = rig_for(&transcript).await;
        let mut reply = Vec::new();
        for block in transcript.assistant.content.iter().flatten().filter(|block| block.r#type == "tool_use") {
            let input = block.input.expect("a tool use has one").get();
            let response = sent(&rig, request(&block.name, &block.id, input)).await.expect("an answer");
            let (content, is_error) = content(response);
            let mut result = json!({"type": "tool_result", "tool_use_id": block.id, "content": content});
            if is_error {
                result["is_error"] = json!(true);
            }
            assert!(valid.is_valid(&result), "{result}");
            reply.push(result);
        }
        assert_eq!(json!(reply), transcript.reply, "{name}");
    }
}

#[tokio::test]
async fn what_openai_s_models_send_is_answered_by_messages_of_the_tool() {
    let valid = schema("openai_tool_message.json");
    for (name, text) in transcripts("openai") {
        let transcript: Transcript<'_> = serde_json::from_str(&text).expect("a transcript");
        let rig = rig_for(&transcript).await;
        let mut reply = Vec::new();
        for call in &transcript.assistant.tool_calls {
            let call_request = request(&call.function.name, &call.id, &call.function.arguments);
            let (content, _) = content(sent(&rig, call_request).await.expect("an answer"));
            let message = json!({"role": "tool", "tool_call_id": call.id, "content": content});
            assert!(valid.is_valid(&message), "{message}");
            reply.push(message);
        }
        assert_eq!(json!(reply), transcript.reply, "{name}");
    }
}

#[tokio::test]
async fn the_printed_tools_are_in_the_form_of_each_api() {
    let rig = Rig::start().await;
    for api in ["anthropic", "openai", "mcp"] {
        let valid = schema(&format!("{api}_tool.json"));
        for (line, least) in [(&["schema", "--for", api][..], 2), (&["schema", "--for", api, "--all"], 10)] {
            let said = crate::commands::toolbatch(&rig, line, "").await;
            assert_eq!((said.code, &*said.err), (Some(0), ""));
            let tools: Vec<Value> = serde_json::from_str(&said.out).expect("an array");
            assert!(tools.len() >= least, "{tools:?}");
            for tool in &tools {
                assert!(
                    valid.is_valid(tool),
                    "{:?}",
                    valid.iter_errors(tool).map(|error| error.to_string()).collect::<Vec<_>>()
                );
            }
        }
        let said = crate::commands::toolbatch(&rig, &["schema", "--for", api, "batch_tool"], "").await;
        let tool: Value = serde_json::from_str(&said.out).expect("one object");
        assert!(said.code == Some(0) && valid.is_valid(&tool) && said.out.contains("batch_tool"), "{said:?}");
    }
}

#[tokio::test]
async fn a_tool_that_an_api_does_not_take_or_that_is_not_there_is_refused() {
    let mut tools = crate::backend::stub_tools();
    tools.push(crate::backend::tool("Create order"));
    let backend = crate::backend::ScriptedBackend::start_with(tools).await;
    let backends = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, backends, |_| {}).await;
    for api in ["anthropic", "openai"] {
        let said = crate::commands::toolbatch(&rig, &["schema", "--for", api, "--all"], "").await;
        assert_eq!((said.code, &*said.out), (Some(2), ""));
        assert!(
            said.err.contains("\"Create order\" does not fit") && said.err.contains("display name"),
            "{}",
            said.err
        );
    }
    assert_eq!(crate::commands::toolbatch(&rig, &["schema", "--for", "mcp", "--all"], "").await.code, Some(0));
    let said = crate::commands::toolbatch(&rig, &["schema", "--for", "mcp", "execute_tool_bach"], "").await;
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean \"execute_tool_batch\"?") && said.err.contains("--all"), "{}", said.err);
    let said = crate::commands::toolbatch(&rig, &["schema", "--for", "mcp", "--all", "effct"], "").await;
    assert!(said.code == Some(2) && said.err.contains("did you mean \"effect\"?"), "{}", said.err);
    let away = ["schema", "--for", "mcp", "--all", "--server", "unix:/nowhere"];
    assert_eq!(crate::commands::toolbatch(&rig, &away, "").await.code, Some(3));
}
