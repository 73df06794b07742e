//! Backends that come and go while the server runs. One is reached before it is taken in, and taken out without a call lost: calls
//! that are on a connection end on it, those that are not go to the backend that took its place.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use tokio::time::timeout;

use super::{
    Backends, Conflict, Error,
    backend::Backend,
    catalog::{BackendNo, Catalog, Shelf, Stock},
    connection::Address,
    credentials::Shown,
    destinations::Destinations,
};
use crate::{config, json};

/// Bound on reaching a backend and reading its list: several dead replicas and a slow list, while somebody waits.
const REACH_TIMEOUT: Duration = Duration::from_secs(20);

/// The most registered backends: each costs a connection, a task and its list.
const MAX_REGISTERED: usize = 256;

/// Why a backend is not registered, or not taken out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Registrations may not point there.
    #[error("{address}: {cause}")]
    Forbidden {
        /// The address.
        address: String,
        /// What is wrong with it, and what is allowed.
        cause: String,
    },
    /// The name belongs to the configuration.
    #[error("backend `{0}` stands in the configuration file: change it there, or choose another name")]
    Configured(String),
    /// Another backend serves one of its tools.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// It could not be reached, or not be listed.
    #[error("backend `{name}` could not be reached to list its tools: {cause}")]
    Unreachable {
        /// Its name.
        name: String,
        /// What stood in the way.
        cause: String,
    },
    /// Its address leads back here.
    #[error(
        "backend `{0}` leads back to this server: a call would go round for ever; give the address of a tool backend"
    )]
    Itself(String),
    /// A tool of it cannot be called.
    #[error("the input schema of the tool `{tool}` cannot be used: {fault}; correct it at the backend")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong.
        fault: String,
    },
    /// A tool of it could be taken for another.
    #[error(
        "the name of the tool {} cannot be used: expected 1 to 256 printable ASCII characters, single blanks inside at most; correct it at the backend",
        json::quote(.0)
    )]
    ToolName(String),
    /// The configuration has no such credential.
    #[error("there is no credential {0:?} in the configuration; expected the name of a section [credentials.NAME]")]
    Credential(String),
    /// There are enough.
    #[error("{MAX_REGISTERED} backends are registered, the most there can be: take one out first")]
    TooMany,
}

/// A backend that was reached and can be taken in. Dropped, it is disconnected.
#[derive(Debug)]
pub struct Candidate {
    spec: config::Backend,
    backend: Backend,
    tools: Shelf,
}

impl Candidate {
    /// What was asked for.
    #[must_use]
    pub fn spec(&self) -> &config::Backend {
        &self.spec
    }
}

/// The backends by name, and the number of the next.
#[derive(Debug, Default)]
pub(super) struct Members(RwLock<(BTreeMap<String, Arc<Backend>>, BackendNo)>);

impl Members {
    fn find(&self, name: &str) -> Option<Arc<Backend>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.get(name).cloned()
    }

    fn number(&self) -> BackendNo {
        let next = &mut self.0.write().unwrap_or_else(PoisonError::into_inner).1;
        *next += 1;
        *next
    }

    fn put(&self, backend: Arc<Backend>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).0.insert(backend.name.clone(), backend);
    }

    fn remove(&self, name: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).0.remove(name);
    }

    fn registered(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.values().filter(|backend| !backend.configured).count()
    }
}

impl Backends {
    pub(super) fn find(&self, name: &str) -> Option<Arc<Backend>> {
        self.members.find(name)
    }

    /// Keeps a backend that nobody has reached yet.
    pub(super) fn keep(&self, spec: &config::Backend, configured: bool, addresses: Vec<Address>) {
        let backend = Backend::new(spec, self.members.number(), configured, addresses).seen_by(&self.instance);
        // It serves nothing so far, so nothing can clash.
        let _ = self.catalog.put(backend.no, Stock::new(spec, configured), None);
        self.begin(backend);
    }

    fn begin(&self, backend: Backend) {
        let backend = Arc::new(backend);
        self.members.put(Arc::clone(&backend));
        backend.keep(&self.catalog, &self.tasks);
    }

    /// Reaches a backend that is to be registered, lists its tools and compiles their schemas; `told` gets what came of it.
    pub fn reach(&self, spec: config::Backend, told: impl FnOnce(Result<Candidate, Refusal>) + Send + 'static) {
        let this = self.clone();
        self.tasks.spawn(async move { told(this.candidate(spec).await) });
    }

    async fn candidate(&self, spec: config::Backend) -> Result<Candidate, Refusal> {
        self.check_name(&spec.name)?;
        if let Some(name) = spec.credential.as_ref().filter(|name| !self.credentials.has(name)) {
            return Err(Refusal::Credential(name.clone()));
        }
        let addresses = self.guarded(&spec)?;
        for address in &addresses {
            address.is_allowed().await?;
        }
        let backend = Backend::new(&spec, self.members.number(), false, addresses).seen_by(&self.instance);
        let unreachable = |cause: String| {
            let name = spec.name.clone();
            // Nobody else can know it: the request came back here, on whatever way.
            let is_own = !self.instance.id().is_empty() && cause.contains(self.instance.id());
            if is_own { Refusal::Itself(name) } else { Refusal::Unreachable { name, cause } }
        };
        let listed = timeout(REACH_TIMEOUT, backend.reach(&self.tasks)).await;
        let listed =
            listed.unwrap_or_else(|_| Err(format!("no list within {REACH_TIMEOUT:?}"))).map_err(unreachable)?;
        if let Some(name) = listed.misnamed {
            return Err(Refusal::ToolName(name));
        }
        let tools = Catalog::shelve(listed.tools, &Shelf::new()).await;
        if let Some((tool, fault)) = tools.iter().find_map(|(tool, listed)| Some((tool, listed.fault()?))) {
            return Err(Refusal::Schema { tool: tool.clone(), fault: fault.to_owned() });
        }
        Ok(Candidate { spec, backend, tools })
    }

    /// The addresses of a registration, which are checked again whenever one is connected to.
    fn guarded(&self, spec: &config::Backend) -> Result<Vec<Address>, Refusal> {
        for address in &spec.addresses {
            let host = address.parse::<http::Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
            let forbidden = |cause| Refusal::Forbidden { address: address.clone(), cause };
            host.map_or(Ok(()), |host| Destinations::check_host(&host)).map_err(forbidden)?;
        }
        let parsed =
            spec.addresses.iter().map(|text| Address::parse(text, &self.registered)).collect::<Result<Vec<_>, Error>>();
        let parsed =
            parsed.map_err(|error| Refusal::Unreachable { name: spec.name.clone(), cause: error.to_string() })?;
        let guarded = parsed.into_iter().map(|address| address.guarded(Arc::clone(&self.destinations))).collect();
        Ok(self.shown(spec, guarded))
    }

    /// The addresses of a backend, which are shown its credential.
    pub(super) fn shown(&self, spec: &config::Backend, addresses: Vec<Address>) -> Vec<Address> {
        let Some(name) = &spec.credential else { return addresses };
        let shown = Shown { name: name.clone(), credentials: Arc::clone(&self.credentials) };
        addresses.into_iter().map(|address| address.shown(shown.clone())).collect()
    }

    fn check_name(&self, name: &str) -> Result<(), Refusal> {
        match self.find(name) {
            Some(backend) if backend.configured => Err(Refusal::Configured(name.to_owned())),
            None if self.members.registered() >= MAX_REGISTERED => Err(Refusal::TooMany),
            Some(_) | None => Ok(()),
        }
    }

    /// Takes a backend in, in the place of the one of its name. From here on its tools can be called.
    pub fn register(&self, candidate: Candidate) -> Result<(), Refusal> {
        let Candidate { spec, backend, tools } = candidate;
        self.check_name(&spec.name)?;
        let replaced = self.find(&spec.name);
        self.catalog.put(backend.no, Stock::reached(&spec, tools), replaced.as_ref().map(|replaced| replaced.no))?;
        tracing::info!(backend = spec.name, addresses = ?spec.addresses, "backend registered");
        self.begin(backend);
        if let Some(replaced) = replaced {
            replaced.retire();
        }
        Ok(())
    }

    /// Takes a registered backend in again, which nobody has reached yet in this run. The configuration goes first.
    pub fn restore(&self, spec: &config::Backend) -> Result<(), Refusal> {
        self.check_name(&spec.name)?;
        self.keep(spec, false, self.guarded(spec)?);
        Ok(())
    }

    /// Takes a registered backend out; false where there is none of the name. Calls that are on its connection end there.
    pub fn deregister(&self, name: &str) -> Result<bool, Refusal> {
        let Some(backend) = self.find(name) else { return Ok(false) };
        if backend.configured {
            return Err(Refusal::Configured(name.to_owned()));
        }
        self.members.remove(name);
        self.catalog.remove(backend.no);
        backend.retire();
        tracing::info!(backend = name, "backend taken out");
        Ok(true)
    }
}
