//! The `toolbatch` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolbatch::cli::main()
}
