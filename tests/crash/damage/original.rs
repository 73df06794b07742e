//! Folders that are going to be damaged, and what their servers had told by then.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use bytes::Bytes;
use toolbatch::proto::{BatchEvent, BatchMode, BatchOptions, ExecuteBatchRequest, ToolCall, batch_event::Event};

use crate::{
    backend::ScriptedBackend,
    client::{Client, Return, finishes},
    load::{batch, call, calls},
    power::write_sparse,
    setting::Setting,
};

/// Results that are kept in files of their own: in one frame, and in three.
const LARGE_BYTES: [usize; 2] = [20_000, 600_000];

/// A folder as it was left, by the paths of its files from there. Folders end with a slash.
pub(super) type Files = BTreeMap<String, Bytes>;

/// A batch that has ended.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    pub(super) request: ExecuteBatchRequest,
    pub(super) log: Vec<BatchEvent>,
}

#[derive(Clone, Debug)]
pub(super) struct Original {
    pub(super) name: &'static str,
    pub(super) files: Files,
    pub(super) backend: Arc<ScriptedBackend>,
    pub(super) finished: Vec<Finished>,
    /// A batch that was interrupted in its second call, and what its client had seen.
    pub(super) unfinished: Option<Finished>,
}

/// A server's life up to the moment when its folder is taken.
#[derive(Debug)]
pub(super) struct Life {
    setting: Setting,
    finished: Vec<Finished>,
    unfinished: Option<Finished>,
}

impl Life {
    /// Batches of `calls` keyed calls, each in a task of its own; the first two have a large result, too.
    pub(super) async fn begin(tasks: usize, calls: usize) -> Self {
        let mut this = Self { setting: Setting::started().await, finished: Vec::new(), unfinished: None };
        for task in 0..tasks {
            this.work(&format!("task {task}"), calls, LARGE_BYTES.get(task).copied()).await;
        }
        this
    }

    /// Runs one more batch, in a new task, to its end.
    pub(super) async fn work(&mut self, task: &str, calls: usize, large: Option<usize>) {
        let small = (0..calls).map(|n| keyed("echo", &format!("{task}/{n}"), ""));
        let large = large.map(|bytes| keyed("blob", &format!("{task}/large"), &format!(r#","bytes":{bytes}"#)));
        let options = BatchOptions { mode: BatchMode::Parallel.into(), max_concurrency: 8, ..BatchOptions::default() };
        let request = in_task(task, batch(&format!("of {task}"), small.chain(large).collect(), options));
        let client = self.setting.client();
        client.run(&request, Return::Watch).await;
        let log = client.replay(&request.batch_id).await;
        self.finished.push(Finished { request, log });
    }

    pub(super) async fn stop(&mut self) {
        self.setting.server.stop().await;
    }

    pub(super) async fn start(&mut self) {
        self.setting.restart();
        self.setting.server.ready().await;
    }

    /// Kills it as `kill -9` does, in the middle of a batch of a task that has others.
    pub(super) async fn kill(&mut self) {
        let held = ["first", "held", "last"].map(|name| keyed("echo", name, "")).to_vec();
        let request = in_task("task 0", batch("unfinished", held, BatchOptions::default()));
        let gate = self.setting.backend.hold("held");
        let client = self.setting.client();
        let begins =
            |event: &BatchEvent| matches!(&event.event, Some(Event::CallStarted(started)) if started.index == 1);
        let seen = client.execute(&request, |event| !begins(event)).await;
        self.setting.kill().await;
        gate.release();
        let log = seen.events.into_iter().map(|seen| seen.event).filter(|event| event.sequence > 0).collect();
        self.unfinished = Some(Finished { request, log });
    }

    pub(super) fn end(self, name: &'static str) -> Original {
        let Self { setting, finished, unfinished } = self;
        let mut files = Files::new();
        read(&setting.server.data(), "", &mut files);
        Original { name, files, backend: Arc::new(setting.backend), finished, unfinished }
    }
}

impl Original {
    /// The keys of calls that had finished, by task.
    pub(super) fn finished_keys(&self) -> BTreeMap<(&str, &str), &Finished> {
        let of_batch = |batch: &'_ Finished| {
            let ended: Vec<usize> = batch.log.iter().filter_map(finishes).map(|index| index as usize).collect();
            ended
        };
        let mut keys = BTreeMap::new();
        for batch in self.finished.iter().chain(&self.unfinished) {
            for index in of_batch(batch) {
                keys.insert((batch.request.task_id.as_str(), calls(&batch.request)[index].key.as_str()), batch);
            }
        }
        keys
    }

    pub(super) fn client(&self, endpoint: String) -> Client {
        Client::new(endpoint, self.backend.journal().clone())
    }
}

/// The id that the backend is told is the key.
fn keyed(tool: &str, key: &str, more: &str) -> ToolCall {
    ToolCall { key: key.to_owned(), ..call(tool, &format!(r#"{{"id":"{key}"{more}}}"#)) }
}

pub(super) fn in_task(task: &str, request: ExecuteBatchRequest) -> ExecuteBatchRequest {
    ExecuteBatchRequest { task_id: task.to_owned(), ..request }
}

fn read(folder: &Path, below: &str, files: &mut Files) {
    for entry in fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        let name = format!("{below}{}", path.file_name().expect("it has a name").to_string_lossy());
        if path.is_dir() {
            files.insert(format!("{name}/"), Bytes::new());
            read(&path, &format!("{name}/"), files);
        } else if path.is_file() {
            files.insert(name, fs::read(&path).expect("it can be read").into());
        }
    }
}

/// Puts a folder on the disk.
pub(super) fn write(files: &Files, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for (name, content) in files {
        if name.ends_with('/') {
            fs::create_dir_all(to.join(name)).expect("a folder can be made");
        } else {
            write_sparse(&to.join(name), content);
        }
    }
}
