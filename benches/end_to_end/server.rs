//! The release binary on a data folder.

use std::{path::Path, process::Command};

use crate::process::Process;

/// A server that ends with its handle.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) endpoint: String,
}

impl Server {
    /// Starts one on `dir`/data, with this tool backend.
    pub(crate) fn start(dir: &Path, backend: &str) -> Self {
        Self::start_with(dir, backend, "")
    }

    /// The same, with what else the configuration says.
    pub(crate) fn start_with(dir: &Path, backend: &str, more: &str) -> Self {
        let config = dir.join("toolbatch.toml");
        let text = format!(
            "listen = \"127.0.0.1:0\"\ndata_dir = \"{}\"\n\n[[backends]]\nname = \"raw\"\naddresses = [\"{backend}\"]\n\n{more}",
            dir.join("data").display()
        );
        std::fs::write(&config, text).expect("a configuration");
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolbatch"));
        command.arg("serve").arg("--config").arg(&config);
        let (process, endpoint) = Process::start(&mut command, |line| {
            let (_, endpoint) = line.split_once("serving endpoint=\"")?;
            Some(endpoint.trim_end_matches('"').to_owned())
        });
        Self { process, endpoint }
    }
}
