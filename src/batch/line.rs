//! Who waits for a backend, and whose turn it is: agents take turns, and so do the batches of an agent, so that neither one that asks
//! for much keeps out one that asks for little. A batch's calls keep their order.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
};

use super::core::{BatchNo, CallRef};

/// Whom turns are shared out among first: an agent of a tenant.
pub(super) type Agent = (Arc<str>, String);

/// Calls that wait.
#[derive(Debug, Default)]
pub(super) struct Line {
    agents: Rota<Agent, Rota<BatchNo, VecDeque<u32>>>,
    length: usize,
}

/// Queues that are served in turns.
#[derive(Debug)]
struct Rota<K, Q> {
    queues: HashMap<K, Q>,
    /// Whose turn it is, then who follows: everyone who waits, once.
    order: VecDeque<K>,
}

impl<K, Q> Default for Rota<K, Q> {
    fn default() -> Self {
        Self { queues: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Clone + Eq + Hash, Q: Default> Rota<K, Q> {
    fn queue(&mut self, key: K) -> &mut Q {
        if !self.queues.contains_key(&key) {
            self.order.push_back(key.clone());
        }
        self.queues.entry(key).or_default()
    }

    /// Serves whose turn it is. `serve` tells what it took, and whether more waits in that queue.
    fn serve<T>(&mut self, serve: impl FnOnce(&K, &mut Q) -> Option<(T, bool)>) -> Option<T> {
        let key = self.order.pop_front()?;
        let served = self.queues.get_mut(&key).and_then(|queue| serve(&key, queue));
        if served.as_ref().is_some_and(|(_, more)| *more) {
            self.order.push_back(key);
        } else {
            self.queues.remove(&key);
        }
        served.map(|(served, _)| served)
    }
}

impl Line {
    pub(super) fn push(&mut self, agent: Agent, CallRef { batch, index }: CallRef) {
        self.agents.queue(agent).queue(batch).push_back(index);
        self.length += 1;
    }

    /// The call whose turn it is, which waits no longer.
    pub(super) fn pop(&mut self) -> Option<CallRef> {
        let next = self.agents.serve(|_, batches| {
            let next = batches.serve(|&batch, calls| {
                let index = calls.pop_front()?;
                Some((CallRef { batch, index }, !calls.is_empty()))
            })?;
            Some((next, !batches.order.is_empty()))
        })?;
        self.length -= 1;
        Some(next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All that wait, in no order.
    pub(super) fn calls(&self) -> Vec<CallRef> {
        let batches = self.agents.queues.values().flat_map(|batches| &batches.queues);
        batches.flat_map(|(&batch, calls)| calls.iter().map(move |&index| CallRef { batch, index })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut line: Line) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| line.pop()).map(|CallRef { batch, index }| (batch.0, index)).collect()
    }

    #[test]
    fn agents_take_turns_and_so_do_their_batches() {
        let mut line = Line::default();
        let agent = |name: &str| (Arc::from("tenant"), name.to_owned());
        for index in 0..4 {
            line.push(agent("greedy"), CallRef { batch: BatchNo(1), index });
        }
        for index in 0..2 {
            line.push(agent("greedy"), CallRef { batch: BatchNo(2), index });
        }
        line.push(agent("modest"), CallRef { batch: BatchNo(3), index: 0 });
        assert_eq!(line.calls().len(), 7);
        assert_eq!(drain(line), [(1, 0), (3, 0), (2, 0), (1, 1), (2, 1), (1, 2), (1, 3)]);
    }

    #[test]
    fn who_comes_back_waits_behind_the_others() {
        let mut line = Line::default();
        let agent = || (Arc::from("tenant"), String::new());
        let call = |batch, index| CallRef { batch: BatchNo(batch), index };
        line.push(agent(), call(1, 0));
        line.push(agent(), call(2, 0));
        assert_eq!(line.pop(), Some(call(1, 0)));
        line.push(agent(), call(1, 1));
        assert_eq!(line.pop(), Some(call(2, 0)));
        assert_eq!(line.pop(), Some(call(1, 1)));
        assert!(line.is_empty());
        assert_eq!(line.pop(), None);
    }
}
