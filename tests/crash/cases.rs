//! The cases of the specification that a crash is a part of, each by its number.

use toolbatch::proto::{
    BatchEvent, BatchMode, BatchOptions, CallErrorReason, CallResult, ExecuteBatchRequest, InDoubtPolicy, RetryPolicy,
    ToolCall, batch_event::Event, execute_batch_request::Source,
};

use crate::{
    backend::{Entry, Lookup},
    check::Evidence,
    client::{Return, finishes},
    dice::setting,
    load::{batch, call},
    setting::Setting,
};

/// Rounds of C39. `TOOLBATCH_ROUNDS` asks for more.
const C39_ROUNDS: u64 = 20;

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn with_policy(policy: InDoubtPolicy) -> BatchOptions {
    BatchOptions { in_doubt: policy.into(), ..BatchOptions::default() }
}

/// What the log says of interruptions.
fn resumed(log: &[BatchEvent]) -> Vec<Vec<u32>> {
    let of_event = |event: &BatchEvent| match &event.event {
        Some(Event::BatchResumed(resumed)) => Some(resumed.in_doubt.clone()),
        _ => None,
    };
    log.iter().filter_map(of_event).collect()
}

fn results(log: &[BatchEvent]) -> Vec<CallResult> {
    let of_event = |event: &BatchEvent| match &event.event {
        Some(Event::BatchFinished(finished)) => finished.summary.clone(),
        _ => None,
    };
    log.iter().find_map(of_event).expect("the batch has ended").results
}

fn runs<'a>(journal: &'a [Entry], id: &str) -> Vec<&'a Entry> {
    journal.iter().filter(|entry| entry.id == id).collect()
}

/// Runs a, b, c, d, one after the other, and kills the server while c runs.
async fn killed_in_the_middle(policy: InDoubtPolicy, lookup: Lookup) -> (Setting, Evidence) {
    let mut setting = Setting::started().await;
    setting.backend.answer_lookups(lookup);
    let request = batch("b", ["a", "b", "c", "d"].map(effect).to_vec(), with_policy(policy));
    let client = setting.client();
    let gate = setting.backend.hold("c");
    let kill = async {
        setting.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "c")).await;
        setting.kill().await;
        gate.release();
        // No client is connected while it recovers.
        setting.restart();
        setting.server.ready().await;
    };
    let (before, ()) = tokio::join!(client.execute(&request, |_| true), kill);
    let rest = client.watch("b", before.last()).await;
    let evidence = setting.evidence(vec![(request, vec![before, rest])]).await;
    (setting, evidence)
}

#[tokio::test(flavor = "multi_thread")]
async fn c09_killed_in_the_middle_it_runs_again_in_doubt() {
    let (setting, evidence) = killed_in_the_middle(InDoubtPolicy::Rerun, Lookup::Unimplemented).await;
    setting.judge(&evidence, "C09, RERUN");
    let log = &evidence.stories[0].log;
    assert_eq!(resumed(log), [[2]]);
    assert_eq!(results(log).iter().map(|result| result.attempts).collect::<Vec<_>>(), [1, 1, 2, 1]);
    for id in ["a", "b", "d"] {
        assert_eq!(runs(&evidence.journal, id).len(), 1, "{id}");
    }
    let [first, second] = runs(&evidence.journal, "c")[..] else { panic!("c ran once and again") };
    assert_eq!((first.attempt, first.in_doubt), (1, false));
    assert_eq!((second.attempt, second.in_doubt), (2, true));
    assert_eq!(first.idempotency_key, second.idempotency_key);
    assert_eq!(first.step_id, second.step_id);
    // What a and b did is kept under the steps that the backend was told of.
    for (id, result) in [("a", &results(log)[0]), ("b", &results(log)[1])] {
        assert_eq!(runs(&evidence.journal, id)[0].step_id, result.step_id);
        let step = setting.client().get_step(&result.step_id).await;
        assert_eq!(step.result_json, format!(r#"{{"id":"{id}"}}"#));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c09_killed_in_the_middle_it_is_looked_up() {
    let landed = Lookup::Landed(r#"{"found":"c"}"#.to_owned());
    let (setting, evidence) = killed_in_the_middle(InDoubtPolicy::Lookup, landed).await;
    let log = &evidence.stories[0].log;
    assert_eq!(resumed(log), [[2]]);
    assert_eq!(evidence.journal.iter().map(|entry| entry.id.as_str()).collect::<String>(), "abcd");
    let c = &results(log)[2];
    assert_eq!((c.result_json.as_str(), c.attempts), (r#"{"found":"c"}"#, 1));
    assert_eq!(setting.backend.lookups(), [runs(&evidence.journal, "c")[0].idempotency_key.clone()]);
    setting.judge(&evidence, "C09, LOOKUP");
}

#[tokio::test(flavor = "multi_thread")]
async fn c09_killed_in_the_middle_it_fails() {
    let (setting, evidence) = killed_in_the_middle(InDoubtPolicy::Fail, Lookup::Unimplemented).await;
    setting.judge(&evidence, "C09, FAIL");
    let log = &evidence.stories[0].log;
    assert_eq!(resumed(log), [[2]]);
    assert_eq!(evidence.journal.iter().map(|entry| entry.id.as_str()).collect::<String>(), "abc");
    let results = results(log);
    let error = results[2].error.as_ref().expect("it failed");
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::InDoubt, true));
    assert_eq!(results[3].status(), toolbatch::proto::CallStatus::NotRun);
}

#[tokio::test(flavor = "multi_thread")]
async fn c09_killed_while_a_retry_runs_that_attempt_is_on_record() {
    let mut setting = Setting::started().await;
    let retry = RetryPolicy { max_attempts: 2, ..RetryPolicy::default() };
    let options = BatchOptions { retry: Some(retry), ..BatchOptions::default() };
    let flaky = call("flaky", r#"{"id":"a","fail":1,"ms":100}"#);
    let request = batch("b", vec![flaky], options);
    let client = setting.client();
    let kill = async {
        // Nothing but the start of the second attempt is to be written when it leaves.
        setting.backend.journal().wait_for(|entries| entries.len() == 2).await;
        setting.kill().await;
        setting.restart();
    };
    let (streams, ()) = tokio::join!(client.run(&request, Return::Watch), kill);
    let evidence = setting.evidence(vec![(request, streams)]).await;
    setting.judge(&evidence, "C09, retry");
    let log = &evidence.stories[0].log;
    assert_eq!(resumed(log), [[0]]);
    let attempts: Vec<(u32, bool)> = evidence.journal.iter().map(|entry| (entry.attempt, entry.in_doubt)).collect();
    assert_eq!(attempts, [(1, false), (2, false), (3, true)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c10_recovery_and_the_returning_clients_meet() {
    let mut setting = Setting::started().await;
    let calls = (1..=6).map(|id| call("effect", &format!(r#"{{"id":"{id}","ms":20}}"#))).collect();
    let request = batch("b1", calls, BatchOptions::default());
    let client = setting.client();
    let gate = setting.backend.hold("3");
    let kill = async {
        setting.backend.journal().wait_for(|entries| entries.len() == 3).await;
        setting.kill().await;
        gate.release();
        setting.restart();
    };
    let (before, ()) = tokio::join!(client.execute(&request, |_| true), kill);
    let others = [setting.client(), setting.client()];
    let (one, two, three) = tokio::join!(
        client.run(&request, Return::Repeat),
        others[0].run(&request, Return::Repeat),
        others[1].follow("b1")
    );
    assert_eq!([one.len(), two.len(), three.len()], [1; 3], "each stream is whole");
    let streams = [vec![before], one, two, three].concat();
    let evidence = setting.evidence(vec![(request, streams)]).await;
    setting.judge(&evidence, "C10");
    assert_eq!(resumed(&evidence.stories[0].log), [[2]]);
    let ids: Vec<&str> = evidence.journal.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "3", "4", "5", "6"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_two_batches_share_a_key_over_a_kill() {
    let mut setting = Setting::started().await;
    let requests = ["B1", "B2"].map(|name| {
        let keyed = ToolCall { key: "k".into(), ..effect("a") };
        batch(name, vec![keyed], BatchOptions::default())
    });
    let clients = [setting.client(), setting.client()];
    let gate = setting.backend.hold("a");
    let kill = async {
        // B2 has its place behind B1, which runs, once it is told that it is taken in.
        setting.backend.journal().wait_for(|entries| entries.len() == 1).await;
        let waiting = clients[1].execute(&requests[1], |_| false).await;
        assert_eq!(waiting.events.len(), 1);
        setting.kill().await;
        gate.release();
        setting.restart();
        clients[1].run(&requests[1], Return::Watch).await
    };
    let (first, second) = tokio::join!(clients[0].run(&requests[0], Return::Watch), kill);
    let batches = requests.into_iter().zip([first, second]).collect();
    let evidence = setting.evidence(batches).await;
    setting.judge(&evidence, "C23");
    let by: Vec<&str> = evidence.journal.iter().map(|entry| entry.batch_id.as_str()).collect();
    assert_eq!(by, ["B1", "B1"], "at most twice, and never in both");
    let [b1, b2] = [0, 1].map(|story| results(&evidence.stories[story].log)[0].clone());
    assert_eq!(b2.status(), toolbatch::proto::CallStatus::Skipped);
    assert_eq!(b1.step_id, b2.step_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn c23_a_key_completed_by_another_batch_is_skipped_after_a_kill() {
    let mut setting = Setting::started().await;
    let keyed = ToolCall { key: "k".into(), ..effect("a") };
    let first = batch("B1", vec![keyed.clone()], BatchOptions::default());
    let second = batch("B2", vec![effect("b"), keyed], BatchOptions::default());
    let client = setting.client();
    let done = client.run(&first, Return::Watch).await;
    let gate = setting.backend.hold("b");
    let kill = async {
        setting.backend.journal().wait_for(|entries| entries.len() == 2).await;
        setting.kill().await;
        gate.release();
        setting.restart();
    };
    let (streams, ()) = tokio::join!(client.run(&second, Return::Watch), kill);
    let evidence = setting.evidence(vec![(first, done), (second, streams)]).await;
    setting.judge(&evidence, "C23, completed before");
    assert_eq!(results(&evidence.stories[1].log)[1].status(), toolbatch::proto::CallStatus::Skipped);
}

#[tokio::test(flavor = "multi_thread")]
async fn c39_what_is_told_is_durable() {
    let mut setting = Setting::started().await;
    let rounds = setting_rounds();
    assert!(rounds > 0, "the run did nothing");
    let mut batches: Vec<(ExecuteBatchRequest, Vec<_>)> = Vec::new();
    let client = setting.client();
    for round in 0..rounds {
        let calls = (0..6).map(|n| call("effect", &format!(r#"{{"id":"{round}/{n}","ms":20}}"#))).collect();
        let request = batch(&format!("round {round}"), calls, BatchOptions::default());
        let before = client.execute(&request, |event| finishes(event) != Some(2)).await;
        setting.kill().await;
        setting.restart();
        let rest = client.watch(&request.batch_id, before.last()).await;
        batches.push((request, vec![before, rest]));
    }
    let evidence = setting.evidence(batches).await;
    setting.judge(&evidence, "C39");
    for (round, story) in evidence.stories.iter().enumerate() {
        let times = |n: usize| runs(&evidence.journal, &format!("{round}/{n}")).len();
        assert_eq!([times(0), times(1), times(2)], [1; 3], "round {round}");
        assert!((3..6).map(times).sum::<usize>() <= 4, "round {round}: one call was in flight");
        for result in &results(&story.log)[..3] {
            let run = &runs(&evidence.journal, &format!("{round}/{}", result.index))[0].step_id;
            assert_eq!(run, &result.step_id, "round {round}");
        }
    }
}

fn setting_rounds() -> u64 {
    setting("TOOLBATCH_ROUNDS").unwrap_or(C39_ROUNDS)
}

#[tokio::test(flavor = "multi_thread")]
async fn c43_a_slow_reader_gets_everything_over_a_kill() {
    let mut setting = Setting::started().await;
    let args = format!(r#"{{"text":"{}"}}"#, "x".repeat(3_000));
    let calls: Vec<ToolCall> = (0..200).map(|_| call("echo", &args)).collect();
    let options = BatchOptions { mode: BatchMode::Parallel.into(), max_concurrency: 16, ..BatchOptions::default() };
    let request = batch("b", calls, options);
    let client = setting.client();
    // The reader takes a few events and then none until the server is gone: what it had not read is lost with the connection.
    let before = client.execute(&request, |event| event.sequence < 5).await;
    setting.backend.journal().wait_for(|entries| entries.len() > 100).await;
    setting.kill().await;
    setting.restart();
    let rest = client.watch("b", before.last()).await;
    assert!(rest.ended, "no early end");
    let evidence = setting.evidence(vec![(request, vec![before, rest])]).await;
    setting.judge(&evidence, "C43");
    let log = &evidence.stories[0].log;
    let interrupted: usize = resumed(log).iter().map(Vec::len).sum();
    assert_eq!(log.len(), 402 + 1 + interrupted, "every call's start and end, the reruns, and the interruption");
}

/// The part of C50 with a crash: b is told to kill the server, by a gate that holds it until that is done.
#[tokio::test(flavor = "multi_thread")]
async fn c50_a_resumed_batch_goes_on_with_the_list_that_it_started_with() {
    let mut setting = Setting::started().await;
    let client = setting.client();
    let list = r#"{"calls":[{"tool":"effect","args":{"id":"a"}},{"tool":"effect","args":{"id":"b"}},{"tool":"effect","args":{"id":"c"}}]}"#;
    client.set_variable("T", "VAR_1", list).await;
    // What it runs, for the checker; the server gets the reference.
    let told = batch("b", ["a", "b", "c"].map(effect).to_vec(), BatchOptions::default());
    let request = ExecuteBatchRequest { source: Some(Source::CallsRef("${VAR_1}.calls".into())), ..told.clone() };
    let gates = [setting.backend.hold("a"), setting.backend.hold("b")];
    let kill = async {
        let journal = setting.backend.journal().clone();
        let begins = async |id: &str| journal.wait_for(|entries| entries.iter().any(|entry| entry.id == id)).await;
        begins("a").await;
        client.set_variable("T", "VAR_1", r#"{"calls":[]}"#).await;
        let [a, b] = gates;
        a.release();
        begins("b").await;
        setting.kill().await;
        b.release();
        setting.restart();
    };
    let (before, ()) = tokio::join!(client.execute(&request, |_| true), kill);
    // "Start it again": the same request attaches, although its reference leads to nothing that could run by now.
    let again = client.run(&request, Return::Repeat).await;
    let streams = [vec![before], again].concat();
    let evidence = setting.evidence(vec![(told, streams)]).await;
    setting.judge(&evidence, "C50");
    assert_eq!(resumed(&evidence.stories[0].log), [[1]]);
    assert_eq!(["a", "b", "c"].map(|id| runs(&evidence.journal, id).len()), [1, 2, 1]);
}
