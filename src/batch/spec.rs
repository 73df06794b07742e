//! A checked batch: what a client asked for, with nothing left to doubt.

use std::{sync::Arc, time::Duration};

use super::trace::Trace;

/// The most calls one batch may hold (R1).
pub const MAX_CALLS: usize = 200;

/// A batch whose request passed every check of R1. Made only by `service::check`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The task that scopes keys.
    pub task_id: String,
    /// The agent whose tool list is the allowlist; empty for the caller's own.
    pub agent_id: String,
    /// What the client called the batch; `None` where the server is to choose.
    pub batch_id: Option<String>,
    /// 1 to [`MAX_CALLS`] calls, in the order given.
    pub calls: Vec<CallSpec>,
    /// How to run them.
    pub options: Options,
    /// A direct step (R11): a batch of one that nobody sees as a batch, and that no restart runs again.
    pub direct: bool,
    /// The caller's trace; `None` where it named none.
    pub trace: Option<Trace>,
    /// SHA-256 over the request with R1's defaults filled in: two requests with the same digest are the same batch.
    pub content_digest: [u8; 32],
}

/// One call of a checked batch.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSpec {
    /// The tool as the client named it: a display name or a base tool.
    pub tool: Arc<str>,
    /// The arguments, a JSON object as text, byte for byte as they came (`{}` where they were blank).
    pub args: Arc<str>,
    /// The call's stable identity in its task.
    pub key: Option<Arc<str>>,
    /// The canonical text of the scalar at `serialize_on`; calls of one lane never meet.
    pub lane: Option<Arc<str>>,
}

/// How a batch runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// One after another, or side by side.
    pub mode: Mode,
    /// As the client wrote it; it took effect as the lanes of the calls.
    pub serialize_on: String,
    /// No call starts after the first failure.
    pub stop_on_error: bool,
    /// Small results are inlined in events and summary.
    pub include_results: bool,
    /// Bound on one attempt; `None`: the tool's own, else the server's.
    pub call_timeout: Option<Duration>,
    /// When and how often a failed attempt is repeated.
    pub retry: RetryPolicy,
    /// What becomes of a call whose outcome is unknown.
    pub in_doubt: InDoubtPolicy,
}

/// One after another, or side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One call at a time, in the order given.
    Sequential {
        /// As the client wrote it (default 4): sequential mode ignores it, but shows it.
        max_concurrency: u32,
    },
    /// At most `max_concurrency` (1 to 16) calls at once, started in the order given as far as lanes allow.
    Parallel {
        /// 1 to 16.
        max_concurrency: u32,
    },
}

/// When and how often a failed attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// 1 to 10; 1 means that nothing is repeated.
    pub max_attempts: u32,
    /// The wait before the second attempt, 0 to 10 min.
    pub initial_backoff: Duration,
    /// The longest wait, 0 to 10 min.
    pub max_backoff: Duration,
    /// How each wait grows from the one before, 1 to 10.
    pub backoff_multiplier: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 1,
            initial_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            backoff_multiplier: 2.0,
        }
    }
}

/// What becomes of a call whose outcome an interruption left unknown (R8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InDoubtPolicy {
    /// It runs again, marked `in_doubt`: at least once.
    Rerun,
    /// The backend is asked first; where it cannot tell, the call fails.
    Lookup,
    /// It fails: at most once.
    Fail,
}
