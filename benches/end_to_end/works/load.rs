//! W6: many batches at once.

use std::time::Duration;

use futures_util::future::join_all;
use toolbatch::clock::Clock;

use crate::{
    client::{Order, batch},
    floor,
    lab::Lab,
    report::{Must, Row},
};

const CALLS: usize = 200;
const WIDTH: usize = 16;
/// How many batches run at once.
const BATCHES: usize = 16;
/// Both sides take turns, so that a slow moment of the machine hits both.
const TURN: Duration = Duration::from_secs(4);

/// W6: calls a second.
pub(crate) async fn flood(lab: &mut Lab) -> Row {
    let (mut floor, mut reached) = (Vec::new(), Vec::new());
    for _ in 0..lab.rounds(5) {
        floor.push(floor::flood(&lab.tools, "instant", BATCHES * WIDTH, TURN).await);
        reached.push(batches(lab, BATCHES, TURN).await);
    }
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (floor, reached) = (median(floor), median(reached));
    Row {
        work: "W6",
        what: format!(
            "{BATCHES} batches of {CALLS} at once, 16 wide, for {} s in all",
            TURN.as_secs() * lab.rounds(5) as u64
        ),
        floor: format!("{floor:.0} calls/s"),
        reached: format!("{reached:.0} calls/s"),
        ratio: reached / floor,
        must: Must::AtLeast(0.35),
    }
}

/// Runs batches, so many at once, one after the other in each place. Gives calls a second.
pub(crate) async fn batches(lab: &mut Lab, at_once: usize, time: Duration) -> f64 {
    let clock = Clock::start();
    let name = lab.task();
    let places = (0..at_once).map(|place| {
        let (mut client, name) = (lab.client.clone(), name.clone());
        async move {
            let (mut number, mut calls) = (0, 0_u32);
            while clock.now().mono < time {
                number += 1;
                let request = batch(&format!("{name}-{place}-{number}"), "instant", CALLS, Order::Parallel(16));
                client.run(request, |_| calls += 1).await;
            }
            calls
        }
    });
    let calls: u32 = join_all(places).await.into_iter().sum();
    f64::from(calls) / clock.now().mono.as_secs_f64()
}
