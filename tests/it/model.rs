//! The two tools that run batches for a model (R11): `execute_tool_batch` and `batch_tool`, through `CallTool`.

mod execute;
mod invocations;
mod refusals;
mod transcripts;

use serde_json::Value;
use tonic::Status;
use toolbatch::proto::{
    CallContext, CallToolRequest, CallToolResponse, CallToolWithProgressRequest, ToolProgress,
    call_tool_response::Outcome, call_tool_with_progress_response::Event,
};

use crate::rig::{Client, Rig};

/// A call in task "T".
fn request(tool: &str, key: &str, args: &str) -> CallToolRequest {
    let context = CallContext { task_id: "T".into(), key: key.into(), ..CallContext::default() };
    CallToolRequest { tool: tool.into(), args_json: args.into(), context: Some(context) }
}

async fn sent(client: &Client, request: CallToolRequest) -> Result<CallToolResponse, Status> {
    Ok(client.tools().call_tool(request).await?.into_inner())
}

/// Runs `execute_tool_batch`.
async fn execute(client: &Client, args: &str) -> Answer {
    Answer(sent(client, request("execute_tool_batch", "", args)).await.expect("an answer"))
}

/// Runs `batch_tool`.
async fn invoke(client: &Client, args: &str) -> Answer {
    Answer(sent(client, request("batch_tool", "", args)).await.expect("an answer"))
}

/// What a tool answered.
#[derive(Debug, PartialEq)]
struct Answer(CallToolResponse);

impl Answer {
    /// The result's text.
    #[track_caller]
    fn text(&self) -> &str {
        match &self.0.outcome {
            Some(Outcome::ResultJson(text)) => text,
            other => panic!("no result: {other:?}"),
        }
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(self.text()).expect("strict readers take it")
    }

    /// One member of each result.
    #[track_caller]
    fn each(&self, member: &str) -> Vec<Value> {
        let json = self.json();
        json["results"].as_array().expect("results").iter().map(|result| result[member].clone()).collect()
    }

    #[track_caller]
    fn statuses(&self) -> Vec<String> {
        self.each("status").iter().map(|status| status.as_str().expect("a word").to_owned()).collect()
    }

    /// The message of a refused request.
    #[track_caller]
    fn refusal(&self) -> &str {
        match &self.0.outcome {
            Some(Outcome::Failure(failure)) => {
                assert_eq!((failure.code.as_str(), failure.retryable), ("INVALID_REQUEST", false), "{failure:?}");
                assert_eq!((self.0.step_id.as_str(), self.0.variable.as_str()), ("", ""), "nothing is recorded");
                &failure.message
            }
            other => panic!("it is not refused: {other:?}"),
        }
    }
}

/// Runs a call with progress, and gives what was told on the way.
async fn followed(rig: &Rig, request: CallToolRequest) -> (Vec<ToolProgress>, Answer) {
    let request = CallToolWithProgressRequest { call: Some(request) };
    let mut stream = rig.tools().call_tool_with_progress(request).await.expect("taken").into_inner();
    let mut told = Vec::new();
    while let Some(message) = stream.message().await.expect("the stream goes on") {
        match message.event.expect("an event") {
            Event::Progress(progress) => told.push(progress),
            Event::Response(response) => {
                assert!(stream.message().await.expect("it ends well").is_none(), "the answer is the last");
                return (told, Answer(response));
            }
        }
    }
    panic!("the stream ends without an answer");
}
