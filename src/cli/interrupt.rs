//! Ctrl-C while something runs.

use std::{future::Future, io};

/// What came first.
pub(crate) enum Either<T> {
    /// The work ended.
    Ended(T),
    /// Ctrl-C; the work was dropped where it stood.
    Interrupted,
}

/// Does the work until it ends or somebody presses Ctrl-C.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> io::Result<Either<T>> {
    tokio::select! {
        ended = work => Ok(Either::Ended(ended)),
        signal = tokio::signal::ctrl_c() => signal.map(|()| Either::Interrupted),
    }
}
