//! How much is repeated: a batch of eight calls, killed at a random moment, for every way to run it. The table is that of
//! docs/reliability.md.

use std::{collections::HashMap, time::Duration};

use toolbatch::proto::{BatchMode, BatchOptions, ExecuteBatchRequest, InDoubtPolicy, ToolCall};

use crate::{
    backend::Entry,
    client::Return,
    dice::{Dice, seed, setting},
    fold::Fold,
    load::{batch, call},
    setting::Setting,
};

/// Rounds of each row where nobody asks for more. `TOOLBATCH_ROUNDS` asks for more.
const ROUNDS: u64 = 20;
const CALLS: u64 = 8;
/// How long a call takes at least, and how much more some do.
const CALL_MS: u64 = 4;
const MORE_MS: u64 = 8;
/// The kill comes within this time of the first call, divided by the calls that run at once: about as long as the batch takes.
const KILL_WITHIN_MS: u64 = 80;

/// One way to run the batch.
struct Row {
    mode: BatchMode,
    width: u32,
    keyed: bool,
    policy: InDoubtPolicy,
    /// The most calls that one kill may make run again. Under LOOKUP the backend has said that their first run had no effect.
    again: usize,
}

/// What became of the rounds of a row.
#[derive(Default)]
struct Outcome {
    /// Rounds whose kill hit a running call.
    interrupted: usize,
    /// Calls that were run again: in all, and in the round that had most.
    again: usize,
    most: usize,
    /// Effects, and those that there were twice.
    effects: usize,
    twice: usize,
    /// Calls that ended with an unknown outcome.
    unknown: usize,
}

const ROWS: [Row; 8] = [
    Row { mode: BatchMode::Sequential, width: 1, keyed: true, policy: InDoubtPolicy::Rerun, again: 1 },
    Row { mode: BatchMode::Sequential, width: 1, keyed: false, policy: InDoubtPolicy::Rerun, again: 1 },
    Row { mode: BatchMode::Parallel, width: 4, keyed: true, policy: InDoubtPolicy::Rerun, again: 4 },
    Row { mode: BatchMode::Parallel, width: 4, keyed: false, policy: InDoubtPolicy::Rerun, again: 4 },
    Row { mode: BatchMode::Sequential, width: 1, keyed: true, policy: InDoubtPolicy::Fail, again: 0 },
    Row { mode: BatchMode::Parallel, width: 4, keyed: true, policy: InDoubtPolicy::Fail, again: 0 },
    Row { mode: BatchMode::Sequential, width: 1, keyed: true, policy: InDoubtPolicy::Lookup, again: 1 },
    Row { mode: BatchMode::Parallel, width: 4, keyed: true, policy: InDoubtPolicy::Lookup, again: 4 },
];

#[tokio::test(flavor = "multi_thread")]
async fn the_table_of_repeats() {
    let seed = seed("repeats");
    let mut dice = Dice::new(seed);
    let rounds = setting("TOOLBATCH_ROUNDS").unwrap_or(ROUNDS);
    let calls = rounds * CALLS;
    let mut table = format!(
        "| mode | keys | in_doubt | kills | hit a running call | calls run again, at most per kill | in all | effects (of {calls}) | \
         effects twice | left unknown |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for row in &ROWS {
        let Outcome { interrupted, again, most, effects, twice, unknown } = run(row, rounds, &mut dice, seed).await;
        let mode = if row.width == 1 { "sequential".to_owned() } else { format!("parallel {}", row.width) };
        let keys = if row.keyed { "yes" } else { "no" };
        let policy = row.policy.as_str_name().trim_start_matches("IN_DOUBT_POLICY_");
        let line = format!(
            "| {mode} | {keys} | {policy} | {rounds} | {interrupted} | {most} | {again} | {effects} | {twice} | {unknown} |"
        );
        table = table + &line + "\n";
        assert!(interrupted > 0, "no kill hit a running call: {mode} {policy}");
        if row.policy == InDoubtPolicy::Lookup {
            assert_eq!((effects as u64, twice, unknown), (calls, 0, 0), "{mode} {policy}: every effect, and once");
        }
    }
    println!("{table}");
}

fn request(row: &Row, round: u64, dice: &mut Dice) -> ExecuteBatchRequest {
    let calls = (0..CALLS).map(|n| {
        let key = if row.keyed { format!("{round}/{n}") } else { String::new() };
        let ms = CALL_MS + dice.below(MORE_MS);
        ToolCall { key, ..call("effect", &format!(r#"{{"id":"{round}/{n}","ms":{ms}}}"#)) }
    });
    let options = BatchOptions {
        mode: row.mode.into(),
        max_concurrency: row.width,
        stop_on_error: Some(false),
        in_doubt: row.policy.into(),
        ..BatchOptions::default()
    };
    batch(&format!("round {round}"), calls.collect(), options)
}

async fn run(row: &Row, rounds: u64, dice: &mut Dice, seed: u64) -> Outcome {
    let mut setting = Setting::started().await;
    let mut batches = Vec::new();
    for round in 0..rounds {
        let request = request(row, round, dice);
        let client = setting.client();
        setting.server.ready().await;
        let delay = Duration::from_millis(dice.below(KILL_WITHIN_MS / u64::from(row.width)));
        let kill = async {
            let of_round = |entry: &Entry| entry.batch_id == request.batch_id;
            setting.backend.journal().wait_for(|entries| entries.iter().any(of_round)).await;
            tokio::time::sleep(delay).await;
            setting.kill().await;
            setting.restart();
        };
        let (streams, ()) = tokio::join!(client.run(&request, Return::Watch), kill);
        batches.push((request, streams));
    }
    setting.server.ready().await;
    let evidence = setting.evidence(batches).await;
    setting.judge(&evidence, &format!("TOOLBATCH_SEED={seed}"));
    let mut outcome = Outcome::default();
    for story in &evidence.stories {
        let journal = evidence.journal.iter().filter(|entry| entry.batch_id == story.request.batch_id);
        outcome.add(&journal.collect::<Vec<_>>(), &story.fold(), row, seed);
    }
    outcome
}

impl Outcome {
    /// Adds one batch.
    fn add(&mut self, journal: &[&Entry], fold: &Fold, row: &Row, seed: u64) {
        let mut calls: HashMap<u32, (usize, usize)> = HashMap::new();
        for entry in journal {
            let (runs, effects) = calls.entry(entry.index).or_default();
            *runs += 1;
            *effects += usize::from(entry.has_landed());
        }
        let again = calls.values().map(|(runs, _)| runs - 1).sum::<usize>();
        assert!(again <= row.again, "TOOLBATCH_SEED={seed}: one kill made {again} calls run again; {} may", row.again);
        self.again += again;
        self.most = self.most.max(again);
        self.effects += calls.values().map(|(_, effects)| effects).sum::<usize>();
        self.twice += calls.values().map(|(_, effects)| effects.saturating_sub(1)).sum::<usize>();
        self.interrupted += usize::from(fold.calls.values().any(|call| call.interruptions > 0));
        let errors = fold.calls.values().filter_map(|call| call.result.as_ref()?.error.as_ref());
        self.unknown += errors.filter(|error| error.outcome_unknown).count();
    }
}
