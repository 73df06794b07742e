//! A store without space: nothing that has to be written goes on, but the server stays up. Readers are served, new work is
//! refused, and the server can be stopped.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

use super::{Command, error::Error, run::Loop};
use crate::store::{self, Commit};

/// How long a full store is left alone before the commit is tried again.
pub(super) const FULL_RETRY: Duration = Duration::from_millis(250);

impl Loop {
    /// Commits, if need be again and again. `Full` only once the server is to stop and its grace is over: what was not stored was
    /// told to nobody, so the next start goes on before it.
    pub(super) async fn commit_until_there_is_space(
        &mut self,
        commit: Commit,
        mut commands: Option<&mut mpsc::Receiver<Command>>,
    ) -> Result<(), store::Error> {
        loop {
            match self.reader.store.commit(commit.clone()) {
                Err(store::Error::Full(message)) => {
                    if self.give_up.is_some_and(|give_up| Instant::now() >= give_up) {
                        return Err(store::Error::Full(message));
                    }
                    if !self.full.swap(true, Ordering::Relaxed) {
                        tracing::error!(message, "the store is full: nothing goes on until there is space");
                    }
                    match commands.as_deref_mut() {
                        Some(commands) => self.serve_readers(commands).await,
                        None => sleep(FULL_RETRY).await,
                    }
                }
                Ok(()) => {
                    if self.full.swap(false, Ordering::Relaxed) {
                        tracing::info!("there is space again");
                    }
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Obeys what begins no work, until the commit is to be tried again.
    async fn serve_readers(&mut self, commands: &mut mpsc::Receiver<Command>) {
        let mut retry = std::pin::pin!(sleep(FULL_RETRY));
        loop {
            let command = tokio::select! {
                biased;
                () = &mut retry => return,
                command = commands.recv() => command,
            };
            // Whoever asked may be gone by now.
            match command {
                Some(Command::Start(request)) => {
                    let _ = request.reply.send(Err(Error::no_room()));
                }
                Some(Command::Plan { reply, .. }) => {
                    let _ = reply.send(Err(Error::no_room()));
                }
                // What these write goes into the next group, and is told once that is durable.
                Some(
                    command @ (Command::Follow { .. }
                    | Command::ListTools { .. }
                    | Command::Cancel { .. }
                    | Command::EndTask(_)
                    | Command::RunningKeys { .. }
                    | Command::SettleKey(_)),
                ) => self.obey(command),
                Some(command @ Command::Drain { .. }) => return self.obey(command),
                // Nobody is left who could ask for anything.
                None => return self.drain(Duration::ZERO),
            }
        }
    }
}
