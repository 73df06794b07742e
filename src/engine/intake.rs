//! Whether new work is taken, which is what health tells. Whoever finds no space for it says so; then it is looked at again until
//! there is some.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::{sync::watch, time::sleep};

use super::{commit::FULL_RETRY, read::Reader};
use crate::store::RoomFor;

/// Shared by the loop, its handles, and whoever follows it.
#[derive(Debug)]
pub(super) struct Intake {
    /// A group of the loop waits for space.
    stuck: AtomicBool,
    open: watch::Sender<bool>,
}

impl Default for Intake {
    fn default() -> Self {
        Self { stuck: AtomicBool::new(false), open: watch::Sender::new(true) }
    }
}

impl Intake {
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// A group found no space, or found it again. Says whether that is news.
    pub(super) fn set_stuck(&self, stuck: bool) -> bool {
        if stuck {
            self.close();
        }
        self.stuck.swap(stuck, Ordering::Relaxed) != stuck
    }

    /// New work was refused for the store's sake.
    pub(super) fn close(&self) {
        self.open.send_if_modified(std::mem::take);
    }

    pub(super) fn follow(&self) -> watch::Receiver<bool> {
        self.open.subscribe()
    }

    /// Opens it again once there is room. A store that has failed in part never has.
    pub(super) async fn keep(&self, reader: &Reader) -> Infallible {
        let mut open = self.follow();
        loop {
            // Its sender is here.
            let _ = open.wait_for(|open| !open).await;
            sleep(FULL_RETRY).await;
            if !self.is_stuck() && reader.store.check_room(RoomFor::NewWork).is_ok() {
                self.open.send_replace(true);
            }
        }
    }
}
