//! What calls used, and what that costs: a view over the steps.

use std::sync::Arc;

use tonic::Status;

use super::{page, status};
use crate::{
    batch::{
        core::TaskNo,
        event::{CallError, Ending, Reason, StepId},
        outcome::UsageItem,
        step::{StepEnd, StepRecord},
    },
    engine::{
        Engine, Error,
        read::{Reader, StepView},
    },
    prices::Prices,
    proto,
};

/// The unit of a call whose tool reports none.
const CALLS: &str = "calls";
/// A step's id, and how many of the rows of the step behind it were shown.
const CURSOR_BYTES: usize = 17;

/// Where a page of rows begins.
#[derive(Clone, Copy, Default)]
struct Cursor {
    /// The last step that was shown whole.
    after: Option<StepId>,
    /// How many rows of the next step were shown; a step has at most 64.
    shown: u8,
}

impl Cursor {
    fn write(self) -> [u8; CURSOR_BYTES] {
        let mut bytes = [0; CURSOR_BYTES];
        bytes[..16].copy_from_slice(self.after.map_or(uuid::Uuid::nil(), |step| step.0).as_bytes());
        bytes[16] = self.shown;
        bytes
    }

    fn read(bytes: [u8; CURSOR_BYTES]) -> Self {
        let [step @ .., shown] = bytes;
        let step = uuid::Uuid::from_bytes(step);
        Self { after: (!step.is_nil()).then_some(StepId(step)), shown }
    }
}

/// The rows of a task's steps, a page of them.
pub(super) async fn list(
    engine: &Engine,
    tenant: &Arc<str>,
    prices: &Arc<Prices>,
    request: proto::ListUsageRequest,
) -> Result<proto::ListUsageResponse, Status> {
    let proto::ListUsageRequest { task_id, page_size, page_token } = request;
    let limit = page::size(page_size)?;
    if task_id.is_empty() {
        return Err(status::invalid("task_id", "is empty; expected a task's id"));
    }
    let list = ["usage", &**tenant, &task_id];
    let from = page::cursor(&list, &page_token)?.map(Cursor::read).unwrap_or_default();
    let (owner, task_name, prices) = (Arc::clone(tenant), task_id.clone(), Arc::clone(prices));
    let read = move |reader: &Reader| {
        let task = reader.known_task(&owner, &task_name)?;
        rows_from(reader, task, from, limit, &prices)
    };
    let (rows, next) = engine.read(read).await.map_err(status::engine)?;
    let next_page_token = next.map(|cursor| page::token(&list, &cursor.write())).unwrap_or_default();
    Ok(proto::ListUsageResponse { rows, next_page_token })
}

fn rows_from(
    reader: &Reader,
    task: TaskNo,
    from: Cursor,
    limit: usize,
    prices: &Prices,
) -> Result<(Vec<proto::UsageRow>, Option<Cursor>), Error> {
    let mut at = from;
    let mut page = Vec::new();
    loop {
        // Most steps have one row, and one more tells whether there is a next page.
        let steps = reader.steps(task, None, at.after, limit + 1)?;
        for view in &steps.items {
            for row in of_view(view, prices).into_iter().skip(usize::from(at.shown)) {
                if page.len() == limit {
                    return Ok((page, Some(at)));
                }
                page.push(row);
                at.shown += 1;
            }
            at = Cursor { after: Some(view.record.step_id), shown: 0 };
        }
        if steps.next.is_none() {
            return Ok((page, None));
        }
    }
}

fn of_view(view: &StepView, prices: &Prices) -> Vec<proto::UsageRow> {
    let call = view.outline.calls.get(view.record.index as usize);
    rows(&view.record, call.map_or("", |call| &call.tool), prices)
}

/// The rows of one step, priced under the name that the tool was called by: none before it has ended.
pub(super) fn rows(record: &StepRecord, tool: &str, prices: &Prices) -> Vec<proto::UsageRow> {
    let Some(end) = &record.end else { return Vec::new() };
    let rows = by_unit(record.attempts, end).into_iter().map(|UsageItem { unit, quantity }| {
        let cost = prices.cost_nanos(tool, &unit, quantity);
        proto::UsageRow {
            step_id: record.step_id.to_string(),
            tool: tool.to_owned(),
            unit,
            quantity,
            cost_nanos: cost.unwrap_or(0),
            currency: cost.map_or_else(String::new, |_| prices.currency.clone()),
        }
    });
    rows.collect()
}

/// What the tool reported, one item for each unit; one call where it reports nothing but was reached, or may have been.
fn by_unit(attempts: u32, end: &StepEnd) -> Vec<UsageItem> {
    let mut items: Vec<UsageItem> = Vec::with_capacity(end.usage.len());
    for UsageItem { unit, quantity } in &end.usage {
        match items.iter_mut().find(|item| item.unit == *unit) {
            Some(item) => item.quantity = (item.quantity + quantity).min(f64::MAX),
            None => items.push(UsageItem { unit: unit.clone(), quantity: *quantity }),
        }
    }
    if items.is_empty() && attempts > 0 && reached(&end.finished.ending) {
        items.push(UsageItem { unit: CALLS.to_owned(), quantity: 1.0 });
    }
    items
}

/// Whether the call reached its tool, as far as anyone knows.
fn reached(ending: &Ending) -> bool {
    match ending {
        Ending::Completed { .. } | Ending::Awaiting { .. } => true,
        Ending::Failed(CallError { reason, outcome_unknown, .. }) => *reason == Reason::ToolFailed || *outcome_unknown,
        Ending::Skipped { .. } => false,
    }
}
