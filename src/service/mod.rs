//! The gRPC edge: parse, call the engine's handle, map.
pub mod check;
