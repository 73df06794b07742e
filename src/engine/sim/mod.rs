//! Worlds in which the whole engine lives and dies: the real loop and the real dispatch on the memory store, against a backend
//! that is reached over a pipe, in simulated time. Each is crashed after each of its commits and taken up again.
//!
//! `plan` generates a world, `life` lives one run of the server in it, `clients` and `backend` are the two sides that it serves.
//! `timeline` is all that happens, in one order: a crash is a cut in it. `check` and `track` hold the promises against it,
//! `replay` compares what the loop has in memory with what it has stored. `properties` are the tests, and `tally` counts what happened in them;
//! `group` shows what the inputs of one commit see of each other.

mod backend;
mod check;
mod clients;
mod group;
mod life;
mod plan;
mod properties;
mod replay;
mod tally;
mod timeline;
mod track;

use std::time::Duration;

use super::Settings;

/// What a world's server is told: nothing is bounded but a call's time.
fn settings(call_timeout: Duration) -> Settings {
    Settings { call_timeout, retention: Duration::MAX, open_batches: usize::MAX, agent_open_batches: usize::MAX }
}
