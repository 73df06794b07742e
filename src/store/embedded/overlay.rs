//! What is committed and not in sled yet.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    iter::{Peekable, from_fn},
    ops::{Bound, Range},
    sync::Arc,
};

use bytes::Bytes;

use super::{index::Checkpoint, integrity::Tally};
use crate::store::{Error, Order};

/// Records with the value each now has; `None` for one that is deleted.
pub(super) type Records = BTreeMap<Bytes, Option<Bytes>>;

/// A record, or a deletion, on its way through the layers.
pub(super) type Layered = Result<(Bytes, Option<Bytes>), Error>;

/// The two layers above sled, and where they stand. Changed as one, so that a reader sees all of a commit or nothing.
#[derive(Debug, Default)]
pub(super) struct Overlay {
    /// Commits since the last checkpoint began.
    pub(super) active: Records,
    /// What the checkpoint under way is writing into sled.
    pub(super) frozen: Option<Arc<Records>>,
    /// The last commit in it.
    pub(super) lsn: u64,
    /// The tally of everything above the tasks, as of that commit.
    pub(super) globals: Tally,
    /// Bytes that were deleted since sled was last made anew, or looked at for that, as far as checkpoints know.
    pub(super) dropped: u64,
    /// Bytes of journal since the last checkpoint began.
    pub(super) journal_bytes: usize,
}

impl Overlay {
    /// What sled will hold once it has all that is here.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { lsn: self.lsn, globals: self.globals, dropped: self.dropped }
    }

    /// A key's value, if one of the layers has something to say about it.
    #[expect(clippy::option_option, reason = "not known here, deleted, and there are three different answers")]
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        let frozen = || self.frozen.as_ref()?.get(key).cloned();
        self.active.get(key).cloned().or_else(frozen)
    }

    /// Both layers' records of a range, up to and with the `puts`-th that is not deleted: no later one can be among the first
    /// `puts` records of the range, whatever sled holds.
    pub(super) fn collect(&self, range: &Range<&[u8]>, order: Order, puts: usize) -> Vec<Layered> {
        let mut left = puts;
        let active = layer(&self.active, range, order);
        let frozen = self.frozen.as_deref().map(|frozen| layer(frozen, range, order)).into_iter().flatten();
        let enough = |record: &Layered| {
            let more = left > 0;
            left -= usize::from(more && matches!(record, Ok((_, Some(_)))));
            more
        };
        merge(active, frozen, order).take_while(enough).collect()
    }
}

fn layer<'a>(records: &'a Records, range: &Range<&[u8]>, order: Order) -> Box<dyn Iterator<Item = Layered> + 'a> {
    let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
    let records = records.range::<[u8], _>(bounds).map(|(key, value)| Ok((key.clone(), value.clone())));
    match order {
        Order::Ascending => Box::new(records),
        Order::Descending => Box::new(records.rev()),
    }
}

/// Two ordered layers as one; where both have a key, the upper one counts.
pub(super) fn merge(
    upper: impl Iterator<Item = Layered>,
    lower: impl Iterator<Item = Layered>,
    order: Order,
) -> impl Iterator<Item = Layered> {
    let (mut upper, mut lower) = (upper.peekable(), lower.peekable());
    from_fn(move || match precedence(&mut upper, &mut lower, order) {
        Ordering::Less => upper.next(),
        Ordering::Greater => lower.next(),
        Ordering::Equal => {
            lower.next();
            upper.next()
        }
    })
}

/// `Less` where the upper layer's next record comes first, or alone. Errors come first.
fn precedence(
    upper: &mut Peekable<impl Iterator<Item = Layered>>,
    lower: &mut Peekable<impl Iterator<Item = Layered>>,
    order: Order,
) -> Ordering {
    match (upper.peek(), lower.peek()) {
        (Some(Err(_)), _) | (_, None) => Ordering::Less,
        (_, Some(Err(_))) | (None, _) => Ordering::Greater,
        (Some(Ok((above, _))), Some(Ok((below, _)))) => match order {
            Order::Ascending => above.cmp(below),
            Order::Descending => below.cmp(above),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(list: &[(&'static str, Option<&'static str>)]) -> Records {
        list.iter().map(|(key, value)| (Bytes::from(*key), value.map(Bytes::from))).collect()
    }

    fn overlay() -> Overlay {
        Overlay {
            active: records(&[("b", None), ("d", Some("new")), ("e", Some("e"))]),
            frozen: Some(Arc::new(records(&[("a", Some("a")), ("b", Some("b")), ("d", Some("old"))]))),
            ..Overlay::default()
        }
    }

    fn keys(found: Vec<Layered>) -> Vec<(Bytes, Option<Bytes>)> {
        found.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn the_newest_layer_counts() {
        let overlay = overlay();
        assert_eq!(overlay.get(b"a"), Some(Some("a".into())));
        assert_eq!(overlay.get(b"b"), Some(None));
        assert_eq!(overlay.get(b"d"), Some(Some("new".into())));
        assert_eq!(overlay.get(b"c"), None);
    }

    #[test]
    fn a_range_is_merged_in_both_directions() {
        let all = [("a", Some("a")), ("b", None), ("d", Some("new")), ("e", Some("e"))]
            .map(|(key, value)| (Bytes::from(key), value.map(Bytes::from)));
        let range: Range<&[u8]> = b"a"..b"z";
        assert_eq!(keys(overlay().collect(&range, Order::Ascending, 10)), all);
        let mut reversed = all.clone();
        reversed.reverse();
        assert_eq!(keys(overlay().collect(&range, Order::Descending, 10)), reversed);
        assert_eq!(keys(overlay().collect(&(b"b"..b"e"), Order::Ascending, 10)), all[1..3]);
    }

    #[test]
    fn deletions_do_not_count_towards_a_limit() {
        let range: Range<&[u8]> = b"a"..b"z";
        assert_eq!(keys(overlay().collect(&range, Order::Ascending, 2)).len(), 3);
        assert_eq!(keys(overlay().collect(&range, Order::Ascending, 0)).len(), 0);
    }

    #[test]
    fn an_error_below_is_not_passed_over() {
        let below = vec![Ok(("b".into(), None)), Err(Error::Damaged("c".to_owned()))];
        let above = vec![Ok(("a".into(), None)), Ok(("z".into(), None))];
        let merged: Vec<_> = merge(above.into_iter(), below.into_iter(), Order::Ascending).collect();
        assert_eq!(merged.len(), 4);
        assert_eq!(merged[2], Err(Error::Damaged("c".to_owned())));
    }
}
