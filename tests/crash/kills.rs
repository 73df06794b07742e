//! The server is killed at random moments under load, and again while it recovers.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolbatch::proto::ExecuteBatchRequest;

use crate::{
    check::{Tally, tally},
    client::{Client, Return, Stream},
    dice::{Dice, seed, setting},
    load::Load,
    setting::Setting,
};

/// Kills of a run that nobody asks more of. `TOOLBATCH_KILLS` asks for more.
const KILLS: u64 = 300;
/// Kills on one folder: it is thrown away afterwards, so that its history stays short enough to be checked in seconds.
const KILLS_PER_FOLDER: u64 = 30;
/// Clients at work at once.
const CLIENTS: u64 = 4;
/// The longest life of a server that serves.
const LIFE_MS: u64 = 400;
/// The longest life of one that is killed while it starts: it takes about this long to serve.
const START_MS: u64 = 60;
/// How often in a row a server is killed while it starts.
const DEPTH: u64 = 3;

#[tokio::test(flavor = "multi_thread")]
async fn kills_under_load_repeat_nothing_that_finished() {
    let seed = seed("kills");
    let mut dice = Dice::new(seed);
    let wanted = setting("TOOLBATCH_KILLS").unwrap_or(KILLS);
    let mut total = Tally::default();
    while (total.kills as u64) < wanted {
        let kills = KILLS_PER_FOLDER.min(wanted - total.kills as u64);
        total += one_folder(&mut dice, kills, seed).await;
        println!("kills: {total:?}");
    }
    assert!(total.kills as u64 >= wanted && total.executions > 0 && total.events > 0, "the run did nothing: {total:?}");
    assert!(total.interruptions > 0 && total.repeats > 0 && total.lookups > 0, "no kill hit a running call: {total:?}");
}

async fn one_folder(dice: &mut Dice, kills: u64, seed: u64) -> Tally {
    let mut setting = Setting::started().await;
    let enough = CancellationToken::new();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let load = Load::new(dice.fork(), format!("client{number}"));
        clients.spawn(work(setting.client(), load, dice.fork(), enough.clone()));
    }
    let mut killed = 0;
    while killed < kills {
        setting.server.ready().await;
        tokio::time::sleep(Duration::from_millis(dice.below(LIFE_MS))).await;
        setting.kill().await;
        setting.restart();
        killed += 1;
        let again = if dice.chance(25) { 1 + dice.below(DEPTH) } else { 0 };
        for _ in 0..again.min(kills - killed) {
            tokio::time::sleep(Duration::from_millis(dice.below(START_MS))).await;
            setting.kill().await;
            setting.restart();
            killed += 1;
        }
    }
    enough.cancel();
    setting.server.ready().await;
    let batches = clients.join_all().await.into_iter().flatten().collect();
    let evidence = setting.evidence(batches).await;
    setting.judge(&evidence, &format!("TOOLBATCH_SEED={seed}"));
    let lost = setting.lost_results(&evidence).await;
    assert!(lost.is_empty(), "TOOLBATCH_SEED={seed}: {lost:#?}");
    tally(&evidence)
}

/// Runs batch after batch, each to its end.
async fn work(
    client: Client,
    mut load: Load,
    mut dice: Dice,
    enough: CancellationToken,
) -> Vec<(ExecuteBatchRequest, Vec<Stream>)> {
    let mut done = Vec::new();
    while !enough.is_cancelled() {
        let request = load.next();
        let back = dice.one_of(&[Return::Watch, Return::Repeat]);
        let streams = client.run(&request, back).await;
        done.push((request, streams));
    }
    done
}
