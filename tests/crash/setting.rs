//! A server, its backend, and what a run leaves behind.

use toolbatch::proto::{CallStatus, ExecuteBatchRequest};

use crate::{
    backend::{Lookup, ScriptedBackend},
    check::{Evidence, Story, check},
    client::{Client, Stream},
    load::calls,
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

    /// I2: results that are not in the log are kept as they came. `blob` answers as many bytes as it is asked for.
    pub(crate) async fn lost_results(&self, evidence: &Evidence) -> Vec<String> {
        let client = self.client();
        let mut lost = Vec::new();
        for story in &evidence.stories {
            for (index, done) in story.fold().calls {
                let call = &calls(&story.request)[index as usize];
                let Some(result) = done.result.filter(|_| call.tool == "blob") else { continue };
                if result.status() != CallStatus::Completed {
                    continue;
                }
                let args: serde_json::Value = serde_json::from_str(&call.args_json).expect("the test wrote it");
                let bytes = usize::try_from(args["bytes"].as_u64().unwrap_or(0)).expect("it is small");
                let expected = format!("\"{}\"", "x".repeat(bytes.saturating_sub(2)));
                match client.result(&result.step_id).await {
                    Ok(kept) if kept == expected.as_bytes() => {}
                    other => {
                        lost.push(format!(
                            "I2: {}/{index}: {:?}",
                            story.request.batch_id,
                            other.map(|kept| kept.len())
                        ));
                    }
                }
            }
        }
        lost
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
