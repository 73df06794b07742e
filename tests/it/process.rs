//! The program itself as a process, for what only a process can do: be killed, take signals, end with a code.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use tokio::sync::watch;

use crate::{backend::ScriptedBackend, canary, rig::Client};

/// Only a test that already failed waits this long.
const PATIENCE: Duration = Duration::from_mins(1);

/// `toolbatch serve` on a folder of its own, over any number of processes, with a scripted backend that outlives them.
pub(crate) struct Program {
    pub(crate) backend: ScriptedBackend,
    folder: tempfile::TempDir,
    grace: String,
    environment: Vec<(OsString, OsString)>,
    descriptors: Option<u32>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    log: watch::Receiver<Log>,
    reader: std::thread::JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    ended: bool,
}

/// What can be sent to a process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Terminate,
    Interrupt,
    Kill,
    HangUp,
}

impl Program {
    /// A program whose tools are the stub tools; it is not started.
    pub(crate) async fn new(shutdown_grace: &str) -> Self {
        let backend = ScriptedBackend::start().await;
        let folder = tempfile::tempdir().expect("a folder");
        let grace = shutdown_grace.to_owned();
        let this = Self { backend, folder, grace, environment: Vec::new(), descriptors: None, running: None };
        this.configure("");
        this
    }

    /// Writes the configuration, with this at its end; a process that runs already is not told.
    pub(crate) fn configure(&self, more: &str) {
        let text = format!(
            "listen = \"{}\"\ndata_dir = \"{}\"\nshutdown_grace = \"{}\"\n\n[[backends]]\nname = \"stub\"\n\
             addresses = [\"{}\"]\n\n{more}",
            self.endpoint(),
            self.folder.path().join("data").display(),
            self.grace,
            self.backend.address()
        );
        std::fs::write(self.config(), text).expect("the configuration is written");
    }

    /// What further processes are started with.
    pub(crate) fn set_environment(&mut self, environment: &[(&str, &Path)]) {
        self.environment = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
    }

    /// Adds to the configuration.
    pub(crate) fn append(&self, toml: &str) {
        let text = std::fs::read_to_string(self.config()).expect("it was written");
        std::fs::write(self.config(), format!("{text}\n{toml}")).expect("the configuration is written");
    }

    /// How many descriptors further processes may have.
    pub(crate) fn limit_descriptors(&mut self, most: u32) {
        self.descriptors = Some(most);
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.as_ref().expect("it runs").child.id()
    }

    /// Whether a line of its log so far holds this.
    pub(crate) fn has_logged(&self, part: &str) -> bool {
        let log = self.running.as_ref().expect("it runs").log.borrow();
        log.lines.iter().any(|line| line.contains(part))
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("toolbatch.toml")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    /// Starts a process and waits until it serves.
    pub(crate) async fn start(&mut self) -> Client {
        assert!(self.running.is_none(), "it runs already");
        let program = env!("CARGO_BIN_EXE_toolbatch");
        let mut command = match self.descriptors {
            None => Command::new(program),
            Some(most) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -n {most}; exec \"$0\" \"$@\"")).arg(program);
                shell
            }
        };
        let mut child = command
            .args(["serve", "--config"])
            .arg(self.config())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (sender, log) = watch::channel(Log::default());
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                canary::look(&line);
                sender.send_modify(|log| log.lines.push(line));
            }
            sender.send_modify(|log| log.ended = true);
        });
        self.running = Some(Running { child, log, reader });
        self.logged("serving").await;
        Client::connect(&self.endpoint()).await
    }

    /// Waits until a line of its log holds this.
    pub(crate) async fn logged(&mut self, part: &str) {
        self.logged_times(part, 1).await;
    }

    /// Waits until so many lines of its log hold this.
    pub(crate) async fn logged_times(&mut self, part: &str, times: usize) {
        let log = &mut self.running.as_mut().expect("it runs").log;
        let holds = |log: &Log| log.lines.iter().filter(|line| line.contains(part)).count() >= times;
        let waiting = log.wait_for(|log| log.ended || holds(log));
        let log = tokio::time::timeout(PATIENCE, waiting).await;
        let log = log.unwrap_or_else(|_| panic!("the program never says {part:?}")).expect("the reader lives");
        assert!(holds(&log), "it ended without {part:?}:\n{}", log.lines.join("\n"));
    }

    /// The lines of its log so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.running.as_ref().expect("it runs").log.borrow().lines.clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let name = match signal {
            Signal::Terminate => "TERM",
            Signal::Interrupt => "INT",
            Signal::Kill => "KILL",
            Signal::HangUp => "HUP",
        };
        let pid = self.pid();
        let sent = Command::new("sh").arg("-c").arg(format!("kill -{name} {pid}")).status().expect("there is a shell");
        assert!(sent.success(), "the process is there");
    }

    /// Waits until the process has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let Running { mut child, mut log, reader } = self.running.take().expect("it runs");
        let over = tokio::time::timeout(PATIENCE, log.wait_for(|log| log.ended)).await.is_ok();
        if !over {
            child.kill().expect("it can be killed");
        }
        let status = child.wait().expect("it can be waited for");
        reader.join().expect("the reader does not panic");
        let log = log.borrow().lines.join("\n");
        assert!(over, "the program does not end:\n{log}");
        assert!(!log.contains("panicked at"), "the program panicked:\n{log}");
        canary::must_be_caged();
        status
    }

    /// Ends it as a crash does.
    pub(crate) async fn crash(&mut self) {
        self.signal(Signal::Kill);
        self.ended().await;
    }
}

/// How much of a process is in memory.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // It may have ended by itself.
            let _ = running.child.kill();
            let _ = running.child.wait();
            canary::must_be_caged();
        }
    }
}
