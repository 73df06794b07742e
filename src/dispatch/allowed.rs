//! Which tools an agent may call, and by which names (R3): the lists of the configuration.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use super::catalog::SIMILAR;
use crate::config::{Agent, Operator};

/// The tool lists of all agents. In open mode everybody may call everything. They can be replaced while batches run: a call is
/// looked up when its turn comes.
#[derive(Debug, Default)]
pub struct ToolLists(RwLock<Lists>);

#[derive(Debug, Default)]
struct Lists {
    /// Somebody is asked for a token.
    guarded: bool,
    by_agent: HashMap<String, List>,
}

/// What one agent may call.
#[derive(Debug)]
struct List {
    tenant: String,
    /// The agent's names, and what each is bound to.
    tools: BTreeMap<String, String>,
}

impl ToolLists {
    /// The lists of the configuration's agents. With an operator alone there is no open mode either.
    #[must_use]
    pub fn new(agents: &[Agent], operators: &[Operator]) -> Self {
        Self(RwLock::new(Lists::new(agents, operators)))
    }

    /// Takes these instead of those that are there.
    pub fn replace(&self, agents: &[Agent], operators: &[Operator]) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Lists::new(agents, operators);
    }

    /// Whether this names an agent of the tenant; in open mode any text does.
    #[must_use]
    pub fn knows(&self, tenant: &str, agent_id: &str) -> bool {
        let lists = self.read();
        !lists.guarded || lists.by_agent.get(agent_id).is_some_and(|list| list.tenant == tenant)
    }

    /// The base tool behind a name of the agent's list; `None` where it is not in it. Who acts for no agent has all base tools.
    #[must_use]
    pub fn base_tool(&self, agent_id: &str, tool: &str) -> Option<String> {
        let lists = self.read();
        if lists.has_all(agent_id) { Some(tool.to_owned()) } else { lists.of(agent_id)?.get(tool).cloned() }
    }

    /// Whether the agent may call a base tool, by whichever name.
    #[must_use]
    pub fn allows(&self, agent_id: &str, base_tool: &str) -> bool {
        let lists = self.read();
        lists.has_all(agent_id) || lists.of(agent_id).is_some_and(|list| list.values().any(|tool| tool == base_tool))
    }

    /// The agent's names and what each is bound to; `None` for who has all base tools. An agent that is not known has none.
    #[must_use]
    pub fn bindings(&self, agent_id: &str) -> Option<BTreeMap<String, String>> {
        let lists = self.read();
        (!lists.has_all(agent_id)).then(|| lists.of(agent_id).cloned().unwrap_or_default())
    }

    /// Why a tool that is not in the agent's list is refused.
    #[must_use]
    pub fn not_allowed(&self, agent_id: &str, tool: &str) -> String {
        let lists = self.read();
        let meant = lists.nearest(agent_id, tool).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
        format!("the tool `{tool}` is not in the list of agent `{agent_id}`{meant}")
    }

    // Lists are replaced whole, so one that is there is whole.
    fn read(&self) -> RwLockReadGuard<'_, Lists> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lists {
    fn new(agents: &[Agent], operators: &[Operator]) -> Self {
        let list = |agent: &Agent| {
            let bindings = agent.tools.iter().map(|binding| (binding.name.clone(), binding.tool.clone()));
            (agent.id.clone(), List { tenant: agent.tenant.clone(), tools: bindings.collect() })
        };
        let guarded = !(agents.is_empty() && operators.is_empty());
        Self { guarded, by_agent: agents.iter().map(list).collect() }
    }

    fn has_all(&self, agent_id: &str) -> bool {
        !self.guarded || agent_id.is_empty()
    }

    fn of(&self, agent_id: &str) -> Option<&BTreeMap<String, String>> {
        self.by_agent.get(agent_id).map(|list| &list.tools)
    }

    /// The name of the agent's list that was most likely meant.
    fn nearest(&self, agent_id: &str, tool: &str) -> Option<&str> {
        let list = self.of(agent_id)?;
        // Models put a namespace before a tool's name: `functions.effect`.
        if let Some((known, _)) = tool.rsplit(['.', '/', ':']).next().and_then(|last| list.get_key_value(last)) {
            return Some(known);
        }
        let likeness = |known: &'_ String| strsim::normalized_damerau_levenshtein(tool, known);
        let near = list.keys().map(|known| (known, likeness(known))).filter(|(_, likeness)| *likeness >= SIMILAR);
        near.max_by(|(_, left), (_, right)| left.total_cmp(right)).map(|(known, _)| known.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Binding;

    fn orders() -> Agent {
        let binding = |name: &str, tool: &str| Binding { name: name.into(), tool: tool.into() };
        Agent {
            id: "orders".into(),
            tenant: "acme".into(),
            tokens: Vec::new(),
            tools: vec![binding("effect", "effect"), binding("Ask the boss", "ask_user")],
        }
    }

    fn lists() -> ToolLists {
        ToolLists::new(&[orders()], &[])
    }

    #[test]
    fn a_name_is_looked_up_in_the_agents_own_list() {
        let lists = lists();
        assert_eq!(lists.base_tool("orders", "Ask the boss").as_deref(), Some("ask_user"));
        assert_eq!(lists.base_tool("orders", "ask_user"), None, "only the name that it is bound to");
        assert_eq!(lists.base_tool("others", "effect"), None);
        assert!(lists.bindings("others").is_some_and(|list| list.is_empty()), "an agent that is gone may call nothing");
        assert_eq!(lists.base_tool("", "anything").as_deref(), Some("anything"), "an operator acts for nobody");
        assert_eq!(lists.read().nearest("orders", "functions.effect"), Some("effect"));
        assert_eq!(lists.read().nearest("orders", "efect"), Some("effect"));
        assert_eq!(lists.read().nearest("orders", "drop_table"), None);
    }

    #[test]
    fn without_agents_and_operators_everybody_has_every_tool() {
        let open = ToolLists::default();
        assert_eq!(open.base_tool("whoever", "anything").as_deref(), Some("anything"));
        assert!(open.knows("acme", "whoever") && !lists().knows("acme", "whoever"));
        assert!(lists().knows("acme", "orders") && !lists().knows("default", "orders"), "each in its own tenant");
    }

    #[test]
    fn an_agent_that_is_gone_may_call_nothing_even_if_it_was_the_last() {
        let lists = lists();
        assert!(lists.allows("orders", "ask_user") && !lists.allows("orders", "Ask the boss"));
        lists.replace(&[], &[Operator { id: "ops".into(), tokens: Vec::new() }]);
        assert_eq!(lists.base_tool("orders", "effect"), None);
        assert!(!lists.allows("orders", "ask_user") && !lists.knows("acme", "orders"));
        assert_eq!(lists.base_tool("", "effect").as_deref(), Some("effect"), "the operator's own");
    }
}
