//! Panics of sled's, which are errors here: damage and failing disks make it panic, and the store says in one line what is wrong.

use std::{
    any::Any,
    cell::Cell,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Once,
};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs something that may panic, on this thread; a panic of it is given back and not printed.
pub(super) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                before(info);
            }
        }));
    });
    let outer = CATCHING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(outer);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_given_back_also_from_within_another_run() {
        let inner = caught(|| {
            assert_eq!(caught(|| 7).unwrap(), 7);
            assert!(CATCHING.get(), "the outer run goes on");
            panic!("sled's")
        });
        let _: () = inner.map_err(|panic| assert_eq!(panic.downcast_ref(), Some(&"sled's"))).unwrap_or_default();
        assert!(!CATCHING.get());
    }
}
