//! Tests over real connections.

mod backend;
mod batches;
mod dispatch;
mod rig;
