//! `toolbatch batch` and `toolbatch batches`.

use super::{
    args::ClientArgs,
    connect::{Link, answer},
    exit::{Exit, Failure},
    pages::Pages,
    render::{
        Form, Tone, json, print, print_json, results_table, summary_line,
        table::{self, Cell},
        words,
    },
};
use crate::proto::{Batch, BatchStatus, BatchSummary, GetBatchRequest, ListBatchesRequest};

/// Shows one batch.
pub(crate) async fn batch(batch_id: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let request = GetBatchRequest { batch_id: batch_id.to_owned() };
    let batch = answer(link.batches().get_batch(request)).await?.batch.unwrap_or_default();
    show(&batch, Form::choose(client.json))
}

/// Shows a batch that a server answered with.
pub(crate) fn show(batch: &Batch, form: Form) -> Result<Exit, Failure> {
    if let Form::Json { terminal } = form {
        print_json(&json::batch(batch, true), terminal)?;
        return Ok(Exit::Done);
    }
    for line in record(batch, form) {
        print(&line)?;
    }
    Ok(Exit::Done)
}

fn record(batch: &Batch, form: Form) -> Vec<String> {
    let time = |at: Option<&prost_types::Timestamp>| at.map(ToString::to_string).unwrap_or_default();
    let fields = [
        ("batch", batch.batch_id.clone()),
        ("task", batch.task_id.clone()),
        ("agent", batch.agent_id.clone()),
        ("started", time(batch.start_time.as_ref())),
        ("ended", time(batch.end_time.as_ref())),
        ("last event", batch.last_sequence.to_string()),
    ];
    let mut lines = table::fields(&fields, form.palette());
    if let Some(summary) = &batch.summary {
        lines.extend(results_table(summary, form.palette(), form.width()));
        lines.push(summary_line(summary, form.palette()));
    }
    lines
}

/// Lists batches, newest first.
pub(crate) async fn batches(task: Option<&str>, limit: u32, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let mut pages = Pages::new(limit);
    let mut rows = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let task_id = task.unwrap_or_default().to_owned();
        let request = ListBatchesRequest { task_id, page_size, page_token };
        let page = answer(link.batches().list_batches(request)).await?;
        let batches = pages.take(page.batches, page.next_page_token);
        for batch in &batches {
            match form {
                Form::Json { terminal } => print_json(&json::batch(batch, false), terminal)?,
                Form::Plain | Form::Terminal { .. } => rows.push(row(batch)),
            }
        }
    }
    let headings = ["BATCH", "TASK", "STARTED", "STATUS", "CALLS"];
    pages.finish(form, &headings, rows)
}

fn row(batch: &Batch) -> Vec<Cell> {
    let none = BatchSummary::default();
    let summary = batch.summary.as_ref().unwrap_or(&none);
    let tone = match BatchStatus::try_from(summary.status) {
        Ok(BatchStatus::Completed) => Tone::Good,
        Ok(BatchStatus::Running | BatchStatus::Partial) => Tone::Waiting,
        Ok(BatchStatus::Failed | BatchStatus::Unspecified) | Err(_) => Tone::Bad,
    };
    let done = summary.succeeded.saturating_add(summary.skipped);
    vec![
        Cell::new(&batch.batch_id),
        Cell::new(&batch.task_id),
        Cell::new(batch.start_time.as_ref().map(ToString::to_string).unwrap_or_default()),
        Cell::toned(words::batch_status(summary.status), tone),
        Cell::new(format!("{done} of {} done, {} failed", summary.total, summary.failed)),
    ]
}
