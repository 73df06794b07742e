//! Tool backends: their connections and tool lists; one attempt of one call in, progress and exactly one outcome out.
//!
//! | file | duty |
//! | --- | --- |
//! | `backend` | one backend's task: a connection, kept; a tool list, kept fresh |
//! | `connection` | one HTTP/2 connection to one address |
//! | `departure` | whether a request has left |
//! | `list` | fetches a tool list |
//! | `allowed` | which tools an agent may call, and by which names |
//! | `catalog` | the tools of all backends; what a call's name comes to |
//! | `schema` | input schemas and the arguments that do not fit |
//! | `expansion` | what checking a schema costs |
//! | `call` | one attempt |
//! | `reply` | what an answer comes to |
//!
//! Everything runs on the tokio runtime that [`Backends::new`] is called on.

mod allowed;
mod backend;
mod call;
mod catalog;
mod connection;
mod departure;
mod expansion;
mod list;
mod message;
#[cfg(test)]
pub(crate) mod pipe;
mod reply;
mod schema;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::watch;

pub use self::{
    allowed::ToolLists,
    call::{Attempt, Progress},
    catalog::{BATCH_TOOL, EXECUTE_TOOL_BATCH},
    reply::{MAX_RESULT_BYTES, Reply},
};
use self::{
    backend::Backend,
    catalog::Catalog,
    connection::{Address, Connection, Tasks},
    message::causes,
};
use crate::{
    batch::{
        event::Reason,
        gate::Limits,
        outcome::{Fate, Outcome},
        tools::{Resolution, Tools},
    },
    config,
    proto::Tool,
};

/// Why backends cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address of the configuration leads nowhere.
    #[error("the backend address {address:?} cannot be used: expected {expected}")]
    Address {
        /// What stands in the configuration.
        address: String,
        /// What should.
        expected: &'static str,
    },
    /// A backend of the configuration has no address.
    #[error("backend `{0}` has no address: expected at least one, such as http://127.0.0.1:7001")]
    NoAddress(String),
    /// Two backends serve one tool.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A backend could not be listed.
    #[error("{address}: {cause}")]
    Probe {
        /// Where it was looked for.
        address: String,
        /// What stood in the way.
        cause: String,
    },
}

/// Two backends serve a tool of the same name; the first goes on serving it, the second's is not used (R3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tool `{tool}` is served by backend `{first}` and by backend `{second}`: expected one; rename it at one of them, or take one out"
)]
pub struct Conflict {
    /// The tool's name.
    pub tool: String,
    /// The backend that serves it.
    pub first: String,
    /// The backend whose tool is refused.
    pub second: String,
}

/// A tool that can be called, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTool {
    /// The backend's name.
    pub backend: String,
    /// As the backend lists it.
    pub tool: Tool,
    /// Why its calls will fail, where its input schema is wrong.
    pub schema_fault: Option<String>,
}

/// How a backend is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendState {
    /// Its name in the configuration.
    pub name: String,
    /// Its addresses in the configuration.
    pub addresses: Vec<String>,
    /// Whether it is there.
    pub presence: Presence,
    /// How many tools it serves, by its last list.
    pub tools: usize,
}

/// Whether a backend is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its tools were never listed.
    NeverReached {
        /// Why not, once it was tried.
        error: Option<String>,
    },
    /// Its tools are listed, and the connection is up.
    Reached,
    /// It was reached, and cannot be now. Its last list stays.
    Away {
        /// What stands in the way.
        error: String,
    },
}

/// All tool backends. Clones share them.
#[derive(Clone, Debug)]
pub struct Backends {
    /// In the order of the configuration.
    members: Arc<[Arc<Backend>]>,
    catalog: Arc<Catalog>,
    tasks: Tasks,
}

impl Backends {
    /// Begins to connect to the backends of the configuration. `not_batchable`: tools that no batch may call, names or prefixes
    /// that end in `*`. `lists`: what each agent may call. To be called within a tokio runtime.
    pub fn new(config: &[config::Backend], not_batchable: &[String], lists: Arc<ToolLists>) -> Result<Self, Error> {
        let mut backends = Vec::with_capacity(config.len());
        for (index, backend) in config.iter().enumerate() {
            let addresses = backend.addresses.iter().map(|text| Address::parse(text)).collect::<Result<Vec<_>, _>>()?;
            if addresses.is_empty() {
                return Err(Error::NoAddress(backend.name.clone()));
            }
            let limits = Limits {
                max_concurrency: backend.max_concurrency,
                max_calls_per_second: backend.max_calls_per_second,
                breaks: true,
            };
            backends.push(Arc::new(Backend::new(backend.name.clone(), index, addresses, limits)));
        }
        let stocks = config.iter().map(|backend| (backend.name.clone(), backend.addresses.clone()));
        Ok(Self::keep(backends, stocks, not_batchable, lists))
    }

    /// One backend, within this process.
    #[cfg(test)]
    pub(crate) fn piped(name: &str, dials: pipe::Dials, limits: Limits) -> Self {
        let backend = Backend::new(name.to_owned(), 0, vec![Address::piped(dials)], limits);
        Self::keep(vec![Arc::new(backend)], std::iter::once((name.to_owned(), Vec::new())), &[], Arc::default())
    }

    fn keep(
        backends: Vec<Arc<Backend>>,
        stocks: impl Iterator<Item = (String, Vec<String>)>,
        not_batchable: &[String],
        lists: Arc<ToolLists>,
    ) -> Self {
        let catalog = Arc::new(Catalog::new(stocks, not_batchable, lists));
        let tasks = Tasks::default();
        for backend in &backends {
            tasks.spawn(backend.clone().keep(catalog.clone(), tasks.clone()));
        }
        Self { members: backends.into(), catalog, tasks }
    }

    /// Waits until every backend was tried once, `at_most` that long. Two that serve one tool are an error here; later on they
    /// are logged, and the first goes on.
    pub async fn first_look(&self, at_most: Duration) -> Result<(), Conflict> {
        // Who has not answered by then is away.
        let _ = tokio::time::timeout(at_most, self.catalog.all_tried()).await;
        self.catalog.conflicts().into_iter().next().map_or(Ok(()), Err)
    }

    /// Rings at every change of what the backends serve.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.catalog.changes()
    }

    /// Carries out one attempt: exactly one reply, within the attempt's timeout. Dropping the future cancels the RPC; whether the
    /// tool has run is then unknown. `progress` is called on the way and must not block.
    pub async fn call(&self, attempt: Attempt, progress: &(dyn Fn(Progress) + Sync)) -> Reply {
        let Some(backend) = self.find(&attempt.backend) else {
            return Outcome::NotSent { reason: Reason::BackendUnavailable, message: not_configured(&attempt.backend) };
        };
        let with_progress = self.catalog.reports_progress(backend.index, &attempt.tool);
        call::call(backend, &attempt, with_progress, progress).await
    }

    /// Asks the attempt's backend what became of it: within its `connect_wait` and 10 s.
    pub async fn lookup(&self, attempt: Attempt) -> Fate<Bytes> {
        let Some(backend) = self.find(&attempt.backend) else {
            return Fate::Unknown { message: not_configured(&attempt.backend) };
        };
        call::lookup(backend, &attempt).await
    }

    /// Every tool that can be called, by name.
    #[must_use]
    pub fn list_tools(&self) -> Vec<ListedTool> {
        self.catalog.tools()
    }

    /// How every backend is, in the order of the configuration.
    #[must_use]
    pub fn states(&self) -> Vec<BackendState> {
        self.catalog.states()
    }

    /// Closes all connections, calls in flight included, and waits until everything has ended.
    pub async fn shutdown(&self) {
        self.tasks.shutdown().await;
    }

    fn find(&self, name: &str) -> Option<&Backend> {
        self.members.iter().find(|backend| backend.name == name).map(|backend| &**backend)
    }
}

fn not_configured(name: &str) -> String {
    format!("no backend is named `{name}` any more; expected one in the configuration")
}

impl Tools for Backends {
    fn resolve(&self, agent_id: &str, tool: &str, args: &str, direct: bool) -> Resolution {
        self.catalog.resolve(agent_id, tool, args, direct)
    }

    fn base_tool(&self, agent_id: &str, tool: &str) -> String {
        self.catalog.base_tool(agent_id, tool)
    }

    fn limits(&self, backend: &str) -> Limits {
        self.find(backend).map_or_else(Limits::default, |backend| backend.limits)
    }
}

/// Connects to one address, once, and lists its tools.
pub async fn probe(address: &str) -> Result<Vec<Tool>, Error> {
    let parsed = Address::parse(address)?;
    let tasks = Tasks::default();
    let listed = match Connection::open(&parsed, &tasks).await {
        Ok(connection) => list::fetch(&connection).await,
        Err(error) => Err(causes(&error)),
    };
    tasks.shutdown().await;
    listed.map_err(|cause| Error::Probe { address: address.to_owned(), cause })
}
