//! Steps, one by one and in lists.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::{
    error::Error,
    read::{Located, Page, Reader, StepView},
};
use crate::{
    batch::{
        core::{BatchNo, TaskNo},
        event::StepId,
        step::StepRecord,
    },
    store::{Order, layout, records},
};

/// How many rows are looked at for one page: most steps are one row, and a page is at most 1,000 steps.
const ROWS: usize = 2_048;

impl Reader {
    /// A call's step as a whole.
    pub fn step(&self, tenant: &str, step_id: &str) -> Result<StepView, Error> {
        let (at, step) = self.locate_step(tenant, step_id)?;
        let (_, record) = self.step_record(at.task, step)?;
        let head = self.head(at)?;
        let outline = Arc::new(self.outline(&head)?);
        Ok(StepView { head, outline, record })
    }

    /// A task's steps, oldest first: of all its batches, or of one.
    pub fn steps(
        &self,
        task: TaskNo,
        of: Option<BatchNo>,
        after: Option<StepId>,
        limit: usize,
    ) -> Result<Page<StepView>, Error> {
        let mut from = match after {
            Some(step) => layout::step(task, step, u8::MAX),
            None => layout::step(task, StepId(uuid::Uuid::nil()), 0),
        };
        let end = layout::step(task, StepId(uuid::Uuid::max()), u8::MAX);
        let mut found: Vec<(BatchNo, StepRecord)> = Vec::new();
        'rows: loop {
            let rows = self.store.scan(&from..&end, Order::Ascending, ROWS)?;
            let Some((last, _)) = rows.last() else { break };
            from = successor(last);
            for (step, value) in whole(&rows) {
                // A step whose later parts may stand beyond these rows is read by itself.
                let (batch, record) = if let Some(value) = value {
                    records::decode_step(step, &value)?
                } else {
                    from = layout::step(task, step, u8::MAX);
                    self.step_record(task, step)?
                };
                if of.is_none_or(|of| of == batch) {
                    found.push((batch, record));
                    if found.len() > limit {
                        break 'rows;
                    }
                }
            }
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(_, record)| Bytes::copy_from_slice(record.step_id.0.as_bytes()));
        Ok(Page { items: self.views(task, found)?, next })
    }

    fn views(&self, task: TaskNo, found: Vec<(BatchNo, StepRecord)>) -> Result<Vec<StepView>, Error> {
        let mut latest: Option<(BatchNo, records::BatchRecord, Arc<records::Outline>)> = None;
        let mut views = Vec::with_capacity(found.len());
        for (batch, record) in found {
            let (head, outline) = match &latest {
                Some((known, head, outline)) if *known == batch => (head.clone(), Arc::clone(outline)),
                Some(_) | None => {
                    let head = self.head(Located { task, batch })?;
                    let outline = Arc::new(self.outline(&head)?);
                    latest = Some((batch, head.clone(), Arc::clone(&outline)));
                    (head, outline)
                }
            };
            views.push(StepView { head, outline, record });
        }
        Ok(views)
    }
}

/// Puts the parts of steps together; `None` for the last one where it may go on beyond the rows.
fn whole(rows: &[(Bytes, Bytes)]) -> Vec<(StepId, Option<Bytes>)> {
    let mut steps: Vec<(StepId, BytesMut)> = Vec::new();
    for (key, value) in rows {
        let Some((step, _)) = layout::step_of(key) else { continue };
        match steps.last_mut() {
            Some((last, parts)) if *last == step => parts.extend_from_slice(value),
            Some(_) | None => steps.push((step, BytesMut::from(value.as_ref()))),
        }
    }
    let cut = rows.len() == ROWS;
    let count = steps.len();
    steps
        .into_iter()
        .enumerate()
        .map(|(at, (step, parts))| (step, (!cut || at + 1 < count).then(|| parts.freeze())))
        .collect()
}

fn successor(key: &Bytes) -> Bytes {
    let mut next = BytesMut::from(key.as_ref());
    next.extend_from_slice(&[0]);
    next.freeze()
}
