//! The command line, and the help that explains it.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

use super::{
    connect::DEFAULT_SERVER,
    help::{
        CHECK_HELP, DEMO_BACKEND_HELP, DEMO_HELP, EXIT_CODES, JSON_HELP, RUN_HELP, SERVE_HELP, STEP_HELP, TOP_HELP,
    },
};
use crate::telemetry::LogFormat;

/// Runs a prepared list of tool calls as one durable step.
///
/// An agent's list of 4 to 200 calls goes to the tool backends that serve them, in order or side by side; every result is
/// streamed as it lands, and a call that finished never runs again, whatever crashes in between.
#[derive(Debug, Parser)]
#[command(name = "toolbatch", version, after_help = TOP_HELP, max_term_width = 120, arg_required_else_help = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server.
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Check a configuration file and reach for its backends.
    #[command(after_help = CHECK_HELP)]
    CheckConfig {
        /// The TOML file.
        file: PathBuf,
    },
    /// Print a commented configuration.
    Config,
    /// See what it is for: a fan-out that fails on a lock, and the same list with `serialize_on`.
    #[command(after_help = DEMO_HELP)]
    Demo {
        /// Write one JSON event per line, and nothing else.
        #[arg(long)]
        json: bool,
    },
    /// Serve the demo's order system alone, to try `serve` and `run` with.
    #[command(after_help = DEMO_BACKEND_HELP)]
    DemoBackend {
        /// Where to listen.
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7001")]
        listen: SocketAddr,
    },
    /// Run a batch and show its calls as they land.
    #[command(after_help = format!("{RUN_HELP}\n\n{JSON_HELP}\n\n{EXIT_CODES}"))]
    Run(Box<RunArgs>),
    /// Show a batch's events, from the first or from any one on, and follow it until it ends.
    #[command(after_help = format!("{JSON_HELP}\n\n{EXIT_CODES}"))]
    Watch {
        /// The batch's id.
        batch: String,
        /// Leave out the events up to and including this number.
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        after: u64,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Show a batch: its status, and each call's result so far.
    #[command(after_help = EXIT_CODES)]
    Batch {
        /// The batch's id.
        batch: String,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List batches, newest first.
    #[command(after_help = EXIT_CODES)]
    Batches {
        /// Only those of this task.
        task: Option<String>,
        #[command(flatten)]
        list: ListArgs,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Show a call's full record, or write its result.
    #[command(after_help = format!("{STEP_HELP}\n\n{EXIT_CODES}"))]
    Step {
        /// The step's id.
        step: String,
        /// Write the result's bytes to standard output, and nothing else. Up to 64 MiB.
        #[arg(long, conflicts_with = "json")]
        result: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the steps of a task, oldest first, without args and results.
    #[command(after_help = EXIT_CODES)]
    Steps {
        /// The task.
        task: String,
        /// Only the calls of this batch.
        #[arg(long, value_name = "BATCH")]
        batch: Option<String>,
        #[command(flatten)]
        list: ListArgs,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the tools that can be called.
    #[command(after_help = EXIT_CODES)]
    Tools {
        #[command(flatten)]
        client: ClientArgs,
    },
}

/// How to reach the server, and in which form to show what it says.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientArgs {
    #[arg(long, help = "The server: http://HOST:PORT or unix:/PATH", value_name = "URL", env = "TOOLBATCH_SERVER", default_value = DEFAULT_SERVER)]
    pub(crate) server: String,
    /// Write JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The TOML file; without one: loopback port 50051, ./data.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How logs are written to standard error.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The batch as JSON; `-` for standard input.
    pub(crate) file: PathBuf,
    /// The task that the batch belongs to, in which keys are known: 1 to 256 bytes. Default: a new one, whose name is shown.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// The batch's id, at most 128 bytes: the same id with the same content is the same batch. Default: a new one.
    #[arg(long, value_name = "BATCH")]
    pub(crate) batch_id: Option<String>,
    /// The agent whose tools may be called. Default: the caller's own.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Check everything and show what would run; run nothing.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Instead of what the file says: parallel mode, N calls at once (1 to 16).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) parallel: Option<u32>,
    /// Instead of what the file says: the path whose equal values run one at a time.
    #[arg(long, value_name = "PATH")]
    pub(crate) serialize_on: Option<String>,
    /// Instead of what the file says: go on after a failure.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn wrong_usage_is_refused() {
        for line in [
            &["toolbatch", "run"][..],
            &["toolbatch", "run", "f", "--parallel", "17"],
            &["toolbatch", "step", "s", "--result", "--json"],
            &["toolbatch", "batches", "--limit", "0"],
        ] {
            assert_eq!(CommandLine::try_parse_from(line).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }
}
