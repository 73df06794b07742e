//! The `toolbatch` program.

use std::process::ExitCode;

/// A sixth of a call's work is in the allocator; jemalloc takes less of it and gives memory back while idle (docs/performance.md).
/// Builds for tests keep the system's, whose calls can be counted from outside.
#[cfg(not(debug_assertions))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    toolbatch::cli::main()
}
