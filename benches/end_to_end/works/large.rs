//! W7: the largest result.

use super::row;
use crate::{
    backend::LARGE,
    client::{Order, batch},
    floor,
    lab::Lab,
    report::Row,
};
use toolbatch::clock::Clock;

/// W7: a result of 64 MiB, stored and read back.
pub(crate) async fn result(lab: &mut Lab) -> Row {
    let mut times = (Vec::new(), Vec::new());
    let file = lab.folder("large");
    for _ in 0..lab.rounds(10) {
        times.0.push(floor::large(&file));
        let request = batch(&lab.task(), "large", 1, Order::Sequential);
        let clock = Clock::start();
        let mut step_id = String::new();
        lab.client.run(request, |call| step_id.clone_from(&call.step_id)).await;
        assert_eq!(lab.client.read_result(&step_id).await, LARGE);
        times.1.push(clock.now().mono);
    }
    row("W7", "a result of 64 MiB, stored and read back", times, 1, 2.0)
}
