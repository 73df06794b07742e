//! The loop. Messages are as Anthropic's API has them; another API differs in the names alone.

use std::error::Error;

use serde_json::{Value, json};
use toolbatch::proto::{
    CallContext, CallToolRequest, call_tool_response::Outcome, tool_service_client::ToolServiceClient,
};

use crate::model;

/// More turns than this, and the model goes in circles.
const MAX_TURNS: usize = 10;

/// Talks with the model until it calls no more tools; gives the conversation.
pub(crate) async fn run(server: &str, task_id: &str, prompt: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut tools = ToolServiceClient::connect(server.to_owned()).await?;
    let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": prompt}]})];
    for _ in 0..MAX_TURNS {
        let answer = model::answer(&messages);
        messages.push(answer.clone());
        let mut results = Vec::new();
        for block in answer["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
            let id = block["id"].as_str().unwrap_or_default();
            let request = CallToolRequest {
                tool: block["name"].as_str().unwrap_or_default().to_owned(),
                args_json: block["input"].to_string(),
                // The id of the block makes the call repeatable: after a lost connection the same request finds its outcome.
                context: Some(CallContext { task_id: task_id.into(), key: id.into(), ..CallContext::default() }),
            };
            let response = tools.call_tool(request).await?.into_inner();
            let (is_error, mut content) = match response.outcome {
                Some(Outcome::ResultJson(text)) => (false, text),
                Some(Outcome::Failure(failure)) => (true, failure.message),
                Some(Outcome::Awaiting(awaiting)) => (false, format!("waits for review {}", awaiting.await_id)),
                None => (true, "no outcome".to_owned()),
            };
            if !response.variable.is_empty() {
                content = format!("{content}\n(kept as {})", response.variable);
            }
            results.push(json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": content}));
        }
        if results.is_empty() {
            return Ok(messages);
        }
        messages.push(json!({"role": "user", "content": results}));
    }
    Err("the model did not come to an end".into())
}
