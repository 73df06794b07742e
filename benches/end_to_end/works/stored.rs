//! W10: what calls cost that are on disk already.

use std::time::Duration;

use super::row;
use crate::{
    client::{Client, Order, batch},
    fill,
    lab::Lab,
    report::Row,
    server::Server,
};
use toolbatch::clock::Clock;

const CALLS: usize = 200;

struct Filled {
    server: Server,
    client: Client,
    calls: u64,
    times: Vec<Duration>,
}

/// W10: a sequential and a parallel batch, with a thousand finished calls on disk and with many more.
pub(crate) async fn calls(lab: &mut Lab) -> Vec<Row> {
    let counts: &[u64] = if lab.short { &[1_000, 100_000] } else { &[1_000, 100_000, 1_000_000] };
    let mut filled = Vec::new();
    for &calls in counts {
        let home = lab.folder(&format!("filled-{calls}"));
        std::fs::create_dir(&home).expect("a folder");
        fill::fill(&home.join("data"), calls).expect("it can be filled");
        let server = Server::start(&home, &lab.backend);
        let client = Client::connect(&server.endpoint).await;
        filled.push(Filled { server, client, calls, times: Vec::new() });
    }
    for _ in 0..lab.rounds(25) {
        for filled in &mut filled {
            let task = lab.task();
            let clock = Clock::start();
            filled.client.run(batch(&task, "instant", CALLS, Order::Sequential), |_| {}).await;
            filled.client.run(batch(&format!("{task}-wide"), "instant", CALLS, Order::Parallel(16)), |_| {}).await;
            filled.times.push(clock.now().mono);
        }
    }
    let few = filled.remove(0);
    let rows = filled.into_iter().map(|many| {
        let what = format!("a call with {} finished calls on disk, to one with {}", many.calls, few.calls);
        let resident = many.server.process.resident() >> 20;
        let work = if Some(&many.calls) == counts.last() { "W10" } else { "W10 fewer" };
        let mut row = row(work, &what, (few.times.clone(), many.times), 2 * CALLS, 1.3);
        row.reached = format!("{}, {resident} MiB resident", row.reached);
        row
    });
    let rows = rows.collect();
    // The few are measured to the end beside the many.
    drop(few.server);
    rows
}
