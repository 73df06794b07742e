//! The commands of the `toolbatch` binary.
