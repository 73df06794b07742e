//! REPLACED BY THE MERGE: only the signatures that the commands are written against. Take the other branch's file.

use crate::{config::Config, store};

/// A running server.
#[derive(Debug)]
pub struct Server {
    endpoint: String,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration asks for what cannot be, such as an address that is taken.
    #[error("{0}")]
    Config(String),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Server {
    /// Starts a server.
    #[allow(clippy::unused_async, reason = "the signature of the real one")]
    pub async fn start(config: Config) -> Result<Self, StartError> {
        Err(StartError::Config(format!("the server is not part of this branch; it would listen on {}", config.listen)))
    }

    /// Where it listens.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint.clone()
    }

    /// Stops gracefully.
    #[allow(clippy::unused_async, reason = "the signature of the real one")]
    pub async fn stop(self) {}

    /// Resolves when the store fails.
    pub async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}
