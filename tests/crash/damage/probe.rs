//! What a server makes of a folder: all is there, it refuses, or it says what is lost.

use std::collections::BTreeMap;

use tonic::{Code, Status};
use toolbatch::proto::{BatchEvent, BatchOptions, CallResult, CallStatus, ExecuteBatchRequest, batch_event::Event};

use super::original::{Finished, Original, in_task};
use crate::{
    client::Client,
    load::{batch, calls},
    process::{PATIENCE, Server},
};

/// The exit code of a server whose store is refused.
const REFUSED: i32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Every event, result and key is there.
    Whole,
    /// The server does not start, and says why.
    Refused,
    /// Some of it is answered with `DATA_LOSS`; all the rest is there.
    Lost,
}

/// Starts a server on a folder that is on its disk already, and asks for all that is known of it.
pub(super) async fn probe(original: &Original, server: &mut Server, image: usize) -> Result<Outcome, Vec<String>> {
    server.start();
    if !server.serves().await {
        let code = server.ended().await.code();
        let mut faults = refusal(server);
        faults.extend((code != Some(REFUSED)).then(|| format!("it ended with {code:?}")));
        return if faults.is_empty() { Ok(Outcome::Refused) } else { Err(faults) };
    }
    let mut asked = Asked { client: original.client(server.endpoint()), lost: false, faults: Vec::new() };
    if tokio::time::timeout(PATIENCE, asked.everything(original, image)).await.is_err() {
        asked.faults.push("an answer never came".to_owned());
    }
    asked.faults.extend(server.panics());
    server.kill();
    match asked {
        Asked { faults, .. } if !faults.is_empty() => Err(faults),
        Asked { lost: true, .. } => Ok(Outcome::Lost),
        Asked { .. } => Ok(Outcome::Whole),
    }
}

/// A refusal is one line, after nothing but the log's own lines: it names a file or folder, and says what to do.
fn refusal(server: &Server) -> Vec<String> {
    let (log, data) = (server.log(), server.data().display().to_string());
    let is_of_the_log = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    let said: Vec<&str> = log.lines().filter(|line| !is_of_the_log(line)).collect();
    match said[..] {
        [line] if line.starts_with("toolbatch: ") && line.contains(&data) && line.contains("; ") => Vec::new(),
        _ => vec![format!("the refusal is {said:#?}")],
    }
}

/// What was asked of a server, and how it went.
struct Asked {
    client: Client,
    lost: bool,
    faults: Vec<String>,
}

impl Asked {
    async fn everything(&mut self, original: &Original, image: usize) {
        for finished in &original.finished {
            let log = self.client.prefix(&finished.request.batch_id, u64::MAX).await;
            if let Some(log) = self.known(&finished.request.batch_id, log)
                && log != finished.log
            {
                self.faults.push(format!("the log of {} is another one: {log:?}", finished.request.batch_id));
            }
            self.results(finished).await;
            self.keys(finished, image).await;
        }
        if let Some(unfinished) = &original.unfinished {
            self.goes_on(unfinished).await;
        }
        self.nothing_ran_again(original);
    }

    /// An answer, unless it was `DATA_LOSS`.
    fn known<T>(&mut self, what: &str, answer: Result<T, Status>) -> Option<T> {
        match answer {
            Ok(known) => Some(known),
            Err(status) if status.code() == Code::DataLoss => {
                self.lost = true;
                None
            }
            Err(status) => {
                self.faults.push(format!("{what}: {status:?}"));
                None
            }
        }
    }

    /// Results that the log does not show.
    async fn results(&mut self, finished: &Finished) {
        for result in results(&finished.log).filter(|result| result.result_omitted) {
            let kept = self.client.result(&result.step_id).await;
            let expected = answer(&finished.request, result.index);
            if let Some(kept) = self.known(&result.step_id, kept)
                && kept != expected.as_bytes()
            {
                self.faults.push(format!("step {}: {} bytes of another content", result.step_id, kept.len()));
            }
        }
    }

    /// The same calls again, in another batch: all of them are skipped, and show what the first ones answered.
    async fn keys(&mut self, finished: &Finished, image: usize) {
        let Finished { request, log } = finished;
        let again =
            batch(&format!("{} again {image}", request.batch_id), calls(request).to_vec(), BatchOptions::default());
        let events = self.client.events(&in_task(&request.task_id, again)).await;
        let Some(events) = self.known(&request.batch_id, events) else { return };
        let before: BTreeMap<u32, &CallResult> = results(log).map(|result| (result.index, result)).collect();
        let now: BTreeMap<u32, &CallResult> = results(&events).map(|result| (result.index, result)).collect();
        for (index, before) in before {
            let same = now.get(&index).is_some_and(|now| {
                now.status() == CallStatus::Skipped
                    && now.result_json == before.result_json
                    && now.step_id == before.step_id
            });
            if !same {
                self.faults.push(format!(
                    "{}/{index} was {before:?}, now it is {:?}",
                    request.batch_id,
                    now.get(&index)
                ));
            }
        }
    }

    async fn goes_on(&mut self, unfinished: &Finished) {
        let Finished { request, log: seen } = unfinished;
        let log = self.client.prefix(&request.batch_id, u64::MAX).await;
        let Some(log) = self.known(&request.batch_id, log) else { return };
        let ended = matches!(log.last().and_then(|event| event.event.as_ref()), Some(Event::BatchFinished(_)));
        if !ended || !log.starts_with(seen) {
            self.faults.push(format!("{} did not go on after {seen:?}: {log:?}", request.batch_id));
        }
    }

    fn nothing_ran_again(&mut self, original: &Original) {
        let finished = original.finished_keys();
        let mut ran = BTreeMap::new();
        for entry in original.backend.journal().entries() {
            *ran.entry((entry.task_id, entry.key)).or_insert(0) += 1;
        }
        let again = ran.iter().filter(|((task, key), times)| **times > 1 && finished.contains_key(&(task, key)));
        self.faults.extend(again.map(|((task, key), times)| format!("I1: {key} of {task} ran {times} times")));
    }
}

fn results(log: &[BatchEvent]) -> impl Iterator<Item = &CallResult> {
    log.iter().filter_map(|event| match &event.event {
        Some(Event::CallFinished(finished)) => finished.result.as_ref(),
        _ => None,
    })
}

/// What `blob` answers to a call.
fn answer(request: &ExecuteBatchRequest, index: u32) -> String {
    let args: serde_json::Value =
        serde_json::from_str(&calls(request)[index as usize].args_json).expect("the test wrote it");
    let bytes = usize::try_from(args["bytes"].as_u64().expect("it asks for so many")).expect("it is small");
    format!("\"{}\"", "x".repeat(bytes - 2))
}
