//! A server, its backend, and what a run leaves behind.

use toolbatch::proto::ExecuteBatchRequest;

use crate::{
    backend::{Lookup, ScriptedBackend},
    check::{Evidence, Story, check},
    client::{Client, Stream},
    process::Server,
};

/// How many findings are shown, and how much of each.
const FINDINGS_SHOWN: usize = 10;
const FINDING_SHOWN: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) backend: ScriptedBackend,
    pub(crate) server: Server,
    kills: Vec<usize>,
}

impl Setting {
    /// A backend that can tell what became of a call, and a server that is not started.
    pub(crate) async fn new() -> Self {
        let backend = ScriptedBackend::start().await;
        backend.answer_lookups(Lookup::Journaled);
        let server = Server::new(&backend);
        Self { backend, server, kills: Vec::new() }
    }

    /// The same, started.
    pub(crate) async fn started() -> Self {
        let mut this = Self::new().await;
        this.server.start();
        this.server.ready().await;
        this
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.endpoint(), self.backend.journal().clone())
    }

    /// Kills the server, and waits until the backend has noticed: what ran then has ended.
    pub(crate) async fn kill(&mut self) {
        self.server.kill();
        self.note_kill().await;
    }

    /// The server was killed by something else.
    pub(crate) async fn note_kill(&mut self) {
        self.kills.push(self.backend.journal().stamp());
        self.backend.journal().wait_for(|entries| entries.iter().all(|entry| entry.end.is_some())).await;
    }

    pub(crate) fn restart(&mut self) {
        self.server.start();
    }

    /// What is known of these batches, all of which have ended.
    pub(crate) async fn evidence(&self, batches: Vec<(ExecuteBatchRequest, Vec<Stream>)>) -> Evidence {
        let client = self.client();
        let mut stories = Vec::with_capacity(batches.len());
        for (request, streams) in batches {
            let log = client.replay(&request.batch_id).await;
            let state = client.get_batch(&request.batch_id).await;
            stories.push(Story { request, streams, log, state });
        }
        let journal = self.backend.journal();
        Evidence { journal: journal.entries(), asked: journal.asked(), stories, kills: self.kills.clone() }
    }

    /// Fails the test where a promise was broken.
    pub(crate) fn judge(&self, evidence: &Evidence, what: &str) {
        let mut found = check(evidence);
        found.extend(self.server.panics());
        let shorten = |finding: &String| finding.chars().take(FINDING_SHOWN).collect::<String>();
        let shown: Vec<String> = found.iter().take(FINDINGS_SHOWN).map(shorten).collect();
        let (number, log) = (found.len(), self.server.log());
        assert!(found.is_empty(), "{what}: {number} findings:\n{shown:#?}\nthe server's log:\n{log}");
    }
}
