//! What the server did to its files and sent over its sockets, in one order: tests/crash/recorder.c, and its log.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// One record. File descriptors are those of one process; after [`Record::Process`] all are new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Process,
    Open { fd: i64, path: String, truncates: bool, creates: bool },
    Close { fd: i64 },
    Write { fd: i64, offset: u64, bytes: Vec<u8> },
    Truncate { fd: i64, length: u64 },
    Sync { fd: i64, id: i64 },
    Synced { fd: i64, id: i64 },
    Rename { from: String, to: String },
    Unlink { path: String },
    Mkdir { path: String },
    Send { fd: i64, bytes: Vec<u8> },
}

/// The library, compiled once for this process.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recorder-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/recorder.c");
        let options = ["-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-pthread", "-o"];
        let compiled = Command::new("cc").args(options).arg(&library).arg(source).status();
        let well = compiled.as_ref().is_ok_and(std::process::ExitStatus::success);
        assert!(well, "cc, which also links Rust programs, could not make the recorder: {compiled:?}");
        library
    })
}

/// What a process is started with to have its folder recorded.
pub(crate) fn recording(root: &Path, log: &Path) -> Vec<(String, String)> {
    preload(root, &[("RECORD_LOG", log.display().to_string())])
}

/// What a process is started with to be killed at an operation on its folder, counted from 1.
pub(crate) fn killing(root: &Path, at: u64, torn: bool) -> Vec<(String, String)> {
    preload(root, &[("RECORD_KILL_AT", at.to_string()), ("RECORD_KILL_TORN", u8::from(torn).to_string())])
}

/// Which operations fail, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    pub(crate) error: rustix::io::Errno,
    /// The first that fails, counted from 1 among those that can.
    pub(crate) at: u64,
    /// All that follow fail, too.
    pub(crate) for_ever: bool,
    pub(crate) among: Among,
}

/// The operations that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    All,
    Syncs,
    /// The first writes half of what it should, and the next one fails.
    ShortWrites,
}

/// What a process is started with to have operations on its folder fail.
pub(crate) fn failing(root: &Path, failure: &Failure) -> Vec<(String, String)> {
    // The bits of the enum in recorder.c.
    let (among, short) = match failure.among {
        Among::All => (7, false),
        Among::Syncs => (2, false),
        Among::ShortWrites => (1, true),
    };
    let more = [
        ("RECORD_FAIL_AT", failure.at.to_string()),
        ("RECORD_FAIL_ERRNO", failure.error.raw_os_error().to_string()),
        ("RECORD_FAIL_EVER", u8::from(failure.for_ever).to_string()),
        ("RECORD_FAIL_AMONG", among.to_string()),
        ("RECORD_FAIL_SHORT", u8::from(short).to_string()),
    ];
    preload(root, &more)
}

fn preload(root: &Path, more: &[(&str, String)]) -> Vec<(String, String)> {
    let first = [("LD_PRELOAD", library().display().to_string()), ("RECORD_ROOT", root.display().to_string())];
    first.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

impl Record {
    /// Whether the recorder counts it as an operation that a process can be killed at.
    pub(crate) fn is_operation(&self) -> bool {
        match self {
            Self::Open { truncates, creates, .. } => *truncates || *creates,
            Self::Write { .. }
            | Self::Truncate { .. }
            | Self::Sync { .. }
            | Self::Rename { .. }
            | Self::Unlink { .. }
            | Self::Mkdir { .. } => true,
            Self::Process | Self::Close { .. } | Self::Synced { .. } | Self::Send { .. } => false,
        }
    }
}

/// Reads a log. What a killed process left half-written at its end is no record.
pub(crate) fn read(log: &Path) -> Vec<Record> {
    let bytes = std::fs::read(log).expect("the recorder wrote its log");
    let mut rest = bytes.as_slice();
    let mut records = Vec::new();
    while let Some(record) = take(&mut rest) {
        records.push(record);
    }
    records
}

fn take(rest: &mut &[u8]) -> Option<Record> {
    let mut head = *rest;
    let kind = *head.split_off_first()?;
    let a = i64::from_ne_bytes(head.split_off(..8)?.try_into().ok()?);
    let b = i64::from_ne_bytes(head.split_off(..8)?.try_into().ok()?);
    let first = u32::from_ne_bytes(head.split_off(..4)?.try_into().ok()?) as usize;
    let second = u32::from_ne_bytes(head.split_off(..4)?.try_into().ok()?) as usize;
    let (first, second) = (head.split_off(..first)?, head.split_off(..second)?);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the server's paths are text");
    let place = |number: i64| u64::try_from(number).expect("no offset is negative");
    *rest = head;
    // The numbers of the enum in recorder.c.
    Some(match kind {
        1 => Record::Process,
        2 | 3 => Record::Open { fd: a, path: text(first), truncates: b != 0, creates: kind == 3 },
        4 => Record::Close { fd: a },
        5 => Record::Write { fd: a, offset: place(b), bytes: first.to_vec() },
        6 => Record::Truncate { fd: a, length: place(b) },
        7 => Record::Sync { fd: a, id: b },
        8 => Record::Synced { fd: a, id: b },
        9 => Record::Rename { from: text(first), to: text(second) },
        10 => Record::Unlink { path: text(first) },
        11 => Record::Mkdir { path: text(first) },
        12 => Record::Send { fd: a, bytes: first.to_vec() },
        other => panic!("the recorder has no kind {other}"),
    })
}
