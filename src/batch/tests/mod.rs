//! The core's subtle rules, one example each.

mod bench;
mod gates;
mod interruption;
mod keys;
mod order;
mod stop;
