//! What an open group holds, or one that is being written, is seen by the inputs that it still takes in.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{sync::oneshot, task::JoinSet};

use super::{
    backend,
    clients::TENANT,
    plan::generate,
    timeline::{START, Timeline},
};
use crate::{
    batch::{
        core::{BatchNo, Input, TaskNo},
        event::{Ending, Event},
        gate::Limits,
        outcome::{Body, Outcome, Payload},
        sim::plan::TOOLS,
        spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
    },
    clock::Clock,
    dispatch::{Backends, pipe},
    engine::{
        Error,
        accept::StartRequest,
        commit::{Beside, Flight, Landing},
        read::Reader,
        run::Loop,
        variables::SetRequest,
    },
    store::{self, Memory, records::Outline},
};

fn batch(batch_id: &str) -> StartRequest {
    let call = CallSpec { tool: TOOLS[0].0.into(), args: "{}".into(), key: Some("order 1".into()), lane: None };
    let options = Options {
        mode: Mode::Sequential { max_concurrency: 4 },
        serialize_on: String::new(),
        stop_on_error: false,
        include_results: true,
        call_timeout: None,
        retry: RetryPolicy::default(),
        in_doubt: InDoubtPolicy::Rerun,
    };
    let spec = Spec {
        task_id: "task".into(),
        agent_id: String::new(),
        batch_id: Some(batch_id.into()),
        calls: vec![call],
        options,
        direct: false,
        trace: None,
        content_digest: [0; 32],
    };
    let (content, outline_bytes) = Outline::write(&spec);
    let content = Payload { bytes: content.len() as u64, body: Body::Inline(content) };
    let (reply, _) = oneshot::channel();
    StartRequest { tenant: TENANT.into(), spec: Arc::new(spec), content, outline_bytes, lease: None, reply }
}

/// A loop that knows its tools, and whatever has to live as long.
async fn engine() -> (Loop, JoinSet<()>) {
    let clock = Clock::simulated(START);
    let (dials, listener) = pipe::listen();
    let mut background = JoinSet::new();
    let serving = backend::serve(Arc::new(generate(0)), Timeline::new(clock, Vec::new()), listener, Duration::ZERO);
    background.spawn(serving);
    let backends = Backends::piped("tools", dials, Limits::default());
    backends.first_look(Duration::from_secs(5)).await.unwrap();
    let reader = Arc::new(Reader::new(Arc::new(Memory::new())));
    let mut engine = Loop::open(reader, clock, super::settings(Duration::from_secs(30)), backends).unwrap();
    engine.flight = Flight::new(Beside::After(Duration::ZERO));
    (engine, background)
}

fn log(engine: &Loop, batch_id: &str) -> Vec<Event> {
    let at = engine.reader.find(TENANT, batch_id).unwrap();
    engine.reader.entries(at, 0).unwrap().into_iter().map(|entry| entry.event).collect()
}

/// Makes everything durable that has happened.
async fn settle(engine: &mut Loop) {
    if !engine.flight.is_under_way() {
        engine.commit().unwrap();
    }
    while engine.flight.is_under_way() {
        let written = engine.flight.landed().await.unwrap();
        engine.landed(written).unwrap();
    }
}

/// One batch completes a key, another with it starts before anything of that is durable.
async fn a_key_is_done_for_a_batch_that_starts(under_way: bool) {
    let (mut engine, _background) = engine().await;
    engine.start(batch("batch 0"));
    settle(&mut engine).await;
    let result = Payload { bytes: 1, body: Body::Inline(Bytes::from_static(b"1")) };
    let outcome = Outcome::Completed { result, usage: Vec::new() };
    engine.step(Input::Outcome { batch: BatchNo(1), index: 0, attempt: 1, outcome });
    if under_way {
        assert_eq!(engine.commit().unwrap(), Landing::UnderWay, "an attempt could still answer");
    }
    assert_eq!(engine.core.open_batches(), 0, "the first has ended, and nothing of that is stored yet");
    assert_eq!(log(&engine, "batch 0").len(), 2);
    engine.start(batch("batch 1"));
    settle(&mut engine).await;
    settle(&mut engine).await;

    let started = |event: &&Event| matches!(event, Event::CallStarted { .. });
    let (first, second) = (log(&engine, "batch 0"), log(&engine, "batch 1"));
    assert_eq!(first.iter().chain(&second).filter(started).count(), 1);
    let Event::CallFinished(finished) = &second[1] else { panic!("{second:?}") };
    assert!(matches!(finished.ending, Ending::Skipped { args_changed: false, .. }), "{finished:?}");
    assert!(matches!(second[2], Event::BatchFinished { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_batch_completes_is_done_for_a_batch_that_starts_in_the_same_group() {
    a_key_is_done_for_a_batch_that_starts(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_batch_completes_is_done_for_a_batch_that_starts_while_that_is_written() {
    a_key_is_done_for_a_batch_that_starts(true).await;
}

/// Sets a variable of the batches' task; gives where its name will be told.
fn set(engine: &mut Loop, name: Option<&str>) -> oneshot::Receiver<Result<String, Error>> {
    let (reply, answer) = oneshot::channel();
    engine.set_variable(SetRequest {
        tenant: TENANT.into(),
        task_id: "task".into(),
        name: name.map(str::to_owned),
        value: Payload { bytes: 1, body: Body::Inline(Bytes::from_static(b"1")) },
        lease: None,
        writer: String::new(),
        reply,
    });
    answer
}

#[tokio::test(start_paused = true)]
async fn what_comes_with_a_tasks_first_variable_is_of_the_same_task() {
    let (mut engine, _background) = engine().await;
    let mut answers = vec![set(&mut engine, None), set(&mut engine, Some("VAR_2")), set(&mut engine, None)];
    engine.start(batch("batch 0"));
    answers.push(set(&mut engine, None));
    for answer in &mut answers {
        assert!(answer.try_recv().is_err(), "nobody is told before it is durable");
    }
    engine.commit().unwrap();
    let names: Vec<String> = answers.iter_mut().map(|answer| answer.try_recv().unwrap().unwrap()).collect();
    assert_eq!(names, ["VAR_1", "VAR_2", "VAR_3", "VAR_4"]);
    assert_eq!(engine.counters.next_task, 2);
    assert_eq!(engine.reader.find(TENANT, "batch 0").unwrap().task, TaskNo(1));
    assert_eq!(engine.reader.task_head(TaskNo(1)).unwrap().last_variable, 4);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_lacks_something_is_not_made_durable() {
    let (mut engine, _background) = engine().await;
    engine.start(batch("batch 0"));
    engine.fail(store::Error::Failed("a read failed".into()));
    assert_eq!(engine.commit(), Err(store::Error::Failed("a read failed".into())));
    assert!(engine.reader.find(TENANT, "batch 0").is_err(), "the server stops, and the next start finds nothing of it");
}
