//! The records of a checkpoint become changed pages of sled.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{
    index::{Index, with_checksum},
    page::{self, OVERHEAD, PAGE},
};
use crate::store::Error;

/// Takes in records by rising keys and makes one batch of them.
pub(super) struct Packer<'a> {
    index: &'a Index,
    batch: sled::Batch,
    open: Option<Open>,
}

/// The page that the last record belongs to, as it will be.
struct Open {
    /// Where it starts: the first key that may be in it.
    from: Bytes,
    /// The key of the next page that shares with it; records from there on are not its own.
    until: Option<Bytes>,
    /// sled's key of it, where it is there already.
    stored: Option<Bytes>,
    records: BTreeMap<Bytes, Bytes>,
}

impl<'a> Packer<'a> {
    pub(super) fn new(index: &'a Index) -> Self {
        Self { index, batch: sled::Batch::default(), open: None }
    }

    /// Puts a record in its place, or takes it out.
    pub(super) fn change(&mut self, key: &Bytes, value: Option<&Bytes>) -> Result<(), Error> {
        let belongs =
            |open: &Open| page::may_share(&open.from, key) && open.until.as_ref().is_none_or(|until| key < until);
        let mut open = match self.open.take() {
            Some(open) if belongs(&open) => open,
            other => {
                if let Some(open) = other {
                    self.close(open);
                }
                self.find(key)?
            }
        };
        match value {
            Some(value) => open.records.insert(key.clone(), value.clone()),
            None => open.records.remove(key),
        };
        self.open = Some(open);
        Ok(())
    }

    /// All that has changed.
    pub(super) fn finish(mut self) -> sled::Batch {
        if let Some(open) = self.open.take() {
            self.close(open);
        }
        self.batch
    }

    /// The page that a record belongs to.
    fn find(&self, key: &Bytes) -> Result<Open, Error> {
        let until = self.index.next_page(key)?.filter(|next| page::may_share(next, key));
        let Some((stored, content)) = self.index.page_of(key)? else {
            return Ok(Open { from: key.clone(), until, stored: None, records: BTreeMap::new() });
        };
        let records = self.index.unpack(&stored, &content)?.into_iter().collect();
        Ok(Open { from: stored.clone(), until, stored: Some(stored), records })
    }

    /// Cuts what is in a page now into pages of about one length.
    fn close(&mut self, open: Open) {
        let Open { stored, records, .. } = open;
        let size = |(key, value): (&Bytes, &Bytes)| OVERHEAD + key.len() + value.len();
        let total: usize = records.iter().map(size).sum();
        let length = total.div_ceil(total.div_ceil(PAGE).max(1));
        let (mut kept, mut rest) = (false, records.iter().peekable());
        while let Some((first, _)) = rest.peek().copied() {
            let mut left = length;
            let page = page::encode(std::iter::from_fn(|| {
                let record = rest.next_if(|record| left == length || size(*record) <= left)?;
                left = left.saturating_sub(size(record));
                Some(record)
            }));
            kept |= stored.as_ref() == Some(first);
            self.batch.insert(&first[..], with_checksum(first, &page));
        }
        if let Some(stored) = stored.filter(|_| !kept) {
            self.batch.remove(&stored[..]);
        }
    }
}
