//! W8 and W9: many readers, many open batches.

use futures_util::{StreamExt as _, stream};
use tokio::task::spawn_blocking;
use toolbatch::clock::Clock;

use super::row;
use crate::{
    client::{Order, batch},
    lab::Lab,
    process::{Process, role},
    report::{Must, Row},
};

const READERS: u32 = 1_000;
const BATCHES: u32 = 10_000;

/// W8: a thousand readers of one batch: what the batch loses by them, and what each takes.
pub(crate) async fn readers(lab: &mut Lab) -> [Row; 2] {
    const CALLS: usize = 100;
    let (mut times, mut memory) = ((Vec::new(), Vec::new()), Vec::new());
    for _ in 0..lab.rounds(5) {
        times.0.push(lab.batch("wait_50", CALLS, Order::Sequential).await);
        let before = lab.server.process.resident();
        let clock = Clock::start();
        let task = lab.task();
        let batch_id = lab.client.leave(batch(&task, "wait_50", CALLS, Order::Sequential)).await;
        let (endpoint, server) = (lab.server.endpoint.clone(), &lab.server.process);
        let mut command = role("--readers", &[&endpoint, &batch_id, &READERS.to_string()]);
        let (process, ()) =
            spawn_blocking(move || Process::start(&mut command, |line| (line == "following").then_some(())))
                .await
                .expect("it starts");
        memory.push(server.resident().saturating_sub(before));
        lab.client.watch(&batch_id).await;
        times.1.push(clock.now().mono);
        spawn_blocking(|| process.ended()).await.expect("all readers see the end");
    }
    // The most of all rounds: later ones are served from what earlier ones gave back.
    let kib = memory.into_iter().max().unwrap_or(0) as f64 / 1_024.0 / f64::from(READERS);
    let cost = Row {
        work: "W8 memory",
        what: format!("memory of each of {READERS} readers, in KiB"),
        floor: "-".into(),
        reached: format!("{kib:.1} KiB"),
        ratio: kib,
        must: Must::AtMost(64.0),
    };
    [row("W8", "a batch with 1,000 readers, 50 ms tool", times, CALLS, 1.2), cost]
}

/// W9: ten thousand batches, each waiting for its tool, nobody following.
pub(crate) async fn batches(lab: &mut Lab) -> Row {
    // What the server fills once, whatever it does: caches, the journal's overlay.
    for _ in 0..lab.rounds(100) {
        lab.batch("instant", 200, Order::Parallel(16)).await;
    }
    let request = |task: &str| batch(task, "hold", 1, Order::Sequential);
    let request_bytes = prost::Message::encoded_len(&request("task"));
    let before = lab.server.process.resident();
    let (name, client) = (lab.task(), lab.client.clone());
    stream::iter(0..BATCHES)
        .for_each_concurrent(32, |n| {
            let (mut client, request) = (client.clone(), request(&format!("{name}-{n}")));
            async move { drop(client.leave(request).await) }
        })
        .await;
    let grown = lab.server.process.resident().saturating_sub(before);
    let kib = (grown as f64 / f64::from(BATCHES) - request_bytes as f64) / 1_024.0;
    lab.restart().await;
    Row {
        work: "W9",
        what: format!("memory of each of {BATCHES} open batches beyond its request, in KiB"),
        floor: format!("{request_bytes} bytes asked for"),
        reached: format!("{kib:.1} KiB"),
        ratio: kib,
        must: Must::AtMost(16.0),
    }
}
