//! Journal files between the committing thread, which fills them, and the checkpoint thread, which makes them free again.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{journal::JournalFile, seal::HEAD};
use crate::store::Error;

/// How the checkpoint thread ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// After one more checkpoint.
    Clean,
    /// At once, as in a crash.
    #[cfg(test)]
    Abrupt,
}

/// What the checkpoint thread has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Checkpoint,
    End(Ending),
}

#[derive(Debug)]
pub(super) struct Supply {
    state: Mutex<State>,
    changed: Condvar,
    /// The most files there may be, the current one included.
    most: usize,
    wait: Duration,
}

#[derive(Debug)]
struct State {
    /// All files but the current one.
    idle: Vec<JournalFile>,
    /// How many there are with the current one.
    files: usize,
    /// Above all of their numbers.
    next_number: u32,
    /// The last commit that sled has durably.
    durable: u64,
    /// Rounds asked of the checkpoint thread, and done by it.
    wanted: u64,
    done: u64,
    /// One is under way.
    running: bool,
    ending: Option<Ending>,
    /// The checkpoint that failed: there is no other until the next start.
    trouble: Option<Error>,
    /// Why the last checkpoint was not even begun: the next one may be.
    put_off: Option<Error>,
    /// Why the last file that was wanted could not be made.
    unmade: Option<Error>,
}

impl State {
    /// Asks for a round that begins from now on.
    fn ask(&mut self) -> u64 {
        self.wanted = self.done + 1 + u64::from(self.running);
        self.wanted
    }

    fn reusable(&self, length: usize) -> Option<usize> {
        let durable = self.durable;
        self.idle.iter().position(|file| file.last_lsn <= durable && HEAD + length <= file.capacity)
    }
}

impl Supply {
    /// `next_number` is above the numbers of all files; `durable` is the last commit that sled has; `most` counts the current file too.
    pub(super) fn new(idle: Vec<JournalFile>, next_number: u32, durable: u64, most: usize, wait: Duration) -> Self {
        let state = State {
            files: idle.len() + 1,
            idle,
            next_number,
            durable,
            wanted: 0,
            done: 0,
            running: false,
            ending: None,
            trouble: None,
            put_off: None,
            unmade: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), most, wait }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that takes a frame of this length from its beginning. Waits for a checkpoint if there is none.
    pub(super) fn take(&self, length: usize) -> Result<JournalFile, Error> {
        let mut state = self.state();
        // Both may have been for lack of space, and there may be some now: the round that is asked for finds out.
        (state.put_off, state.unmade) = (None, None);
        state.ask();
        self.changed.notify_all();
        let most = self.most;
        let stuck = |state: &State| state.trouble.is_some() || state.put_off.is_some();
        let hopeless = |state: &State| stuck(state) && (state.files >= most || state.unmade.is_some());
        let waiting = |state: &mut State| state.reusable(length).is_none() && !hopeless(state);
        let waited = self.changed.wait_timeout_while(state, self.wait, waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = state.reusable(length) {
            return Ok(state.idle.swap_remove(at));
        }
        let causes: Vec<&Error> = [&state.trouble, &state.put_off, &state.unmade].into_iter().flatten().collect();
        // A checkpoint that failed midway, even for lack of space, is mended by a new start only.
        let full = state.trouble.is_none() && causes.iter().any(|cause| matches!(cause, Error::Full(_)));
        let causes: Vec<String> = causes.into_iter().map(Error::to_string).collect();
        if full {
            return Err(Error::Full(format!("all journal files are in use, and {}", causes.join("; "))));
        }
        if causes.is_empty() {
            let wait = self.wait;
            return Err(Error::Failed(format!("no checkpoint ended within {wait:?}; is the disk stuck? Start again")));
        }
        Err(Error::Failed(format!("all journal files are in use, and {}; start again", causes.join("; "))))
    }

    /// Why no file can be made or emptied at the moment, if that is so; and how much fits into those that are empty.
    pub(super) fn stuck(&self) -> (Option<Error>, usize) {
        let state = self.state();
        let cause = [&state.trouble, &state.put_off, &state.unmade].into_iter().flatten().next().cloned();
        let empty = state.idle.iter().filter(|file| file.last_lsn <= state.durable);
        (cause, empty.map(|file| file.capacity - HEAD).sum())
    }

    /// Puts a file that was filled aside until sled has what is in it.
    pub(super) fn give_back(&self, file: JournalFile) {
        self.state().idle.push(file);
    }

    /// Asks for a checkpoint, and does not wait for it.
    pub(super) fn ask(&self) {
        self.state().ask();
        self.changed.notify_all();
    }

    /// The last commit that sled has durably.
    pub(super) fn durable(&self) -> u64 {
        self.state().durable
    }

    /// The checkpoint that failed, if one did.
    pub(super) fn trouble(&self) -> Option<Error> {
        self.state().trouble.clone()
    }

    /// Tells the checkpoint thread to end.
    pub(super) fn end(&self, ending: Ending) {
        self.state().ending.get_or_insert(ending);
        self.changed.notify_all();
    }

    /// The checkpoint thread's next work; waits until there is some.
    pub(super) fn next_work(&self) -> Work {
        let idle = |state: &mut State| state.ending.is_none() && state.done >= state.wanted;
        let mut state = self.changed.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        state.running = true;
        state.ending.map_or(Work::Checkpoint, Work::End)
    }

    /// The checkpoint thread has made this commit, and all before it, durable in sled.
    pub(super) fn checkpointed(&self, lsn: u64) {
        let mut state = self.state();
        (state.durable, state.put_off) = (lsn, None);
        self.changed.notify_all();
    }

    /// A checkpoint was not begun; sled is as it was.
    pub(super) fn put_off(&self, error: Error) {
        self.state().put_off = Some(error);
        self.changed.notify_all();
    }

    /// Why sled does not have all that was committed, where the reason is not just that no checkpoint was due.
    pub(super) fn unfinished(&self) -> Option<Error> {
        let state = self.state();
        state.trouble.clone().or_else(|| state.put_off.clone())
    }

    /// A checkpoint failed.
    pub(super) fn failed(&self, error: Error) {
        self.state().trouble.get_or_insert(error);
        self.changed.notify_all();
    }

    /// The number of the file to make, if none of this capacity could be taken now and there may be another.
    pub(super) fn lacks(&self, capacity: usize) -> Option<u32> {
        let state = self.state();
        (state.reusable(capacity - HEAD).is_none() && state.files < self.most).then_some(state.next_number)
    }

    /// A file was made, or could not be made.
    pub(super) fn made(&self, file: Result<JournalFile, Error>) {
        let mut state = self.state();
        match file {
            Ok(file) => {
                state.idle.push(file);
                state.files += 1;
                state.next_number = state.next_number.saturating_add(1);
                state.unmade = None;
            }
            Err(error) => state.unmade = Some(error),
        }
        self.changed.notify_all();
    }

    /// The checkpoint thread has done all that was wanted when it began.
    pub(super) fn round_done(&self) {
        let mut state = self.state();
        state.running = false;
        state.done += 1;
        self.changed.notify_all();
    }

    /// Asks for a checkpoint and waits until it is done or has failed.
    #[cfg(test)]
    pub(super) fn ask_and_wait(&self) {
        let mut state = self.state();
        let round = state.ask();
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.done < round).unwrap());
    }

    /// Waits until the checkpoint thread has nothing to do.
    #[cfg(test)]
    pub(super) fn settle(&self) {
        let busy = |state: &mut State| state.running || state.done < state.wanted;
        drop(self.changed.wait_while(self.state(), busy).unwrap());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 4_096;

    fn file(dir: &tempfile::TempDir, number: u32, last_lsn: u64) -> JournalFile {
        let mut file = JournalFile::create(dir.path(), &[1; 16], number, LENGTH).unwrap();
        file.last_lsn = last_lsn;
        file
    }

    fn supply(idle: Vec<JournalFile>, most: usize, wait: Duration) -> Supply {
        Supply::new(idle, 10, 5, most, wait)
    }

    #[test]
    fn a_file_is_free_once_sled_has_what_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let supply = supply(vec![file(&dir, 1, 6), file(&dir, 2, 5)], 3, Duration::ZERO);
        assert_eq!(supply.take(100).unwrap().last_lsn, 5);
        assert!(matches!(supply.take(100), Err(Error::Failed(text)) if text.contains("no checkpoint ended within")));
        supply.checkpointed(6);
        assert_eq!(supply.take(100).unwrap().last_lsn, 6);
    }

    #[test]
    fn a_file_that_is_too_short_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let supply = supply(vec![file(&dir, 1, 0)], 2, Duration::ZERO);
        assert!(supply.take(LENGTH - HEAD + 1).is_err());
        supply.take(LENGTH - HEAD).unwrap();
    }

    #[test]
    fn whoever_waits_is_served_by_the_next_checkpoint_or_file() {
        let dir = tempfile::tempdir().unwrap();
        let supply = supply(vec![file(&dir, 1, 6)], 3, Duration::from_mins(1));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(supply.next_work(), Work::Checkpoint);
                supply.checkpointed(6);
                supply.round_done();
                assert_eq!(supply.next_work(), Work::Checkpoint);
                assert_eq!(supply.lacks(LENGTH), Some(10));
                supply.made(Ok(file(&dir, 10, 0)));
                assert_eq!(supply.lacks(LENGTH), None);
                supply.round_done();
            });
            assert_eq!(supply.take(100).unwrap().last_lsn, 6);
            assert_eq!(supply.take(100).unwrap().last_lsn, 0);
        });
    }

    #[test]
    fn after_a_failed_checkpoint_the_rest_of_the_files_is_used_up() {
        let dir = tempfile::tempdir().unwrap();
        let supply = supply(vec![file(&dir, 1, 9), file(&dir, 2, 0)], 3, Duration::from_mins(1));
        supply.failed(Error::Failed("the test's checkpoint".to_owned()));
        assert_eq!(supply.take(100).unwrap().last_lsn, 0);
        assert!(matches!(supply.take(100), Err(Error::Failed(text)) if text.contains("the test's checkpoint")));
        assert_eq!(supply.trouble(), Some(Error::Failed("the test's checkpoint".to_owned())));
    }

    /// Plays the checkpoint thread for one round.
    fn round(supply: &Supply, play: impl FnOnce()) {
        assert_eq!(supply.next_work(), Work::Checkpoint);
        play();
        supply.round_done();
    }

    #[test]
    fn a_full_disk_is_looked_at_again_for_every_file() {
        let dir = tempfile::tempdir().unwrap();
        let supply = supply(vec![file(&dir, 1, 9)], 3, Duration::from_mins(1));
        let put_off = |why: &str| supply.put_off(Error::Full(why.to_owned()));
        let file_lacks = || supply.made(Err(Error::Full("the test's file".to_owned())));
        // Each round begins when a file is asked for and ends before the answer is looked at.
        let served = |play: &(dyn Fn() + Sync)| {
            std::thread::scope(|scope| {
                scope.spawn(|| round(&supply, play));
                let taken = supply.take(100);
                supply.settle();
                taken
            })
        };
        let refused = served(&|| {
            put_off("the test's checkpoint");
            file_lacks();
        });
        assert!(
            matches!(&refused, Err(Error::Full(text)) if text.contains("checkpoint") && text.contains("the test's file"))
        );
        let made = served(&|| {
            put_off("the test's checkpoint");
            supply.made(Ok(file(&dir, 10, 0)));
        });
        assert_eq!(made.unwrap().last_lsn, 0);
        let refused = served(&|| put_off("all files are there"));
        assert!(matches!(refused, Err(Error::Full(text)) if text.contains("all files are there")));
        assert_eq!(supply.unfinished(), Some(Error::Full("all files are there".to_owned())));
        assert_eq!(served(&|| supply.checkpointed(9)).unwrap().last_lsn, 9);
        assert_eq!(supply.unfinished(), None);
    }
}
