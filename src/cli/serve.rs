//! `toolbatch serve`.

use std::{io, path::Path, process};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::level_filters::LevelFilter;

use super::{
    args::ServeArgs,
    exit::{Exit, Failure},
};
use crate::{
    config::Config,
    server::{Server, StartError},
    store, telemetry,
};

/// Runs the server until it is told to stop or its store fails.
pub(crate) async fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    let config = match &args.config {
        Some(file) => Config::load(file).map_err(|error| Failure::Refused(error.to_string()))?,
        None => Config::default(),
    };
    telemetry::init(args.log_format, LevelFilter::INFO).map_err(|error| Failure::Refused(error.to_string()))?;
    allow_descriptors();
    // Signals are caught before there is anything to stop, so that none is lost.
    let mut signals = Signals::catch()?;
    let mut hangups = signal(SignalKind::hangup())?;
    let mut told = None;
    let starting = Server::start(config);
    tokio::pin!(starting);
    // A start that reads much takes a while. One that was told to stop comes to its end first, as half a start is a crash.
    let mut server = loop {
        tokio::select! {
            started = &mut starting => break started.map_err(|error| not_started(&error))?,
            name = signals.next() => if told.replace(name).is_some() { stop_at_once(name) },
        }
    };
    while told.is_none() {
        tokio::select! {
            error = server.failed() => {
                server.abandon().await;
                return Err(store_failed(&error));
            }
            name = signals.next() => told = Some(name),
            _ = hangups.recv() => reload(&server, args.config.as_deref()),
        }
    }
    tracing::info!(signal = told, "stopping; a second signal stops at once");
    tokio::select! {
        stopped = server.stop() => stopped.map(|()| Exit::Done).map_err(|error| store_failed(&error)),
        name = signals.next() => stop_at_once(name),
    }
}

/// Reads again what can change while the server runs.
fn reload(server: &Server, file: Option<&Path>) {
    let Some(file) = file else {
        tracing::warn!("SIGHUP: nothing is read again, as the server was started without --config");
        return;
    };
    let config = Config::load(file).map_err(|error| error.to_string());
    match config.and_then(|config| server.reload(&config).map_err(|error| error.to_string())) {
        Ok(()) => {
            tracing::info!(file = %file.display(), "agents, operators, their tokens, credentials and certificates were read again");
        }
        Err(error) => tracing::error!(error, "SIGHUP: what was there before goes on, as the configuration is wrong"),
    }
}

/// Each connection takes a descriptor, and the system gives a process fewer at first than it may have.
fn allow_descriptors() {
    let most = getrlimit(Resource::Nofile);
    // What may not be had is found out by whoever needs it.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most.maximum, ..most });
}

/// As a crash would.
fn stop_at_once(signal: &str) -> ! {
    tracing::warn!(signal, "stopped at once; the next start goes on");
    process::exit(i32::from(Exit::Interrupted.code()))
}

/// The exit code of a server that did not start.
pub(crate) fn not_started(error: &StartError) -> Failure {
    match error {
        StartError::Store(_) => Failure::StoreRefused(error.to_string()),
        StartError::Listen(_)
        | StartError::Backends(_)
        | StartError::Tokens(_)
        | StartError::Credentials(_)
        | StartError::Engine(_)
        | StartError::Panicked => Failure::Refused(error.to_string()),
    }
}

/// What a failing store means to whoever runs the server.
fn store_failed(error: &store::Error) -> Failure {
    Failure::StoreFailed(format!("{error}; what was announced is safe: start again to go on"))
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn catch() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The name of the next signal to stop.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ListenError;

    #[test]
    fn a_start_that_fails_tells_configuration_from_store() {
        let code = |error| not_started(&error).exit().code();
        let cause = io::ErrorKind::AddrInUse.into();
        assert_eq!(code(ListenError::Bind { at: "127.0.0.1:50051".into(), cause }.into()), 2);
        assert_eq!(code(StartError::Store(store::Error::Damaged("data/journal".into()))), 4);
        assert_eq!(store_failed(&store::Error::Failed("data/journal: EIO".into())).exit().code(), 5);
    }
}
