//! T15: a client that speaks HTTP/2 by hand and means harm, against one server on this machine. A good client gets its answers meanwhile,
//! and afterwards everything is as it was.

mod attack;

use std::{pin::pin, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, interval, timeout},
};
use toolbatch::{config::Config, proto::ExecuteBatchRequest};

use self::attack::{ATTACKS, LIMITS, Target};
use crate::{
    backend::ScriptedBackend,
    http2::Raw,
    process::{Program, Signal, resident_kib},
    rig::{Client, Rig, batch, call},
};

/// Only a test that already failed waits this long.
const PATIENCE: Duration = Duration::from_mins(1);
/// What an allocator may keep of what it once had.
const KEPT_MIB: u64 = 48;

/// What an answer is compared with: as many, with nobody else there.
const ALONE: usize = 200;

/// Asks once, and gives how long the answer took.
async fn ask(client: &Client, batch_id: &str) -> Duration {
    let start = Instant::now();
    client.get_batch(batch_id).await.expect("a good client gets its answer");
    start.elapsed()
}

fn p99(mut took: Vec<Duration>) -> Duration {
    took.sort();
    took[(took.len() - 1) * 99 / 100]
}

/// Makes what the attacks ask for: a large result, and a batch that does not end as long as the backend holds its call.
async fn target(client: &Client, endpoint: &str) -> Target {
    let ran = client.run(batch(vec![call("blob", r#"{"bytes":4000000}"#)])).await;
    let step_id = ran.results()[0].step_id.clone();
    let held = ExecuteBatchRequest { batch_id: "held".into(), ..batch(vec![call("effect", r#"{"id":"held"}"#)]) };
    client.open(held).await.expect("taken in");
    Target { endpoint: endpoint.to_owned(), step_id, batch_id: "held".into() }
}

/// Runs every attack beside a good client, each of whose questions has to be answered. Prints how it fared, for information.
async fn run_all(target: &Target) {
    for (name, attack) in ATTACKS {
        let client = Client::connect(&target.endpoint).await;
        let mut alone = Vec::new();
        for _ in 0..ALONE {
            alone.push(ask(&client, &target.batch_id).await);
        }
        let mut attack = pin!(timeout(PATIENCE, attack(target)));
        let mut beside = Vec::new();
        let ended = loop {
            tokio::select! {
                ended = &mut attack => break ended,
                took = ask(&client, &target.batch_id) => beside.push(took),
            }
        };
        ended.unwrap_or_else(|_| panic!("{name} does not come to its end"));
        beside.push(ask(&client, &target.batch_id).await);
        let (answers, alone, beside) = (beside.len(), p99(alone), p99(beside));
        println!("{name}: {answers} answers, p99 {beside:?}, {:.1} times that alone", beside.div_duration_f64(alone));
    }
}

/// Looks until a figure is as it should be; fails with the last one.
async fn settles<T: std::fmt::Debug>(what: &str, look: impl Fn() -> T, fits: impl Fn(&T) -> bool) {
    let mut looks = interval(Duration::from_millis(50));
    let settled = async {
        while !fits(&look()) {
            looks.tick().await;
        }
    };
    assert!(timeout(PATIENCE, settled).await.is_ok(), "{what}: {:?}", look());
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the process is there").count()
}

#[tokio::test]
async fn a_process_under_attack_answers_and_is_as_before_afterwards() {
    let mut program = Program::new("0s").await;
    program.append(LIMITS);
    let client = program.start().await;
    let _gate = program.backend.hold("held");
    let target = target(&client, &program.endpoint()).await;
    drop(client);
    let pid = program.pid();
    let start = descriptors(pid);
    // The first round fills what is kept for good: threads, pools, the allocator's own.
    run_all(&target).await;
    settles("descriptors", || descriptors(pid), |now| *now <= start + 5).await;
    let (base, resident) = (descriptors(pid), resident_kib(pid) / 1024);
    run_all(&target).await;
    settles("descriptors", || descriptors(pid), |now| *now <= base + 5).await;
    println!("resident: {resident} MiB after one round, {} MiB after two", resident_kib(pid) / 1024);
    settles("resident MiB", || resident_kib(pid) / 1024, |now| *now <= resident + KEPT_MIB).await;
    program.signal(Signal::Kill);
    program.ended().await;
}

#[tokio::test]
async fn attacks_leave_no_tasks_behind() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let limits = Config::parse(LIMITS, "limits").expect("they are right").limits;
    let rig = Rig::start_with(backend, backends, |config| config.limits = limits).await;
    let _gate = rig.backend.hold("held");
    let target = target(&Client::connect(rig.endpoint()).await, rig.endpoint()).await;
    let alive = || Handle::current().metrics().num_alive_tasks();
    let base = alive();
    run_all(&target).await;
    settles("tasks", alive, |now| *now <= base + 5).await;
}

#[tokio::test]
async fn a_server_without_descriptors_accepts_again_once_there_are_some() {
    let mut program = Program::new("0s").await;
    program.limit_descriptors(80);
    let client = program.start().await;
    let ran = client.run(batch(vec![call("echo", "{}")])).await;
    let mut raws = Vec::new();
    for _ in 0..120 {
        raws.push(Raw::connect(&program.endpoint()).await);
    }
    program.logged("a connection could not be accepted").await;
    client.get_batch(ran.batch_id()).await.expect("who is connected is answered");
    drop(raws);
    let other = Client::connect(&program.endpoint()).await;
    other.get_batch(ran.batch_id()).await.expect("who comes later, too");
    program.signal(Signal::Kill);
    program.ended().await;
}
