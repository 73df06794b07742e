//! Registered backends: reached, taken in and out, and kept over restarts.

use tokio::sync::oneshot;

use super::{Command, Engine, accept::no_space, error::Error, run::Loop};
use crate::{
    config,
    dispatch::{BackendState, Candidate, Refusal},
    store::{Order, RoomFor, layout, records},
};

/// More than can be registered.
const MOST: usize = 10_000;

/// A backend that is to be taken in.
pub(super) struct RegisterRequest {
    pub(super) candidate: Candidate,
    pub(super) reply: oneshot::Sender<Result<(), Error>>,
}

impl Engine {
    /// Takes a backend in, or in the place of the registered one of its name, durably, once its tools are listed.
    pub async fn register_backend(&self, spec: config::Backend) -> Result<BackendState, Error> {
        self.has_room()?;
        if let Err(error) = self.read(|reader| Ok(reader.store.check_room(RoomFor::NewWork)?)).await {
            return Err(self.noticed(error).await);
        }
        let name = spec.name.clone();
        let (reply, answer) = oneshot::channel();
        self.send(Command::ReachBackend { spec, reply }).await?;
        let candidate = answer.await.map_err(|_| Error::Stopping)??;
        let (reply, answer) = oneshot::channel();
        self.send(Command::RegisterBackend(Box::new(RegisterRequest { candidate, reply }))).await?;
        answer.await.map_err(|_| Error::Stopping)??;
        let found = self.list_backends().await?.into_iter().find(|backend| backend.name == name);
        // Somebody took it out since.
        found.ok_or(Error::NotFound { kind: "backend", id: name })
    }

    /// Takes a registered backend out, durably.
    pub async fn deregister_backend(&self, name: String) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::DeregisterBackend { name, reply }).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }

    /// How every backend is, by name.
    pub async fn list_backends(&self) -> Result<Vec<BackendState>, Error> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::ListBackends { reply }).await?;
        answer.await.map_err(|_| Error::Stopping)
    }
}

impl Loop {
    /// Takes in what earlier runs registered.
    pub(super) fn restore_backends(&self) -> Result<(), Error> {
        let range = layout::registrations();
        for (key, value) in self.reader.store.scan(&range.start..&range.end, Order::Ascending, MOST)? {
            let Some(name) = layout::registration_of(&key) else { continue };
            let records::Registration { addresses, credential, max_concurrency, max_calls_per_second } =
                records::decode(&value)?;
            let credential = Some(credential).filter(|name| !name.is_empty());
            let name = name.to_owned();
            let spec = config::Backend {
                name,
                addresses,
                credential,
                max_concurrency,
                max_calls_per_second,
                ..config::Backend::default()
            };
            if let Err(refusal) = self.backends.restore(&spec) {
                tracing::warn!(backend = spec.name, %refusal, "a registered backend is left out");
            }
        }
        Ok(())
    }

    /// Reaches a backend beside the loop.
    pub(super) fn reach_backend(&self, spec: config::Backend, reply: oneshot::Sender<Result<Candidate, Refusal>>) {
        self.backends.reach(spec, move |reached| {
            // Whoever asked may be gone.
            let _ = reply.send(reached);
        });
    }

    /// Whatever is sent to a backend from here on is decided in this group or a later one, so that no call of a backend is durable
    /// before the backend is.
    pub(super) fn register_backend(&mut self, request: RegisterRequest) {
        let RegisterRequest { candidate, reply } = request;
        let config::Backend { name, addresses, credential, max_concurrency, max_calls_per_second, .. } =
            candidate.spec().clone();
        match self.takes_changes().and_then(|()| Ok(self.backends.register(candidate)?)) {
            Ok(()) => {
                let credential = credential.unwrap_or_default();
                let record = records::Registration { addresses, credential, max_concurrency, max_calls_per_second };
                self.group.put(layout::registration(&name), records::encode(&record));
                self.answer_when_durable(reply, Ok(()));
            }
            Err(error) => {
                // Whoever asked may be gone.
                let _ = reply.send(Err(error));
            }
        }
    }

    pub(super) fn deregister_backend(&mut self, name: String, reply: oneshot::Sender<Result<(), Error>>) {
        match self.takes_changes().and_then(|()| Ok(self.backends.deregister(&name)?)) {
            Ok(true) => {
                self.group.delete(layout::registration(&name));
                self.answer_when_durable(reply, Ok(()));
            }
            Ok(false) => {
                let _ = reply.send(Err(Error::NotFound { kind: "backend", id: name }));
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    fn takes_changes(&self) -> Result<(), Error> {
        match (self.draining(), self.waits_for_space()) {
            (true, _) => Err(Error::Stopping),
            (false, true) => Err(no_space()),
            (false, false) => Ok(()),
        }
    }
}
