//! The conformance suite's driver: it plays scenarios on the real server, with a client and a backend under test, and compares what
//! came with what they expect.
//!
//! | file | duty |
//! | --- | --- |
//! | `scenario` | scenario files, and what is wrong with them |
//! | `play` | one scenario after the other |
//! | `stage`, `server`, `port` | the servers and the backend |
//! | `process` | programs as processes |
//! | `faults` | what goes wrong, and when |
//! | `proxy` | cuts connections between messages |
//! | `future` | a server that is newer than the contract |
//! | `json`, `names`, `matching`, `whole` | comparing |
//! | `client`, `backend` | the reference client and the reference backend |

mod backend;
mod client;
mod faults;
mod future;
mod json;
mod matching;
mod names;
mod play;
mod port;
mod process;
mod proxy;
mod scenario;
mod server;
mod stage;
mod whole;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use self::{play::Play, scenario::Scenario};

/// The exit code where nothing could be played, as against scenarios that failed.
const CANNOT_PLAY: u8 = 2;

/// Plays the conformance suite's scenarios with a client and a backend on the real server.
#[derive(Debug, Parser)]
#[command(name = "conformance")]
struct Arguments {
    #[command(subcommand)]
    reference: Option<Reference>,
    /// The client under test, started as `CMD client`; without one, the reference
    #[arg(long, value_name = "CMD")]
    client: Option<String>,
    /// The backend under test, started as `CMD backend HOST:PORT`; without one, the reference
    #[arg(long, value_name = "CMD")]
    backend: Option<String>,
    /// Only names the scenarios
    #[arg(long)]
    list: bool,
    /// Only these scenarios, by name
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Where the scenarios are
    #[arg(long, value_name = "DIR", default_value = "clients/conformance/scenarios")]
    scenarios: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Reference {
    /// The reference client
    Client,
    /// The reference backend
    Backend {
        /// Where it listens
        #[arg(value_name = "HOST:PORT")]
        address: String,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let ended = match &arguments.reference {
        Some(Reference::Client) => client::run().await.map(|()| ExitCode::SUCCESS),
        Some(Reference::Backend { address }) => backend::run(address).await.map(|()| ExitCode::SUCCESS),
        None => drive(arguments).await,
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(CANNOT_PLAY)
    })
}

/// Plays all scenarios that were asked for. Interrupted, it takes with it what it started.
async fn drive(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let scenarios = choose(scenario::read_folder(&arguments.scenarios)?, &arguments.only)?;
    if arguments.list {
        for scenario in scenarios {
            println!("{}", scenario.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let client = arguments.client.map_or_else(play::reference, Ok)?;
    let backend = arguments.backend.map_or_else(play::reference, Ok)?;
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        code = play_all(Play::new(client, backend)?, &scenarios) => code,
        _ = terminate.recv() => bail!("terminated"),
        _ = interrupt.recv() => bail!("interrupted"),
    }
}

fn choose(scenarios: Vec<Scenario>, only: &[String]) -> anyhow::Result<Vec<Scenario>> {
    for name in only {
        scenarios
            .iter()
            .find(|scenario| scenario.name == *name)
            .with_context(|| format!("there is no scenario {name:?}"))?;
    }
    let chosen = |scenario: &Scenario| only.is_empty() || only.contains(&scenario.name);
    Ok(scenarios.into_iter().filter(chosen).collect())
}

async fn play_all(mut play: Play, scenarios: &[Scenario]) -> anyhow::Result<ExitCode> {
    let (mut passed, mut failed) = (0, 0);
    let mut tell = |name: &str, outcome: anyhow::Result<()>| match outcome {
        Ok(()) => {
            passed += 1;
            println!("ok {name}");
        }
        Err(error) => {
            failed += 1;
            println!("FAILED {name}: {error:#}");
        }
    };
    for scenario in scenarios {
        tell(&scenario.name, play.play(scenario).await);
    }
    if let Err(error) = play.end().await {
        tell("everything ends well", Err(error));
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
