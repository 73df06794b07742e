//! The messages generated from `records.proto`.
#![allow(clippy::all, clippy::pedantic, missing_docs, unreachable_pub, reason = "generated code")]

include!(concat!(env!("OUT_DIR"), "/toolbatch.store.rs"));
