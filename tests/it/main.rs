//! Tests over real connections.

mod backend;
mod dispatch;
