//! The list by reference (R2), from a task's variables.

use std::time::Duration;

use tonic::Code;
use toolbatch::proto::{ExecuteBatchRequest, batch_event::Event, execute_batch_request::Source};

use crate::{
    backend::ScriptedBackend,
    refusal::{refusal, violations},
    rig::{Ran, Rig, batch},
};

fn by(text: &str) -> ExecuteBatchRequest {
    ExecuteBatchRequest { source: Some(Source::CallsRef(text.into())), ..batch(vec![]) }
}

fn named(batch_id: &str, text: &str) -> ExecuteBatchRequest {
    ExecuteBatchRequest { batch_id: batch_id.into(), ..by(text) }
}

/// Asserts that a reference is refused, as a plan and as a run, with words that tell why.
async fn is_refused(rig: &Rig, text: &str, words: &str) {
    for validate_only in [false, true] {
        let found = violations(&rig.refused(ExecuteBatchRequest { validate_only, ..named("refused", text) }).await);
        assert!(
            matches!(found.as_slice(), [(field, told)] if field == "calls_ref" && told.contains(words)),
            "{text:?}: {found:?}"
        );
    }
}

const EFFECTS: &str = r#"{"calls":[{"tool":"effect","args":{"id":"a"}},{"tool":"effect","args":{"id":"b"}},{"tool":"effect","args":{"id":"c"}}]}"#;

/// The part of C50 without a crash, all eight in turn.
#[tokio::test]
async fn c50_the_list_by_reference() {
    let rig = Rig::start().await;
    rig.set_variable("T", "VAR_1", EFFECTS).await.expect("set");
    rig.set_variable("T", "VAR_2", r#""[{\"tool\":\"effect\"}]""#).await.expect("set");
    let first = rig.run(by("${VAR_1}.calls")).await;
    assert_eq!(first.statuses(), ["completed"; 3]);
    assert_eq!(rig.backend.journal().ids(), ["a", "b", "c"]);
    for (text, words) in [
        ("run ${VAR_1}.calls", "inside a larger text"),
        ("${VAR_1}.calls ", "inside a larger text"),
        ("${VAR_1}", "an object, whose field calls holds a list; expected the list: ${VAR_1}.calls"),
        ("${VAR_3}.calls", "missing step output VAR_3"),
        ("${VAR_1}.calls[0]", "leads to an object"),
        (
            "${VAR_2}",
            "leads to a string; expected an array of {\"tool\", \"args\", \"key\"} objects, as text is not parsed",
        ),
        ("", "no list to run"),
    ] {
        is_refused(&rig, text, words).await;
    }
    assert_eq!(rig.backend.journal().entries().len(), 3, "what is refused runs nothing");
    assert_eq!(rig.list_batches("T", 0, "").await.expect("listed").batches.len(), 1, "and leaves nothing");
}

#[tokio::test]
async fn args_reach_the_tool_byte_for_byte() {
    let rig = Rig::start().await;
    let args = r#"{ "z":1.10, "a": [1e400, -0.0],"A":"\u00e9\/" }"#;
    let value = format!(r#"{{"plans":[null,{{"calls":[ {{"key":"k","args":{args},"tool":"echo"}} ]}}]}}"#);
    rig.set_variable("T", "plan", &value).await.expect("set");
    let ran = rig.run(by("${plan}.plans[1].calls")).await;
    assert_eq!(ran.results()[0].result_json, args);
    assert_eq!(ran.results()[0].key, "k");
    assert_eq!(rig.get_step(&ran.results()[0].step_id).await.expect("kept").args_json, args);
}

#[tokio::test]
async fn a_list_by_reference_can_be_planned() {
    let rig = Rig::start().await;
    rig.set_variable("T", "VAR_1", EFFECTS).await.expect("set");
    let planned = rig.run(ExecuteBatchRequest { validate_only: true, ..named("p", "${VAR_1}.calls") }).await;
    let Some(Event::BatchPlanned(plan)) = &planned.events[0].event else { panic!("a plan: {planned:?}") };
    assert_eq!(plan.calls.iter().map(|call| call.base_tool.as_str()).collect::<Vec<_>>(), ["effect"; 3]);
    assert_eq!(planned.events[0].batch_id, "p");
    assert!(rig.backend.journal().entries().is_empty());
}

#[tokio::test]
async fn two_hundred_calls_by_reference_run_and_one_more_does_not() {
    let rig = Rig::start().await;
    let list = |calls: usize| {
        let calls: Vec<String> = (0..calls).map(|n| format!(r#"{{"tool":"effect","args":{{"id":"{n}"}}}}"#)).collect();
        format!("[{}]", calls.join(","))
    };
    rig.set_variable("T", "whole", &list(200)).await.expect("set");
    rig.set_variable("T", "more", &list(201)).await.expect("set");
    is_refused(&rig, "${more}", "at most 200 calls, found 201").await;
    let ran = rig.run(by("${whole}")).await;
    assert_eq!(ran.summary().succeeded, 200);
    let ids: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    assert_eq!(rig.backend.journal().ids(), ids);
}

#[tokio::test]
async fn what_is_wrong_in_the_list_is_told_by_its_place_in_it() {
    let rig = Rig::start().await;
    rig.set_variable("T", "shape", r#"[{"tool":"echo"},{"name":"echo","args":[]}]"#).await.expect("set");
    rig.set_variable("T", "rules", r#"[{"tool":"echo","key":"k"},{"tool":"","key":"k"}]"#).await.expect("set");
    let fields = async |text: &str| -> Vec<String> {
        violations(&rig.refused(by(text)).await).into_iter().map(|(field, _)| field).collect()
    };
    assert_eq!(fields("${shape}").await, ["calls_ref[1].name", "calls_ref[1].tool", "calls_ref[1].args"]);
    assert_eq!(fields("${rules}").await, ["calls_ref[1].tool", "calls_ref[1].key"]);
}

/// A known batch is attached to before its reference is looked at, which is compared as text.
#[tokio::test]
async fn a_repeat_attaches_whatever_has_become_of_the_variable() {
    let mut rig = Rig::start().await;
    rig.set_variable("T", "VAR_1", EFFECTS).await.expect("set");
    let first = rig.run(named("b", "${VAR_1}.calls")).await;
    for value in ["null", r#"{"calls":[]}"#, r#"{"calls":[{"tool":"effect","args":{"id":"z"}}]}"#] {
        rig.set_variable("T", "VAR_1", value).await.expect("set");
        assert_eq!(rig.run(named("b", "${VAR_1}.calls")).await.events, first.events, "{value}");
    }
    rig.restart().await;
    assert_eq!(rig.run(named("b", "${VAR_1}.calls")).await.events, first.events);
    let status = rig.refused(named("b", "${VAR_1}.calls[0]")).await;
    assert_eq!(refusal(&status), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()));
    let plan = ExecuteBatchRequest { validate_only: true, ..named("b", "${VAR_1}") };
    assert_eq!(refusal(&rig.refused(plan).await), (Code::AlreadyExists, "BATCH_ID_TAKEN".to_owned()));
    // The value of now, after a restart too.
    assert_eq!(rig.run(by("${VAR_1}.calls")).await.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().ids(), ["a", "b", "c", "z"]);
}

/// A batch that is asked for once a variable is set finds it, each time anew.
#[tokio::test]
async fn what_was_set_before_is_found() {
    let rig = Rig::start().await;
    for round in 0..50 {
        let value = format!(r#"[{{"tool":"echo","args":{{"round":{round}}}}}]"#);
        rig.set_variable("T", "list", &value).await.expect("set");
        let ran = rig.run(by("${list}")).await;
        assert_eq!(ran.results()[0].result_json, format!(r#"{{"round":{round}}}"#));
    }
}

#[tokio::test]
async fn variables_are_those_of_their_task() {
    let rig = Rig::start().await;
    rig.set_variable("T", "mine", "[]").await.expect("set");
    rig.set_variable("U", "other", r#"[{"tool":"echo"}]"#).await.expect("set");
    is_refused(
        &rig,
        "${other}",
        "missing step output other; expected the name of an output that this task has: such as mine",
    )
    .await;
    let elsewhere = ExecuteBatchRequest { task_id: "none".into(), ..by("${mine}") };
    let found = violations(&rig.refused(elsewhere).await);
    assert!(found[0].1.contains("missing step output mine"), "{found:?}");
    let ran = rig.run(ExecuteBatchRequest { task_id: "U".into(), ..by("${other}") }).await;
    assert_eq!(ran.statuses(), ["completed"]);
}

#[tokio::test]
async fn an_ended_task_runs_no_list_of_its_variables() {
    let rig = Rig::start().await;
    rig.set_variable("T", "VAR_1", EFFECTS).await.expect("set");
    rig.end_task("T", "").await.expect("it ends");
    for validate_only in [false, true] {
        let status = rig.refused(ExecuteBatchRequest { validate_only, ..by("${VAR_1}.calls") }).await;
        assert_eq!(refusal(&status), (Code::FailedPrecondition, "TASK_ENDED".to_owned()));
    }
    assert!(rig.backend.journal().entries().is_empty());
}

/// A stop in the middle: what goes on is the list that was recorded.
#[tokio::test]
async fn a_batch_goes_on_with_the_list_that_it_started_with() {
    let mut rig = Rig::start_with_grace(Duration::ZERO).await;
    rig.set_variable("T", "VAR_1", EFFECTS).await.expect("set");
    let held = rig.backend.hold("b");
    let events = rig.open(named("b", "${VAR_1}.calls")).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "b")).await;
    rig.set_variable("T", "VAR_1", r#"{"calls":[]}"#).await.expect("set");
    rig.stop().await;
    drop((events, held));
    rig.start_again().await;
    let rest = rig.watch("b", 0).await.expect("it goes on").rest().await.expect("it ends");
    assert_eq!(Ran { events: rest }.statuses(), ["completed"; 3]);
    let counts = ["a", "b", "c"].map(|id| rig.backend.journal().ids().iter().filter(|ran| *ran == id).count());
    assert_eq!(counts, [1, 2, 1]);
}

impl Rig {
    /// A server that gives running calls this long when it stops.
    async fn start_with_grace(grace: Duration) -> Self {
        let backend = ScriptedBackend::start().await;
        let backends = vec![backend.config("stub")];
        Self::start_with(backend, backends, |config| config.shutdown_grace = grace).await
    }
}
