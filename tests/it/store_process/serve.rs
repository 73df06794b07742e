//! The server as a process of its own, from the binary that users run.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::JoinHandle,
};

use tonic::transport::Channel;

use crate::rig::connect;

/// A server that runs. Dropped, it is killed.
pub(crate) struct Process {
    child: Child,
    /// Reads what it writes, so that it never waits for us.
    log: Option<JoinHandle<String>>,
    socket: PathBuf,
}

/// A process that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Process {
    /// Starts a server whose socket and configuration are in `dir`. Gives it back once it serves, or what it said instead.
    pub(crate) fn serve(dir: &Path, data_dir: &Path, more: &str) -> Result<Self, Ended> {
        let socket = dir.join("server.sock");
        let config = dir.join("toolbatch.toml");
        let text = format!("listen = \"unix:{}\"\ndata_dir = \"{}\"\n{more}", socket.display(), data_dir.display());
        fs::write(&config, text).expect("a configuration");
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolbatch"))
            .args(["serve", "--config"])
            .arg(&config)
            .env_remove("TOOLBATCH_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut said = String::new();
        loop {
            let length = stderr.read_line(&mut said).expect("its log is read");
            if length == 0 {
                let code = child.wait().expect("it ends").code();
                return Err(Ended { code, stderr: said });
            }
            if said.lines().last().is_some_and(|line| line.contains(" serving ")) {
                break;
            }
        }
        let log = std::thread::spawn(move || {
            let _ = stderr.read_to_string(&mut said);
            said
        });
        Ok(Self { child, log: Some(log), socket })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) async fn connect(&self) -> Channel {
        connect(&format!("unix:{}", self.socket.display())).await
    }

    /// kill -9. The process is gone on return.
    pub(crate) fn kill(mut self) {
        self.end_now();
    }

    /// SIGTERM, and the end that it brings.
    pub(crate) fn stop(mut self) -> Ended {
        let sent = Command::new("kill").arg(self.pid().to_string()).status();
        assert!(sent.expect("kill runs").success());
        let code = self.child.wait().expect("it ends").code();
        let stderr = self.log.take().expect("it is read once").join().expect("its log is read");
        Ended { code, stderr }
    }

    fn end_now(&mut self) {
        // One that has ended is as gone as one that is killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_now();
    }
}
