//! W1 to W4: one batch of 200 keyed calls, in each order.

use super::row;
use crate::{client::Order, floor, lab::Lab, report::Row};

const CALLS: usize = 200;
const WIDTH: usize = 16;

/// W1: each call is durable before the next.
pub(crate) async fn sequential(lab: &mut Lab) -> Row {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..lab.rounds(25) {
        times.0.push(floor::sequential(&mut lab.tools, "instant", CALLS, Some(&mut lab.disk)).await);
        times.1.push(lab.batch("instant", CALLS, Order::Sequential).await);
    }
    row("W1", "sequential, instant tool", times, CALLS, 1.5)
}

/// W2: one durable write serves 16.
pub(crate) async fn parallel(lab: &mut Lab) -> Row {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..lab.rounds(50) {
        times.0.push(floor::parallel(&lab.tools, "instant", CALLS, WIDTH, Some(&mut lab.disk)).await);
        times.1.push(lab.batch("instant", CALLS, Order::Parallel(16)).await);
    }
    row("W2", "parallel 16, instant tool", times, CALLS, 2.0)
}

/// W3: the tool takes most of the time.
pub(crate) async fn parallel_slow(lab: &mut Lab) -> Row {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..lab.rounds(25) {
        times.0.push(floor::parallel(&lab.tools, "wait_5", CALLS, WIDTH, None).await);
        times.1.push(lab.batch("wait_5", CALLS, Order::Parallel(16)).await);
    }
    row("W3", "parallel 16, 5 ms tool", times, CALLS, 1.1)
}

/// W4: eight lanes of 25 calls: the floor is one lane's.
pub(crate) async fn lanes(lab: &mut Lab) -> Row {
    const LANES: usize = 8;
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..lab.rounds(25) {
        times.0.push(floor::sequential(&mut lab.tools, "wait_5", CALLS / LANES, None).await);
        times.1.push(lab.batch("wait_5", CALLS, Order::Lanes(LANES)).await);
    }
    row("W4", "8 lanes, 16 wide, 5 ms tool", times, CALLS / LANES, 1.1)
}
