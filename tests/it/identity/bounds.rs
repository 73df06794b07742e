//! An agent has bounds of its own, so that one that floods is refused before others are.

use toolbatch::proto::{ExecuteBatchRequest, GetBatchRequest, batch_event::Event};

use tonic::{Code, Status};

use super::{OPS, ORDERS, SPY, start_with, with, within};
use crate::{
    refusal::assert_overloaded,
    rig::{Rig, batch, call},
};

/// A batch of one call, which an operator or the agent itself starts.
fn of(agent_id: &str, batch_id: &str) -> ExecuteBatchRequest {
    let calls = vec![call("effect", &format!(r#"{{"id":"{batch_id}"}}"#))];
    ExecuteBatchRequest { batch_id: batch_id.into(), agent_id: agent_id.into(), ..batch(calls) }
}

async fn get(rig: &Rig, token: &str, batch_id: &str) -> Result<(), Status> {
    let request = GetBatchRequest { batch_id: batch_id.into() };
    rig.batches().get_batch(with(token, request)).await.map(|_| ())
}

#[tokio::test]
async fn an_agent_with_its_open_batches_is_refused_and_another_is_not() {
    let rig = start_with(|limits| limits.agent_open_batches = 1).await;
    let held = rig.backend.hold("first");
    let mut first = rig.open(with(ORDERS, of("orders", "first"))).await.expect("taken in");
    let refused = rig.refused(with(ORDERS, of("orders", "second"))).await;
    assert_overloaded(&refused, "AGENT_HAS_TOO_MANY_OPEN_BATCHES");
    let message = refused.message();
    assert!(message.contains(r#"agent "orders" has limits.agent_open_batches = 1"#), "{message}");
    let for_it = within("acme", with(OPS, of("orders", "second")));
    assert_overloaded(&rig.refused(for_it).await, "AGENT_HAS_TOO_MANY_OPEN_BATCHES");
    assert_eq!(get(&rig, ORDERS, "second").await.expect_err("it is not recorded").code(), Code::NotFound);
    assert!(rig.open(with(ORDERS, of("orders", "first"))).await.is_ok(), "whoever comes back to a batch adds none");
    assert_eq!(rig.run(with(SPY, of("spy", "another"))).await.statuses(), ["completed"]);
    drop(held);
    first.until(|event| matches!(event, Event::BatchFinished(_))).await;
    assert_eq!(rig.run(with(ORDERS, of("orders", "second"))).await.statuses(), ["completed"]);
}

#[tokio::test]
async fn an_agent_that_sends_too_fast_is_refused_and_another_is_not() {
    let rig = start_with(|limits| limits.agent_requests_per_second = 1).await;
    let refused = loop {
        match get(&rig, ORDERS, "none").await.expect_err("there is none") {
            status if status.code() == Code::NotFound => {}
            status => break status,
        }
    };
    assert_overloaded(&refused, "AGENT_SENDS_TOO_FAST");
    let message = refused.message();
    assert!(message.contains(r#"agent "orders" sends more than limits.agent_requests_per_second = 1"#), "{message}");
    assert_eq!(get(&rig, SPY, "none").await.expect_err("there is none").code(), Code::NotFound);
    let mut batches = rig.batches();
    for _ in 0..20 {
        let request = GetBatchRequest { batch_id: "none".into() };
        let status = batches.get_batch(within("acme", with(OPS, request))).await.expect_err("there is none");
        assert_eq!(status.code(), Code::NotFound, "operators are not bounded");
    }
}
