//! The two tools that run batches for a model (R11): JSON in, JSON out, on the same engine as `BatchService`.
//!
//! | file | duty |
//! | --- | --- |
//! | `request` | a model's JSON becomes a batch |
//! | `faults` | or one message that names all that is wrong with it |
//! | `run` | the batch is begun or attached to, and followed to its end |
//! | `render` | its summary becomes JSON |

mod faults;
mod render;
mod request;
mod run;

use futures_util::stream;
use tokio::time::Instant;
use tonic::Status;

use self::run::{Begun, Run};
use super::{
    caller::Caller,
    convert,
    stream::{Events, within},
};
use crate::{
    batch::trace::Trace,
    dispatch::{BATCH_TOOL, EXECUTE_TOOL_BATCH},
    engine::Engine,
    proto::{CallToolRequest, CallToolResponse, CallToolWithProgressResponse, call_tool_with_progress_response::Event},
};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchTool {
    /// `execute_tool_batch`: calls with keys and options.
    Execute,
    /// `batch_tool`: invocations, all at once.
    Invocations,
}

impl BatchTool {
    /// The one that is called by this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            EXECUTE_TOOL_BATCH => Some(Self::Execute),
            BATCH_TOOL => Some(Self::Invocations),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Execute => EXECUTE_TOOL_BATCH,
            Self::Invocations => BATCH_TOOL,
        }
    }
}

/// A call of one of them.
pub(super) struct ToolCall {
    pub(super) tool: BatchTool,
    pub(super) call: CallToolRequest,
    /// The caller's trace.
    pub(super) trace: Option<Trace>,
}

/// Runs the batch to its end, and answers with its result. Whoever goes away before leaves the batch running.
pub(super) async fn call(engine: &Engine, caller: &Caller, call: ToolCall) -> Result<CallToolResponse, Status> {
    match run::begin(engine, caller, call).await? {
        Begun::Refused(message) => Ok(refused(message)),
        Begun::Running(mut run) => {
            while run.next().await?.is_some() {}
            run.response().await
        }
    }
}

/// The same, telling of each call that ends.
pub(super) async fn follow(
    engine: &Engine,
    caller: &Caller,
    call: ToolCall,
    deadline: Option<Instant>,
) -> Result<Events<CallToolWithProgressResponse>, Status> {
    let stage = match run::begin(engine, caller, call).await? {
        Begun::Refused(message) => Stage::Answer(refused(message)),
        Begun::Running(run) => Stage::Running(run),
    };
    Ok(Box::pin(stream::unfold(stage, move |stage| async move {
        let (event, next) = match stage {
            Stage::Running(mut run) => match within(deadline, run.event()).await {
                Ok(event @ Event::Progress(_)) => (event, Stage::Running(run)),
                Ok(event @ Event::Response(_)) => (event, Stage::Over),
                Err(status) => return Some((Err(status), Stage::Over)),
            },
            Stage::Answer(response) => (Event::Response(response), Stage::Over),
            Stage::Over => return None,
        };
        Some((Ok(CallToolWithProgressResponse { event: Some(event) }), next))
    })))
}

/// Where a stream stands.
enum Stage {
    Running(Box<Run>),
    Answer(CallToolResponse),
    Over,
}

fn refused(message: String) -> CallToolResponse {
    convert::failure(message, "INVALID_REQUEST")
}
