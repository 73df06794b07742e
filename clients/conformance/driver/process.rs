//! Programs as processes: started, told things, watched, ended.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{SyncSender, sync_channel},
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::{mpsc, watch};

use crate::matching::shorten;

/// What only a program that hangs takes so long for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How many lines of a log are kept.
const LOG_LINES: usize = 200;
/// Lines that wait in each direction.
const WAITING_LINES: usize = 256;

#[derive(Debug, Default)]
struct Log {
    lines: VecDeque<String>,
    /// A line held the word that was waited for.
    ready: bool,
}

impl Log {
    fn take(&mut self, line: &str, word: &str) {
        if self.lines.len() == LOG_LINES {
            self.lines.pop_front();
        }
        self.ready |= line.contains(word);
        self.lines.push_back(shorten(line));
    }
}

/// A process; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    name: &'static str,
    pid: Pid,
    log: watch::Receiver<Log>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// A process that is asked by lines and answers by lines.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) process: Process,
    questions: Option<SyncSender<String>>,
    answers: mpsc::Receiver<String>,
}

/// Where the word stands that says that a server is ready.
pub(crate) enum Ready {
    Output(&'static str),
    Error(&'static str),
}

impl Process {
    /// Starts a server and waits until it says that it is ready.
    pub(crate) async fn serve(name: &'static str, command: &mut Command, ready: Ready) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}: {command:?}"))?;
        let (log, receiver) = watch::channel(Log::default());
        let no_word = "\n";
        let (in_output, in_error) = match ready {
            Ready::Output(word) => (word, no_word),
            Ready::Error(word) => (no_word, word),
        };
        keep(child.stdout.take(), log.clone(), in_output);
        keep(child.stderr.take(), log, in_error);
        let mut this = Self::watch(name, child, receiver)?;
        this.become_ready().await?;
        Ok(this)
    }

    fn watch(name: &'static str, mut child: Child, log: watch::Receiver<Log>) -> anyhow::Result<Self> {
        let pid = Pid::from_child(&child);
        let (sender, ended) = watch::channel(None);
        let wait = move || {
            // The status of a child of one's own can be had, and only here is it asked for.
            let status = child.wait().ok();
            sender.send_replace(status);
        };
        std::thread::Builder::new().name(format!("wait for {name}")).spawn(wait)?;
        Ok(Self { name, pid, log, ended })
    }

    async fn become_ready(&mut self) -> anyhow::Result<()> {
        let mut ended = self.ended.clone();
        let ready = async {
            if self.log.wait_for(|log| log.ready).await.is_ok() {
                return true;
            }
            // Its outputs are closed; its end says why.
            let _ = ended.wait_for(Option::is_some).await;
            false
        };
        match tokio::time::timeout(PATIENCE, ready).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.error("ended before it was ready")),
            Err(_) => Err(self.error("does not say that it is ready")),
        }
    }

    /// What it did wrong, with the last lines of its log.
    pub(crate) fn error(&self, what: &str) -> anyhow::Error {
        let log = self.log.borrow();
        let lines: Vec<_> = log.lines.iter().map(|line| format!("\n    | {line}")).collect();
        let last = &lines[lines.len().saturating_sub(20)..];
        let status = self.ended.borrow().map_or(String::new(), |status| format!(" ({status})"));
        anyhow!("{} {what}{status}{}", self.name, last.concat())
    }

    fn signal(&self, signal: Signal) {
        if self.ended.borrow().is_none() {
            // It may end at this very moment.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// SIGTERM; what comes of it is not waited for.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Waits until it has ended.
    pub(crate) async fn end(&mut self) -> anyhow::Result<ExitStatus> {
        let ended = tokio::time::timeout(PATIENCE, self.ended.wait_for(Option::is_some)).await;
        match ended.map(|status| status.ok().and_then(|status| *status)) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => bail!("{} was lost", self.name),
            Err(_) => Err(self.error(&format!("does not end within {} s", PATIENCE.as_secs()))),
        }
    }

    /// Waits for a graceful end.
    pub(crate) async fn end_well(&mut self) -> anyhow::Result<()> {
        let status = self.end().await?;
        if status.success() { Ok(()) } else { Err(self.error("did not end with code 0")) }
    }

    /// SIGKILL, and its end.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::KILL);
        self.end().await.map(|_| ())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Talk {
    /// Starts a program that answers.
    pub(crate) fn start(name: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}: {command:?}"))?;
        let (log, receiver) = watch::channel(Log::default());
        keep(child.stderr.take(), log, "\n");
        let (questions, asked) = sync_channel::<String>(WAITING_LINES);
        let mut input = child.stdin.take().context("its input is piped")?;
        std::thread::spawn(move || {
            // A program that no longer reads has ended, which is told by its output.
            while let Ok(line) = asked.recv()
                && input.write_all(line.as_bytes()).and_then(|()| input.flush()).is_ok()
            {}
        });
        let (answered, answers) = mpsc::channel(WAITING_LINES);
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if answered.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { process: Process::watch(name, child, receiver)?, questions: Some(questions), answers })
    }

    /// Sends one line. Only a program that reads nothing at all makes it fail.
    pub(crate) fn ask(&self, line: &str) -> anyhow::Result<()> {
        let sent = self.questions.as_ref().is_some_and(|questions| questions.try_send(format!("{line}\n")).is_ok());
        if sent { Ok(()) } else { Err(self.process.error("takes no requests")) }
    }

    /// The next line; an error where its output has ended.
    pub(crate) async fn answer(&mut self) -> anyhow::Result<String> {
        if let Some(line) = self.answers.recv().await {
            return Ok(line);
        }
        // Its end explains more than the end of its output.
        let _ = self.process.end().await;
        Err(self.process.error("ended its output without an end of what it was asked"))
    }

    /// A line that is there although nothing was asked.
    pub(crate) fn stray(&mut self) -> Option<String> {
        self.answers.try_recv().ok()
    }

    /// Ends its input, and waits until it has ended by itself.
    pub(crate) async fn finish(mut self) -> anyhow::Result<()> {
        self.questions = None;
        match tokio::time::timeout(PATIENCE, self.answers.recv()).await {
            Ok(None) => self.process.end_well().await,
            Ok(Some(line)) => bail!("{} wrote more than it was asked for: {}", self.process.name, shorten(&line)),
            Err(_) => Err(self.process.error("does not end although its input has ended")),
        }
    }
}

/// Keeps the last lines of an output as a log, for as long as there is one.
fn keep(output: Option<impl Read + Send + 'static>, log: watch::Sender<Log>, word: &'static str) {
    let Some(output) = output else { return };
    std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line);
            log.send_modify(|log| log.take(text.trim_end(), word));
            line.clear();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn a_server_is_ready_when_it_says_so_and_ends_when_told() {
        let mut command = shell("trap 'exit 0' TERM; echo listening; while :; do sleep 0.01; done");
        let mut process = Process::serve("it", &mut command, Ready::Output("listening")).await.unwrap();
        process.terminate();
        process.end_well().await.unwrap();
        let failed = Process::serve("it", &mut shell("echo why >&2; exit 3"), Ready::Error("serving")).await;
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("it ended before it was ready") && error.contains("exit status: 3"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_answers_is_asked_line_by_line() {
        let mut talk = Talk::start("it", &mut shell("while read line; do echo \"<$line>\"; done")).unwrap();
        for line in ["one", "two"] {
            talk.ask(line).unwrap();
            assert_eq!(talk.answer().await.unwrap(), format!("<{line}>"));
        }
        talk.finish().await.unwrap();
        let mut talk = Talk::start("it", &mut shell("echo lost >&2; exit 4")).unwrap();
        let error = talk.answer().await.unwrap_err().to_string();
        assert!(error.contains("exit status: 4"), "{error}");
    }
}
