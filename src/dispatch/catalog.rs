//! What every backend serves: the tools of all backends under one roof, and what a call's name comes to (R3).

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{BackendState, Conflict, ListedTool, Presence, ToolLists, message::plain, schema};
use crate::{
    batch::{
        event::{CallError, Reason},
        gate::Limits,
        tools::{Resolution, Target, Tools},
    },
    config,
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

/// Backends are numbered as they come, those of the configuration first.
pub(super) type BackendNo = u64;

/// A backend's tools by name.
pub(super) type Shelf = BTreeMap<String, Arc<Listed>>;

#[derive(Debug, Default)]
struct Inventory {
    backends: BTreeMap<BackendNo, Stock>,
    /// Which backend serves a tool.
    served: BTreeMap<String, (BackendNo, Arc<Listed>)>,
    conflicts: Vec<Conflict>,
}

/// What is known of a backend.
#[derive(Debug)]
pub(super) struct Stock {
    name: String,
    addresses: Vec<String>,
    credential: Option<String>,
    limits: Limits,
    configured: bool,
    presence: Presence,
    /// Since when that is so.
    since: Instant,
    tried: bool,
    tools: Shelf,
}

impl Stock {
    /// A backend that was never reached.
    pub(super) fn new(spec: &config::Backend, configured: bool) -> Self {
        Self {
            name: spec.name.clone(),
            addresses: spec.addresses.clone(),
            credential: spec.credential.clone(),
            limits: spec.limits(),
            configured,
            presence: Presence::NeverReached { error: None },
            since: Instant::now(),
            tried: false,
            tools: Shelf::new(),
        }
    }

    /// One that was reached and serves these tools.
    pub(super) fn reached(spec: &config::Backend, tools: Shelf) -> Self {
        Self { presence: Presence::Reached, tried: true, tools, ..Self::new(spec, false) }
    }

    fn becomes(&mut self, presence: Presence) {
        self.presence = presence;
        self.since = Instant::now();
    }
}

/// A tool as its backend lists it.
#[derive(Debug)]
pub(super) struct Listed {
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
    /// No backends yet; what no batch may call; and what each agent may.
    pub(super) fn new(not_batchable: &[String], lists: Arc<ToolLists>) -> Self {
        Self {
            inventory: RwLock::default(),
            changes: watch::Sender::new(0),
            tried: watch::Sender::new(0),
            not_batchable: not_batchable.iter().cloned().map(Pattern).collect(),
            lists,
        }
    }

    /// Puts a backend in, in the place of one where it replaces one. A tool that another serves keeps it out.
    pub(super) fn put(&self, no: BackendNo, stock: Stock, replaced: Option<BackendNo>) -> Result<(), Conflict> {
        {
            let mut inventory = self.write();
            let others = |(name, (holder, _)): &(&String, &(BackendNo, Arc<Listed>))| {
                stock.tools.contains_key(*name) && Some(*holder) != replaced
            };
            if let Some((tool, (holder, _))) = inventory.served.iter().find(others) {
                let first = inventory.backends[holder].name.clone();
                return Err(Conflict { tool: tool.clone(), first, second: stock.name });
            }
            if let Some(replaced) = replaced {
                inventory.backends.remove(&replaced);
            }
            inventory.backends.insert(no, stock);
            inventory.arrange();
        }
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Takes a backend out, and its tools with it.
    pub(super) fn remove(&self, no: BackendNo) {
        {
            let mut inventory = self.write();
            inventory.backends.remove(&no);
            inventory.arrange();
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    // A reader that panics leaves the inventory whole.
    fn read(&self) -> RwLockReadGuard<'_, Inventory> {
        self.inventory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inventory> {
        self.inventory.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A list as it is kept, with its schemas compiled; what is `known` already is taken over.
    pub(super) async fn shelve(tools: Vec<Tool>, known: &Shelf) -> Shelf {
        let mut shelf = Shelf::new();
        for tool in tools {
            let name = tool.name.clone();
            match known.get(&name) {
                Some(same) if same.tool == tool => shelf.insert(name, same.clone()),
                Some(_) | None => {
                    // Compiling takes up to milliseconds a tool, and this thread has calls to serve.
                    tokio::task::yield_now().await;
                    shelf.insert(name, Arc::new(Listed::new(tool)))
                }
            };
        }
        shelf
    }

    /// Puts a backend's list in the place of its last one, and the backend down as reached. Rings where that changes anything.
    pub(super) async fn replace(&self, no: BackendNo, tools: Vec<Tool>) {
        let known = self.read().backends.get(&no).map(|stock| stock.tools.clone()).unwrap_or_default();
        let listed = Self::shelve(tools, &known).await;
        let (changed, first_time) = {
            let mut inventory = self.write();
            let Some(stock) = inventory.backends.get_mut(&no) else { return };
            let changed = matches!(stock.presence, Presence::NeverReached { .. })
                || stock.tools.len() != listed.len()
                || stock.tools.values().zip(listed.values()).any(|(old, new)| !Arc::ptr_eq(old, new));
            tracing::info!(backend = stock.name, tools = listed.len(), changed, "tool list read");
            if stock.presence != Presence::Reached {
                stock.becomes(Presence::Reached);
            }
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
    pub(super) fn away(&self, no: BackendNo, cause: &str) {
        let first_time = {
            let mut inventory = self.write();
            let Some(stock) = inventory.backends.get_mut(&no) else { return };
            match &mut stock.presence {
                Presence::NeverReached { error } => {
                    if error.as_deref() != Some(cause) {
                        tracing::warn!(backend = stock.name, cause, "backend cannot be reached");
                        *error = Some(cause.to_owned());
                    }
                }
                Presence::Reached | Presence::NotServing { .. } => {
                    tracing::warn!(backend = stock.name, cause, "backend is away; its last tool list stays");
                    stock.becomes(Presence::Away { error: cause.to_owned() });
                }
                Presence::Away { error } => cause.clone_into(error),
            }
            !std::mem::replace(&mut stock.tried, true)
        };
        if first_time {
            self.tried.send_modify(|tried| *tried += 1);
        }
    }

    /// Notes that a backend can be reached and takes no calls. One that was never listed is not known to be there.
    pub(super) fn does_not_serve(&self, no: BackendNo, cause: &str) {
        let mut inventory = self.write();
        let Some(stock) = inventory.backends.get_mut(&no) else { return };
        if matches!(stock.presence, Presence::Reached | Presence::Away { .. }) {
            tracing::warn!(backend = stock.name, cause, "backend takes no calls");
            stock.becomes(Presence::NotServing { error: cause.to_owned() });
        }
    }

    /// Notes that a backend that was listed takes calls.
    pub(super) fn serves_again(&self, no: BackendNo) {
        let mut inventory = self.write();
        let Some(stock) = inventory.backends.get_mut(&no) else { return };
        if matches!(stock.presence, Presence::NotServing { .. } | Presence::Away { .. }) {
            tracing::info!(backend = stock.name, "backend takes calls again");
            stock.becomes(Presence::Reached);
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
        let tool = |(backend, listed): &(BackendNo, Arc<Listed>)| ListedTool {
            backend: inventory.backends[backend].name.clone(),
            tool: listed.tool.clone(),
            schema_fault: listed.fault().map(str::to_owned),
        };
        inventory.served.values().map(tool).collect()
    }

    /// How every backend is, by name.
    pub(super) fn states(&self) -> Vec<BackendState> {
        let inventory = self.read();
        let state = |(no, stock): (&BackendNo, &Stock)| BackendState {
            name: stock.name.clone(),
            addresses: stock.addresses.clone(),
            credential: stock.credential.clone(),
            limits: stock.limits,
            configured: stock.configured,
            presence: stock.presence.clone(),
            since: stock.since,
            tools: inventory.served_by(*no),
        };
        let mut states: Vec<_> = inventory.backends.iter().map(state).collect();
        states.sort_by(|left, right| left.name.cmp(&right.name));
        states
    }

    /// Whether calls of `tool` go to `backend` by `CallToolWithProgress`.
    pub(super) fn reports_progress(&self, backend: BackendNo, tool: &str) -> bool {
        self.read().served.get(tool).is_some_and(|(no, listed)| *no == backend && listed.tool.reports_progress)
    }

    fn is_batchable(&self, name: &str) -> bool {
        !self.not_batchable.iter().any(|pattern| pattern.matches(name))
    }
}

impl Inventory {
    fn served_by(&self, backend: BackendNo) -> Vec<Tool> {
        let served = self.served.values().filter(|(no, _)| *no == backend);
        served.map(|(_, listed)| listed.tool.clone()).collect()
    }

    /// Decides who serves what: who serves it now goes on while it lists it, else the one that came first.
    fn arrange(&mut self) {
        let mut served: BTreeMap<String, (BackendNo, Arc<Listed>)> = BTreeMap::new();
        let mut conflicts = Vec::new();
        let mut order: Vec<BackendNo> = self.backends.keys().copied().collect();
        for name in self.backends.values().flat_map(|stock| stock.tools.keys()) {
            if served.contains_key(name) {
                continue;
            }
            let holder = self.served.get(name).map(|(no, _)| *no);
            order.sort_by_key(|no| (Some(*no) != holder, *no));
            let mut claims = order.iter().filter_map(|no| Some((*no, self.backends[no].tools.get(name)?)));
            if let Some((first, tool)) = claims.next() {
                served.insert(name.clone(), (first, tool.clone()));
                conflicts.extend(claims.map(|(second, _)| Conflict {
                    tool: name.clone(),
                    first: self.backends[&first].name.clone(),
                    second: self.backends[&second].name.clone(),
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
        if let Some(stock) = self.backends.values().find(never_reached) {
            let cause = match &stock.presence {
                Presence::NeverReached { error: Some(error) } => error.as_str(),
                Presence::NeverReached { error: None }
                | Presence::Reached
                | Presence::NotServing { .. }
                | Presence::Away { .. } => "not tried yet",
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

    /// Why its calls will fail, where its input schema is wrong.
    pub(super) fn fault(&self) -> Option<&str> {
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
                let name = &inventory.backends[backend].name;
                let message = format!(
                    "the tool `{tool}` cannot be called: the input schema that backend `{name}` lists for it is wrong ({fault}); correct it there"
                );
                Err(refusal(Reason::ToolNotFound, &message))
            }
        };
        match checked {
            Ok(()) => Resolution::Ready(Target {
                base_tool: base_tool.to_owned(),
                backend: inventory.backends[backend].name.clone(),
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
