//! How long a call waits for what it needs (R8).

use std::time::Duration;

/// For its tool to appear, or for its backend to be reachable: backends restart too.
pub const REACH_WAIT: Duration = Duration::from_secs(5);
/// The same for a call that an interruption cut off: server and backends may have been stopped together.
pub const REACH_WAIT_RESUMED: Duration = Duration::from_mins(1);
