//! `toolbatch cancel` and `toolbatch end`.

use super::{
    args::ClientArgs,
    batches,
    connect::{Link, answer},
    exit::{Exit, Failure},
    render::{Form, json, print, print_json},
};
use crate::proto::{CancelBatchRequest, EndTaskRequest};

/// Stops a batch, and shows it as it is then.
pub(crate) async fn cancel(batch_id: &str, abort_running: bool, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let request = CancelBatchRequest { batch_id: batch_id.to_owned(), abort_running };
    let batch = answer(link.batches().cancel_batch(request)).await?.batch.unwrap_or_default();
    batches::show(&batch, Form::choose(client.json))
}

/// Ends a task.
pub(crate) async fn end(task_id: &str, reason: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let request = EndTaskRequest { task_id: task_id.to_owned(), reason: reason.to_owned() };
    answer(link.tasks().end_task(request)).await?;
    match Form::choose(client.json) {
        Form::Json { terminal } => print_json(&json::ended_task(task_id), terminal)?,
        Form::Plain | Form::Terminal { .. } => {
            print(&format!("task {} has ended; calls that are running finish", super::render::escape::line(task_id)))?;
        }
    }
    Ok(Exit::Done)
}
