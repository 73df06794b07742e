//! A tool backend for tests: it keeps a journal, holds calls until the test lets them go, and can crash.
#![allow(dead_code, unused_imports, reason = "two test binaries share it, and each uses a part")]

mod journal;
mod script;
mod server;
pub(crate) mod wire;

use std::{path::Path, sync::Arc};

use tokio::sync::watch;
use toolbatch::{config, proto::Tool};

pub(crate) use self::{
    journal::{Asked, Entry, Journal},
    script::{Lookup, stub_tools, tool, tool_with_schema},
};
use self::{
    script::Script,
    server::{Listen, Running},
};

/// A backend that serves the stub tools, on a thread of its own. Dropped, it goes on serving until the test process ends.
#[derive(Debug)]
pub(crate) struct ScriptedBackend {
    script: Arc<Script>,
    address: String,
    listen: Listen,
    running: Option<Running>,
}

impl ScriptedBackend {
    /// Serves all stub tools on a free port.
    pub(crate) async fn start() -> Self {
        Self::start_with(stub_tools()).await
    }

    /// Serves stub tools by a list of the test's own.
    pub(crate) async fn start_with(tools: Vec<Tool>) -> Self {
        Self::start_on(Listen::Port(0), tools).await
    }

    /// Serves all stub tools on a Unix socket.
    pub(crate) async fn start_on_socket(path: &Path) -> Self {
        Self::start_on(Listen::Socket(path.to_owned()), stub_tools()).await
    }

    async fn start_on(listen: Listen, tools: Vec<Tool>) -> Self {
        let script = Arc::new(Script::new(tools));
        let running = Running::start(listen, script.clone()).await;
        Self { script, address: running.address.clone(), listen: running.listen.clone(), running: Some(running) }
    }

    /// `http://127.0.0.1:PORT` or `unix:PATH`; the same after a restart.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// A backend of the configuration that has this one address.
    pub(crate) fn config(&self, name: &str) -> config::Backend {
        config::Backend { name: name.to_owned(), addresses: vec![self.address.clone()], ..config::Backend::default() }
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.script.journal
    }

    /// Lists these tools from now on; a client sees them when it asks again.
    pub(crate) fn set_tools(&self, tools: Vec<Tool>) {
        self.script.set_tools(tools);
    }

    /// Says of its health from now on whether it serves; until then it tells nothing.
    pub(crate) fn set_serves(&self, serves: bool) {
        self.script.set_serves(serves);
    }

    /// Answers `LookupCall` so from now on; until then it is unimplemented.
    pub(crate) fn answer_lookups(&self, lookup: Lookup) {
        self.script.set_lookup(lookup);
    }

    /// The idempotency keys that `LookupCall` was asked for.
    pub(crate) fn lookups(&self) -> Vec<String> {
        self.script.lookups()
    }

    /// Holds every call of a tool, or with an `id`, after it was journaled and before it answers. `reports` holds what calls of
    /// `progress` report, before they are journaled.
    pub(crate) fn hold(&self, tool_or_id: &str) -> Held {
        let (number, open) = self.script.add_gate(tool_or_id);
        Held { script: self.script.clone(), number, open }
    }

    /// Dies at once: connections are cut, calls in flight never answer, the port is closed on return.
    pub(crate) async fn crash(&mut self) {
        self.running.take().expect("it runs").kill().await;
    }

    /// Comes back at the same address, with its journal.
    pub(crate) async fn restart(&mut self) {
        assert!(self.running.is_none(), "it runs already");
        self.running = Some(Running::start(self.listen.clone(), self.script.clone()).await);
    }
}

/// Calls that are held. Dropped or released, it lets them go, and holds no more.
#[derive(Debug)]
pub(crate) struct Held {
    script: Arc<Script>,
    number: u64,
    open: watch::Sender<bool>,
}

impl Held {
    /// Lets them go.
    pub(crate) fn release(self) {
        drop(self);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.script.remove_gate(self.number);
        self.open.send_replace(true);
    }
}
