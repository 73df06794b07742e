//! One backend's replicas: each has a task that keeps a connection open, the tool list fresh, and an eye on its health.
//!
//! ```text
//! down --dial--> up --ListTools, health--> up --connection ends--> down
//! ```
//! Calls go to the replicas that are up and serve, one after the other. A call that finds none asks all for one at once; the tasks
//! themselves try with a growing backoff, for as long as a replica is away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    catalog::{BackendNo, Catalog},
    connection::{Address, Connection, Tasks},
    health::{self, Health},
    hops::Instance,
    list::{self, Listing},
    message::causes,
};
use crate::{batch::gate::Limits, config};

/// The first wait after a failure, when no call wants the backend.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);

/// The longest wait: a replica that comes back is seen within it.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The shortest time from one try to the next, however many calls want the backend: a refused connection fails in microseconds.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(50);

/// How often a replica is asked for its health, where it tells it and no call wants to know.
const HEALTH_INTERVAL: Duration = Duration::from_secs(5);

/// A backend. One that is registered anew is another, with connections of its own.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) name: String,
    /// Its number in the catalog.
    pub(super) no: BackendNo,
    /// It came with the configuration.
    pub(super) configured: bool,
    replicas: Vec<Replica>,
    /// Who lists its tools.
    instance: Instance,
    /// What it takes, over all batches.
    pub(super) limits: Limits,
    /// By replica.
    links: watch::Sender<Vec<Link>>,
    /// Where the next call begins to look.
    turn: AtomicUsize,
    /// It was replaced or taken out: its connections end with the calls that are on them.
    retired: CancellationToken,
}

#[derive(Debug)]
struct Replica {
    address: Address,
    wanted: Notify,
}

#[derive(Clone, Debug)]
enum Link {
    Untried,
    Down { cause: Arc<str> },
    Up { connection: Connection, serves: bool },
}

impl Link {
    fn connection(&self) -> Option<&Connection> {
        match self {
            Self::Up { connection, .. } if connection.is_open() => Some(connection),
            Self::Up { .. } | Self::Untried | Self::Down { .. } => None,
        }
    }

    fn serves(&self) -> Option<&Connection> {
        self.connection().filter(|_| matches!(self, Self::Up { serves: true, .. }))
    }
}

impl Backend {
    pub(super) fn new(spec: &config::Backend, no: BackendNo, configured: bool, addresses: Vec<Address>) -> Self {
        let (name, limits) = (spec.name.clone(), spec.limits());
        let links = watch::Sender::new(vec![Link::Untried; addresses.len()]);
        let replicas = addresses.into_iter().map(|address| Replica { address, wanted: Notify::new() }).collect();
        Self {
            name,
            no,
            configured,
            replicas,
            instance: Instance::default(),
            limits,
            links,
            turn: AtomicUsize::new(0),
            retired: CancellationToken::new(),
        }
    }

    /// The same, as it is seen by this instance.
    pub(super) fn seen_by(self, instance: &Instance) -> Self {
        Self { instance: instance.clone(), ..self }
    }

    /// No further call begins here. Those that wait for a connection are told; those that have one end on it.
    pub(super) fn retire(&self) {
        self.retired.cancel();
    }

    /// An open connection, however long that takes; `None` once the backend is retired.
    pub(super) async fn connection(&self) -> Option<Connection> {
        self.retired.run_until_cancelled(self.open_connection()).await
    }

    async fn open_connection(&self) -> Connection {
        let mut links = self.links.subscribe();
        loop {
            if let Some(connection) = self.next(&links.borrow_and_update()) {
                return connection;
            }
            self.replicas.iter().for_each(|replica| replica.wanted.notify_one());
            if links.changed().await.is_err() {
                // The sender lives in `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Each replica that serves, in turn.
    fn next(&self, links: &[Link]) -> Option<Connection> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut order = (0..links.len()).map(|offset| &links[(turn % links.len() + offset) % links.len()]);
        order.find_map(Link::serves).cloned()
    }

    /// Why there is no connection.
    pub(super) fn cause(&self) -> String {
        let links = self.links.borrow();
        let told = self.replicas.iter().zip(&*links).map(|(Replica { address, .. }, link)| {
            let cause = match link {
                Link::Untried => "no connection was tried yet",
                Link::Down { cause } => cause,
                Link::Up { serves: false, .. } => "it says that it does not serve",
                Link::Up { serves: true, .. } => "the connection was closed",
            };
            format!("{}: {cause}", address.as_str())
        });
        told.collect::<Vec<_>>().join("; ")
    }

    /// Reaches a replica and lists its tools, once; the connection is kept.
    pub(super) async fn reach(&self, tasks: &Tasks) -> Result<Listing, String> {
        // What stands in the links is not enough: a connection stays up whose list failed.
        let mut causes = Vec::with_capacity(self.replicas.len());
        for (index, replica) in self.replicas.iter().enumerate() {
            let listed = match self.open(index, tasks).await {
                Ok(connection) => list::fetch(&connection, &self.instance).await,
                Err(cause) => Err(cause),
            };
            match listed {
                Ok(listing) => return Ok(listing),
                Err(cause) => {
                    self.lost(index, &cause);
                    causes.push(format!("{}: {cause}", replica.address.as_str()));
                }
            }
        }
        Err(causes.join("; "))
    }

    /// Keeps the replicas connected and their tools in the catalog until the backend is retired.
    pub(super) fn keep(self: &Arc<Self>, catalog: &Arc<Catalog>, tasks: &Tasks) {
        for index in 0..self.replicas.len() {
            let (backend, catalog, within) = (Arc::clone(self), Arc::clone(catalog), tasks.clone());
            tasks.spawn(async move {
                let retired = backend.retired.clone();
                retired.run_until_cancelled(backend.follow(index, &catalog, &within)).await;
            });
        }
    }

    async fn follow(&self, index: usize, catalog: &Catalog, tasks: &Tasks) {
        let mut backoff = FIRST_BACKOFF;
        loop {
            let tried = Instant::now();
            let cause = match self.open(index, tasks).await {
                Ok(connection) => match list::fetch(&connection, &self.instance).await {
                    Ok(Listing { tools, .. }) => {
                        backoff = FIRST_BACKOFF;
                        catalog.replace(self.no, tools).await;
                        self.watch(index, &connection, catalog).await;
                        "the connection was closed".to_owned()
                    }
                    Err(cause) => cause,
                },
                Err(cause) => cause,
            };
            self.lost(index, &cause);
            self.tell(catalog);
            self.pause(index, tried, backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    /// The connection that is up, or a new one.
    async fn open(&self, index: usize, tasks: &Tasks) -> Result<Connection, String> {
        if let Some(connection) = self.links.borrow()[index].connection() {
            return Ok(connection.clone());
        }
        let connection =
            Connection::open(&self.replicas[index].address, tasks).await.map_err(|error| causes(&error))?;
        self.links.send_modify(|links| links[index] = Link::Up { connection: connection.clone(), serves: true });
        Ok(connection)
    }

    /// Asks for health, where the replica tells it, until the connection takes no further calls.
    async fn watch(&self, index: usize, connection: &Connection, catalog: &Catalog) {
        // Nothing, where it does not tell.
        let mut due = Some(Instant::now());
        while connection.is_open() {
            let ask = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = connection.ended() => return,
                // A peer that is about to go takes no further calls, while those in flight keep the connection: then this ends.
                () = self.replicas[index].wanted.notified() => {
                    sleep(MIN_PAUSE).await;
                    due = due.map(|_| Instant::now());
                }
                () = ask => due = match health::ask(connection).await {
                    Health::Untold => None,
                    Health::Told(serves) => {
                        self.set_serves(index, serves, catalog);
                        Some(Instant::now() + HEALTH_INTERVAL)
                    }
                    Health::Unclear => Some(Instant::now() + HEALTH_INTERVAL),
                },
            }
        }
    }

    fn set_serves(&self, index: usize, now: bool, catalog: &Catalog) {
        let changed = self.links.send_if_modified(|links| match &mut links[index] {
            Link::Up { serves, .. } => std::mem::replace(serves, now) != now,
            Link::Untried | Link::Down { .. } => false,
        });
        if changed {
            self.tell(catalog);
        }
    }

    /// Takes a connection down, unless it is still open and only the list failed: then calls can go on using it.
    fn lost(&self, index: usize, cause: &str) {
        self.links.send_if_modified(|links| {
            if links[index].connection().is_some() {
                return false;
            }
            links[index] = Link::Down { cause: cause.into() };
            true
        });
    }

    /// Notes in the catalog how the backend as a whole is. While one replica serves, it does.
    fn tell(&self, catalog: &Catalog) {
        let links = self.links.borrow().clone();
        if links.iter().any(|link| link.serves().is_some()) {
            catalog.serves_again(self.no);
        } else if links.iter().any(|link| link.connection().is_some()) {
            catalog.does_not_serve(self.no, &self.cause());
        } else if !links.iter().any(|link| matches!(link, Link::Untried)) {
            catalog.away(self.no, &self.cause());
        }
    }

    async fn pause(&self, index: usize, tried: Instant, backoff: Duration) {
        sleep_until(tried + MIN_PAUSE).await;
        tokio::select! {
            () = self.replicas[index].wanted.notified() => {}
            () = sleep_until(tried + backoff) => {}
        }
    }
}
