//! Lists of batches.

use bytes::Bytes;

use super::{
    error::Error,
    read::{Located, Page, Reader, located},
};
use crate::{
    batch::core::{BatchNo, TaskNo},
    store::{
        Order, layout,
        records::{self, BatchRecord, Locator},
    },
};

/// How many rows are looked at for a page: a task's direct steps stand among its batches, and are passed over.
const ROWS: usize = 4_096;

impl Reader {
    /// A tenant's batches, newest first: of one task, or of all. A page ends early where too much had to be passed over for it.
    pub fn batches(
        &self,
        tenant: &str,
        task: Option<TaskNo>,
        before: Option<BatchNo>,
        limit: usize,
    ) -> Result<Page<(Located, BatchRecord)>, Error> {
        let end = before.unwrap_or(BatchNo(u64::MAX));
        let (low, mut high) = match task {
            Some(task) => (layout::batch(task, BatchNo(0)), layout::batch(task, end)),
            None => (layout::tenant_batch(tenant, BatchNo(0)), layout::tenant_batch(tenant, end)),
        };
        let (mut items, mut looked_at) = (Vec::new(), 0);
        loop {
            let rows = self.store.scan(&low..&high, Order::Descending, limit + 1)?;
            let is_last = rows.len() <= limit;
            looked_at += rows.len();
            for (key, value) in rows {
                if items.len() == limit {
                    return Ok(Page { items, next: cursor(&high) });
                }
                items.extend(self.listed(task, &key, &value)?);
                high = key;
            }
            if is_last || looked_at >= ROWS {
                return Ok(Page { items, next: cursor(&high).filter(|_| !is_last) });
            }
        }
    }

    /// A row of a list of batches; `None` where there is nothing to show: a direct step, or what is being dropped.
    fn listed(
        &self,
        task: Option<TaskNo>,
        key: &Bytes,
        value: &Bytes,
    ) -> Result<Option<(Located, BatchRecord)>, Error> {
        let batch = layout::batch_of(key).unwrap_or(BatchNo(0));
        if let Some(task) = task {
            let head = records::decode_batch(value)?;
            return Ok((!head.direct).then_some((Located { task, batch }, head)));
        }
        let at = Located { task: located(&records::decode::<Locator>(value)?).task, batch };
        if self.is_here(at.task)? { Ok(Some((at, self.head(at)?))) } else { Ok(None) }
    }
}

/// Where a list goes on below a row.
fn cursor(row: &Bytes) -> Option<Bytes> {
    row.last_chunk().map(|number: &[u8; 8]| Bytes::copy_from_slice(number))
}
