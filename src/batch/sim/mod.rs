//! Property tests of the core: generated worlds of tasks, batches, tools, stops, drains and crashes, lived through on a virtual clock,
//! with every rule checked after every step.
//!
//! `plan` generates a world, `world` lives it, `backend` is what the tools do and remember, `track` holds the rules of one
//! batch's log, and `check` those that hold over all of them.

mod backend;
mod check;
pub(crate) mod plan;
mod properties;
mod track;
mod world;
