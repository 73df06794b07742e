//! Which tools an agent may call, and by which names (R3): the lists of the configuration.

use std::collections::{BTreeMap, HashMap};

use super::catalog::SIMILAR;
use crate::config;

/// The tool lists of all agents. Without any agent everybody may call everything.
#[derive(Debug, Default)]
pub struct ToolLists(HashMap<String, List>);

/// What one agent may call.
#[derive(Debug)]
struct List {
    tenant: String,
    /// The agent's names, and what each is bound to.
    tools: BTreeMap<String, String>,
}

/// Of an agent that is in no configuration any more.
static NO_TOOLS: BTreeMap<String, String> = BTreeMap::new();

impl ToolLists {
    /// The lists of the configuration's agents.
    #[must_use]
    pub fn new(agents: &[config::Agent]) -> Self {
        let list = |agent: &config::Agent| {
            let bindings = agent.tools.iter().map(|binding| (binding.name.clone(), binding.tool.clone()));
            (agent.id.clone(), List { tenant: agent.tenant.clone(), tools: bindings.collect() })
        };
        Self(agents.iter().map(list).collect())
    }

    /// Nobody has a list.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this names an agent of the tenant; in open mode any text does.
    #[must_use]
    pub fn knows(&self, tenant: &str, agent_id: &str) -> bool {
        self.is_open() || self.0.get(agent_id).is_some_and(|list| list.tenant == tenant)
    }

    /// The base tool behind a name of the agent's list; `None` where it is not in it. Who acts for no agent has all base tools.
    #[must_use]
    pub fn base_tool<'a>(&'a self, agent_id: &str, tool: &'a str) -> Option<&'a str> {
        match self.of(agent_id) {
            Some(list) => list.get(tool).map(String::as_str),
            None => Some(tool),
        }
    }

    /// The agent's names and what each is bound to; `None` for who has all base tools. An agent that is not known has none.
    #[must_use]
    pub fn of(&self, agent_id: &str) -> Option<&BTreeMap<String, String>> {
        match self.0.get(agent_id) {
            Some(list) => Some(&list.tools),
            None if self.is_open() || agent_id.is_empty() => None,
            None => Some(&NO_TOOLS),
        }
    }

    /// Why a tool that is not in the agent's list is refused.
    #[must_use]
    pub fn not_allowed(&self, agent_id: &str, tool: &str) -> String {
        let meant = self.nearest(agent_id, tool).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
        format!("the tool `{tool}` is not in the list of agent `{agent_id}`{meant}")
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
    use crate::config::{Agent, Binding, Secret};

    fn lists() -> ToolLists {
        let binding = |name: &str, tool: &str| Binding { name: name.into(), tool: tool.into() };
        ToolLists::new(&[Agent {
            id: "orders".into(),
            tenant: "acme".into(),
            token: Secret::Env("TOKEN".into()),
            tools: vec![binding("effect", "effect"), binding("Ask the boss", "ask_user")],
        }])
    }

    #[test]
    fn a_name_is_looked_up_in_the_agents_own_list() {
        let lists = lists();
        assert_eq!(lists.base_tool("orders", "Ask the boss"), Some("ask_user"));
        assert_eq!(lists.base_tool("orders", "ask_user"), None, "only the name that it is bound to");
        assert_eq!(lists.base_tool("others", "effect"), None);
        assert!(lists.of("others").is_some_and(BTreeMap::is_empty), "an agent that is gone may call nothing");
        assert_eq!(lists.base_tool("", "anything"), Some("anything"), "an operator acts for nobody");
        assert_eq!(lists.nearest("orders", "functions.effect"), Some("effect"));
        assert_eq!(lists.nearest("orders", "efect"), Some("effect"));
        assert_eq!(lists.nearest("orders", "drop_table"), None);
    }

    #[test]
    fn without_agents_everybody_has_every_tool() {
        let open = ToolLists::default();
        assert_eq!(open.base_tool("whoever", "anything"), Some("anything"));
        assert!(open.knows("acme", "whoever") && !lists().knows("acme", "whoever"));
        assert!(lists().knows("acme", "orders") && !lists().knows("default", "orders"), "each in its own tenant");
    }
}
