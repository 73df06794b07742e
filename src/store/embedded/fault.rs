//! Faults of the disk, for tests: the n-th system call below a folder fails.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

/// A system call that is about to be made.
pub(super) enum Call<'a> {
    /// A write; the function writes its first bytes.
    Write(&'a mut dyn FnMut(usize) -> io::Result<()>),
    Sync,
    Other,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No space for a write, or for anything that is not a sync.
    NoSpace,
    /// An I/O error of any call.
    Io,
    /// A write that stops in its middle for lack of space.
    Short,
    /// A sync that fails.
    Sync,
    /// A folder that became read-only: nothing but syncs passes.
    ReadOnly,
}

/// Which calls fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) fault: Fault,
    /// How many calls that the fault can hit pass before.
    pub(super) passes: usize,
    /// How many fail then.
    pub(super) strikes: usize,
}

static PLANS: LazyLock<Mutex<HashMap<PathBuf, Plan>>> = LazyLock::new(Mutex::default);

fn plans() -> MutexGuard<'static, HashMap<PathBuf, Plan>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes calls below a folder fail from now on.
pub(super) fn plan(dir: &Path, plan: Plan) {
    plans().insert(dir.to_owned(), plan);
}

/// Ends the faults below a folder. Says whether all of them struck.
pub(super) fn end(dir: &Path) -> bool {
    plans().remove(dir).is_some_and(|plan| plan.strikes == 0)
}

/// Fails if this call is to fail.
pub(super) fn strike(path: &Path, call: Call<'_>) -> io::Result<()> {
    let fault = {
        let mut plans = plans();
        let Some(plan) = plans.iter_mut().find(|(dir, _)| path.starts_with(dir)).map(|(_, plan)| plan) else {
            return Ok(());
        };
        if !plan.fault.hits(&call) || plan.strikes == 0 {
            return Ok(());
        }
        if plan.passes > 0 {
            plan.passes -= 1;
            return Ok(());
        }
        plan.strikes -= 1;
        plan.fault
    };
    match (fault, call) {
        (Fault::NoSpace, _) => Err(io::ErrorKind::StorageFull.into()),
        (Fault::Io | Fault::Sync, _) => Err(io::Error::other("input/output error of a test")),
        (Fault::ReadOnly, _) => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        (Fault::Short, Call::Write(write)) => {
            write(20)?;
            Err(io::ErrorKind::StorageFull.into())
        }
        (Fault::Short, Call::Sync | Call::Other) => Ok(()),
    }
}

impl Fault {
    fn hits(self, call: &Call<'_>) -> bool {
        match self {
            Self::Io => true,
            Self::NoSpace | Self::ReadOnly => !matches!(call, Call::Sync),
            Self::Short => matches!(call, Call::Write(_)),
            Self::Sync => matches!(call, Call::Sync),
        }
    }
}
