//! What a call costs in things that do not vary with the machine: syncs, requests to the backend, allocations. A time decides nothing here;
//! `cargo bench --bench end_to_end` measures those.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use toolbatch::proto::ExecuteBatchRequest;

use crate::{
    process::{Program, Signal},
    rig::{Client, batch, batch_with, keyed, parallel},
};

const CALLS: usize = 200;

/// What the server did so far.
#[derive(Clone, Copy, Debug)]
struct Counts {
    syncs: u64,
    allocations: u64,
}

struct Counted {
    program: Program,
    client: Client,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Counted {
    /// A server whose every sync takes 2 ms longer.
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("counts");
        std::fs::write(&file, [0; 16]).expect("a file");
        let mut program = Program::new("5s").await;
        program.set_environment(&[("LD_PRELOAD", counter()), ("COUNT_FILE", &file), ("COUNT_SYNC_MS", Path::new("2"))]);
        let client = program.start().await;
        Self { program, client, file, _folder: folder }
    }

    fn counts(&self) -> Counts {
        let bytes = std::fs::read(&self.file).expect("it is there");
        let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Counts { syncs: number(0), allocations: number(8) }
    }

    /// Runs a batch to its end; gives what that took.
    async fn run(&self, request: ExecuteBatchRequest) -> Counts {
        let before = self.counts();
        let ran = self.client.run(request).await;
        assert_eq!(ran.summary().succeeded as usize, CALLS, "{:?}", ran.summary());
        let after = self.counts();
        Counts { syncs: after.syncs - before.syncs, allocations: after.allocations - before.allocations }
    }

    async fn stop(mut self) {
        self.program.signal(Signal::Terminate);
        assert!(self.program.ended().await.success());
    }
}

/// The library that counts, compiled once for this process.
fn counter() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("counter-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/counts/counter.c");
        let options = ["-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o"];
        let compiled = Command::new("cc").args(options).arg(&library).arg(source).status();
        assert!(compiled.as_ref().is_ok_and(std::process::ExitStatus::success), "cc cannot make it: {compiled:?}");
        library
    })
}

fn calls(round: &str) -> Vec<toolbatch::proto::ToolCall> {
    (0..CALLS).map(|n| keyed(&format!("{round}-{n}"), "effect", &format!(r#"{{"id":"{round}-{n}"}}"#))).collect()
}

fn a_call(count: u64) -> f64 {
    f64::from(u32::try_from(count).expect("it is small")) / 200.0
}

#[tokio::test]
async fn a_sequential_call_takes_one_sync_and_a_parallel_one_a_part_of_one() {
    let server = Counted::start().await;
    // Whatever happens once, such as the first task, is over.
    server.run(batch(calls("first"))).await;
    let sequential = server.run(batch(calls("sequential"))).await;
    assert!(a_call(sequential.syncs) <= 1.01, "W1: {sequential:?} for {CALLS} calls");
    assert!(a_call(sequential.syncs) >= 1.0, "each call is durable before the next: {sequential:?}");
    let wide = server.run(batch_with(calls("wide"), parallel(16))).await;
    assert!(a_call(wide.syncs) <= 0.2, "W2: {wide:?} for {CALLS} calls");
    server.stop().await;
}

#[tokio::test]
async fn a_call_takes_one_request_to_the_backend() {
    let server = Counted::start().await;
    server.run(batch(calls("a"))).await;
    server.run(batch_with(calls("b"), parallel(16))).await;
    assert_eq!(server.program.backend.journal().entries().len(), 2 * CALLS);
    assert_eq!(server.program.backend.lookups(), Vec::<String>::new());
    server.stop().await;
}

/// The bound is a third above what was counted when it was set: it is there to notice a copy that nobody meant.
#[tokio::test]
async fn a_call_takes_a_bounded_number_of_allocations() {
    const MOST: f64 = 280.0;
    let server = Counted::start().await;
    server.run(batch(calls("first"))).await;
    for (name, request) in
        [("sequential", batch(calls("sequential"))), ("wide", batch_with(calls("wide"), parallel(16)))]
    {
        let allocations = a_call(server.run(request).await.allocations);
        println!("{name}: {allocations:.0} allocations a call");
        assert!(allocations > 10.0, "the counter sees the server's allocations");
        assert!(allocations <= MOST, "{name}: {allocations:.0} allocations a call");
    }
    server.stop().await;
}
