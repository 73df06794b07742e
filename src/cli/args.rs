//! The command line, and the help that explains it.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{
    connect::DEFAULT_SERVER,
    help::{
        BACKEND_ADD_HELP, BACKENDS_HELP, CANCEL_HELP, CHECK_HELP, DEMO_BACKEND_HELP, DEMO_HELP, END_HELP, EXIT_CODES,
        FEED_HELP, JSON_HELP, KEYS_HELP, RUN_HELP, SCHEMA_HELP, SERVE_HELP, SETTLE_HELP, STEP_HELP, STORE_BACKUP_HELP,
        STORE_CHECK_HELP, STORE_RESTORE_HELP, TOP_HELP, USAGE_HELP,
    },
};
use crate::{config, telemetry::LogFormat};

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
    /// Check, back up or restore a server's data folder.
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
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
    /// Stop a batch: no further call of it starts.
    #[command(after_help = format!("{CANCEL_HELP}\n\n{EXIT_CODES}"))]
    Cancel {
        /// The batch's id.
        batch: String,
        /// Also cut off the calls that are running; they may have taken effect all the same.
        #[arg(long)]
        abort: bool,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// End a task: none of its calls starts any more, and no work is taken in it.
    #[command(after_help = format!("{END_HELP}\n\n{EXIT_CODES}"))]
    End {
        /// The task.
        task: String,
        /// Why, for people; kept with the task. At most 1 KiB.
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the keys of a task and what became of their calls.
    #[command(after_help = format!("{KEYS_HELP}\n\n{EXIT_CODES}"))]
    Keys {
        /// The task.
        task: String,
        /// Only keys in this state; can be given more than once.
        #[arg(long, value_name = "STATE", value_enum)]
        state: Vec<KeyStateArg>,
        #[command(flatten)]
        list: ListArgs,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Record what became of a key whose outcome is unknown.
    #[command(after_help = format!("{SETTLE_HELP}\n\n{EXIT_CODES}"))]
    Settle(Box<SettleArgs>),
    /// Show a task's steps as they start and end, and follow it until it has ended.
    #[command(after_help = format!("{FEED_HELP}\n\n{EXIT_CODES}"))]
    Feed {
        /// The task.
        task: String,
        /// Leave out what was shown before: the `resume_token` of the last line of --json.
        #[arg(long, value_name = "TOKEN", default_value = "")]
        after: String,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Add up what a task used, and what that costs.
    #[command(after_help = format!("{USAGE_HELP}\n\n{EXIT_CODES}"))]
    Usage {
        /// The task.
        task: String,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the tools that can be called.
    #[command(after_help = EXIT_CODES)]
    Tools {
        #[command(flatten)]
        client: ClientArgs,
    },
    /// List the tool backends, with their health.
    #[command(after_help = format!("{BACKENDS_HELP}\n\n{EXIT_CODES}"))]
    Backends {
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Register a tool backend, or take a registered one out.
    Backend {
        #[command(subcommand)]
        command: BackendCommand,
    },
    /// Print tools in the form that the API of a model takes: the two batch tools, or all that a server lists.
    #[command(after_help = format!("{SCHEMA_HELP}\n\n{EXIT_CODES}"))]
    Schema(SchemaArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum BackendCommand {
    /// Register a backend, or put it in the place of the one of its name.
    #[command(after_help = format!("{BACKEND_ADD_HELP}\n\n{EXIT_CODES}"))]
    Add {
        /// 1 to 63 lower-case letters, digits and hyphens.
        name: String,
        #[arg(help = "Its 1 to 16 replicas: http://HOST:PORT or unix:/PATH, as the server reaches them", required = true, num_args = 1..=16, value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// What it is shown with each call: the name of a section [credentials.NAME] of the server's configuration.
        #[arg(long, value_name = "NAME", default_value = "")]
        credential: String,
        /// Calls at once, over all batches: 1 to 10000; 0: any number.
        #[arg(long, value_name = "CALLS", default_value_t = 0)]
        max_concurrency: u32,
        /// Calls that begin in a second, over all batches, evenly spaced: up to 1000000; 0: any number.
        #[arg(long, value_name = "CALLS", default_value_t = 0.0)]
        max_calls_per_second: f64,
        #[command(flatten)]
        client: ClientArgs,
    },
    /// Take a registered backend out. Its calls in flight end; later calls of its tools fail.
    #[command(after_help = EXIT_CODES)]
    Remove {
        /// The backend.
        name: String,
        #[command(flatten)]
        client: ClientArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Read everything in a data folder, while no server runs on it, and tell what does not add up.
    #[command(after_help = STORE_CHECK_HELP)]
    Check {
        /// The folder: `data_dir` in the configuration, or a backup.
        #[arg(default_value = "data")]
        dir: PathBuf,
        /// Write JSON, one object per line.
        #[arg(long)]
        json: bool,
    },
    /// Copy a data folder as it is at this moment, while its server runs or not, and check the copy.
    #[command(after_help = STORE_BACKUP_HELP)]
    Backup {
        /// Where the copy goes: an empty folder or a new one. A running server writes it, as its own user.
        to: PathBuf,
        /// The folder to copy: `data_dir` in the configuration.
        #[arg(long, value_name = "DIR", default_value = "data")]
        data_dir: PathBuf,
    },
    /// Put a backup where a server will have its data, and check it.
    #[command(after_help = STORE_RESTORE_HELP)]
    Restore {
        /// What `toolbatch store backup` made.
        from: PathBuf,
        /// The folder: `data_dir` in the configuration; empty, or a new one.
        #[arg(default_value = "data")]
        dir: PathBuf,
    },
}

/// Where a server is, how it is known, and whose things there.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerArgs {
    #[arg(long = "server", help = "The server: https://HOST:PORT, http://HOST:PORT or unix:/PATH", value_name = "URL", env = "TOOLBATCH_SERVER", default_value = DEFAULT_SERVER)]
    pub(crate) url: String,
    /// The tenant, for operators; without it "default". An agent's is that of its token.
    #[arg(long, value_name = "TENANT", env = "TOOLBATCH_TENANT", value_parser = config::tenant)]
    pub(crate) tenant: Option<String>,
    /// PEM file with the authority that signed the server's certificate; without it, those that the system trusts.
    #[arg(long, value_name = "FILE", env = "TOOLBATCH_CA")]
    pub(crate) ca: Option<PathBuf>,
    /// PEM file with the client's own certificate, where the server asks for one.
    #[arg(id = "client_cert", long = "cert", value_name = "FILE", env = "TOOLBATCH_CERT", requires = "client_key")]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file with the private key of --cert.
    #[arg(id = "client_key", long = "key", value_name = "FILE", env = "TOOLBATCH_KEY", requires = "client_cert")]
    pub(crate) key: Option<PathBuf>,
}

/// How to reach the server, and in which form to show what it says.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Write JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The states of `toolbatch keys --state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KeyStateArg {
    /// A call under it is running.
    Running,
    /// It runs never again.
    Completed,
    /// It failed, and a new call under it runs.
    Failed,
    /// It may have taken effect.
    Unknown,
}

#[derive(Args, Debug)]
#[group(id = "fate", required = true, multiple = false, args = ["landed", "not_landed"])]
pub(crate) struct SettleArgs {
    /// The task.
    pub(crate) task: String,
    /// The key.
    pub(crate) key: String,
    /// It took effect, with the JSON result in this file; `-` for standard input, nothing for null.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option, reason = "clap's form of a flag with a value that may be left out")]
    pub(crate) landed: Option<Option<PathBuf>>,
    /// It did not take effect and may run again.
    #[arg(long)]
    pub(crate) not_landed: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The APIs of `toolbatch schema --for`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's chat completions.
    #[value(name = "openai")]
    OpenAi,
    /// The Model Context Protocol.
    Mcp,
}

#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// Only this tool, as one object; without it all of them, as an array.
    pub(crate) tool: Option<String>,
    /// Whose form.
    #[arg(long = "for", value_name = "API", value_enum)]
    pub(crate) api: Api,
    /// The tools that the server lists, instead of the two batch tools; without it no server is asked.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
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
    fn the_result_of_a_key_that_landed_may_be_left_out() {
        for (line, expected) in [
            (&["toolbatch", "settle", "T", "k", "--landed"][..], Some(None)),
            (&["toolbatch", "settle", "T", "k", "--landed", "-"], Some(Some("-".into()))),
            (&["toolbatch", "settle", "--landed", "r.json", "T", "k"], Some(Some("r.json".into()))),
            (&["toolbatch", "settle", "T", "k", "--not-landed"], None),
        ] {
            let Command::Settle(args) = CommandLine::try_parse_from(line).unwrap().command else {
                panic!("{line:?}");
            };
            assert_eq!((&*args.task, &*args.key, args.landed), ("T", "k", expected), "{line:?}");
        }
    }

    #[test]
    fn wrong_usage_is_refused() {
        for line in [
            &["toolbatch", "run"][..],
            &["toolbatch", "run", "f", "--parallel", "17"],
            &["toolbatch", "step", "s", "--result", "--json"],
            &["toolbatch", "batches", "--limit", "0"],
            &["toolbatch", "settle", "T", "k"],
            &["toolbatch", "settle", "T", "k", "--landed", "--not-landed"],
            &["toolbatch", "keys", "T", "--state", "lost"],
            &["toolbatch", "schema"],
            &["toolbatch", "tools", "--tenant", "a/b"],
            &["toolbatch", "backend", "add", "erp"],
            &["toolbatch", "schema", "--for", "gemini"],
        ] {
            assert_eq!(CommandLine::try_parse_from(line).unwrap_err().exit_code(), 2, "{line:?}");
        }
    }
}
