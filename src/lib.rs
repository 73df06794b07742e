//! Toolbatch runs a prepared list of tool calls as one durable step.
pub mod batch;
pub mod batch_json;
pub mod cli;
pub mod clock;
pub mod config;
mod control;
pub mod dispatch;
pub mod engine;
#[cfg(test)]
mod fuzz;
pub mod json;
mod listen;
pub mod prices;
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unreachable_pub,
    reason = "generated code"
)]
pub mod proto;
pub mod schema;
#[doc(hidden)]
pub mod seeded;
pub mod server;
pub mod service;
pub mod store;
pub mod telemetry;
