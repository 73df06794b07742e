//! Arguments and values that readers take differently, or that cost a reader more than their bytes.

use tonic::Code;
use toolbatch::proto::{CallContext, CallToolRequest, call_tool_response::Outcome};

use crate::{
    refusal::{header_bytes, refusal, violations},
    rig::{Rig, batch, call},
};

fn nested(levels: usize) -> String {
    format!("{}0{}", "{\"a\":".repeat(levels), "}".repeat(levels))
}

/// The row, its arguments, and what the refusal says.
fn hostile() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("args deeper than 100", nested(101), "more than 100 levels"),
        ("a million open arrays", "[".repeat(1_000_000), "found an array"),
        ("200,000 open objects", format!("{{\"a\":{}", "{\"a\":".repeat(200_000)), "more than 100 levels"),
        ("a lone surrogate in a value", r#"{"a":"\ud800"}"#.into(), "lone surrogate"),
        ("a lone surrogate in a name", r#"{"\udc00":1}"#.into(), "lone surrogate"),
        ("a duplicate member", r#"{"doc":"A","doc":"B"}"#.into(), "stands twice"),
        ("a duplicate member in another spelling", r#"{"doc":"A","\u0064oc":"B"}"#.into(), "stands twice"),
        ("a duplicate member deep inside", r#"{"a":[{"b":1,"b":2}]}"#.into(), "stands twice"),
        ("not a number", r#"{"a":NaN}"#.into(), "expected a value"),
        ("two values", "{}{}".into(), "expected the end of the text"),
        ("over 1 MiB", format!("{{}}{}", " ".repeat(1_048_575)), "expected at most 1048576"),
    ]
}

#[tokio::test]
async fn row_args_that_readers_differ_on_are_refused_at_the_door() {
    let rig = Rig::start().await;
    for (row, args, said) in hostile() {
        let status = rig.refused(batch(vec![call("echo", "{}"), call("echo", &args)])).await;
        let all = violations(&status);
        assert_eq!(all.len(), 1, "{row}: {all:?}");
        assert_eq!(all[0].0, "call_list.calls[1].args_json", "{row}");
        assert!(all[0].1.contains(said), "{row}: {}", all[0].1);
        assert!(header_bytes(&status) < 8 * 1024, "{row}");

        // A direct step is refused for the same, in the form that it has.
        let context = Some(CallContext { task_id: "T".into(), ..CallContext::default() });
        let direct = CallToolRequest { tool: "echo".into(), args_json: args, context };
        let answer = rig.tools().call_tool(direct).await.expect("a failure is an answer").into_inner();
        let Some(Outcome::Failure(failure)) = answer.outcome else { panic!("{row}: {answer:?}") };
        assert_eq!(failure.code, "INVALID_REQUEST", "{row}");
        assert!(failure.message.contains(said), "{row}: {}", failure.message);
    }
    assert!(rig.backend.journal().entries().is_empty(), "no call of a refused list runs");
}

#[tokio::test]
async fn row_numbers_of_any_size_pass_byte_for_byte() {
    let rig = Rig::start().await;
    let args = r#"{"a":1e400,"b":-1E+99999,"c":9007199254740993,"d":0.1000000000000000055511151231257827,"e":-0.0}"#;
    let ran = rig.run(batch(vec![call("echo", args), call("echo", &nested(100))])).await;
    assert_eq!(ran.statuses(), ["completed", "completed"]);
    assert_eq!(rig.backend.journal().entries()[0].args_json, args);
    assert_eq!(rig.get_step(&ran.results()[0].step_id).await.expect("a step").result_json, args);
}

#[tokio::test]
async fn row_values_have_at_most_a_million_nodes() {
    let rig = Rig::start().await;
    let zeros = |nodes: usize| format!("[{}0]", "0,".repeat(nodes - 2));
    let status = rig.set_variable("T", "zeros", &zeros(1_000_001)).await.expect_err("a node too many");
    let all = violations(&status);
    assert_eq!(all[0].0, "value_json");
    assert!(all[0].1.contains("more than 1000000 values"), "{}", all[0].1);
    rig.set_variable("T", "zeros", &zeros(1_000_000)).await.expect("as many as there may be");
    // A list of a million things is no list of calls, and is refused without being kept.
    let reference = toolbatch::proto::execute_batch_request::Source::CallsRef("${zeros}".into());
    let by_reference = toolbatch::proto::ExecuteBatchRequest { source: Some(reference), ..batch(vec![]) };
    let status = rig.refused(by_reference).await;
    assert_eq!(refusal(&status), (Code::InvalidArgument, "INVALID_REQUEST".to_owned()));
    assert!(header_bytes(&status) < 8 * 1024);
}

#[tokio::test]
async fn row_a_list_that_breaks_many_rules_is_refused_in_few_bytes() {
    let rig = Rig::start().await;
    let bad = || call(&"\u{7}".repeat(300), r#"{"a":1,"a":2"#);
    for calls in [vec![bad(); 200], vec![bad(); 20_000], vec![]] {
        let count = calls.len();
        let status = rig.refused(batch(calls)).await;
        assert!(!violations(&status).is_empty());
        assert!(status.details().len() < 5 * 1024, "{count} calls: {} bytes", status.details().len());
    }
    assert!(rig.backend.journal().entries().is_empty());
}
