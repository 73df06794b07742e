//! The server's configuration: a checked value, made from a TOML file or from the defaults.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// Everything that `toolbatch serve` can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where clients connect to.
    pub listen: Listen,
    /// The folder of the embedded store.
    pub data_dir: PathBuf,
    /// How long running calls may finish after SIGTERM.
    pub shutdown_grace: Duration,
    /// Bound on one attempt of one call, where neither the batch nor the tool sets one.
    pub call_timeout: Duration,
    /// Listen beyond loopback and Unix sockets although nobody is asked for a token.
    pub insecure: bool,
    /// Tools that no batch may call: names, or prefixes that end in `*`.
    pub not_batchable: Vec<String>,
    /// The tool backends.
    pub backends: Vec<Backend>,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `127.0.0.1:50051`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `unix:/run/toolbatch.sock`.
    Unix(PathBuf),
}

/// A tool backend of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// Its replicas: `http://127.0.0.1:7001`, `unix:/run/tools.sock`.
    pub addresses: Vec<String>,
}
