//! What every backend serves: the tools of all backends under one roof, and what a call's name comes to (R3).

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use tokio::sync::watch;

use super::{BackendState, Conflict, ListedTool, Presence, ToolLists, message::plain, schema};
use crate::{
    batch::{
        event::{CallError, Reason},
        tools::{Resolution, Target, Tools},
    },
    proto::Tool,
};

/// The longest timeout that a tool may set for itself: R1's bound on `call_timeout`.
const MAX_TOOL_TIMEOUT: Duration = Duration::from_hours(24);

/// The tool that runs a list of calls with keys and options.
pub const EXECUTE_TOOL_BATCH: &str = "execute_tool_batch";
/// The tool that runs a list of invocations, all at once.
pub const BATCH_TOOL: &str = "batch_tool";
/// The two tools that are batches themselves: no configuration lets a batch call them.
const BATCH_TOOLS: [&str; 2] = [EXECUTE_TOOL_BATCH, BATCH_TOOL];

/// From here on (0 to 1, Damerau-Levenshtein) another tool's name is worth suggesting: one slip in five letters.
pub(super) const SIMILAR: f64 = 0.75;

/// The tools of all backends. Reads and writes are short and never wait for anything.
#[derive(Debug)]
pub(super) struct Catalog {
    inventory: RwLock<Inventory>,
    /// Counts the changes of what is served.
    changes: watch::Sender<u64>,
    /// How many backends were tried at least once.
    tried: watch::Sender<usize>,
    not_batchable: Vec<Pattern>,
    lists: Arc<ToolLists>,
}

#[derive(Debug)]
struct Inventory {
    /// In the order of the configuration.
    backends: Vec<Stock>,
    /// Which backend serves a tool: its place in `backends`.
    served: BTreeMap<String, (usize, Arc<Listed>)>,
    conflicts: Vec<Conflict>,
}

#[derive(Debug)]
struct Stock {
    name: String,
    addresses: Vec<String>,
    presence: Presence,
    tried: bool,
    tools: BTreeMap<String, Arc<Listed>>,
}

/// A tool as its backend lists it.
#[derive(Debug)]
struct Listed {
    tool: Tool,
    timeout: Option<Duration>,
    schema: schema::Schema,
}

/// A name, or a prefix that ends in `*`.
#[derive(Debug)]
struct Pattern(String);

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        self.0.strip_suffix('*').map_or(name == self.0, |prefix| name.starts_with(prefix))
    }
}

impl Catalog {
    /// Backends by name and addresses, none reached yet; what no batch may call; and what each agent may.
    pub(super) fn new(
        backends: impl Iterator<Item = (String, Vec<String>)>,
        not_batchable: &[String],
        lists: Arc<ToolLists>,
    ) -> Self {
        let backends = backends
            .map(|(name, addresses)| Stock {
                name,
                addresses,
                presence: Presence::NeverReached { error: None },
                tried: false,
                tools: BTreeMap::new(),
            })
            .collect();
        Self {
            inventory: RwLock::new(Inventory { backends, served: BTreeMap::new(), conflicts: Vec::new() }),
            changes: watch::Sender::new(0),
            tried: watch::Sender::new(0),
            not_batchable: not_batchable.iter().cloned().map(Pattern).collect(),
            lists,
        }
    }

    // A reader that panics leaves the inventory whole.
    fn read(&self) -> RwLockReadGuard<'_, Inventory> {
        self.inventory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inventory> {
        self.inventory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a backend's list in the place of its last one, and the backend down as reached. Rings where that changes anything.
    pub(super) async fn replace(&self, index: usize, tools: Vec<Tool>) {
        let known = self.read().backends[index].tools.clone();
        let mut listed = BTreeMap::new();
        for tool in tools {
            let name = tool.name.clone();
            match known.get(&name) {
                Some(same) if same.tool == tool => listed.insert(name, same.clone()),
                Some(_) | None => {
                    // Compiling takes up to milliseconds a tool, and this thread has calls to serve.
                    tokio::task::yield_now().await;
                    listed.insert(name, Arc::new(Listed::new(tool)))
                }
            };
        }
        let (changed, first_time) = {
            let mut inventory = self.write();
            let stock = &mut inventory.backends[index];
            let changed = matches!(stock.presence, Presence::NeverReached { .. })
                || stock.tools.len() != listed.len()
                || stock.tools.values().zip(listed.values()).any(|(old, new)| !Arc::ptr_eq(old, new));
            tracing::info!(backend = stock.name, tools = listed.len(), changed, "tool list read");
            stock.presence = Presence::Reached;
            stock.tools = listed;
            let first_time = !std::mem::replace(&mut stock.tried, true);
            inventory.arrange();
            (changed, first_time)
        };
        if changed {
            self.changes.send_modify(|changes| *changes += 1);
        }
        if first_time {
            self.tried.send_modify(|tried| *tried += 1);
        }
    }

    /// Notes that a backend cannot be reached or not be listed; its last list stays.
    pub(super) fn away(&self, index: usize, cause: &str) {
        let first_time = {
            let mut inventory = self.write();
            let stock = &mut inventory.backends[index];
            match &mut stock.presence {
                Presence::NeverReached { error } => {
                    if error.as_deref() != Some(cause) {
                        tracing::warn!(backend = stock.name, cause, "backend cannot be reached");
                        *error = Some(cause.to_owned());
                    }
                }
                Presence::Reached => {
                    tracing::warn!(backend = stock.name, cause, "backend is away; its last tool list stays");
                    stock.presence = Presence::Away { error: cause.to_owned() };
                }
                Presence::Away { error } => cause.clone_into(error),
            }
            !std::mem::replace(&mut stock.tried, true)
        };
        if first_time {
            self.tried.send_modify(|tried| *tried += 1);
        }
    }

    /// Rings at every change of what is served.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Waits until every backend was tried at least once.
    pub(super) async fn all_tried(&self) {
        let backends = self.read().backends.len();
        // The sender lives in `self`.
        let _ = self.tried.subscribe().wait_for(|tried| *tried >= backends).await;
    }

    /// Tools that two backends serve.
    pub(super) fn conflicts(&self) -> Vec<Conflict> {
        self.read().conflicts.clone()
    }

    pub(super) fn tools(&self) -> Vec<ListedTool> {
        let inventory = self.read();
        let tool = |(backend, listed): &(usize, Arc<Listed>)| ListedTool {
            backend: inventory.backends[*backend].name.clone(),
            tool: listed.tool.clone(),
            schema_fault: listed.fault().map(str::to_owned),
        };
        inventory.served.values().map(tool).collect()
    }

    pub(super) fn states(&self) -> Vec<BackendState> {
        let inventory = self.read();
        let state = |(index, stock): (usize, &Stock)| BackendState {
            name: stock.name.clone(),
            addresses: stock.addresses.clone(),
            presence: stock.presence.clone(),
            tools: inventory.served.values().filter(|(backend, _)| *backend == index).count(),
        };
        inventory.backends.iter().enumerate().map(state).collect()
    }

    /// Whether calls of `tool` go to `backend` by `CallToolWithProgress`.
    pub(super) fn reports_progress(&self, backend: usize, tool: &str) -> bool {
        self.read().served.get(tool).is_some_and(|(index, listed)| *index == backend && listed.tool.reports_progress)
    }

    fn is_batchable(&self, name: &str) -> bool {
        !self.not_batchable.iter().any(|pattern| pattern.matches(name))
    }
}

impl Inventory {
    /// Decides who serves what: who serves it now goes on while it lists it, else the first in the configuration.
    fn arrange(&mut self) {
        let mut served: BTreeMap<String, (usize, Arc<Listed>)> = BTreeMap::new();
        let mut conflicts = Vec::new();
        let mut order: Vec<usize> = (0..self.backends.len()).collect();
        for name in self.backends.iter().flat_map(|stock| stock.tools.keys()) {
            if served.contains_key(name) {
                continue;
            }
            let holder = self.served.get(name).map(|(index, _)| *index);
            order.sort_by_key(|index| (Some(*index) != holder, *index));
            let mut claims = order.iter().filter_map(|index| Some((*index, self.backends[*index].tools.get(name)?)));
            if let Some((first, tool)) = claims.next() {
                served.insert(name.clone(), (first, tool.clone()));
                conflicts.extend(claims.map(|(second, _)| Conflict {
                    tool: name.clone(),
                    first: self.backends[first].name.clone(),
                    second: self.backends[second].name.clone(),
                }));
            }
        }
        for conflict in conflicts.iter().filter(|conflict| !self.conflicts.contains(conflict)) {
            tracing::error!("{conflict}");
        }
        self.served = served;
        self.conflicts = conflicts;
    }

    /// The name of a tool that the caller may have meant.
    fn nearest(&self, name: &str) -> Option<&str> {
        // Models put a namespace before a tool's name: `functions.effect`.
        if let Some((known, _)) = name.rsplit(['.', '/', ':']).next().and_then(|last| self.served.get_key_value(last)) {
            return Some(known);
        }
        self.served
            .keys()
            .map(|known| (known, strsim::normalized_damerau_levenshtein(name, known)))
            .filter(|(_, similarity)| *similarity >= SIMILAR)
            .max_by(|(_, left), (_, right)| left.total_cmp(right))
            .map(|(known, _)| known.as_str())
    }

    fn unknown(&self, name: &str) -> Resolution {
        let never_reached = |stock: &&Stock| matches!(stock.presence, Presence::NeverReached { .. });
        if let Some(stock) = self.backends.iter().find(never_reached) {
            let cause = match &stock.presence {
                Presence::NeverReached { error: Some(error) } => error.as_str(),
                Presence::NeverReached { error: None } | Presence::Reached | Presence::Away { .. } => "not tried yet",
            };
            let message = format!(
                "no backend serves the tool `{name}` so far, and backend `{}` was never reached ({cause}); start it, then repeat the call",
                stock.name
            );
            return Resolution::NotYet(CallError { retryable: true, ..refusal(Reason::BackendUnavailable, &message) });
        }
        let meant = self.nearest(name).map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
        Resolution::Refused(refusal(Reason::ToolNotFound, &format!("no backend serves a tool `{name}`{meant}")))
    }
}

impl Listed {
    fn new(tool: Tool) -> Self {
        let timeout = tool.timeout.and_then(|timeout| match Duration::try_from(timeout) {
            Ok(timeout) if !timeout.is_zero() && timeout <= MAX_TOOL_TIMEOUT => Some(timeout),
            Ok(_) | Err(_) => {
                tracing::warn!(
                    tool = tool.name,
                    ?timeout,
                    "the tool's timeout is left out: expected more than 0 and at most 24 h"
                );
                None
            }
        });
        let listed = Self { schema: schema::Schema::compile(&tool.input_schema_json), tool, timeout };
        if let Some(fault) = listed.fault() {
            tracing::warn!(
                tool = listed.tool.name,
                fault,
                "calls of this tool will fail: its input schema cannot be used"
            );
        }
        listed
    }

    fn fault(&self) -> Option<&str> {
        match &self.schema {
            schema::Schema::Faulty(fault) => Some(fault),
            schema::Schema::Any | schema::Schema::Compiled(_) => None,
        }
    }
}

impl Tools for Catalog {
    fn resolve(&self, agent_id: &str, tool: &str, args: &str, direct: bool) -> Resolution {
        let Some(base_tool) = self.lists.base_tool(agent_id, tool) else {
            let message = self.lists.not_allowed(agent_id, tool);
            return Resolution::Refused(refusal(Reason::ToolNotAllowed, &message));
        };
        let base_tool = base_tool.as_str();
        let not_batchable = |why: &str| {
            let message = format!("no batch may call the tool `{tool}`: {why}; call it directly");
            Resolution::Refused(refusal(Reason::ToolNotBatchable, &message))
        };
        if BATCH_TOOLS.contains(&base_tool) || (!direct && !self.is_batchable(base_tool)) {
            return not_batchable("it can pause or belongs to the agent's loop");
        }
        let inventory = self.read();
        let Some((backend, listed)) = inventory.served.get(base_tool) else { return inventory.unknown(base_tool) };
        if listed.tool.pauses && !direct {
            return not_batchable("its backend says that it pauses");
        }
        let checked = match &listed.schema {
            schema::Schema::Any => Ok(()),
            schema::Schema::Compiled(compiled) => compiled.check(args).map_err(|faults| {
                let message = format!("the arguments do not fit the input schema of the tool `{tool}`: {faults}");
                refusal(Reason::InvalidArgs, &message)
            }),
            schema::Schema::Faulty(fault) => {
                let name = &inventory.backends[*backend].name;
                let message = format!(
                    "the tool `{tool}` cannot be called: the input schema that backend `{name}` lists for it is wrong ({fault}); correct it there"
                );
                Err(refusal(Reason::ToolNotFound, &message))
            }
        };
        match checked {
            Ok(()) => Resolution::Ready(Target {
                base_tool: base_tool.to_owned(),
                backend: inventory.backends[*backend].name.clone(),
                timeout: listed.timeout,
            }),
            Err(error) => Resolution::Refused(error),
        }
    }

    fn base_tool(&self, agent_id: &str, tool: &str) -> String {
        self.lists.base_tool(agent_id, tool).unwrap_or_else(|| tool.to_owned())
    }
}

/// The most bytes of a refusal: it fits whole into an event, which keeps 2 KiB (R6).
const MAX_REFUSAL_BYTES: usize = 2_000;

fn refusal(reason: Reason, message: &str) -> CallError {
    let message = plain(message, MAX_REFUSAL_BYTES);
    CallError { reason, message, outcome_unknown: false, retryable: false, code: String::new() }
}
