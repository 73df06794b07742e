//! Tool backends: their connections and tool lists; one attempt of one call in, progress and exactly one outcome out.
//!
//! | file | duty |
//! | --- | --- |
//! | `backend` | a backend's replicas: connections, kept; a tool list, kept fresh; whose turn it is |
//! | `health` | what a replica says of its health |
//! | `hops` | which toolbatches a call has come through |
//! | `connection` | one HTTP/2 connection to one address |
//! | `credentials` | what backends are shown |
//! | `tls` | whose certificates are trusted, and what is shown in return |
//! | `departure` | whether a request has left |
//! | `list` | fetches a tool list |
//! | `allowed` | which tools an agent may call, and by which names |
//! | `catalog` | the tools of all backends; what a call's name comes to |
//! | `schema` | input schemas and the arguments that do not fit |
//! | `expansion` | what checking a schema costs |
//! | `registry` | backends that come and go while the server runs |
//! | `destinations` | where those may be |
//! | `patterns` | what a schema's regular expressions may cost |
//! | `call` | one attempt |
//! | `reply` | what an answer comes to |
//!
//! Everything runs on the tokio runtime that [`Backends::new`] is called on.

mod allowed;
mod backend;
mod call;
mod catalog;
mod connection;
mod credentials;
mod departure;
mod destinations;
mod expansion;
mod health;
mod hops;
mod list;
mod message;
mod patterns;
#[cfg(test)]
pub(crate) mod pipe;
mod registry;
mod reply;
mod schema;
mod tls;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{sync::watch, time::Instant};

pub use self::{
    allowed::ToolLists,
    call::{Attempt, Progress},
    catalog::{BATCH_TOOL, EXECUTE_TOOL_BATCH},
    credentials::{CredentialError, Credentials},
    hops::{HOPS_HEADER, Instance, MAX_INSTANCE_BYTES},
    registry::{Candidate, Refusal},
    reply::{MAX_RESULT_BYTES, Reply},
};
use self::{
    catalog::Catalog,
    connection::{Address, Connection, Tasks},
    destinations::Destinations,
    message::causes,
    registry::Members,
    tls::Trust,
};
use crate::{
    batch::{
        gate::Limits,
        outcome::Fate,
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
    /// Certificates for TLS to backends cannot be used.
    #[error("{of}: {cause}")]
    Tls {
        /// Whose they are.
        of: String,
        /// What is wrong.
        cause: String,
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
#[derive(Clone, Debug, PartialEq)]
pub struct BackendState {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// The name of what it is shown.
    pub credential: Option<String>,
    /// What it takes, over all batches.
    pub limits: Limits,
    /// It came with the configuration.
    pub configured: bool,
    /// Whether it is there.
    pub presence: Presence,
    /// Since when that is so.
    pub since: Instant,
    /// What it serves, by its last list.
    pub tools: Vec<Tool>,
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
    /// It is reached, and says that it takes no calls.
    NotServing {
        /// By replica.
        error: String,
    },
    /// It was reached, and cannot be now. Its last list stays.
    Away {
        /// What stands in the way.
        error: String,
    },
}

/// All tool backends. Clones share them.
#[derive(Clone, Debug)]
pub struct Backends {
    members: Arc<Members>,
    catalog: Arc<Catalog>,
    destinations: Arc<Destinations>,
    /// Whom registered backends' addresses trust.
    registered: Trust,
    credentials: Arc<Credentials>,
    instance: Instance,
    tasks: Tasks,
}

impl Backends {
    /// Begins to connect to the backends of the configuration. `not_batchable`: tools that no batch may call, names or prefixes
    /// that end in `*`. `lists`: what each agent may call. `instance`: who calls. To be called within a tokio runtime.
    pub fn new(
        config: &[config::Backend],
        not_batchable: &[String],
        lists: Arc<ToolLists>,
        credentials: Arc<Credentials>,
        instance: Instance,
    ) -> Result<Self, Error> {
        let this = Self { credentials, instance, ..Self::empty(not_batchable, lists) };
        for backend in config {
            let trust = Trust::new(&backend.tls);
            let parsed = backend.addresses.iter().map(|text| Address::parse(text, &trust));
            let addresses = parsed.collect::<Result<Vec<_>, _>>()?;
            if addresses.iter().any(Address::is_secure) {
                trust.read().map_err(|cause| Error::Tls { of: format!("backend `{}`", backend.name), cause })?;
            }
            if addresses.is_empty() {
                return Err(Error::NoAddress(backend.name.clone()));
            }
            this.keep(backend, true, this.shown(backend, addresses));
        }
        Ok(this)
    }

    /// One backend, within this process.
    #[cfg(test)]
    pub(crate) fn piped(name: &str, dials: pipe::Dials, limits: Limits) -> Self {
        let this = Self::empty(&[], Arc::default());
        let Limits { max_concurrency, max_calls_per_second, .. } = limits;
        let name = name.to_owned();
        let spec = config::Backend { name, max_concurrency, max_calls_per_second, ..config::Backend::default() };
        this.keep(&spec, true, vec![Address::piped(dials)]);
        this
    }

    fn empty(not_batchable: &[String], lists: Arc<ToolLists>) -> Self {
        Self {
            members: Arc::default(),
            catalog: Arc::new(Catalog::new(not_batchable, lists)),
            destinations: Arc::default(),
            registered: Trust::default(),
            credentials: Arc::default(),
            instance: Instance::default(),
            tasks: Tasks::default(),
        }
    }

    /// The same, with registrations that may point to these places, to loopback alone where there are none, and with this TLS.
    pub fn registering(self, at: &config::Registration) -> Result<Self, Error> {
        let registered = Trust::new(&at.tls);
        // The system's authorities are read when they are needed, which may be never.
        if at.tls != config::BackendTls::default() {
            registered.read().map_err(|cause| Error::Tls { of: "registration".to_owned(), cause })?;
        }
        Ok(Self { destinations: Arc::new(Destinations::new(&at.allow)), registered, ..self })
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
        call::call(self, &attempt, progress).await
    }

    /// Asks the attempt's backend what became of it: within its `connect_wait` and 10 s.
    pub async fn lookup(&self, attempt: Attempt) -> Fate<Bytes> {
        call::lookup(self, &attempt).await
    }

    /// Every tool that can be called, by name.
    #[must_use]
    pub fn list_tools(&self) -> Vec<ListedTool> {
        self.catalog.tools()
    }

    /// How every backend is, by name.
    #[must_use]
    pub fn states(&self) -> Vec<BackendState> {
        self.catalog.states()
    }

    /// Closes all connections, calls in flight included, and waits until everything has ended.
    pub async fn shutdown(&self) {
        self.tasks.shutdown().await;
    }
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

/// Connects to one address of a backend, once, and lists its tools.
pub async fn probe(tls: &config::BackendTls, address: &str) -> Result<Vec<Tool>, Error> {
    let parsed = Address::parse(address, &Trust::new(tls))?;
    let tasks = Tasks::default();
    let listed = match Connection::open(&parsed, &tasks).await {
        Ok(connection) => list::fetch(&connection, &Instance::default()).await.map(|listing| listing.tools),
        Err(error) => Err(causes(&error)),
    };
    tasks.shutdown().await;
    listed.map_err(|cause| Error::Probe { address: address.to_owned(), cause })
}
