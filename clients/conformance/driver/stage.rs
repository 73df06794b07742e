//! What scenarios are played on: the servers, and the backend behind them.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, process::Command};

use anyhow::{Context as _, bail};

use crate::{
    future::Future,
    port::Ports,
    process::{Process, Ready},
    scenario::ServerKind,
    server::Server,
};

/// Started once, when it is first needed, and the same for all scenarios.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    ports: Ports,
    backend: Backend,
    servers: BTreeMap<ServerKind, Server>,
    future: Option<Future>,
}

/// The backend under test, over any number of processes, at one address.
struct Backend {
    command: String,
    address: SocketAddr,
    process: Option<Process>,
    /// It was told to end, and is waited for when the step ends.
    terminated: bool,
}

/// How a client reaches a server.
pub(crate) struct Way {
    pub(crate) server: String,
    pub(crate) ca: Option<String>,
}

impl Stage {
    /// A stage whose backend is started by this command.
    pub(crate) fn new(backend: String) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("conf").tempdir().context("cannot make a folder")?;
        let mut ports = Ports::new();
        let backend = Backend { command: backend, address: ports.free()?, process: None, terminated: false };
        Ok(Self { folder, ports, backend, servers: BTreeMap::new(), future: None })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes sure that a server runs, and its backend.
    pub(crate) async fn raise(&mut self, kind: ServerKind) -> anyhow::Result<Way> {
        if kind == ServerKind::Future {
            if self.future.is_none() {
                self.future = Some(Future::start().await?);
            }
            let server = self.future.as_ref().map(Future::endpoint).unwrap_or_default();
            return Ok(Way { server, ca: None });
        }
        self.backend.start().await?;
        if !self.servers.contains_key(&kind) {
            let folder = self.folder.path().join(format!("{kind:?}").to_lowercase());
            let server = Server::new(kind, folder, &self.backend.address.to_string(), &mut self.ports)?;
            self.servers.insert(kind, server);
        }
        let server = self.server(kind)?;
        server.start().await?;
        let ca = server.ca().map(|file| file.display().to_string());
        Ok(Way { server: server.endpoint().to_owned(), ca })
    }

    /// The server of a scenario that runs.
    pub(crate) fn server(&mut self, kind: ServerKind) -> anyhow::Result<&mut Server> {
        self.servers.get_mut(&kind).with_context(|| format!("the server {kind:?} is not one that can be stopped"))
    }

    /// Stops the backend and starts it again.
    pub(crate) async fn restart_backend(&mut self) -> anyhow::Result<()> {
        self.terminate_backend()?;
        self.backend.await_end().await?;
        self.backend.start().await
    }

    /// Tells the backend to end.
    pub(crate) fn terminate_backend(&mut self) -> anyhow::Result<()> {
        let Some(process) = &self.backend.process else { bail!("there is no backend to end") };
        process.terminate();
        self.backend.terminated = true;
        Ok(())
    }

    /// Ends the backend as a crash does, without starting it again.
    pub(crate) async fn kill_backend(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.backend.process.take() else { bail!("there is no backend to kill") };
        process.kill().await
    }

    pub(crate) async fn start_backend(&mut self) -> anyhow::Result<()> {
        self.backend.start().await
    }

    /// Waits for a backend that was told to end, and starts again what is away.
    pub(crate) async fn mend(&mut self, kind: ServerKind) -> anyhow::Result<()> {
        let ended = if self.backend.terminated { self.backend.await_end().await } else { Ok(()) };
        self.raise(kind).await?;
        ended
    }

    /// Ends everything; what does not end well is an error.
    pub(crate) async fn clear(mut self) -> anyhow::Result<()> {
        for server in self.servers.values_mut() {
            server.stop().await?;
        }
        if self.backend.process.is_some() {
            self.terminate_backend()?;
            self.backend.await_end().await?;
        }
        Ok(())
    }
}

impl Backend {
    async fn start(&mut self) -> anyhow::Result<()> {
        if self.process.is_none() {
            let line = format!("exec {} backend {}", self.command, self.address);
            let mut command = shell(&line);
            self.process = Some(Process::serve("the backend", &mut command, Ready::Output("listening")).await?);
        }
        Ok(())
    }

    async fn await_end(&mut self) -> anyhow::Result<()> {
        self.terminated = false;
        match self.process.take() {
            Some(mut process) => process.end_well().await,
            None => Ok(()),
        }
    }
}

/// A command line of a program under test, without what would tell it of another server.
pub(crate) fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env_remove("TOOLBATCH_SERVER").env_remove("TOOLBATCH_TOKEN");
    command
}
