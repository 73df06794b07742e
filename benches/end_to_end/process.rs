//! The processes beside this one.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

/// A process that ends with its handle.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts `command` and waits for the first line that `found` makes something of, on its output or in its log.
    pub(crate) fn start<T>(command: &mut Command, found: impl Fn(&str) -> Option<T>) -> (Self, T) {
        // One pipe for both.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        command.stdin(Stdio::null()).stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        let child = command.spawn().expect("a process");
        let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
        let found = lines.find_map(|line| found(&line)).expect("it says where it listens");
        // It must not wait for a reader of its log.
        std::thread::spawn(move || lines.for_each(drop));
        (Self { child }, found)
    }

    /// Waits until it ends by itself.
    pub(crate) fn ended(mut self) {
        assert!(self.child.wait().expect("it ends").success());
    }

    /// What it has in memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says how much");
        let kib: u64 = line.trim().trim_end_matches(" kB").trim().parse().expect("a number of KiB");
        kib * 1_024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This program in another role.
pub(crate) fn role(name: &str, values: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.arg(name).args(values);
    command
}
