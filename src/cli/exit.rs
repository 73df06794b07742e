//! How a command ends: its exit code, and what it says about a failure.

use std::{io, process::ExitCode};

/// The exit codes of every command. They are part of the interface: scripts are written against them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The batch completed; the server stopped gracefully; what was asked for was shown.
    Done,
    /// The batch ended partial or failed.
    Unsuccessful,
    /// The request, the configuration or the command line is wrong, and nothing was run.
    Refused,
    /// The server cannot be reached, or was lost for good.
    Unreachable,
    /// `serve`: the store cannot be opened.
    StoreRefused,
    /// `serve`: the store failed while running.
    StoreFailed,
    /// Ctrl-C, or whoever read standard output closed it.
    Interrupted,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Unsuccessful => 1,
            Self::Refused => 2,
            Self::Unreachable => 3,
            Self::StoreRefused => 4,
            Self::StoreFailed => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Why a command could not do what it was told to. The text is for standard error; it may have several lines.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The server, or this client, refuses the request.
    #[error("{0}")]
    Refused(String),
    /// The server cannot be reached, or was lost.
    #[error("{0}")]
    Unreachable(String),
    /// The store cannot be opened.
    #[error("{0}")]
    StoreRefused(String),
    /// The store failed while the server ran.
    #[error("{0}")]
    StoreFailed(String),
    /// Ctrl-C.
    #[error("{0}")]
    Interrupted(String),
    /// Standard output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The exit code that goes with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Unreachable(_) => Exit::Unreachable,
            Self::StoreRefused(_) => Exit::StoreRefused,
            Self::StoreFailed(_) => Exit::StoreFailed,
            Self::Interrupted(_) => Exit::Interrupted,
            Self::Output(_) if self.is_closed_output() => Exit::Interrupted,
            Self::Refused(_) | Self::Output(_) => Exit::Refused,
        }
    }

    /// Whoever read standard output went away, as `head` does: there is nobody to tell, and nothing to complain about.
    pub(crate) fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_the_code_that_is_documented() {
        let text = String::new;
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let codes: Vec<u8> = [
            Failure::Refused(text()),
            Failure::Unreachable(text()),
            Failure::StoreRefused(text()),
            Failure::StoreFailed(text()),
            Failure::Interrupted(text()),
            Failure::Output(closed),
            Failure::Output(full),
        ]
        .iter()
        .map(|failure| failure.exit().code())
        .collect();
        assert_eq!(codes, [2, 3, 4, 5, 130, 130, 2]);
        assert_eq!((Exit::Done.code(), Exit::Unsuccessful.code()), (0, 1));
    }
}
