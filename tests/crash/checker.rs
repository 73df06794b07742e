//! The checker itself: a real run passes, and every promise that is broken in its evidence is found, by name.

use toolbatch::proto::{BatchEvent, BatchMode, BatchOptions, InDoubtPolicy, ToolCall, batch_event::Event};

use crate::{
    check::{Evidence, check},
    client::{Return, finishes},
    load::{batch, call},
    setting::Setting,
};

/// Where the stories stand.
const SEQUENTIAL: usize = 0;
const LANES: usize = 1;

/// A sequential batch that is killed in its third call, and then one in lanes.
async fn evidence() -> Evidence {
    let mut setting = Setting::started().await;
    let calls = |name: &str| -> Vec<ToolCall> {
        let call = |n: u32| call("echo", &format!(r#"{{"id":"{name}{n}","lane":{}}}"#, n % 2));
        (0..6).map(|n| ToolCall { key: format!("{name}{n}"), ..call(n) }).collect()
    };
    let sequential = batch("sequential", calls("s"), BatchOptions::default());
    let client = setting.client();
    let gate = setting.backend.hold("s2");
    let kill = async {
        setting.backend.journal().wait_for(|entries| entries.len() == 3).await;
        setting.kill().await;
        gate.release();
        setting.restart();
    };
    let (first, ()) = tokio::join!(client.run(&sequential, Return::Watch), kill);
    let options =
        BatchOptions { mode: BatchMode::Parallel.into(), serialize_on: "lane".into(), ..BatchOptions::default() };
    let lanes = batch("lanes", calls("l"), options);
    let second = client.run(&lanes, Return::Watch).await;
    setting.evidence(vec![(sequential, first), (lanes, second)]).await
}

/// Renumbers a log after a change, so that only the change is wrong.
fn renumber(log: &mut [BatchEvent]) {
    for (sequence, event) in (1..).zip(log) {
        event.sequence = sequence;
    }
}

fn place(log: &[BatchEvent], fits: impl Fn(&Event) -> bool) -> usize {
    log.iter().position(|event| event.event.as_ref().is_some_and(&fits)).expect("the log has one")
}

fn rerun(evidence: &mut Evidence) -> &mut crate::backend::Entry {
    evidence.journal.iter_mut().find(|entry| entry.attempt == 2).expect("one call ran again")
}

fn set_policy(evidence: &mut Evidence, policy: InDoubtPolicy) {
    evidence.stories[SEQUENTIAL].request.options.as_mut().expect("it has options").in_doubt = policy.into();
}

type Break = (&'static str, &'static str, fn(&mut Evidence));

/// What is broken, the promise that has to be named, and how it is broken.
const BROKEN: [Break; 21] = [
    ("a key runs again after its end was seen", "I1", |evidence| {
        let mut again = evidence.journal[0].clone();
        (again.batch_id, again.start, again.end) = ("lanes".into(), usize::MAX - 1, Some(usize::MAX));
        evidence.journal.push(again);
    }),
    ("a call runs again after its end was seen", "I1", |evidence| {
        evidence.journal[0].start = usize::MAX;
    }),
    ("an event that was seen is not in the log", "I2", |evidence| {
        evidence.stories[LANES].log.pop();
    }),
    ("an event has other content now", "I2", |evidence| {
        evidence.stories[LANES].log[1].time = None;
    }),
    ("the backend ran an attempt that the log does not know", "I3", |evidence| {
        rerun(evidence).attempt = 7;
    }),
    ("the backend ran a batch that nobody asked for", "I3", |evidence| {
        evidence.journal[0].batch_id = "other".into();
    }),
    ("an attempt reaches its tool twice", "I3", |evidence| {
        let mut twice = rerun(evidence).clone();
        twice.peer = None;
        evidence.journal.push(twice);
    }),
    ("a call runs twice in one life of the server", "I4", |evidence| {
        let twice = evidence.journal[0].clone();
        evidence.journal.push(twice);
    }),
    ("the log starts a call again without a reason", "I4", |evidence| {
        let log = &mut evidence.stories[SEQUENTIAL].log;
        let at = place(log, |event| matches!(event, Event::BatchResumed(_)));
        log.remove(at);
        renumber(log);
    }),
    ("a rerun does not say that it is in doubt", "I5", |evidence| rerun(evidence).in_doubt = false),
    ("a first attempt is in doubt", "I5", |evidence| evidence.journal[0].in_doubt = true),
    ("a rerun has another idempotency key", "I5", |evidence| rerun(evidence).idempotency_key = "other".into()),
    ("two calls share an idempotency key", "I5", |evidence| {
        evidence.journal[1].idempotency_key = evidence.journal[0].idempotency_key.clone();
    }),
    ("a call runs again though the policy is FAIL", "I5", |evidence| set_policy(evidence, InDoubtPolicy::Fail)),
    ("a call runs again without a lookup", "I5", |evidence| set_policy(evidence, InDoubtPolicy::Lookup)),
    ("a sequential batch runs two calls at once", "I10", |evidence| {
        evidence.journal[0].end = Some(evidence.journal[1].start + 1);
    }),
    ("a lane runs out of order", "I11", |evidence| {
        let of_lanes = evidence.journal.iter_mut().filter(|entry| entry.batch_id == "lanes");
        let mut lane: Vec<_> = of_lanes.filter(|entry| entry.index % 2 == 0).collect();
        (lane[0].index, lane[1].index) = (lane[1].index, lane[0].index);
    }),
    ("a call starts after a failure stopped the batch", "I12", |evidence| {
        let log = &mut evidence.stories[SEQUENTIAL].log;
        let at = place(log, |event| matches!(event, Event::CallFinished(_)));
        let Some(Event::CallFinished(finished)) = &mut log[at].event else { return };
        finished.result.as_mut().expect("it has one").status = toolbatch::proto::CallStatus::Failed.into();
    }),
    ("a stream leaves an event out", "I13", |evidence| {
        evidence.stories[LANES].streams[0].events.remove(2);
    }),
    ("a stream ends well before the batch does", "I13", |evidence| {
        evidence.stories[LANES].streams[0].events.pop();
    }),
    ("the summary is not what the log says", "I14", |evidence| {
        let last = evidence.stories[LANES].log.last_mut().expect("it has events");
        let Some(Event::BatchFinished(finished)) = &mut last.event else { return };
        finished.summary.as_mut().expect("it has one").succeeded -= 1;
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_checker_finds_every_broken_promise() {
    let good = evidence().await;
    assert_eq!(check(&good), Vec::<String>::new());
    assert!(good.stories[SEQUENTIAL].log.iter().filter_map(finishes).count() == 6, "the run did something");
    for (what, promise, break_it) in BROKEN {
        let mut bad = good.clone();
        break_it(&mut bad);
        let found = check(&bad);
        assert!(found.iter().any(|finding| finding.contains(promise)), "{what}: {promise} is not among {found:#?}");
    }
    let mut doubted = good.clone();
    let log = &mut doubted.stories[SEQUENTIAL].log;
    let at = place(log, |event| matches!(event, Event::BatchResumed(_)));
    if let Some(Event::BatchResumed(resumed)) = &mut log[at].event {
        resumed.in_doubt.clear();
    }
    assert!(check(&doubted).iter().any(|finding| finding.contains("C09")), "an interruption that forgets a call");
    let mut endless = good.clone();
    endless.stories[LANES].log.pop();
    assert!(check(&endless).iter().any(|finding| finding.contains("I20")), "a batch that has no end");
}
