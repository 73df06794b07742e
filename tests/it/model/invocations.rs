//! `batch_tool`: invocations whose arguments are encoded, all at once.

use serde_json::{Value, json};

use super::{execute::let_go_backwards, followed, invoke, request};
use crate::rig::Rig;

#[tokio::test]
async fn c14_no_arguments_are_an_empty_object_and_nothing_else_is() {
    let rig = Rig::start().await;
    for none in [r#""arguments":"""#, r#""arguments":"{}""#, r#""arguments":{}"#, r#""arguments":" \n""#, ""] {
        let comma = if none.is_empty() { "" } else { "," };
        let answer = invoke(&rig, &format!(r#"{{"invocations":[{{"name":"echo"{comma}{none}}}]}}"#)).await;
        assert_eq!(answer.each("result"), [json!({})], "{none}");
    }
    for (wrong, came) in [
        (r#""null""#, "found null"),
        (r#""5""#, "found a number"),
        (r#""[]""#, "found an array"),
        (r#""\"text\"""#, "found a string"),
        ("null", "found null"),
        ("5", "found the number 5"),
        ("[]", "found an array"),
    ] {
        let args = format!(r#"{{"invocations":[{{"name":"effect","arguments":{wrong}}}]}}"#);
        let answer = invoke(&rig, &args).await;
        let told = answer.refusal();
        assert!(told.contains("- invocations[0].arguments: expected one JSON object"), "{told}");
        assert!(told.contains(came), "{told}");
    }
    assert!(rig.backend.journal().entries().iter().all(|entry| entry.tool == "echo"));
}

#[tokio::test]
async fn c15_broken_arguments_run_nothing_at_all() {
    let rig = Rig::start().await;
    for (broken, place) in [
        (r#""{\"id\":\"x\"""#, "line 1, column 10"),
        (r#""{\"id\":\"x\"}{\"id\":\"y\"}""#, "line 1, column 11"),
        (r#""{\"id\":\"x\"}\n\nNow I will""#, "line 3, column 1"),
    ] {
        let good = r#"{"name":"effect","arguments":"{\"id\":\"ok\"}"}"#;
        let args = format!(r#"{{"invocations":[{good},{{"name":"effect","arguments":{broken}}}]}}"#);
        let answer = invoke(&rig, &args).await;
        let told = answer.refusal();
        assert!(told.contains("- invocations[1].arguments: ") && told.contains(place), "{told}");
        assert!(!told.contains("invocations[0]"), "{told}");
    }
    assert!(rig.backend.journal().entries().is_empty());
}

#[tokio::test]
async fn c17_digits_pass_byte_for_byte_in_either_form() {
    let rig = Rig::start().await;
    let digits =
        r#"{"z":1,"a":12345678901234567890123,"b":9007199254740993,"c":117.63331139400017,"d":1e400,"e":1.10,"f":-0}"#;
    for arguments in [digits.to_owned(), serde_json::to_string(digits).expect("text")] {
        let args = format!(r#"{{"invocations":[{{"name":"echo","arguments":{arguments}}}]}}"#);
        let answer = invoke(&rig, &args).await;
        assert!(answer.text().contains(&format!(r#""result":{digits}"#)), "{answer:?}");
    }
}

#[tokio::test]
async fn c18_what_is_no_json_leaves_the_answer_valid() {
    let rig = Rig::start().await;
    let raw = |text: &str| json!({"name": "raw", "arguments": {"text": text}});
    let answer = invoke(&rig, &json!({"invocations": [raw("[NaN]"), raw("\"\\udc00\"")]}).to_string()).await;
    assert_eq!(answer.statuses(), ["failed", "completed"]);
    let results = answer.json()["results"].clone();
    assert_eq!(results[0]["outcome_unknown"], json!(true));
    assert_eq!(results[1]["result"], json!("\u{fffd}"));
}

#[tokio::test]
async fn c29_results_stand_in_the_order_given() {
    let rig = Rig::start().await;
    let held = ["a", "b", "c"].map(|id| rig.backend.hold(id));
    let of = |id: &str| json!({"name": "effect", "arguments": json!({"id": id}).to_string()});
    let list = ["a", "b", "c"].map(of);
    let args = json!({ "invocations": list }).to_string();
    let ((told, answer), ()) =
        tokio::join!(followed(&rig, request("batch_tool", "", &args)), let_go_backwards(&rig, held));
    assert_eq!(answer.each("result"), ["a", "b", "c"].map(|id| json!({ "id": id })));
    assert_eq!(told.last().map(|told| told.message.as_str()), Some("3 of 3: effect completed"));
}

#[tokio::test]
async fn sixteen_run_at_once_and_a_failure_stops_none() {
    let rig = Rig::start().await;
    let held = rig.backend.hold("effect");
    let of = |n: usize| json!({"name": "effect", "arguments": {"id": n.to_string()}});
    let mut list: Vec<Value> = vec![json!({"name": "fail"}), json!({"name": "nobody"})];
    list.extend((0..20).map(of));
    let args = json!({ "invocations": list }).to_string();
    let release = async {
        rig.backend
            .journal()
            .wait_for(|entries| entries.iter().filter(|entry| entry.tool == "effect").count() == 16)
            .await;
        held.release();
    };
    let (answer, ()) = tokio::join!(invoke(&rig, &args), release);
    let statuses = answer.statuses();
    assert_eq!((&statuses[0][..], &statuses[1][..]), ("failed", "failed"));
    assert!(statuses[2..].iter().all(|status| status == "completed"));
    let results = answer.json()["results"].clone();
    let names = |index: usize| results[index].as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(0), ["error", "name", "status", "step_id"]);
    assert_eq!(names(2), ["name", "result", "status", "step_id"]);
    assert_eq!(answer.0.variable, "VAR_1");
}

#[tokio::test]
async fn a_review_and_a_large_result_are_told() {
    let rig = Rig::start().await;
    let args = r#"{"invocations":[{"name":"blob","arguments":"{\"bytes\":4096}"},{"name":"review","arguments":"{\"id\":\"r\"}"}]}"#;
    let answer = invoke(&rig, args).await;
    let results = answer.json()["results"].clone();
    assert_eq!((&results[0]["result_omitted"], results[0].get("result")), (&json!(true), None));
    assert_eq!((&results[1]["status"], &results[1]["await_id"]), (&json!("awaiting"), &json!("r")));
}
