//! Whether new work is taken, which is what health tells. Whoever finds no space says so; then it is looked at again until there is
//! some.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{sync::watch, time::sleep};

use super::commit::FULL_RETRY;
use crate::store::{RoomFor, Store};

/// Shared by all that write and read.
#[derive(Debug)]
pub(super) struct Intake {
    /// A group of the loop waits for space.
    stuck: AtomicBool,
    /// How many large results wait for space.
    waiting: AtomicUsize,
    open: watch::Sender<bool>,
}

/// A large result waits for space as long as this is held.
pub(super) struct Waiting<'a>(&'a Intake);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Intake {
    fn default() -> Self {
        Self { stuck: AtomicBool::new(false), waiting: AtomicUsize::new(0), open: watch::Sender::new(true) }
    }
}

impl Intake {
    /// Whether something that was done before waits for space.
    pub(super) fn is_full(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) || self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether a group of the loop waits for space, from now on. Says whether that is news.
    pub(super) fn set_stuck(&self, stuck: bool) -> bool {
        let news = self.stuck.swap(stuck, Ordering::Relaxed) != stuck;
        if stuck {
            self.close();
        }
        news
    }

    /// A large result waits for space.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.close();
        Waiting(self)
    }

    /// New work was refused for the store's sake.
    pub(super) fn close(&self) {
        self.open.send_if_modified(std::mem::take);
    }

    pub(super) fn follow(&self) -> watch::Receiver<bool> {
        self.open.subscribe()
    }

    /// Opens it again once there is room. A store that has failed in part never has.
    pub(super) async fn keep(&self, store: &dyn Store) -> Infallible {
        let mut open = self.follow();
        loop {
            // Its sender is here.
            let _ = open.wait_for(|open| !open).await;
            sleep(FULL_RETRY).await;
            if !self.is_full() && store.check_room(RoomFor::NewWork).is_ok() {
                self.open.send_replace(true);
            }
        }
    }
}
