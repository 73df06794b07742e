//! The commands of the `toolbatch` binary.

mod args;
mod backends;
mod batches;
mod check_config;
mod connect;
mod demo;
mod exit;
mod feed;
mod follow;
mod help;
mod input;
mod interrupt;
mod keys;
mod pages;
mod refusal;
mod render;
mod run;
mod schema;
mod serve;
mod steps;
mod stop;
mod store;
mod tools;
mod usage;

use std::process::ExitCode;

use clap::Parser as _;
use tokio::runtime;

use args::{BackendCommand, Command, CommandLine};
use exit::{Exit, Failure};

use crate::{config, proto};

/// Does what the command line says; the exit codes stand in each command's help.
#[must_use]
pub fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    let runtime = match runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            render::tell(&format!("toolbatch: cannot start: {error}"));
            return Exit::Refused.into();
        }
    };
    match runtime.block_on(execute(command)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if !failure.is_closed_output() {
                render::tell(&format!("toolbatch: {failure}"));
            }
            failure.exit().into()
        }
    }
}

async fn execute(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::serve(&args).await,
        Command::CheckConfig { file } => check_config::check(&file).await,
        Command::Store { command } => store::store(command).await,
        Command::Config => {
            render::print(config::SAMPLE.trim_end())?;
            Ok(Exit::Done)
        }
        Command::Demo { json } => demo::demo(json).await,
        Command::DemoBackend { listen } => demo::backend_alone(listen).await,
        Command::Run(args) => run::run(&args).await,
        Command::Watch { batch, after, client } => run::watch(&batch, after, &client).await,
        Command::Batch { batch, client } => batches::batch(&batch, &client).await,
        Command::Batches { task, list, client } => batches::batches(task.as_deref(), list.limit, &client).await,
        Command::Step { step, result: false, client } => steps::step(&step, &client).await,
        Command::Step { step, result: true, client } => steps::result(&step, &client).await,
        Command::Steps { task, batch, list, client } => {
            steps::steps(&task, batch.as_deref(), list.limit, &client).await
        }
        Command::Cancel { batch, abort, client } => stop::cancel(&batch, abort, &client).await,
        Command::End { task, reason, client } => stop::end(&task, &reason, &client).await,
        Command::Keys { task, state, list, client } => keys::keys(&task, &state, list.limit, &client).await,
        Command::Settle(args) => keys::settle(&args).await,
        Command::Feed { task, after, client } => feed::feed(&task, &after, &client).await,
        Command::Usage { task, client } => usage::usage(&task, &client).await,
        Command::Tools { client } => tools::tools(&client).await,
        Command::Backends { client } => backends::backends(&client).await,
        Command::Backend {
            command: BackendCommand::Add { name, addresses, credential, max_concurrency, max_calls_per_second, client },
        } => {
            let backend = proto::Backend {
                name,
                addresses,
                credential,
                max_concurrency,
                max_calls_per_second,
                ..proto::Backend::default()
            };
            backends::add(backend, &client).await
        }
        Command::Backend { command: BackendCommand::Remove { name, client } } => backends::remove(&name, &client).await,
        Command::Schema(args) => schema::schema(&args).await,
    }
}
