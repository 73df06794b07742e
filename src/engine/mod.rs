//! The engine: one loop that owns all live state.
//!
//! The loop takes what waits, steps the core, commits the core's facts as one group, and only then carries out its wishes and
//! rings those who follow. It has a thread and a current-thread runtime of its own, on which the calls to the backends run
//! too. It commits in place while no call is under way, as each hop to another thread would cost a good part of what a call
//! costs; otherwise beside the loop (docs/adr/0003).
//!
//! | file | duty |
//! | --- | --- |
//! | `run` | the loop |
//! | `accept` | a batch is taken in, attached to, or planned |
//! | `stop` | a batch or a task is told to stop |
//! | `keys` | a task's keys, listed and settled |
//! | `variables` | a task's variables, set and looked up |
//! | `registry` | registered backends, taken in and out |
//! | `park` | what was running at crash after crash |
//! | `persist` | facts become records |
//! | `commit` | records become durable |
//! | `attempt` | an attempt, from wish to outcome |
//! | `intake` | whether new work is taken |
//! | `retention`, `age`, `leases` | what is dropped, when, and what is not |
//! | `tail`, `watch` | following a live batch |
//! | `feed` | following a task |
//! | `read`, `steps` | what is stored |

mod accept;
mod age;
mod attempt;
mod commit;
mod error;
pub mod feed;
mod ids;
mod intake;
pub mod keys;
mod leases;
mod list;
mod park;
mod persist;
pub mod read;
mod registry;
mod retention;
mod run;
mod shares;
#[cfg(test)]
mod sim;
pub mod steps;
mod stop;
pub mod tail;
pub mod variables;
pub mod watch;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch as channel};

pub use self::{accept::PlannedCall, error::Error};
use self::{
    accept::{Accepted, StartRequest},
    keys::SettleRequest,
    leases::Lease,
    read::{Located, Reader},
    registry::RegisterRequest,
    retention::ExpireRequest,
    stop::EndRequest,
    tail::TailReader,
    variables::SetRequest,
    watch::Watch,
};
use crate::{
    batch::{
        core::TaskNo,
        outcome::{Body, Payload},
        running::RunningKey,
        spec::Spec,
    },
    clock::Clock,
    config,
    dispatch::{BackendState, Backends, Candidate, ListedTool, Refusal},
    store::{self, RoomFor, Store, records::Outline},
};

/// Commands that wait for the loop. A full queue makes handlers wait, and with them their clients.
const COMMAND_QUEUE: usize = 1_024;
/// A batch's content up to this size stands in its head's record; together with ids that stays below the store's 4 KiB.
const INLINE_CONTENT_MAX: usize = 3_000;

/// What the loop can be asked.
enum Command {
    Start(Box<StartRequest>),
    Plan { tenant: Arc<str>, spec: Arc<Spec>, reply: oneshot::Sender<Result<Vec<PlannedCall>, Error>> },
    Follow { at: Located, reply: oneshot::Sender<Option<TailReader>> },
    FollowTask { task: TaskNo, reply: oneshot::Sender<channel::Receiver<()>> },
    Cancel { at: Located, abort: bool, reply: oneshot::Sender<()> },
    EndTask(Box<EndRequest>),
    RunningKeys { task: TaskNo, reply: oneshot::Sender<Vec<RunningKey>> },
    SettleKey(Box<SettleRequest>),
    SetVariable(Box<SetRequest>),
    ListTools { reply: oneshot::Sender<Vec<ListedTool>> },
    ReachBackend { spec: config::Backend, reply: oneshot::Sender<Result<Candidate, Refusal>> },
    RegisterBackend(Box<RegisterRequest>),
    DeregisterBackend { name: String, reply: oneshot::Sender<Result<(), Error>> },
    ListBackends { reply: oneshot::Sender<Vec<BackendState>> },
    Expire(Box<ExpireRequest>),
    Drain { grace: Duration },
    StoreFailed { error: store::Error },
}

/// A handle to the engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    commands: mpsc::Sender<Command>,
    reader: Arc<Reader>,
}

/// The engine's thread.
pub struct Running {
    thread: std::thread::JoinHandle<()>,
    ended: oneshot::Receiver<Result<(), store::Error>>,
}

/// What the engine is told by the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bound on one attempt of one call, where neither the batch nor the tool sets one.
    pub call_timeout: Duration,
    /// How long a task is kept after anything last happened in it, while a server runs; whole seconds.
    pub retention: Duration,
    /// How many batches may be unfinished before no new one is taken in.
    pub open_batches: usize,
    /// The same of one agent.
    pub agent_open_batches: usize,
}

/// Starts the engine on a thread of its own. `backends` makes the backends, on the engine's runtime.
pub async fn start<F>(
    store: Arc<dyn Store>,
    clock: Clock,
    settings: Settings,
    backends: F,
) -> Result<(Engine, Running), StartError>
where
    F: AsyncFnOnce() -> Result<Backends, StartError> + Send + 'static,
{
    let (commands, queue) = mpsc::channel(COMMAND_QUEUE);
    let reader = Arc::new(Reader::new(store));
    let (kept, waker) = (Arc::clone(&reader), commands.downgrade());
    let engine = Engine { commands, reader: Arc::clone(&reader) };
    let (ready, started) = oneshot::channel();
    let (end, ended) = oneshot::channel();
    let thread = std::thread::Builder::new().name("engine".into()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                let _ = ready.send(Err(StartError::Thread(error)));
                return;
            }
        };
        runtime.block_on(async move {
            let made = async {
                let backends = backends().await?;
                Ok(run::Loop::open(reader, clock, settings, backends)?)
            };
            match made.await {
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
                Ok(engine) => {
                    let _ = ready.send(Ok(()));
                    let dropping = retention::keep(Arc::clone(&kept), waker, engine.age, settings.retention);
                    let outcome = tokio::select! {
                        outcome = engine.run(queue) => outcome,
                        error = dropping => Err(error),
                        never = kept.intake.keep(&*kept.store) => match never {},
                    };
                    let _ = end.send(outcome);
                }
            }
        });
    });
    let thread = thread.map_err(StartError::Thread)?;
    match started.await {
        Ok(Ok(())) => Ok((engine, Running { thread, ended })),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(StartError::Panicked),
    }
}

/// Why the engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// What is stored does not add up.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A backend cannot be used.
    #[error(transparent)]
    Backends(#[from] crate::dispatch::Error),
    /// The system gave no thread.
    #[error("the engine's thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// The engine's thread ended before it began.
    #[error("the engine's thread ended unexpectedly; the log says more")]
    Panicked,
}

impl Running {
    /// Resolves when the engine has ended: well, after [`Engine::drain`], or because the store failed.
    pub async fn ended(&mut self) -> Result<(), store::Error> {
        (&mut self.ended).await.unwrap_or_else(|_| {
            Err(store::Error::Failed("the engine's thread ended unexpectedly; the log says more".into()))
        })
    }

    /// Waits for the thread, which [`Running::ended`] said is over.
    pub fn join(self) {
        // A panic was reported when it happened.
        let _ = self.thread.join();
    }
}

impl Engine {
    /// Takes a batch in, or attaches to the one that has its id and content; gives back a watch from its first entry. It is
    /// durable before this returns.
    pub async fn execute(&self, tenant: &str, spec: Spec) -> Result<(Arc<str>, Watch), Error> {
        if let Some(accepted) = self.attach(tenant, spec.batch_id.as_deref(), spec.content_digest).await? {
            return Ok(accepted);
        }
        self.has_room()?;
        let (owner, task_id) = (tenant.to_owned(), spec.task_id.clone());
        // Whoever touches a task first verifies it, here rather than on the loop.
        let looked_at = self.read(move |reader| {
            reader.store.check_room(RoomFor::NewWork)?;
            reader.task(&owner, &task_id)
        });
        let (content, outline_bytes) = Outline::write(&spec);
        let stored = async {
            looked_at.await?;
            self.payload(content, INLINE_CONTENT_MAX).await
        };
        let (content, lease) = match stored.await {
            Ok(stored) => stored,
            Err(error) => return Err(self.noticed(error).await),
        };
        let (reply, answer) = oneshot::channel();
        let request =
            StartRequest { tenant: tenant.into(), spec: Arc::new(spec), content, outline_bytes, lease, reply };
        self.send(Command::Start(Box::new(request))).await?;
        let Accepted { at, batch_id, outline, tail, attached } = answer.await.map_err(|_| Error::Stopping)??;
        let mut watch = match tail {
            Some(tail) => Watch::live(self.clone(), at, outline, 0, tail),
            None => self.watch_at(at, 0).await?,
        };
        watch.began = !attached;
        Ok((batch_id, watch))
    }

    fn has_room(&self) -> Result<(), Error> {
        if self.reader.intake.is_full() {
            return Err(accept::no_space());
        }
        Ok(())
    }

    /// Whether new work is taken, now and later: not while there is no space for it, nor once the store has failed in part.
    #[must_use]
    pub fn takes_work(&self) -> channel::Receiver<bool> {
        self.reader.intake.follow()
    }

    /// Attaches to the batch that has this id, where there is one with this content.
    pub async fn attach(
        &self,
        tenant: &str,
        batch_id: Option<&str>,
        content_digest: [u8; 32],
    ) -> Result<Option<(Arc<str>, Watch)>, Error> {
        let Some(batch_id) = batch_id else { return Ok(None) };
        let Some(at) = self.claimed(tenant, batch_id, content_digest).await? else { return Ok(None) };
        Ok(Some((batch_id.into(), self.watch_at(at, 0).await?)))
    }

    /// The batch that has this id and content; an error where the id is taken by something else.
    pub async fn claimed(&self, tenant: &str, batch_id: &str, digest: [u8; 32]) -> Result<Option<Located>, Error> {
        let (tenant, batch_id) = (tenant.to_owned(), batch_id.to_owned());
        self.read(move |reader| accept::claimed(reader, &tenant, &batch_id, digest)).await
    }

    /// What would become of a batch's calls at this moment. Nothing is recorded.
    pub async fn plan(&self, tenant: &str, spec: Spec) -> Result<Vec<PlannedCall>, Error> {
        self.has_room()?;
        let (owner, task_id) = (tenant.to_owned(), spec.task_id.clone());
        self.read(move |reader| reader.task(&owner, &task_id)).await?;
        let (reply, answer) = oneshot::channel();
        self.send(Command::Plan { tenant: tenant.into(), spec: Arc::new(spec), reply }).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }

    /// Follows a batch from after a sequence number.
    pub async fn watch(&self, tenant: &str, batch_id: &str, after: u64) -> Result<Watch, Error> {
        let (tenant, batch_id) = (tenant.to_owned(), batch_id.to_owned());
        let at = self.read(move |reader| reader.find(&tenant, &batch_id)).await?;
        self.watch_at(at, after).await
    }

    async fn watch_at(&self, at: Located, after: u64) -> Result<Watch, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Follow { at, reply }).await?;
        let tail = answer.await.map_err(|_| Error::Stopping)?;
        let (head, outline) = self
            .read(move |reader| {
                let head = reader.head(at)?;
                let outline = reader.outline(&head)?;
                Ok((head, outline))
            })
            .await?;
        let outline = Arc::new(outline);
        match tail {
            Some(tail) => {
                let last = *tail.bell.borrow();
                if after > last {
                    return Err(Error::PastTheEnd { after, last });
                }
                Ok(Watch::live(self.clone(), at, outline, after, tail))
            }
            None => match head.end.map(|end| end.last_sequence) {
                Some(last) if after > last => Err(Error::PastTheEnd { after, last }),
                Some(last) => Ok(Watch::ended(self.clone(), at, outline, after, last)),
                None => Err(Error::Stopping),
            },
        }
    }

    /// Every tool that can be called, by name.
    pub async fn list_tools(&self) -> Result<Vec<ListedTool>, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::ListTools { reply }).await?;
        answer.await.map_err(|_| Error::Stopping)
    }

    /// Reads what is stored, off the async threads.
    pub async fn read<T, F>(&self, read: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, Error> + Send + 'static,
    {
        let reader = Arc::clone(&self.reader);
        tokio::task::spawn_blocking(move || reader.dropping.outside(|| read(&reader)))
            .await
            .unwrap_or(Err(Error::Stopping))
    }

    /// Starts no further call; running ones have `grace` to finish. [`Running::ended`] tells when that is over.
    pub async fn drain(&self, grace: Duration) {
        // A loop that is gone has nothing to drain.
        let _ = self.commands.send(Command::Drain { grace }).await;
    }

    /// Takes note of a store that has no room, or has failed in part, of which the loop is told; passes the error on.
    async fn noticed(&self, error: Error) -> Error {
        match &error {
            Error::Store(store::Error::Full(_)) => self.reader.intake.close(),
            Error::Store(failed @ (store::Error::Failed(_) | store::Error::NotWritable(_))) => {
                self.reader.intake.close();
                // A loop that is gone knows.
                let _ = self.commands.send(Command::StoreFailed { error: failed.clone() }).await;
            }
            Error::Store(_)
            | Error::NotFound { .. }
            | Error::AlreadyExists { .. }
            | Error::TaskEnded { .. }
            | Error::KeyNotUnknown { .. }
            | Error::PastTheEnd { .. }
            | Error::TooManyOpen { .. }
            | Error::AgentHasTooMany { .. }
            | Error::Backend(_)
            | Error::Stopping => {}
        }
        error
    }

    async fn payload(&self, content: Bytes, inline_max: usize) -> Result<(Payload, Option<Lease>), Error> {
        let bytes = content.len() as u64;
        if content.len() <= inline_max {
            return Ok((Payload { bytes, body: Body::Inline(content) }, None));
        }
        let (blob, lease) = self.read(move |reader| Ok(reader.leases.write(&*reader.store, &content)?)).await?;
        Ok((Payload { bytes, body: Body::Blob(blob) }, Some(lease)))
    }

    async fn send(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| Error::Stopping)
    }
}
