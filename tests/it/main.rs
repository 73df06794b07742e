//! The tests that need more than one module, in one binary, so that it is linked once. Most run over real connections.

mod agents;
mod backend;
mod backends;
mod batches;
mod commands;
mod counts;
mod direct;
mod dispatch;
mod edge;
mod feed;
mod keys;
mod limits;
mod model;
mod order;
mod parking;
mod process;
mod references;
mod refusal;
mod requests;
mod results;
mod retention;
mod rig;
#[cfg(not(feature = "seeded-bugs"))]
mod seeded;
mod settle;
mod shutdown;
mod steps;
mod stop;
mod store_commands;
mod store_faults;
mod store_process;
mod streams;
mod tidy;
mod traces;
mod usage;
mod variables;
