//! The core: what a batch is, what has happened to it, and what to do next.
//!
//! Everything here is pure and synchronous. [`core::Core::step`] takes an input, the time and a view of the tools, and gives back
//! facts (log [`event::Entry`]s and [`key::KeyRecord`]s, to be stored) and wishes ([`core::Effect`]s, to be carried
//! out once the facts are durable). It waits for nothing, reads no clock and rolls no dice, so that the same fold runs
//! live, at recovery and in a simulation.

mod admit;
mod begin;
pub mod core;
pub mod event;
pub mod gate;
pub mod key;
mod keys;
mod line;
mod live;
pub mod outcome;
pub mod running;
mod schedule;
mod settle;
#[cfg(test)]
pub(crate) mod sim;
pub mod spec;
pub mod state;
pub mod step;
pub mod summary;
#[cfg(test)]
mod tests;
pub mod tools;
pub mod trace;
pub mod wait;
