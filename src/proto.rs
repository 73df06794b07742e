//! The generated messages and services of `proto/toolbatch/v1`.
tonic::include_proto!("toolbatch.v1");
/// The compiled descriptors, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
