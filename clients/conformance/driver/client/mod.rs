//! The reference client: one request a line from the input, events and ends as lines on the output.
//!
//! | file | duty |
//! | --- | --- |
//! | `request` | what is asked, and the contract's messages made from it |
//! | `link` | the connection, and how long to go on without one |
//! | `follow` | the stream of a batch through lost connections |
//! | `reads` | one question, one answer |
//! | `model` | definitions and tool calls as the APIs of models have them |
//! | `error` | why there is no answer |
//! | `native` | what stands in for a native value |
//! | `normal`, `object` | the contract's messages as the suite writes them |

mod error;
mod follow;
mod link;
mod model;
pub(crate) mod native;
mod normal;
mod object;
mod reads;
mod request;

use std::{
    io::{Write as _, stdin, stdout},
    time::Duration,
};

use anyhow::Context as _;
use toolbatch::proto::batch_event::Event;

use self::{
    error::Error,
    follow::{Follow, Start},
    link::Link,
    object::Object,
    request::{Action, How, Request},
};

/// Answers every request of the input, one after another.
pub(crate) async fn run() -> anyhow::Result<()> {
    for line in stdin().lines() {
        let line = line.context("cannot read the input")?;
        if line.trim().is_empty() {
            continue;
        }
        let request: Request = serde_json::from_str(&line).with_context(|| format!("no request: {line}"))?;
        let end = match answer(&request).await {
            Ok(end) => end,
            Err(error) => error.end()?,
        };
        write("end", &end)?;
    }
    Ok(())
}

/// What a request ends with; the deadline is over all that it takes.
async fn answer(request: &Request) -> Result<String, Error> {
    let work = perform(request);
    match request.deadline_ms {
        Some(deadline) => {
            tokio::time::timeout(Duration::from_millis(deadline), work).await.unwrap_or(Err(Error::DeadlineExceeded))
        }
        None => work.await,
    }
}

async fn perform(request: &Request) -> Result<String, Error> {
    let link = Link::new(request)?;
    let value = match request.action {
        Action::Run => return follow(request, &link, start(request)?).await,
        Action::Watch => {
            let start = Start::Watch { batch_id: request.batch_id.clone(), after: request.after_sequence };
            return follow(request, &link, start).await;
        }
        Action::Result => {
            let summary = Follow::new(&link, start(request)?).summary().await?;
            return Ok(Object::default().raw("finished", &normal::summary(&summary)).end());
        }
        Action::StepResult => {
            let text = reads::step_result(&link, &request.step_id).await?;
            return Ok(Object::default().text("raw", &text).end());
        }
        Action::CancelBatch => {
            let summary = reads::cancel_batch(&link, &request.batch_id, request.abort_running).await?;
            normal::summary(&summary)
        }
        Action::SetVariable => serde_json::json!(reads::set_variable(&link, request).await?).to_string(),
        Action::Step => normal::step(&reads::step(&link, &request.step_id).await?),
        Action::Usage => normal::usage(&reads::usage(&link, &request.task_id).await?),
        Action::Definitions => model::definitions(request.format, &reads::tools(&link).await?),
        Action::ToolCall => model::tool_call(&link, request).await?,
    };
    Ok(Object::default().raw("value", &value).end())
}

fn start(request: &Request) -> anyhow::Result<Start> {
    let batch = request.batch.as_ref().context("batch: it is missing")?;
    Ok(Start::Execute(Box::new(batch.request())))
}

/// Writes a stream's events; gives how it ended.
async fn follow(request: &Request, link: &Link, start: Start) -> Result<String, Error> {
    let without_finish = match &start {
        Start::Execute(_) => "planned",
        Start::Watch { .. } => "over",
    };
    let mut stream = Follow::new(link, start);
    while let Some(event) = stream.next().await? {
        let Some(kind) = &event.event else { continue };
        let text = normal::event(&event, kind);
        write("event", &text)?;
        if let Event::BatchFinished(finished) = kind {
            let summary = normal::summary(&finished.summary.clone().unwrap_or_default());
            return Ok(Object::default().raw("finished", &summary).end());
        }
        let Some(stop) = &request.stop else { continue };
        if stop.is_met_by(&text)? {
            // Either way the future that reads the stream is dropped; the batch goes on.
            return match stop.how {
                How::Leave => Ok(Object::default().flag("left", true).end()),
                How::Cancel => Err(Error::Cancelled),
            };
        }
    }
    Ok(Object::default().flag(without_finish, true).end())
}

/// One line of output: an object with this member alone.
fn write(name: &'static str, value: &str) -> anyhow::Result<()> {
    let line = Object::default().raw(name, value).end();
    writeln!(stdout().lock(), "{line}").context("cannot write the output")
}
