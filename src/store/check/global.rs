//! The records above the tasks: each leads to something, and that is what it says.

use bytes::Bytes;

use super::{Check, read};
use crate::{
    batch::core::{BatchNo, TaskNo},
    store::{
        layout,
        records::{Counters, Locator, OpenBatch, Registration, Task},
    },
};

/// Whether something is so, or in words what is not.
fn must(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(otherwise()) }
}

impl Check<'_> {
    pub(super) fn global_record(&mut self, key: &Bytes, value: &Bytes) -> Result<(), String> {
        match key.first() {
            Some(b'N') => read::<Counters>(value).map(drop),
            Some(b't') => {
                let task = TaskNo(read::<Locator>(value)?.task);
                let head = self.task_head(task)?;
                must(layout::task_locator(&head.tenant, &head.task_id) == *key, || {
                    format!("it leads to task {}, which has another name", task.0)
                })
            }
            Some(b'b') => {
                let (task, batch) = located(value)?;
                if self.is_dropped(task) {
                    return Ok(());
                }
                let (tenant, batch_id) = (self.task_head(task)?.tenant, self.batch_head(task, batch)?.batch_id);
                must(layout::batch_locator(&tenant, &batch_id) == *key, || {
                    format!("it leads to batch {} in task {}, which has another id", batch.0, task.0)
                })
            }
            Some(b'L') => {
                let (task, batch) = located(value)?;
                if self.is_dropped(task) {
                    return Ok(());
                }
                let tenant = self.task_head(task)?.tenant;
                self.batch_head(task, batch)?;
                must(layout::tenant_batch(&tenant, batch) == *key, || {
                    format!("it lists batch {} of task {} in another place", batch.0, task.0)
                })
            }
            Some(b'A') => {
                let open: OpenBatch = read(value)?;
                let (task, batch) = (TaskNo(open.task), BatchNo(open.batch));
                let ended = self.batch_head(task, batch)?.end.is_some();
                must(!ended && layout::open_batch(batch) == *key, || {
                    format!("it calls batch {} of task {} unfinished, which has ended", batch.0, task.0)
                })
            }
            Some(b'I') => {
                let (task, _) = located(value)?;
                let step = layout::step_id_of(key).ok_or("it names no step")?;
                if !self.is_dropped(task) {
                    self.must(&layout::step(task, step, 0), &format!("step {step} of task {}", task.0))?;
                }
                Ok(())
            }
            Some(b'X') => {
                let task = TaskNo(read::<Locator>(value)?.task);
                self.task_head(task)?;
                must(layout::age_of(key).is_some_and(|(_, listed)| listed == task), || {
                    format!("it lists task {} in another place", task.0)
                })
            }
            Some(b'D') => read::<Task>(value).map(drop),
            Some(b'R') => {
                let registration: Registration = read(value)?;
                must(!registration.addresses.is_empty() && layout::registration_of(key).is_some(), || {
                    "it registers a backend without a name or without an address".to_owned()
                })
            }
            Some(b'F') => {
                let (file, task) = layout::blob_user_of(key).ok_or("it names no blob file")?;
                self.must(&layout::task_blob(task, file), &format!("what task {} says of blob file {file}", task.0))?;
                Ok(())
            }
            Some(_) | None => Err("no record begins like this".to_owned()),
        }
    }
}

fn located(value: &Bytes) -> Result<(TaskNo, BatchNo), String> {
    let locator: Locator = read(value)?;
    Ok((TaskNo(locator.task), BatchNo(locator.batch)))
}
