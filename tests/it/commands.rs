//! The commands that stop and settle, as a person or a script runs them: the program itself against a whole server.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use toolbatch::{
    config::Config,
    proto::{BatchOptions, ExecuteBatchRequest, ToolCall},
};

use crate::{
    backend::ScriptedBackend,
    rig::{Rig, batch, batch_with, call, keyed},
};

/// What a command wrote, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// Runs `toolbatch` against the rig's server.
pub(crate) async fn toolbatch(rig: &Rig, line: &[&str], input: &'static str) -> Said {
    toolbatch_at(rig.endpoint(), line, input).await
}

/// Runs `toolbatch` against the server at an address.
pub(crate) async fn toolbatch_at(endpoint: &str, line: &[&str], input: &'static str) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolbatch"));
    command.args(line).env("TOOLBATCH_SERVER", endpoint).env_remove("NO_COLOR");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A command that does not read its input may be gone by now.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("it ends")
    });
    let ran = ran.await.expect("the wait does not panic");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it writes text");
    Said { out: text(ran.stdout), err: text(ran.stderr), code: ran.status.code() }
}

fn effect(id: &str) -> ToolCall {
    keyed(id, "effect", &format!(r#"{{"id":"{id}"}}"#))
}

/// A batch whose call is held for good, and one whose outcome is unknown.
async fn busy() -> (Rig, crate::backend::Held) {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("held");
    let timeout = Some(prost_types::Duration { seconds: 0, nanos: 100_000_000 });
    let lost = keyed("lost", "silent", r#"{"id":"lost"}"#);
    rig.run(batch_with(vec![lost], BatchOptions { call_timeout: timeout, ..BatchOptions::default() })).await;
    let request = ExecuteBatchRequest { batch_id: "b".into(), ..batch(vec![effect("held"), effect("left")]) };
    rig.open(request).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.iter().any(|entry| entry.id == "held")).await;
    (rig, gate)
}

#[tokio::test]
async fn cancel_and_end_stop_and_show_what_is_then() {
    let (rig, _gate) = busy().await;
    let running = toolbatch(&rig, &["cancel", "b"], "").await;
    assert_eq!(running.code, Some(0), "{}", running.err);
    assert!(running.out.starts_with("batch       b\n") && running.out.contains("running"), "{}", running.out);
    let over = toolbatch(&rig, &["cancel", "b", "--abort", "--json"], "").await;
    assert_eq!(over.code, Some(0), "{}", over.err);
    let line: serde_json::Value = serde_json::from_str(&over.out).expect("one JSON object");
    assert_eq!((&line["status"], &line["stop_reason"]), (&"failed".into(), &"cancelled".into()), "{line}");
    let absent = toolbatch(&rig, &["cancel", "nobody's"], "").await;
    assert_eq!((absent.code, &*absent.out), (Some(2), ""));
    assert!(absent.err.contains("NOT_FOUND, BATCH_NOT_FOUND"), "{}", absent.err);

    let ended = toolbatch(&rig, &["end", "T", "--reason", "withdrawn"], "").await;
    assert_eq!((ended.code, &*ended.out), (Some(0), "task T has ended; calls that are running finish\n"));
    let again = toolbatch(&rig, &["end", "T", "--json"], "").await;
    assert_eq!((again.code, &*again.out), (Some(0), "{\"task_id\":\"T\",\"ended\":true}\n"));
    assert_eq!(toolbatch(&rig, &["end", "nobody's"], "").await.code, Some(2));
}

#[tokio::test]
async fn usage_is_added_up() {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let prices = Config::parse("[prices]\ncurrency = \"USD\"\n[prices.tools]\nusage.pages = \"0.005\"\n", "prices");
    let prices = prices.expect("right").prices;
    let rig = Rig::start_with(backend, backends, |config| config.prices = prices).await;
    let pages = |quantity| call("usage", &format!(r#"{{"unit":"pages","quantity":{quantity}}}"#));
    rig.run(batch(vec![pages("2.5"), pages("1"), effect("a")])).await;
    let table = toolbatch(&rig, &["usage", "T"], "").await;
    assert_eq!(table.code, Some(0), "{}", table.err);
    assert_eq!(
        table.out,
        "TOOL    UNIT   STEPS  QUANTITY  COST\n\
         effect  calls  1      1\n\
         usage   pages  2      3.5       0.0175 USD\n\
         total                           0.0175 USD\n"
    );
    let lines = toolbatch(&rig, &["usage", "T", "--json"], "").await;
    let lines: Vec<serde_json::Value> =
        lines.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let costs: Vec<_> = lines.iter().map(|line| line["cost_nanos"].as_i64()).collect();
    assert_eq!(costs, [Some(12_500_000), Some(5_000_000), Some(0), None]);
    assert_eq!(lines[3]["costs"], serde_json::json!([{"cost_nanos": 17_500_000, "currency": "USD"}]));
    let absent = toolbatch(&rig, &["usage", "nobody's"], "").await;
    assert_eq!((absent.code, &*absent.out), (Some(2), ""));
    assert!(absent.err.contains("NOT_FOUND, TASK_NOT_FOUND"), "{}", absent.err);
}

#[tokio::test]
async fn a_feed_is_shown_to_its_end() {
    let rig = Rig::start().await;
    rig.run(ExecuteBatchRequest { batch_id: "b".into(), ..batch(vec![effect("a"), call("fail", "{}")]) }).await;
    rig.end_task("T", "").await.expect("it ends");
    let lines = toolbatch(&rig, &["feed", "T"], "").await;
    assert_eq!((lines.code, &*lines.err), (Some(0), ""), "{}", lines.out);
    let told: Vec<_> = lines.out.lines().collect();
    assert_eq!((told.len(), told[0]), (6, "b batch of 2 calls running"));
    assert!(told[4].starts_with("  ") && told[4].ends_with(" fail failed: it failed"), "{}", told[4]);
    assert_eq!(told[5], "b batch of 2 calls completed: 1 completed, 1 failed");
    let lines = toolbatch(&rig, &["feed", "T", "--json"], "").await;
    let cards: Vec<serde_json::Value> =
        lines.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&cards[1]["status"], &cards[1]["parent_step_id"]), (&"running".into(), &"b".into()));
    assert_eq!(cards[5]["summary"]["failed"], 1);
    let token = cards[3]["resume_token"].as_str().expect("a token");
    let rest = toolbatch(&rig, &["feed", "T", "--after", token], "").await;
    assert_eq!(rest.out.lines().collect::<Vec<_>>(), told[4..]);
    let absent = toolbatch(&rig, &["feed", "nobody's"], "").await;
    assert_eq!((absent.code, &*absent.out), (Some(2), ""));
    let wrong = toolbatch(&rig, &["feed", "T", "--after", "x"], "").await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("resume_token: "), "{}", wrong.err);
}

#[tokio::test]
async fn keys_are_listed_and_settled() {
    let (rig, _gate) = busy().await;
    let table = toolbatch(&rig, &["keys", "T"], "").await;
    let rows: Vec<&str> = table.out.lines().collect();
    assert!(rows[0].starts_with("KEY   STATE    TOOL"), "{}", table.out);
    assert_eq!(rows.len(), 3, "{}", table.out);
    let unknown = toolbatch(&rig, &["keys", "T", "--state", "unknown", "--state", "failed", "--json"], "").await;
    let line: serde_json::Value = serde_json::from_str(&unknown.out).expect("one JSON object");
    assert_eq!((&line["key"], &line["state"]), (&"lost".into(), &"unknown".into()));

    let refused = toolbatch(&rig, &["settle", "T", "held", "--not-landed"], "").await;
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("FAILED_PRECONDITION, KEY_NOT_UNKNOWN") && refused.err.contains("is running"),
        "{}",
        refused.err
    );
    let wrong = toolbatch(&rig, &["settle", "T", "lost", "--landed", "-"], "{").await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("landed_result_json: "), "{}", wrong.err);
    let settled = toolbatch(&rig, &["settle", "T", "lost", "--landed", "-"], "{\"order\": 450017}\n").await;
    assert_eq!(settled.code, Some(0), "{}", settled.err);
    assert!(settled.out.contains("state            completed\n"), "{}", settled.out);
    assert!(settled.out.contains("settled by       local\n"), "{}", settled.out);
    let skipped = rig.run(batch(vec![keyed("lost", "silent", r#"{"id":"lost"}"#)])).await;
    assert_eq!(skipped.results()[0].result_json, "{\"order\": 450017}\n", "byte for byte");
    let none = toolbatch(&rig, &["keys", "T", "--state", "unknown"], "").await;
    assert_eq!((none.code, &*none.out, &*none.err), (Some(0), "", "none\n"));
    assert_eq!(toolbatch(&rig, &["settle", "T", "lost"], "").await.code, Some(2));
}
