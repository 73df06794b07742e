//! W5: how long it takes from the backend's answer until the client is told.

use toolbatch::clock::Clock;

use super::row;
use crate::{
    backend::NEWS,
    client::{Order, batch},
    floor,
    lab::Lab,
    report::Row,
};

/// W5: one call; the floor is a durable write and a message on a stream.
pub(crate) async fn news(lab: &mut Lab) -> Row {
    let (mut times, clock) = ((Vec::new(), Vec::new()), Clock::start());
    for _ in 0..lab.rounds(10) {
        times.0.extend(floor::news(&mut lab.tools).await);
        for _ in 0..NEWS {
            let request = batch(&lab.task(), "stamp", 1, Order::Sequential);
            lab.client.run(request, |call| times.1.push(floor::since(clock, &call.result_json))).await;
        }
    }
    row("W5", "from the backend's answer to CallFinished", times, 1, 1.5)
}
