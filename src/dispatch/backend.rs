//! One backend's task: it keeps a connection open and the tool list fresh.
//!
//! ```text
//! down --dial--> up, list unknown --ListTools--> up, list known --connection ends--> down
//! ```
//! Calls take the connection as soon as it is up. A call that finds none asks for one at once; the task itself tries with a
//! growing backoff, for as long as the backend is away.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use super::{
    catalog::Catalog,
    connection::{Address, Connection, Tasks},
    list,
    message::causes,
};
use crate::batch::gate::Limits;

/// The first wait after a failure, when no call wants the backend.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);

/// The longest wait: a backend that comes back is seen within it.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The shortest time from one try to the next, however many calls want the backend: a refused connection fails in microseconds.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(50);

/// A configured backend.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) name: String,
    /// Its place in the configuration, which is its place in the catalog.
    pub(super) index: usize,
    addresses: Vec<Address>,
    /// What it takes, over all batches.
    pub(super) limits: Limits,
    link: watch::Sender<Link>,
    wanted: Notify,
}

#[derive(Clone, Debug)]
enum Link {
    Down { cause: Arc<str> },
    Up(Connection),
}

impl Backend {
    pub(super) fn new(name: String, index: usize, addresses: Vec<Address>, limits: Limits) -> Self {
        let link = watch::Sender::new(Link::Down { cause: "no connection was tried yet".into() });
        Self { name, index, addresses, limits, link, wanted: Notify::new() }
    }

    /// An open connection, however long that takes.
    pub(super) async fn connection(&self) -> Connection {
        let mut link = self.link.subscribe();
        loop {
            if let Link::Up(connection) = &*link.borrow_and_update()
                && connection.is_open()
            {
                return connection.clone();
            }
            self.wanted.notify_one();
            if link.changed().await.is_err() {
                // The sender lives in `self`.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Why there is no connection.
    pub(super) fn cause(&self) -> String {
        match &*self.link.borrow() {
            Link::Down { cause } => cause.to_string(),
            Link::Up(connection) => format!("{}: the connection was closed", connection.address()),
        }
    }

    /// Keeps the backend connected and its tools in the catalog. Never ends by itself.
    pub(super) async fn keep(self: Arc<Self>, catalog: Arc<Catalog>, tasks: Tasks) {
        let mut preferred = 0;
        let mut backoff = FIRST_BACKOFF;
        loop {
            let tried = Instant::now();
            let cause = match self.open(&mut preferred, &tasks).await {
                Ok(connection) => match list::fetch(&connection).await {
                    Ok(tools) => {
                        backoff = FIRST_BACKOFF;
                        catalog.replace(self.index, tools).await;
                        connection.ended().await;
                        format!("{}: the connection was closed", connection.address())
                    }
                    Err(cause) => format!("{}: {cause}", connection.address()),
                },
                Err(cause) => cause,
            };
            catalog.away(self.index, &cause);
            self.lost(cause);
            self.pause(tried, backoff).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    /// The connection that is up, or a new one to the first address that can be reached, beginning with the last that was.
    async fn open(&self, preferred: &mut usize, tasks: &Tasks) -> Result<Connection, String> {
        if let Link::Up(connection) = &*self.link.borrow()
            && connection.is_open()
        {
            return Ok(connection.clone());
        }
        let mut failures = Vec::new();
        for turn in 0..self.addresses.len() {
            let index = (*preferred + turn) % self.addresses.len();
            let address = &self.addresses[index];
            match Connection::open(address, tasks).await {
                Ok(connection) => {
                    *preferred = index;
                    self.link.send_replace(Link::Up(connection.clone()));
                    return Ok(connection);
                }
                Err(error) => failures.push(format!("{}: {}", address.as_str(), causes(&error))),
            }
        }
        Err(failures.join("; "))
    }

    /// Takes the connection down, unless it is still open and only the list failed: then calls can go on using it.
    fn lost(&self, cause: String) {
        self.link.send_if_modified(|link| {
            if matches!(link, Link::Up(connection) if connection.is_open()) {
                return false;
            }
            *link = Link::Down { cause: cause.into() };
            true
        });
    }

    async fn pause(&self, tried: Instant, backoff: Duration) {
        sleep_until(tried + MIN_PAUSE).await;
        tokio::select! {
            () = self.wanted.notified() => {}
            () = sleep_until(tried + backoff) => {}
        }
    }
}
