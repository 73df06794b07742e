//! A disk that is filled to its last byte under a load that fills the journal, too.

use toolbatch::proto::{BatchMode, BatchOptions};

use super::{before, full, keyed, not_serving, read_before};
use crate::{client::Return, load::batch, setting::Setting, small_disk::SmallDisk};

/// Four journal files and what is beside them.
const MEGABYTES: u32 = 96;
/// Batches of the largest size there is, and what their calls answer: together more than the 16 MiB of one journal file.
const BATCHES: usize = 30;
const CALLS: usize = 200;
const RESULT_BYTES: usize = 3_200;

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_without_a_byte_left_stops_everything_and_loses_nothing() {
    for killed in [false, true] {
        let Some(disk) = SmallDisk::mount("a_disk_without_a_byte_left", MEGABYTES) else { return };
        until_the_journal_is_full(&disk, killed).await;
    }
}

async fn until_the_journal_is_full(disk: &SmallDisk, killed: bool) {
    let what = format!("killed while it is full: {killed}");
    let mut setting = Setting::new().await;
    std::os::unix::fs::symlink(disk.path(), setting.server.data()).expect("a link can be made");
    setting.server.start();
    let client = setting.client();
    client.run(&before(), Return::Watch).await;

    let held = setting.backend.hold("blob");
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..BATCHES {
        let calls = (0..CALLS).map(|n| keyed("blob", &format!("{number}/{n}"), &format!(r#","bytes":{RESULT_BYTES}"#)));
        let options = BatchOptions { mode: BatchMode::Parallel.into(), ..BatchOptions::default() };
        let (client, request) = (setting.client(), batch(&format!("batch {number}"), calls.collect(), options));
        clients.spawn(async move {
            let streams = client.run(&request, Return::Watch).await;
            (request, streams)
        });
    }
    let of_load = |id: &str| !id.starts_with("before");
    let running = |entries: &[crate::backend::Entry]| entries.iter().filter(|entry| of_load(&entry.id)).count();
    setting.backend.journal().wait_for(|entries| running(entries) >= BATCHES * 4).await;
    let ballast = disk.fill();
    let health = client.health().await.expect("it serves");
    held.release();
    not_serving(Some(health)).await;
    assert!(full(&setting, &client, &what).await, "{what}: it ended:\n{}", setting.server.log());
    let begun = running(&setting.backend.journal().entries());
    assert!(begun < BATCHES * CALLS, "{what}: the journal took everything");
    if killed {
        setting.kill().await;
        setting.restart();
        setting.server.ready().await;
        read_before(&client).await.unwrap_or_else(|status| panic!("{what}: {status:?}"));
    }
    std::fs::remove_file(ballast).expect("space");
    let mut batches = clients.join_all().await;
    batches.push((before(), Vec::new()));
    let evidence = setting.evidence(batches).await;
    setting.judge(&evidence, &what);
    setting.server.stop().await;
}
