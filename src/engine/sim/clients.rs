//! The clients of a world. One that lost its server comes back, and asks again for what it was not told is done.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{
    backend,
    plan::Plan,
    timeline::{Ack, Fact, Happened, START, Timeline},
};
use crate::{
    batch::{event::StopReason, key::Verdict, sim::plan::Deed},
    engine::{
        Engine, Error,
        keys::{KeyQuery, Standing},
        watch::Told,
    },
};

pub(super) const TENANT: &str = "tenant";

#[derive(Clone)]
struct Client {
    plan: Arc<Plan>,
    engine: Engine,
    timeline: Timeline,
}

/// Asks for all that the plan wants, and follows every batch to its end, or to that of the server.
pub(super) async fn run(plan: &Arc<Plan>, engine: &Engine, timeline: &Timeline) {
    let client = Client { plan: Arc::clone(plan), engine: engine.clone(), timeline: timeline.clone() };
    let done: Vec<Ack> = timeline.so_far().iter().filter_map(|(_, what)| acknowledged(what)).collect();
    let mut clients = JoinSet::new();
    for number in 0..plan.batches.len() {
        clients.spawn(client.clone().execute(number));
    }
    for number in (0..plan.stops.len()).filter(|number| !done.contains(&Ack::Stopped(*number))) {
        clients.spawn(client.clone().stop(number));
    }
    let settled = |number| done.iter().any(|ack| matches!(ack, Ack::Settled { number: done, .. } if *done == number));
    for number in (0..plan.settlements.len()).filter(|number| !settled(*number)) {
        clients.spawn(client.clone().settle(number));
    }
    clients.join_all().await;
}

fn acknowledged(what: &Happened) -> Option<Ack> {
    match what {
        Happened::Acknowledged(ack) => Some(ack.clone()),
        Happened::Committed(_) | Happened::Ran(_) | Happened::Asked(_) | Happened::Told { .. } | Happened::Crashed => {
            None
        }
    }
}

impl Client {
    async fn until(&self, at_ms: u64) {
        let passed = u64::try_from(self.timeline.clock.now().wall.0 - START.0).expect("time goes on from the start");
        let left = Duration::from_millis(at_ms).saturating_sub(Duration::from_nanos(passed));
        tokio::time::sleep(left).await;
    }

    async fn execute(self, number: usize) {
        if self.plan.direct[number] && self.was_taken_in(number) {
            // Its caller went with the server that took it in.
            return;
        }
        self.until(self.plan.batches[number].at_ms).await;
        let mut watch = match self.engine.execute(TENANT, self.plan.spec(number)).await {
            Ok((_, watch)) => watch,
            // Another client ended the task, or the server is gone.
            Err(Error::TaskEnded { .. } | Error::Stopping) => return,
            Err(error) => panic!("batch {number} is taken in: {error}"),
        };
        loop {
            match watch.next().await {
                Some(Ok(Told::Line(line))) => {
                    self.timeline.push(Happened::Told { batch: number, line: line.as_ref().clone() });
                }
                Some(Ok(Told::Progress(_))) => {}
                None | Some(Err(Error::Stopping)) => return,
                Some(Err(error)) => panic!("batch {number} can be followed: {error}"),
            }
        }
    }

    fn was_taken_in(&self, number: usize) -> bool {
        let heads = |what: &Happened| match what {
            Happened::Committed(facts) => facts
                .iter()
                .any(|fact| matches!(fact, Fact::Head(_, _, head) if Plan::number(&head.batch_id) == number)),
            Happened::Ran(_)
            | Happened::Asked(_)
            | Happened::Told { .. }
            | Happened::Acknowledged(_)
            | Happened::Crashed => false,
        };
        self.timeline.so_far().iter().any(|(_, what)| heads(what))
    }

    async fn stop(self, number: usize) {
        let stop = &self.plan.stops[number];
        let Some(batch) = self.plan.batches.get(stop.batch) else { return };
        self.until(stop.at_ms).await;
        let done = if stop.reason == StopReason::TaskEnded {
            self.engine.end_task(TENANT, &Plan::task_id(batch.task), "it is done").await
        } else {
            self.engine.cancel(TENANT, &format!("batch {}", stop.batch), stop.abort).await.map(|_| ())
        };
        match done {
            Ok(()) => self.timeline.push(Happened::Acknowledged(Ack::Stopped(number))),
            // There is nothing to stop yet, or the server is gone.
            Err(Error::NotFound { .. } | Error::Stopping) => {}
            Err(error) => panic!("stop {number} is carried out: {error}"),
        }
    }

    /// Settles the first key that is unknown at that time, by what is true of it.
    async fn settle(self, number: usize) {
        self.until(self.plan.settlements[number]).await;
        for task in 0..2 {
            let task_id = Plan::task_id(task);
            let query = KeyQuery { states: vec![Standing::Unknown], after: None, limit: 1 };
            let unknown = match self.engine.keys(TENANT, &task_id, query).await {
                Ok(page) => page.items.into_iter().next(),
                Err(Error::NotFound { .. } | Error::Stopping) => None,
                Err(error) => panic!("keys can be listed: {error}"),
            };
            let Some(view) = unknown else { continue };
            let verdict = match self.effect(&view.idempotency_key) {
                Some(bytes) => Verdict::Landed(Bytes::from(backend::result(&view.idempotency_key, bytes))),
                None => Verdict::NotLanded,
            };
            match self.engine.settle_key(TENANT, &task_id, &view.key, verdict, "a person").await {
                Ok(_) => {
                    let ack = Ack::Settled { number, task, key: view.key };
                    return self.timeline.push(Happened::Acknowledged(ack));
                }
                // It runs again, or the server is gone.
                Err(Error::KeyNotUnknown { .. } | Error::Stopping) => {}
                Err(error) => panic!("key {} can be settled: {error}", view.key),
            }
        }
    }

    /// The length of the result that an attempt under this idempotency key had.
    fn effect(&self, idempotency_key: &str) -> Option<u64> {
        self.timeline.so_far().iter().find_map(|(_, what)| match what {
            Happened::Ran(ran) if ran.idempotency_key == idempotency_key => match ran.deed {
                Some(Deed::Completed { bytes } | Deed::Awaiting { bytes }) => Some(bytes),
                Some(Deed::Failed { .. }) | None => None,
            },
            Happened::Ran(_)
            | Happened::Committed(_)
            | Happened::Asked(_)
            | Happened::Told { .. }
            | Happened::Acknowledged(_)
            | Happened::Crashed => None,
        })
    }
}
