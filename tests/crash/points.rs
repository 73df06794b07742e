//! The server is killed at every write, sync, rename, truncation, creation and deletion that it makes for a few reference batches.

use std::path::Path;

use toolbatch::proto::{BatchMode, BatchOptions, ExecuteBatchRequest, ToolCall};

use crate::{
    check::{Tally, tally},
    client::Return,
    dice::{Dice, seed, setting},
    load::{batch, call},
    power::{
        record::{self, Record, killing, recording},
        write_sparse,
    },
    setting::Setting,
};

/// Points of a run that nobody asks more of, chosen by chance. `TOOLBATCH_POINTS=all` is every one of them.
const POINTS: u64 = 90;

/// What the server works on while it is killed.
struct Reference {
    name: &'static str,
    request: ExecuteBatchRequest,
    /// It begins in an empty folder, so that the making of a store is a part of it.
    creates: bool,
}

fn references() -> [Reference; 4] {
    let calls = |tool: &str, number: usize, more: &str| -> Vec<ToolCall> {
        let args = |n: usize| format!(r#"{{"id":"{n}","lane":{}{more}}}"#, n % 2);
        (0..number).map(|n| ToolCall { key: format!("k{n}"), ..call(tool, &args(n)) }).collect()
    };
    let lanes =
        BatchOptions { mode: BatchMode::Parallel.into(), serialize_on: "lane".into(), ..BatchOptions::default() };
    [
        Reference {
            name: "creation",
            request: batch("creation", calls("echo", 1, ""), BatchOptions::default()),
            creates: true,
        },
        Reference {
            name: "sequential",
            request: batch("sequential", calls("echo", 8, ""), BatchOptions::default()),
            creates: false,
        },
        Reference { name: "lanes", request: batch("lanes", calls("echo", 8, ""), lanes), creates: false },
        Reference {
            name: "large",
            request: batch("large", calls("blob", 3, r#","bytes":2097152"#), BatchOptions::default()),
            creates: false,
        },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_every_operation_on_the_store_repeats_nothing_that_finished() {
    let seed = seed("points");
    let mut dice = Dice::new(seed);
    let made = tempfile::tempdir().expect("a folder can be made");
    make_store(made.path()).await;
    let mut points = Vec::new();
    for (number, reference) in references().iter().enumerate() {
        let operations = operations(reference, made.path()).await;
        println!("points: {}: {operations} operations", reference.name);
        points.extend((1..=operations).map(|at| (number, at)));
    }
    let all = points.len();
    if std::env::var("TOOLBATCH_POINTS").as_deref() != Ok("all") {
        let wanted = setting("TOOLBATCH_POINTS").unwrap_or(POINTS);
        while points.len() as u64 > wanted {
            let place = dice.below(points.len() as u64);
            points.swap_remove(usize::try_from(place).expect("it is a place"));
        }
    }
    let references = references();
    let mut total = Tally::default();
    for (number, at) in &points {
        total += kill_at(&references[*number], made.path(), *at, dice.chance(50), seed).await;
    }
    println!("points: {} of {all}: {total:?}", points.len());
    // The number of operations differs by a few from run to run, so the last points may not be reached.
    assert!(total.kills * 10 >= points.len() * 9 && total.executions > 0, "too few kills: {total:?}");
}

/// Makes a store that nothing is in.
async fn make_store(at: &Path) {
    let mut setting = Setting::started().await;
    setting.server.stop().await;
    copy(&setting.server.data(), at);
}

/// How many operations the server makes on its store for a reference.
async fn operations(reference: &Reference, made: &Path) -> u64 {
    let mut setting = prepare(reference, made).await;
    let log = setting.server.folder().join("record");
    setting.server.set_environment(recording(&setting.server.data(), &log));
    setting.server.start();
    let streams = setting.client().run(&reference.request, Return::Watch).await;
    assert!(streams.len() == 1, "nobody kills this server");
    setting.kill().await;
    record::read(&log).iter().filter(|record| Record::is_operation(record)).count() as u64
}

async fn prepare(reference: &Reference, made: &Path) -> Setting {
    let setting = Setting::new().await;
    if !reference.creates {
        copy(made, &setting.server.data());
    }
    setting
}

/// Runs a reference with a kill at one operation, in the middle of it where it is a write and `torn`.
async fn kill_at(reference: &Reference, made: &Path, at: u64, torn: bool, seed: u64) -> Tally {
    let way = if torn { ", torn" } else { "" };
    let what = format!("TOOLBATCH_SEED={seed}, {} killed at operation {at}{way}", reference.name);
    let mut setting = prepare(reference, made).await;
    setting.server.set_environment(killing(&setting.server.data(), at, torn));
    setting.server.start();
    let client = setting.client();
    let request = &reference.request;
    let run = client.run(request, Return::Watch);
    tokio::pin!(run);
    let streams = tokio::select! {
        streams = &mut run => {
            // The batch was over before this operation came.
            setting.server.kill();
            setting.server.set_environment(Vec::new());
            setting.restart();
            streams
        }
        _ = setting.server.ended() => {
            setting.note_kill().await;
            setting.server.set_environment(Vec::new());
            setting.restart();
            assert!(setting.server.serves().await, "{what}: I20: the server does not start:\n{}", setting.server.log());
            run.await
        }
    };
    let evidence = setting.evidence(vec![(request.clone(), streams)]).await;
    setting.judge(&evidence, &what);
    tally(&evidence)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        let target = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            write_sparse(&target, &std::fs::read(&path).expect("it can be read"));
        }
    }
}
