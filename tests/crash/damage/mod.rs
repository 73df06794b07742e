//! Something happened to the data folder: bits flipped, sectors zeroed, files cut off, gone or grown. The real server starts on it and
//! has to have everything, or refuse, or say what is lost; and it never runs a call again whose key was completed.

mod harm;
mod original;
mod probe;

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};

use self::{
    harm::{BY_CHANCE, Harm, OF_C40},
    original::{Life, Original, write},
    probe::{Outcome, probe},
};
use crate::{
    dice::{Dice, seed, setting},
    process::Server,
};

/// Images of a run that nobody asks more of. `TOOLBATCH_DAMAGED` asks for more.
const IMAGES: u64 = 200;
/// Servers at once: their work is mostly waiting for the disk.
const AT_ONCE: usize = 3;

/// Tasks of the folders that are damaged by chance, and keyed calls in each: 300.
const TASKS: usize = 6;
const CALLS: usize = 50;
/// C40 has 1,000 keys.
const C40_TASKS: usize = 10;
const C40_CALLS: usize = 100;

/// One damaged folder.
struct Image<'a> {
    number: usize,
    original: &'a Original,
    harm: Harm,
    dice: Dice,
}

/// By kind of damage: how often all was there, the start was refused, and a loss was told.
type Table = BTreeMap<Harm, [u64; 3]>;

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_folder_is_whole_or_refused_or_says_what_is_lost() {
    let seed = seed("damage");
    let mut dice = Dice::new(seed);
    let wanted = setting("TOOLBATCH_DAMAGED").unwrap_or(IMAGES);
    let originals = originals().await;
    let harms = [&BY_CHANCE[..], &BY_CHANCE[..], &OF_C40[..]].concat();
    let images = (0..usize::try_from(wanted).expect("it is small")).map(|number| Image {
        number,
        original: &originals[number % originals.len()],
        harm: dice.one_of(&harms),
        dice: dice.fork(),
    });
    let table = look_at_all(images, seed).await;
    let sums = (0..3).map(|outcome| table.values().map(|row| row[outcome]).sum::<u64>()).collect::<Vec<_>>();
    // Some damage was harmless, some was too much, and some of it could be told by name.
    assert!(wanted < IMAGES || sums.iter().all(|sum| *sum > 0), "TOOLBATCH_SEED={seed}: {sums:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn c40_a_damaged_sled_is_whole_or_refused() {
    let seed = seed("c40");
    let mut dice = Dice::new(seed);
    let mut life = Life::begin(C40_TASKS, C40_CALLS).await;
    life.stop().await;
    life.start().await;
    life.kill().await;
    let with = life.end("C40, with a snapshot");
    assert!(with.files.keys().any(|name| is_snapshot(name)), "sled wrote no snapshot: {:?}", with.files.keys());
    for (original, has_snapshot) in [(&with, true), (&without_snapshot(&with), false)] {
        let harms = OF_C40.into_iter().filter(|harm| has_snapshot || *harm != Harm::SnapshotEmptied);
        let images: Vec<Image<'_>> =
            (0..).zip(harms).map(|(number, harm)| Image { number, original, harm, dice: dice.fork() }).collect();
        let table = look_at_all(images.into_iter(), seed).await;
        for harm in [Harm::SnapshotEmptied, Harm::SnapshotGenerating] {
            assert_eq!(table.get(&harm).map_or(0, |row| row[1] + row[2]), 0, "{harm:?}: the log is whole");
        }
    }
}

/// What a server may leave behind: all in the journal; all in sled; some in each, with sled's snapshot and without.
async fn originals() -> [Original; 4] {
    let killed = async {
        let mut life = Life::begin(TASKS, CALLS).await;
        life.kill().await;
        life.end("killed")
    };
    let stopped = async {
        let mut life = Life::begin(TASKS, CALLS).await;
        life.stop().await;
        life.end("stopped")
    };
    let restarted = async {
        let mut life = Life::begin(TASKS - 1, CALLS).await;
        life.stop().await;
        life.start().await;
        life.work("after", CALLS, None).await;
        life.kill().await;
        life.end("restarted")
    };
    let (killed, stopped, restarted) = tokio::join!(killed, stopped, restarted);
    let bare = without_snapshot(&restarted);
    [killed, stopped, restarted, bare]
}

fn is_snapshot(name: &str) -> bool {
    name.starts_with("sled/snap.")
}

fn without_snapshot(original: &Original) -> Original {
    let mut bare = original.clone();
    bare.name = "without a snapshot";
    bare.files.retain(|name, _| !is_snapshot(name));
    bare
}

async fn look_at_all<'a>(images: impl Iterator<Item = Image<'a>>, seed: u64) -> Table {
    let mut table = Table::new();
    let mut looks = stream::iter(images).map(|image| look_at(image, seed)).buffer_unordered(AT_ONCE);
    while let Some(seen) = looks.next().await {
        let Some((harm, outcome)) = seen else { continue };
        table.entry(harm).or_default()[outcome as usize] += 1;
    }
    println!("| damage | whole | refused | data loss |\n| --- | ---: | ---: | ---: |");
    for (harm, [whole, refused, lost]) in &table {
        println!("| {harm:?} | {whole} | {refused} | {lost} |");
    }
    table
}

/// `None` where the folder has nothing that this could happen to.
async fn look_at(image: Image<'_>, seed: u64) -> Option<(Harm, Outcome)> {
    let Image { number, original, harm, mut dice } = image;
    let mut files = original.files.clone();
    let done = harm.strike(&mut files, &mut dice)?;
    let mut server = Server::new(&original.backend);
    write(&files, &server.data());
    match probe(original, &mut server, number).await {
        Ok(outcome) => Some((harm, outcome)),
        Err(faults) => panic!(
            "TOOLBATCH_SEED={seed}, image {number}, {}, {done}: I23: {faults:#?}\nthe server's log:\n{}",
            original.name,
            server.log()
        ),
    }
}
