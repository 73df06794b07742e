//! How many unfinished batches each agent has, so that one that floods is refused before others are.

use std::{collections::HashMap, sync::Arc};

use super::Error;

/// The unfinished batches of every agent that has some. Agents have one id over all tenants; what names no agent is nobody's share.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    held: HashMap<Arc<str>, usize>,
}

impl Shares {
    /// Each agent may have `most`.
    pub(super) fn new(most: usize) -> Self {
        Self { most, held: HashMap::new() }
    }

    /// Whether an agent may begin one more.
    pub(super) fn admit(&self, agent: &str) -> Result<(), Error> {
        let held = self.held.get(agent).copied().unwrap_or(0);
        if held < self.most { Ok(()) } else { Err(Error::AgentHasTooMany { agent: agent.into(), most: self.most }) }
    }

    /// Counts one more of an agent, and gives the name under which it is given back.
    pub(super) fn take(&mut self, agent: &str) -> Option<Arc<str>> {
        if agent.is_empty() {
            return None;
        }
        let name = self.held.get_key_value(agent).map_or_else(|| agent.into(), |(name, _)| Arc::clone(name));
        *self.held.entry(Arc::clone(&name)).or_insert(0) += 1;
        Some(name)
    }

    /// One has ended.
    pub(super) fn give_back(&mut self, name: &Arc<str>) {
        if let Some(held) = self.held.get_mut(name) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_as_many_as_it_may_and_no_other_is_held_up() {
        let mut shares = Shares::new(2);
        let names: Vec<_> = (0..2).filter_map(|_| shares.take("orders")).collect();
        let refused = shares.admit("orders").unwrap_err();
        assert!(refused.to_string().contains("agent \"orders\" has limits.agent_open_batches = 2"), "{refused}");
        assert!(shares.admit("invoices").is_ok() && shares.admit("").is_ok());
        assert_eq!((0..5).filter_map(|_| shares.take("")).count(), 0, "nobody's");
        shares.give_back(&names[0]);
        assert!(shares.admit("orders").is_ok());
        shares.give_back(&names[1]);
        assert!(shares.held.is_empty());
    }

    #[test]
    fn what_an_earlier_run_left_counts_beyond_the_bound() {
        let mut shares = Shares::new(1);
        let names: Vec<_> = (0..3).filter_map(|_| shares.take("orders")).collect();
        shares.give_back(&names[0]);
        assert!(shares.admit("orders").is_err(), "two are left");
    }
}
