//! Definitions and tool calls as the APIs of models have them.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use serde_json::value::RawValue;
use toolbatch::{
    proto::{CallContext, CallToolRequest, CallToolResponse, Tool, call_tool_response::Outcome},
    schema::compact,
};

use super::{
    error::Error,
    link::Link,
    native::rewritten,
    object::{Object, array},
    reads,
    request::{Format, Request},
};

/// A call as Anthropic's API has it: a `tool_use` block.
#[derive(Deserialize)]
struct ToolUse {
    id: String,
    name: String,
    input: Option<Box<RawValue>>,
}

/// A call as OpenAI's API has it: an entry of `tool_calls`.
#[derive(Deserialize)]
struct Entry {
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    /// JSON text.
    #[serde(default)]
    arguments: String,
}

/// The tools as the API takes them.
pub(super) fn definitions(format: Format, tools: &[Tool]) -> String {
    array(tools.iter().map(|tool| {
        let named = Object::default().text("name", &tool.name).text("description", &tool.description);
        let schema = object_schema(&tool.input_schema_json);
        match format {
            Format::Anthropic => named.raw("input_schema", &schema).end(),
            Format::OpenAi => {
                let function = named.raw("parameters", &schema).end();
                Object::default().text("type", "function").raw("function", &function).end()
            }
        }
    }))
}

/// A tool's schema as the APIs want it: one of an object, whose type and properties stand there.
fn object_schema(text: &str) -> String {
    // No schema, or one that is no object, such as `true`: any object.
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap_or_default();
    let missing = [("type", "\"object\""), ("properties", "{}")].into_iter();
    let missing = missing.filter(|(name, _)| !members.contains_key(*name));
    let whole = missing.fold(Object::default(), |schema, (name, value)| schema.raw(name, value));
    members.iter().fold(whole, |schema, (name, value)| schema.raw(name, &compact(value.get()))).end()
}

/// Runs a model's call; gives the block or message that answers it.
pub(super) async fn tool_call(link: &Link, request: &Request) -> Result<String, Error> {
    let call = request.call.as_ref().ok_or_else(|| anyhow!("call: it is missing"))?.get();
    let (id, tool, args_json) = match request.format {
        Format::Anthropic => {
            let ToolUse { id, name, input } =
                serde_json::from_str(call).context("call: expected a tool_use block {id, name, input}")?;
            (id, name, input.map(|input| rewritten(input.get())).unwrap_or_default())
        }
        Format::OpenAi => {
            let Entry { id, function } = serde_json::from_str(call)
                .context("call: expected an entry of tool_calls {id, function: {name, arguments}}")?;
            (id, function.name, function.arguments)
        }
    };
    // The call's id makes it repeatable: after a lost answer the same call finds its outcome.
    let context = CallContext { task_id: request.task_id.clone(), key: id.clone(), ..CallContext::default() };
    let response = reads::call_tool(link, CallToolRequest { tool, args_json, context: Some(context) }).await?;
    let (text, is_error) = told(&response);
    Ok(match request.format {
        Format::Anthropic => Object::default()
            .text("type", "tool_result")
            .text("tool_use_id", &id)
            .text("content", &text)
            .flag("is_error", is_error),
        Format::OpenAi => Object::default().text("role", "tool").text("tool_call_id", &id).text("content", &text),
    }
    .end())
}

/// What the model is told, and whether that is an error.
fn told(response: &CallToolResponse) -> (String, bool) {
    match &response.outcome {
        Some(Outcome::ResultJson(_)) if response.result_omitted => {
            (format!("the result is too large to be shown; it is on step {}", response.step_id), false)
        }
        Some(Outcome::ResultJson(text)) if text.is_empty() => ("null".to_owned(), false),
        Some(Outcome::ResultJson(text)) => (text.clone(), false),
        Some(Outcome::Failure(failure)) => (failure.message.clone(), true),
        Some(Outcome::Awaiting(awaiting)) => (format!("waits for review {}", awaiting.await_id), false),
        None => ("the call has no outcome".to_owned(), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_one_of_an_object() {
        for (text, whole) in [
            ("", r#"{"type":"object","properties":{}}"#),
            ("true", r#"{"type":"object","properties":{}}"#),
            (r#"{"type": "object"}"#, r#"{"properties":{},"type":"object"}"#),
        ] {
            assert_eq!(object_schema(text), whole, "{text}");
        }
    }

    #[test]
    fn a_failure_is_told_by_its_message() {
        let failure = toolbatch::proto::ToolFailure { message: "locked".into(), ..Default::default() };
        let response = CallToolResponse { outcome: Some(Outcome::Failure(failure)), ..CallToolResponse::default() };
        assert_eq!(told(&response), ("locked".to_owned(), true));
    }
}
