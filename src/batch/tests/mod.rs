//! The core's subtle rules, one example each.

mod bench;
mod interruption;
mod keys;
mod order;
mod stop;
