//! Live state equals replayed state: what the loop has in memory is what a start would read of the store, with the entries that the
//! group under way and the open one add to it.

use std::collections::HashMap;

use crate::{
    batch::{core::BatchNo, state::State},
    engine::run::Loop,
};

/// The fold over what is stored, kept up as more is.
#[derive(Default)]
pub(super) struct Replay(HashMap<BatchNo, State>);

impl Replay {
    /// Panics where a batch's live state is not that of its log.
    pub(super) fn compare(&mut self, engine: &Loop) {
        for (batch, live) in &engine.live {
            // One that has ended is here until that is durable, but not in the core.
            let Some((spec, state)) = engine.core.batch(*batch) else { continue };
            let empty = || State::new(spec.calls.len(), spec.options.stop_on_error);
            let stored = self.0.entry(*batch).or_insert_with(empty);
            loop {
                let entries = engine.reader.entries(live.at, stored.last_sequence).expect("a log can be read");
                if entries.is_empty() {
                    break;
                }
                for entry in &entries {
                    stored.apply(entry).expect("a log can be folded");
                }
            }
            let mut replayed = stored.clone();
            let under_way = engine.unstored.iter().flat_map(|unstored| &unstored.group.lines);
            for (_, line) in under_way.chain(&engine.group.lines).filter(|(of, _)| of == batch) {
                // What is under way may be in the store already.
                if line.entry.sequence > stored.last_sequence {
                    replayed.apply(&line.entry).expect("what is added to a log can be folded");
                }
            }
            assert_eq!(state, &replayed, "live state equals replayed state: batch {}", batch.0);
        }
    }
}
