//! The real server, as a process that can be killed.

use std::{
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::watch;

use crate::backend::ScriptedBackend;

/// Only a test that already failed waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What is kept of the server's log, to show it when a test fails.
const LOG_KEPT: usize = 400;

/// Where the server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Starting,
    Serving,
    Ended,
}

/// A server on a folder of its own, over any number of processes.
#[derive(Debug)]
pub(crate) struct Server {
    dir: tempfile::TempDir,
    environment: Vec<(String, String)>,
    running: Option<Running>,
    stage: watch::Sender<Stage>,
    log: Arc<Mutex<Vec<String>>>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    reader: JoinHandle<()>,
}

impl Server {
    /// A server whose tools are those of this backend. It is not started.
    pub(crate) fn new(backend: &ScriptedBackend) -> Self {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let this = Self {
            dir,
            environment: Vec::new(),
            running: None,
            stage: watch::Sender::new(Stage::Ended),
            log: Arc::default(),
        };
        let text = format!(
            "listen = \"unix:{}\"\ndata_dir = \"{}\"\nshutdown_grace = \"5s\"\n\n[[backends]]\nname = \"stub\"\n\
             addresses = [\"{}\"]\n",
            this.socket().display(),
            this.data().display(),
            backend.address()
        );
        std::fs::write(this.dir.path().join("toolbatch.toml"), text).expect("the configuration can be written");
        this
    }

    /// What further processes are started with.
    pub(crate) fn set_environment(&mut self, environment: Vec<(String, String)>) {
        self.environment = environment;
    }

    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    /// Starts a process, and does not wait for it.
    pub(crate) fn start(&mut self) {
        assert!(self.running.is_none(), "it runs already");
        self.stage.send_replace(Stage::Starting);
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolbatch"))
            .arg("serve")
            .arg("--config")
            .arg(self.dir.path().join("toolbatch.toml"))
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (log, stage) = (Arc::clone(&self.log), self.stage.clone());
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if line.contains("serving endpoint=") {
                    stage.send_replace(Stage::Serving);
                }
                let mut log = log.lock().expect("no reader panics");
                if log.len() == LOG_KEPT {
                    // Panics are kept, whatever follows.
                    let place = log.iter().position(|line| !is_panic(line)).unwrap_or(0);
                    log.remove(place);
                }
                log.push(line);
            }
            stage.send_replace(Stage::Ended);
        });
        self.running = Some(Running { child, reader });
    }

    /// Waits until it serves.
    pub(crate) async fn ready(&self) {
        let stage = self.settled().await;
        assert_eq!(stage, Stage::Serving, "the server did not start:\n{}", self.log());
    }

    /// Waits until it serves or has ended; gives whether it serves.
    pub(crate) async fn serves(&self) -> bool {
        self.settled().await == Stage::Serving
    }

    async fn settled(&self) -> Stage {
        let mut stage = self.stage.subscribe();
        let waiting = stage.wait_for(|stage| *stage != Stage::Starting);
        let Ok(stage) = tokio::time::timeout(PATIENCE, waiting).await else {
            panic!("the server neither starts nor ends:\n{}", self.log());
        };
        *stage.expect("the server has its sender")
    }

    /// Waits until it has ended by itself.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let mut stage = self.stage.subscribe();
        let waiting = stage.wait_for(|stage| *stage == Stage::Ended);
        assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "the server does not end:\n{}", self.log());
        self.reap()
    }

    /// Kills it as `kill -9` does; gone on return.
    pub(crate) fn kill(&mut self) {
        self.running.as_mut().expect("it runs").child.kill().expect("it can be killed");
        let status = self.reap();
        assert!(status.signal() == Some(9), "the server ended by itself, {status}:\n{}", self.log());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.as_ref().expect("it runs").child.id()
    }

    /// Sends it SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        let sent = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.pid())]).status();
        assert!(sent.is_ok_and(|status| status.success()), "SIGTERM cannot be sent");
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) async fn stop(&mut self) {
        self.ask_to_stop();
        let status = self.ended().await;
        assert!(status.success(), "the server stopped with {status}:\n{}", self.log());
    }

    fn reap(&mut self) -> ExitStatus {
        let Running { mut child, reader } = self.running.take().expect("it runs");
        let status = child.wait().expect("it can be waited for");
        reader.join().expect("the reader does not panic");
        status
    }

    /// What it wrote last, over all its processes.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no reader panics").join("\n")
    }

    /// The lines that tell of a panic, over all its processes.
    pub(crate) fn panics(&self) -> Vec<String> {
        self.log.lock().expect("no reader panics").iter().filter(|line| is_panic(line)).cloned().collect()
    }
}

fn is_panic(line: &str) -> bool {
    line.contains("panicked at")
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // It may have ended by itself.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}
