//! W11: more than the server takes at once.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use tonic::Code;
use toolbatch::clock::Clock;

use crate::{
    client::{Client, Order, batch},
    lab::Lab,
    report::{Must, Row},
    server::Server,
};

/// How many batches may be open, which is as many clients as the peak has.
const OPEN: usize = 32;
/// How many times as many clients there are.
const TIMES: usize = 5;
const CALLS: usize = 20;
/// Clients of one connection.
const SHARED: usize = 32;
/// How long a refused client waits, as `RetryInfo` says.
const WAIT: Duration = Duration::from_secs(1);
const TURN: Duration = Duration::from_secs(5);

/// W11: batches a second that complete, with five times as many clients as batches may be open; what was taken in has to complete.
pub(crate) async fn load(lab: &mut Lab) -> Row {
    let home = lab.folder("over");
    std::fs::create_dir_all(&home).expect("a folder");
    let server = Server::start_with(&home, &lab.backend, &format!("[limits]\nopen_batches = {OPEN}\n"));
    let (mut peak, mut over, mut refused) = (0.0_f64, 0.0_f64, 0);
    for _ in 0..lab.rounds(5).max(2) {
        peak = peak.max(goodput(lab, &server, OPEN).await.0);
        let (rate, refusals) = goodput(lab, &server, OPEN * TIMES).await;
        over = over.max(rate);
        refused += refusals;
    }
    Row {
        work: "W11",
        what: format!("{} clients where {OPEN} batches of {CALLS} may be open; {refused} refusals", OPEN * TIMES),
        floor: format!("{peak:.0} batches/s with {OPEN} clients"),
        reached: format!("{over:.0} batches/s"),
        ratio: over / peak,
        must: Must::AtLeast(0.9),
    }
}

/// So many clients, each with one batch after the other. Gives completed batches a second, and how many were refused.
async fn goodput(lab: &mut Lab, server: &Server, clients: usize) -> (f64, usize) {
    let (name, refused) = (lab.task(), AtomicUsize::new(0));
    let mut connections = Vec::new();
    for _ in 0..clients.div_ceil(SHARED) {
        connections.push(Client::connect(&server.endpoint).await);
    }
    let clock = Clock::start();
    let ran = (0..clients).map(|place| {
        let (mut client, name, refused) = (connections[place / SHARED].clone(), &name, &refused);
        async move {
            let (mut number, mut completed) = (0, 0_u32);
            while clock.now().mono < TURN {
                number += 1;
                let request = batch(&format!("{name}-{place}-{number}"), "instant", CALLS, Order::Parallel(16));
                match client.try_run(request).await {
                    Ok(()) if clock.now().mono < TURN => completed += 1,
                    Ok(()) => {}
                    Err(status) => {
                        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
                        refused.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(WAIT).await;
                    }
                }
            }
            completed
        }
    });
    let completed: u32 = join_all(ran).await.into_iter().sum();
    (f64::from(completed) / TURN.as_secs_f64(), refused.into_inner())
}
