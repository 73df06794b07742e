//! The server as a whole: the store, the engine on it, the gRPC edge in front, and their end.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::timeout,
};
use tonic::{body::Body, server::NamedService, service::Routes};
use tonic_health::server::HealthReporter;
use tower::{Layer as _, Service};

use crate::{
    clock::Clock,
    config::{Config, Limits},
    control::Control,
    dispatch::{Backends, CredentialError, Credentials, Instance},
    engine::{self, Engine, Running},
    listen::{Certificates, Listener},
    prices::Prices,
    proto::{
        self, batch_service_server::BatchServiceServer, registry_service_server::RegistryServiceServer,
        task_service_server::TaskServiceServer, tool_service_server::ToolServiceServer,
    },
    service::{self, AdmissionLayer, DeadlineLayer, ForeignLayer, GuardLayer, Hops, Identity, People, Rates},
    store::{self, Embedded, Store},
};

pub use crate::listen::{CertificateError, Error as ListenError};

/// How long the start waits for backends to be listed once. Those that take longer are listed as they come.
const FIRST_LOOK: Duration = Duration::from_secs(2);
/// What connections have to end after the last stream has. A client that holds one open is cut off then.
const CLOSING: Duration = Duration::from_secs(1);

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nothing can listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The store is refused.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The engine cannot start.
    #[error(transparent)]
    Engine(engine::StartError),
    /// The backends of the configuration do not go together.
    #[error(transparent)]
    Backends(#[from] crate::dispatch::Error),
    /// A token of the configuration cannot be used.
    #[error(transparent)]
    Tokens(#[from] service::TokenError),
    /// A credential of the configuration cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// A thread ended in a panic, which the log shows.
    #[error("the start ended unexpectedly; the log says more")]
    Panicked,
}

/// Why a new configuration is not taken; what was there before goes on.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Agents, operators or their tokens cannot be used.
    #[error(transparent)]
    People(#[from] service::PeopleError),
    /// A credential cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The listener's certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificateError),
}

impl From<engine::StartError> for StartError {
    fn from(error: engine::StartError) -> Self {
        match error {
            engine::StartError::Store(error) | engine::StartError::Engine(engine::Error::Store(error)) => {
                Self::Store(error)
            }
            engine::StartError::Backends(error) => Self::Backends(error),
            error @ (engine::StartError::Engine(_) | engine::StartError::Thread(_) | engine::StartError::Panicked) => {
                Self::Engine(error)
            }
        }
    }
}

/// A running server. Dropping it ends it as a crash would; [`Server::stop`] ends it well.
pub struct Server {
    endpoint: String,
    engine: Engine,
    running: Running,
    people: People,
    health: HealthReporter,
    /// Keeps health as it is.
    health_follower: JoinSet<()>,
    credentials: Arc<Credentials>,
    certificates: Option<Certificates>,
    shutdown_grace: Duration,
    close: Option<oneshot::Sender<()>>,
    control: Option<Control>,
    transport: JoinSet<()>,
}

impl Server {
    /// Starts a server on the embedded store in `config.data_dir`.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let data_dir = config.data_dir.clone();
        let opened = tokio::task::spawn_blocking(move || Embedded::open(&data_dir)).await;
        let store = Arc::new(opened.map_err(|_| StartError::Panicked)??);
        let (data_dir, dyn_store) = (config.data_dir.clone(), Arc::clone(&store));
        let mut server = Self::start_on(dyn_store, config).await?;
        match Control::open(&data_dir, &store) {
            Ok(control) => server.control = Some(control),
            Err(error) => {
                tracing::warn!(dir = %data_dir.display(), %error, "no backup can be made while this server runs");
            }
        }
        Ok(server)
    }

    /// Starts a server on a store.
    pub async fn start_on(store: Arc<dyn Store>, config: Config) -> Result<Self, StartError> {
        let clock = Clock::start();
        let people = People::new(&config)?;
        let open_mode = config.agents.is_empty() && config.operators.is_empty();
        let allowed = Arc::clone(&people.lists);
        let credentials = Arc::new(Credentials::read(&config.credentials)?);
        let shown = Arc::clone(&credentials);
        let instance = Instance::new();
        let caller = instance.clone();
        let (configured, not_batchable, places) = (config.backends, config.not_batchable, config.registration);
        let backends = async move || {
            let backends = Backends::new(&configured, &not_batchable, allowed, shown, caller)?.registering(&places)?;
            backends.first_look(FIRST_LOOK).await.map_err(crate::dispatch::Error::from)?;
            Ok(backends)
        };
        let settings = engine::Settings {
            call_timeout: config.call_timeout,
            retention: config.retention,
            open_batches: config.limits.open_batches,
            agent_open_batches: config.limits.agent_open_batches,
        };
        let (engine, running) = engine::start(store, clock, settings, backends).await?;
        let limits = config.limits.clone();
        let listener = Listener::bind(&config.listen, config.tls.as_ref(), config.limits).await?;
        let (endpoint, certificates) = (listener.endpoint(), listener.certificates());
        let (health, requests) = requests(&engine, clock, &people, config.prices, &limits).await;
        let mut health_follower = JoinSet::new();
        health_follower.spawn(follow(health.clone(), engine.takes_work()));
        let (close, closed) = oneshot::channel();
        let closed = async {
            // Dropping the server closes it too.
            let _ = closed.await;
        };
        let mut transport = JoinSet::new();
        transport.spawn(listener.serve(GuardLayer(Hops(instance)).layer(requests), closed));
        if !config.listen.is_local() && !open_mode && config.tls.is_none() {
            tracing::warn!(
                endpoint,
                "tokens arrive unencrypted: put a proxy that speaks TLS in front, or configure [tls]"
            );
        }
        tracing::info!(endpoint, "serving");
        let shutdown_grace = config.shutdown_grace;
        Ok(Self {
            endpoint,
            engine,
            running,
            people,
            health,
            health_follower,
            credentials,
            certificates,
            shutdown_grace,
            close: Some(close),
            control: None,
            transport,
        })
    }

    /// Where clients connect to: `http://127.0.0.1:50051` or `unix:/run/toolbatch.sock`.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Takes agents, operators, their tokens and the listener's certificates from another configuration, and reads the backends' credentials
    /// again, while everything runs. Where something is wrong with one of these, what was there before goes on. The rest waits for the
    /// next start, and so does `[tls]` where it comes or goes.
    pub fn reload(&self, config: &Config) -> Result<(), ReloadError> {
        let certificates = self.certificates.as_ref().zip(config.tls.as_ref());
        let renewed = certificates.map(|(current, tls)| Ok((current, Certificates::renew(tls)?)));
        let renewed = renewed.transpose().map_err(ReloadError::Certificates)?;
        self.people.reload(config)?;
        if let Some((current, renewed)) = renewed {
            current.replace(renewed);
        }
        Ok(self.credentials.reload()?)
    }

    /// Resolves if the store fails while the server runs; never otherwise.
    pub async fn failed(&mut self) -> store::Error {
        match self.running.ended().await {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    }

    /// Ends a server whose store has failed: health says `NOT_SERVING`, streams end with `UNAVAILABLE`, connections are closed.
    pub async fn abandon(mut self) {
        self.close_doors().await;
        let _ = timeout(CLOSING, self.transport.join_next()).await;
        self.transport.shutdown().await;
    }

    /// Stops well: health says `NOT_SERVING`, no further call starts, running ones have `shutdown_grace`, streams end with
    /// `UNAVAILABLE`, connections are closed. The next start goes on where this one ended. Takes at most `shutdown_grace` and 2 s,
    /// whatever clients hold open.
    pub async fn stop(mut self) -> Result<(), store::Error> {
        self.close_doors().await;
        self.engine.drain(self.shutdown_grace).await;
        let ended = self.running.ended().await;
        // Streams have their ends now; whoever holds a connection open beyond that is cut off.
        let _ = timeout(CLOSING, self.transport.join_next()).await;
        self.transport.shutdown().await;
        self.running.join();
        ended
    }

    /// Nobody is told any more that this server serves, and no connection is taken.
    async fn close_doors(&mut self) {
        self.control = None;
        self.health_follower.shutdown().await;
        set_health(&self.health, false).await;
        if let Some(close) = self.close.take() {
            // A transport that is gone is closed.
            let _ = close.send(());
        }
    }
}

/// All services behind their layers: from the outside in, statuses get their form, callers their identity, requests their place and
/// their deadline.
async fn requests(
    engine: &Engine,
    clock: Clock,
    people: &People,
    prices: Prices,
    limits: &Limits,
) -> (
    HealthReporter,
    impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + Sync + use<>,
) {
    let (health, health_service) = tonic_health::server::health_reporter();
    set_health(&health, *engine.takes_work().borrow()).await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut routes = Routes::new(health_service)
        .add_service(service::batch_service(engine.clone(), clock, Arc::clone(&people.lists)))
        .add_service(service::task_service(engine.clone(), Arc::new(prices)))
        .add_service(service::tool_service(engine.clone(), Arc::clone(&people.lists)))
        .add_service(service::registry_service(engine.clone(), clock));
    if let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) {
        routes = routes.add_service(v1).add_service(v1alpha);
    }
    let routes = routes.prepare();
    let identity = GuardLayer(Identity(Arc::clone(&people.tokens)));
    let rates = GuardLayer(Rates::new(limits.agent_requests_per_second, clock));
    let inner = AdmissionLayer::new(limits).layer(DeadlineLayer.layer(routes));
    (health, ForeignLayer.layer(identity.layer(rates.layer(inner))))
}

async fn set_health(health: &HealthReporter, serves: bool) {
    use tonic_health::ServingStatus::{NotServing, Serving};
    for name in service_names() {
        health.set_service_status(name, if serves { Serving } else { NotServing }).await;
    }
}

/// Health tells whether new work is taken.
async fn follow(health: HealthReporter, mut takes_work: watch::Receiver<bool>) {
    loop {
        let serves = *takes_work.borrow_and_update();
        set_health(&health, serves).await;
        if takes_work.changed().await.is_err() {
            return;
        }
    }
}

/// The names that health is asked by: the server as a whole, and each service.
fn service_names() -> [&'static str; 5] {
    [
        "",
        name_of::<BatchServiceServer<()>>(),
        name_of::<TaskServiceServer<()>>(),
        name_of::<ToolServiceServer<()>>(),
        name_of::<RegistryServiceServer<()>>(),
    ]
}

fn name_of<S: NamedService>() -> &'static str {
    S::NAME
}
