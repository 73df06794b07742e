//! The tests that need more than one module, in one binary, so that it is linked once. Most run over real connections.

mod backend;
mod batches;
mod dispatch;
mod rig;
mod tidy;
