//! The power goes: the server's writes are recorded, and the disk is rebuilt as it may be at any moment, with what was not synced
//! lost in several ways. The real server starts on every such image, and has to know all that had been told by then.

mod image;
pub(crate) mod record;
mod wire;

use std::{collections::BTreeMap, path::Path};

use toolbatch::proto::{BatchEvent, BatchMode, BatchOptions, CallStatus, batch_event::Event};

pub(crate) use self::image::write_sparse;
use self::{
    image::{Disk, Model, POWER_CUTS},
    record::{Record, recording},
    wire::{Told, told},
};
use crate::{
    backend::ScriptedBackend,
    client::{Client, Return},
    dice::{Dice, seed, setting},
    load::{batch, call},
    process::Server,
    setting::Setting,
};

/// Images of a run that nobody asks more of. `TOOLBATCH_IMAGES` asks for more.
const IMAGES: u64 = 200;

/// What the tools answer: kept in the log, at the border to a file of its own, and over several frames of one.
const RESULT_BYTES: [usize; 3] = [100, 4_096, 1 << 20];

/// Calls of a batch.
const CALLS: usize = 6;

/// A server's life, as its disk and its wires saw it.
struct Recording {
    root: String,
    records: Vec<Record>,
    told: Vec<(usize, Told)>,
    result: String,
    backend: ScriptedBackend,
}

/// What was told before a moment.
#[derive(Debug, Default)]
struct Promised {
    /// By batch: its events, by sequence.
    events: BTreeMap<String, BTreeMap<u64, BatchEvent>>,
    /// By batch: index and attempt of what was sent to the backend.
    attempts: BTreeMap<String, Vec<(u32, u32)>>,
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_survives_a_loss_of_power() {
    let seed = seed("power");
    let mut dice = Dice::new(seed);
    let images = setting("TOOLBATCH_IMAGES").unwrap_or(IMAGES);
    let mut checked = (0, 0, 0);
    for (size, share) in RESULT_BYTES.into_iter().zip([images - images / 3 * 2, images / 3, images / 3]) {
        let recording = record(size).await;
        let (events, attempts) = cut(&recording, share, &mut dice, seed).await;
        checked = (checked.0 + share, checked.1 + events, checked.2 + attempts);
        let (records, told) = (recording.records.len(), recording.told.len());
        println!("power: results of {size} bytes: {records} records, {told} told, {share} images");
    }
    println!(
        "power: {} images; {} events and {} attempts were told before a cut, and all are there",
        checked.0, checked.1, checked.2
    );
    assert!(checked.1 > images && checked.2 > images, "nothing was told before the cuts");
}

/// A server is created, works, is stopped, works, is killed, recovers and stops again.
async fn record(size: usize) -> Recording {
    let mut setting = Setting::new().await;
    let logs = tempfile::tempdir().expect("a folder can be made");
    let data = setting.server.data();
    let log = |number: usize| logs.path().join(number.to_string());
    let client = setting.client();

    setting.server.set_environment(recording(&data, &log(0)));
    setting.server.start();
    for (name, mode) in [("first", BatchMode::Sequential), ("second", BatchMode::Parallel)] {
        client.run(&blobs(name, size, mode), Return::Watch).await;
    }
    setting.server.stop().await;

    setting.server.set_environment(recording(&data, &log(1)));
    setting.server.start();
    let gate = setting.backend.hold("third/3");
    let third = blobs("third", size, BatchMode::Parallel);
    let crash = async {
        setting.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "third/3")).await;
        setting.kill().await;
        gate.release();
        setting.server.set_environment(recording(&data, &log(2)));
        setting.server.start();
    };
    tokio::join!(client.run(&third, Return::Watch), crash);
    client.run(&blobs("fourth", size, BatchMode::Sequential), Return::Watch).await;
    setting.server.stop().await;

    let records: Vec<Record> = (0..3).flat_map(|number| record::read(&log(number))).collect();
    let root = data.display().to_string();
    assert_complete(&records, &root, &data);
    let told = told(&records);
    let result = format!("\"{}\"", "x".repeat(size - 2));
    let Setting { backend, .. } = setting;
    Recording { root, records, told, result, backend }
}

fn blobs(name: &str, size: usize, mode: BatchMode) -> toolbatch::proto::ExecuteBatchRequest {
    let calls = (0..CALLS).map(|n| {
        let args = format!(r#"{{"id":"{name}/{n}","bytes":{size}}}"#);
        toolbatch::proto::ToolCall { key: format!("{name}/{n}"), ..call("blob", &args) }
    });
    batch(name, calls.collect(), BatchOptions { mode: mode.into(), ..BatchOptions::default() })
}

/// The record is worth something only if nothing is missing in it: replayed whole, it gives what is there.
fn assert_complete(records: &[Record], root: &str, data: &Path) {
    let mut disk = Disk::default();
    for record in records {
        disk.apply(record);
    }
    let replayed = tempfile::tempdir().expect("a folder can be made");
    disk.write(Model::Kept, root, replayed.path(), &mut Dice::new(0));
    assert_eq!(contents(data), contents(replayed.path()), "the record is not all that the server did to its folder");
}

/// Every file below a folder, by its path from there, with its length and checksum.
fn contents(folder: &Path) -> BTreeMap<String, (usize, u32)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(contents(&path).into_iter().map(|(below, content)| (format!("{name}/{below}"), content)));
            found.insert(name, (0, 0));
        } else {
            let bytes = std::fs::read(&path).expect("it can be read");
            found.insert(name, (bytes.len(), crc32fast::hash(&bytes)));
        }
    }
    found
}

/// Cuts the power at random moments, half of them right after something was told. Gives the events and attempts that were checked.
async fn cut(recording: &Recording, images: u64, dice: &mut Dice, seed: u64) -> (u64, u64) {
    let mut cuts: Vec<(usize, Model)> = (0..images)
        .map(|_| {
            let place = if dice.chance(50) {
                let place = dice.below(recording.told.len() as u64);
                recording.told[usize::try_from(place).expect("it is a place")].0 + 1
            } else {
                usize::try_from(dice.below(recording.records.len() as u64 + 1)).expect("it is a place")
            };
            (place, dice.one_of(&POWER_CUTS))
        })
        .collect();
    cuts.sort_by_key(|(place, _)| *place);
    let (mut disk, mut applied, mut counts) = (Disk::default(), 0, (0, 0));
    for (place, model) in cuts {
        for record in &recording.records[applied..place] {
            disk.apply(record);
        }
        applied = place;
        let mut server = Server::new(&recording.backend);
        disk.write(model, &recording.root, &server.data(), dice);
        let promised = Promised::before(place, &recording.told);
        let what = format!("TOOLBATCH_SEED={seed}, {} bytes, {model:?} after {place} records", recording.result.len());
        server.start();
        assert!(server.serves().await, "{what}: I21: the server does not start:\n{}", server.log());
        let client = Client::new(server.endpoint(), recording.backend.journal().clone());
        let faults = promised.broken(&client, &recording.result).await;
        assert!(faults.is_empty(), "{what}: I21: {faults:#?}\n{}", server.log());
        server.kill();
        assert!(server.panics().is_empty(), "{what}: {:?}", server.panics());
        counts.0 += promised.events.values().map(|events| events.len() as u64).sum::<u64>();
        counts.1 += promised.attempts.values().map(|attempts| attempts.len() as u64).sum::<u64>();
    }
    counts
}

impl Promised {
    fn before(place: usize, told: &[(usize, Told)]) -> Self {
        let mut promised = Self::default();
        for (_, told) in told.iter().filter(|(at, _)| *at < place) {
            match told {
                Told::Event(event) => {
                    let events = promised.events.entry(event.batch_id.clone()).or_default();
                    events.insert(event.sequence, event.as_ref().clone());
                }
                Told::Attempt { batch_id, index, attempt } => {
                    promised.attempts.entry(batch_id.clone()).or_default().push((*index, *attempt));
                }
            }
        }
        promised
    }

    /// What a server does not know any more.
    async fn broken(&self, client: &Client, result: &str) -> Vec<String> {
        let mut faults = Vec::new();
        for (batch_id, events) in &self.events {
            let length = events.keys().next_back().copied().unwrap_or(0);
            let log = match client.prefix(batch_id, length).await {
                Ok(log) => log,
                Err(status) => {
                    faults.push(format!("{batch_id}: {length} events were told; now: {status}"));
                    continue;
                }
            };
            for (sequence, event) in events {
                let kept = log.iter().find(|kept| kept.sequence == *sequence);
                if kept != Some(event) {
                    faults.push(format!("{batch_id}: told was {event:?}, now it is {kept:?}"));
                }
                faults.extend(lost_result(event, client, result).await);
            }
        }
        for (batch_id, attempts) in &self.attempts {
            // An attempt that left is in the log, though no client may have been told of it yet.
            let log = match client.get_batch_or_none(batch_id).await {
                Some(batch) => client.prefix(batch_id, batch.last_sequence).await.unwrap_or_default(),
                None => Vec::new(),
            };
            for (index, attempt) in attempts {
                let started = log.iter().any(|event| {
                    matches!(&event.event, Some(Event::CallStarted(started))
                        if started.index == *index && started.attempt == *attempt)
                });
                if !started {
                    faults.push(format!(
                        "{batch_id}: attempt {attempt} of call {index} had left, and no CallStarted tells"
                    ));
                }
            }
        }
        faults
    }
}

/// A result that a client was told of is there, byte for byte.
async fn lost_result(event: &BatchEvent, client: &Client, expected: &str) -> Option<String> {
    let Some(Event::CallFinished(finished)) = &event.event else { return None };
    let told = finished.result.as_ref()?;
    if told.status() != CallStatus::Completed {
        return None;
    }
    match client.result(&told.step_id).await {
        Ok(kept) if kept == expected.as_bytes() => None,
        Ok(kept) => Some(format!("the result of step {} has {} bytes of another content", told.step_id, kept.len())),
        Err(status) => Some(format!("the result of step {} is lost: {status}", told.step_id)),
    }
}
