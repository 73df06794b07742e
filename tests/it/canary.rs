//! A secret that is placed wherever secrets go, and looked for in all that servers say while these tests run: each rig and each program
//! looks when it ends, so any test that makes a server tell a secret fails.

use std::{
    io::{self, Write},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{fmt::format::FmtSpan, util::SubscriberInitExt as _};

/// Part of every secret of these tests.
pub(crate) const CANARY: &str = "canary-secret-7f3a9";

/// Lines with the canary in them.
static ESCAPED: Mutex<Vec<String>> = Mutex::new(Vec::new());
static LINES: AtomicUsize = AtomicUsize::new(0);

/// From now on everything is looked through that servers within this process log, at `debug` and with their spans.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::DEBUG).with_ansi(false);
        let lines = lines.with_span_events(FmtSpan::NEW | FmtSpan::CLOSE).with_writer(|| Cage);
        lines.finish().try_init().expect("nothing else logs in this process");
    });
}

/// Looks through what a program said.
pub(crate) fn look(line: &str) {
    LINES.fetch_add(1, Ordering::Relaxed);
    if line.contains(CANARY) {
        ESCAPED.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
    }
}

/// Fails where a server has told a secret, whichever test it was in.
pub(crate) fn must_be_caged() {
    let escaped = ESCAPED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(escaped.is_empty() || std::thread::panicking(), "a secret was logged:\n{}", escaped.join("\n"));
}

/// How much was looked through.
pub(crate) fn lines() -> usize {
    LINES.load(Ordering::Relaxed)
}

struct Cage;

impl Write for Cage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        look(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
