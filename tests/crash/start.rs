//! What a start reads (C42): the unfinished batches, and of what is finished the index and the journal, but no result.

use std::{fs, path::Path};

use toolbatch::proto::{BatchMode, BatchOptions, ExecuteBatchRequest, ToolCall};

use crate::{
    client::Return,
    dice::setting,
    load::{batch, call},
    power::record::{self, Record, recording},
    setting::Setting,
};

/// What is recorded where nobody asks for more: results of 100 kB. `TOOLBATCH_RESULTS=10000` makes it 1 GB.
const RESULTS: usize = 400;
const RESULT_BYTES: usize = 100_000;
const CALLS: usize = 100;
/// What a server may take of memory (C42).
const RESIDENT_KIB: u64 = 200 << 10;
/// What a process reads besides its data: its libraries, its configuration, and what the system tells of itself.
const OTHER_BYTES: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn c42_a_start_reads_no_results() {
    let results =
        setting("TOOLBATCH_RESULTS").map_or(RESULTS, |results| usize::try_from(results).expect("it is small"));
    let mut setting = Setting::started().await;
    let client = setting.client();
    for number in 0..results.div_ceil(CALLS) {
        client.run(&blobs(number), Return::Watch).await;
    }
    let gate = setting.backend.hold("unfinished");
    let unfinished = batch("unfinished", vec![call("echo", r#"{"id":"unfinished"}"#)], BatchOptions::default());
    client.execute(&unfinished, |event| event.sequence < 2).await;
    setting.kill().await;
    gate.release();

    let data = setting.server.data();
    let log = setting.server.folder().join("record");
    setting.server.set_environment(recording(&data, &log));
    let clock = toolbatch::clock::Clock::start();
    setting.restart();
    setting.server.ready().await;
    let ready = clock.now().mono;
    let (read, resident) = (number_in(&setting, "io", "rchar:"), number_in(&setting, "status", "VmHWM:"));
    let (index, journal, blobs) = ["sled", "journal", "blobs"].map(|part| length(&data.join(part))).into();
    println!(
        "start: {results} results of {RESULT_BYTES} bytes; sled {index}, journal {journal}, blobs {blobs} bytes; \
         {read} bytes read, {resident} KiB resident, ready after {ready:?}"
    );
    let opened = |record: &Record| matches!(record, Record::Open { path, .. } if path.contains("/blobs/00"));
    assert_eq!(record::read(&log).iter().filter(|record| opened(record)).count(), 0, "no result is looked at");
    assert!(blobs >= (results * RESULT_BYTES) as u64 && blobs > 2 * OTHER_BYTES, "there was nothing to read");
    // sled reads its file as it opens, and what stands above the tasks is counted once it is open.
    assert!(read <= 2 * index + journal + OTHER_BYTES, "{read} bytes read");
    assert!(resident < RESIDENT_KIB, "{resident} KiB resident");
    let log = client.follow("unfinished").await;
    assert!(log.last().is_some_and(|stream| stream.ended), "it went on");
}

fn blobs(number: usize) -> ExecuteBatchRequest {
    let args = |n: usize| format!(r#"{{"id":"{number}/{n}","bytes":{RESULT_BYTES}}}"#);
    let calls = (0..CALLS).map(|n| ToolCall { key: format!("{number}/{n}"), ..call("blob", &args(n)) });
    let options = BatchOptions { mode: BatchMode::Parallel.into(), max_concurrency: 8, ..BatchOptions::default() };
    ExecuteBatchRequest {
        task_id: format!("task {number}"),
        ..batch(&format!("batch {number}"), calls.collect(), options)
    }
}

/// A number that the system keeps of the server's process.
fn number_in(setting: &Setting, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/{file}", setting.server.pid())).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the system tells");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("it is a number")
}

/// What all files of a folder hold.
fn length(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("it is a folder");
    entries
        .map(|entry| {
            let entry = entry.expect("it can be read");
            if entry.path().is_dir() { length(&entry.path()) } else { entry.metadata().expect("it is there").len() }
        })
        .sum()
}
