//! One run of the server in a world.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, task::JoinSet, time::timeout};

use super::{
    backend, clients,
    plan::Plan,
    replay::Replay,
    timeline::{START, Timeline, Witness, World},
};
use crate::{
    batch::{event::Timestamp, gate::Limits},
    clock::Clock,
    dispatch::{Backends, pipe},
    engine::{
        COMMAND_QUEUE, Command, Engine, Error,
        commit::{Beside, Flight},
        read::Reader,
        run::Loop,
    },
    store,
};

/// What a call may take: some scripts never answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// By then every batch has ended, whatever happened to it.
const LIFETIME: Duration = Duration::from_hours(1);

/// Runs the server until every client is content, or the store fails. Panics where it does neither.
pub(super) fn live(plan: &Arc<Plan>, world: World) -> (World, Result<(), Error>) {
    // Time passes only where everything waits for it, so a life takes as long as its work.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let World { store, happened } = world;
    let (happened, outcome) = runtime.expect("a runtime needs no more than memory").block_on(async {
        let first = happened.is_empty();
        let away = i64::try_from(plan.away.as_nanos()).expect("servers stay away for moments");
        let wall = happened.last().map_or(START, |(Timestamp(time), _)| Timestamp(time + away));
        let timeline = Timeline::new(Clock::simulated(wall), happened);
        let witness = Witness { store: store.clone(), timeline: timeline.clone() };
        let absence = if first { Duration::ZERO } else { plan.absence };
        let life = serve(plan, witness, &timeline, absence);
        let outcome = timeout(LIFETIME, life).await.expect("I20: every batch ends");
        (timeline.take(), outcome)
    });
    (World { store, happened }, outcome)
}

async fn serve(plan: &Arc<Plan>, store: Witness, timeline: &Timeline, absence: Duration) -> Result<(), Error> {
    let (commands, queue) = mpsc::channel(COMMAND_QUEUE);
    let reader = Arc::new(Reader::new(Arc::new(store)));
    let engine = Engine { commands, reader: Arc::clone(&reader) };
    let (dials, listener) = pipe::listen();
    let mut background = JoinSet::new();
    background.spawn(backend::serve(Arc::clone(plan), timeline.clone(), listener, absence));
    let limits = Limits { max_concurrency: plan.places, breaks: true, ..Limits::default() };
    let backends = Backends::piped("tools", dials, limits);
    if plan.looks_first {
        backends.first_look(Duration::from_secs(5)).await.expect("one backend is in nobody's way");
    }
    let mut engine_loop = Loop::open(reader, timeline.clock, super::settings(CALL_TIMEOUT), backends)?;
    engine_loop.flight = Flight::new(Beside::After(plan.flush));
    let clients = async {
        clients::run(plan, &engine, timeline).await;
        engine.drain(Duration::ZERO).await;
    };
    let (outcome, ()) = tokio::join!(turns(engine_loop, queue), clients);
    Ok(outcome?)
}

/// The loop, turn by turn, with a look at its state after each.
async fn turns(mut engine: Loop, mut queue: mpsc::Receiver<Command>) -> Result<(), store::Error> {
    let mut tools = engine.backends.changes();
    let mut replay = Replay::default();
    let outcome = loop {
        replay.compare(&engine);
        match engine.turn(&mut queue, &mut tools).await {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    engine.close(outcome).await
}
