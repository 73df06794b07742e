//! What all rows are measured with.

use std::{path::PathBuf, time::Duration};

use tempfile::TempDir;
use tonic::transport::Channel;
use toolbatch::{clock::Clock, proto::tool_service_client::ToolServiceClient};

use crate::{
    client::{self, Client, Order, batch},
    disk::Disk,
    process::{Process, role},
    server::Server,
};

/// A backend, a server and their clients, on one disk.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) short: bool,
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) tools: ToolServiceClient<Channel>,
    pub(crate) backend: String,
    pub(crate) disk: Disk,
    tasks: usize,
    _backend: Process,
    folder: TempDir,
}

impl Lab {
    pub(crate) async fn open(short: bool) -> Self {
        // Not where temporary files are: that may be memory.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let file = folder.path().join("news");
        let mut command = role("--backend", &[file.to_str().expect("a path")]);
        let (process, backend) = Process::start(&mut command, |line| Some(line.to_owned()));
        let home = folder.path().join("server");
        std::fs::create_dir(&home).expect("a folder");
        let server = Server::start(&home, &backend);
        let client = Client::connect(&server.endpoint).await;
        let tools = client::tools(&backend).await;
        let disk = Disk::open(&folder.path().join("floor"));
        Self { short, server, client, tools, backend, disk, tasks: 0, _backend: process, folder }
    }

    /// A folder that is not there yet.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How often a thing is measured.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        if self.short { full.div_ceil(5) } else { full }
    }

    /// The name of a task that nobody has used.
    pub(crate) fn task(&mut self) -> String {
        self.tasks += 1;
        format!("task-{}-{}", std::process::id(), self.tasks)
    }

    /// A new server in the place of this one, on a folder of its own.
    pub(crate) async fn restart(&mut self) {
        let home = self.folder("again");
        std::fs::create_dir_all(&home).expect("a folder");
        self.server = Server::start(&home, &self.backend);
        self.client = Client::connect(&self.server.endpoint).await;
    }

    /// How long a batch takes, from the request to the end of its stream.
    pub(crate) async fn batch(&mut self, tool: &str, calls: usize, order: Order) -> Duration {
        let request = batch(&self.task(), tool, calls, order);
        let clock = Clock::start();
        self.client.run(request, |_| {}).await;
        clock.now().mono
    }
}
