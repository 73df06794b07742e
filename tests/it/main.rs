//! The tests that need more than one module, in one binary, so that it is linked once. Most run over real connections.

mod backend;
mod backends;
mod batches;
mod dispatch;
mod keys;
mod order;
mod parking;
mod process;
mod retention;
mod rig;
mod settle;
mod shutdown;
mod stop;
mod store_faults;
mod store_process;
mod tidy;
