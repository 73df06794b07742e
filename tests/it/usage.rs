//! R10: what each call used and what that costs, listed a page at a time.

use std::time::Duration;

use tonic::Status;
use toolbatch::{
    config::Config,
    prices::Prices,
    proto::{
        BatchOptions, CallStatus, ExecuteBatchRequest, ListStepsRequest, ListUsageRequest, ListUsageResponse,
        RetryPolicy, UsageRow, batch_event::Event,
    },
};

use crate::{
    backend::ScriptedBackend,
    refusal::{not_found, violations},
    rig::{Rig, batch, batch_with, call, keyed},
};

/// More than a server gives at once.
const ALL: i32 = i32::MAX;

fn prices(tools: &str) -> Prices {
    let text = format!("[prices]\ncurrency = \"USD\"\n[prices.tools]\n{tools}");
    Config::parse(&text, "prices.toml").expect("a configuration").prices
}

async fn priced(tools: &str) -> Rig {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let prices = prices(tools);
    Rig::start_with(backend, backends, |config| {
        config.prices = prices;
        config.shutdown_grace = Duration::from_millis(100);
    })
    .await
}

async fn list(rig: &Rig, task_id: &str, page_size: i32, token: &str) -> Result<ListUsageResponse, Status> {
    let request = ListUsageRequest { task_id: task_id.into(), page_size, page_token: token.into() };
    Ok(rig.tasks().list_usage(request).await?.into_inner())
}

/// All rows of task "T", in pages of this size.
async fn rows(rig: &Rig, page_size: i32) -> Vec<UsageRow> {
    let (mut rows, mut token) = (Vec::new(), String::new());
    loop {
        let page = list(rig, "T", page_size, &token).await.expect("a page");
        assert!(page.rows.len() <= usize::try_from(page_size).expect("a size"), "a page has a bound");
        assert!(!page.rows.is_empty() || token.is_empty(), "no page but the first is empty");
        rows.extend(page.rows);
        token = page.next_page_token;
        if token.is_empty() {
            return rows;
        }
    }
}

/// Tool, unit, quantity, cost and currency of each row.
fn told(rows: &[UsageRow]) -> Vec<(&str, &str, f64, i64, &str)> {
    rows.iter()
        .map(|row| (row.tool.as_str(), row.unit.as_str(), row.quantity, row.cost_nanos, row.currency.as_str()))
        .collect()
}

#[tokio::test]
async fn a_row_for_each_unit_of_each_call_that_reached_its_tool() {
    let rig = priced("usage = { pages = \"0.5\" }\neffect.calls = \"0.002\"\nfail.calls = \"1\"\n").await;
    let calls = vec![
        keyed("k", "effect", r#"{"id":"a"}"#),
        call("usage", r#"{"items":[["pages",2.5],["tokens",7],["pages",0.5]]}"#),
        call("usage", r#"{"unit":"pages","quantity":0}"#),
        call("fail", "{}"),
        call("raw", r#"{"text":"no JSON"}"#),
        call("status", r#"{"code":12}"#),
        call("nobody_serves_this", "{}"),
        keyed("k2", "effect", r#"{"id":"a","more":1}"#),
        keyed("k3", "flaky", r#"{"id":"f","fail":1}"#),
        call("review", r#"{"id":"r","result":"1"}"#),
        call("effect", r#"{"id":"not_run"}"#),
    ];
    let options = BatchOptions {
        stop_on_error: Some(false),
        retry: Some(RetryPolicy { max_attempts: 2, ..RetryPolicy::default() }),
        ..BatchOptions::default()
    };
    let ran = rig.run(batch_with(calls, options)).await;
    let skipped = rig.run(batch(vec![keyed("k", "effect", r#"{"id":"a"}"#)])).await;
    assert_eq!(skipped.statuses(), ["skipped"]);
    let all = rows(&rig, ALL).await;
    assert_eq!(
        told(&all),
        [
            ("effect", "calls", 1.0, 2_000_000, "USD"),
            ("usage", "pages", 3.0, 1_500_000_000, "USD"),
            ("usage", "tokens", 7.0, 0, ""),
            ("usage", "pages", 0.0, 0, "USD"),
            ("fail", "calls", 1.0, 1_000_000_000, "USD"),
            ("raw", "calls", 1.0, 0, ""),
            ("flaky", "calls", 1.0, 0, ""),
            ("review", "calls", 1.0, 0, ""),
        ]
    );
    let request = ListStepsRequest { task_id: "T".into(), page_size: ALL, ..ListStepsRequest::default() };
    let steps = rig.list_steps(request).await.expect("a page").steps;
    assert_eq!(steps.iter().flat_map(|step| step.usage.clone()).collect::<Vec<_>>(), all);
    for step in &steps {
        assert_eq!(rig.get_step(&step.step_id).await.expect("a step").usage, step.usage);
        assert!(step.usage.iter().all(|row| row.step_id == step.step_id));
    }
    assert!(rig.get_step(ran.batch_id()).await.expect("the batch's own").usage.is_empty());
}

#[tokio::test]
async fn c06_costs_past_2_to_the_53_are_exact() {
    let rig = priced("usage.tokens = \"0.000000001\"\n").await;
    rig.run(batch(vec![
        call("usage", r#"{"unit":"tokens","quantity":9007199254740994}"#),
        call("usage", r#"{"unit":"tokens","quantity":1e300}"#),
        call("usage", r#"{"unit":"tokens","quantity":2.5}"#),
    ]))
    .await;
    let costs: Vec<i64> = rows(&rig, ALL).await.iter().map(|row| row.cost_nanos).collect();
    assert_eq!(costs, [9_007_199_254_740_994, i64::MAX, 2]);
}

#[tokio::test]
async fn ten_thousand_rows_add_up_to_the_cent() {
    let tool = |unit: i64| format!("usage.u{unit} = \"{}.{unit:02}\"\n", unit / 7);
    let tools = (0..64).map(tool).collect::<Vec<_>>().concat();
    let rig = priced(&tools).await;
    let (mut expected, mut count) = (0_i64, 0);
    let mut calls = Vec::new();
    for index in 0..160_i64 {
        let items: Vec<_> = (0..64).map(|unit| (format!("u{unit}"), index + 1)).collect();
        count += items.len();
        expected += (0..64).map(|unit| (unit / 7 * 100 + unit) * (index + 1)).sum::<i64>();
        calls.push(call("usage", &serde_json::json!({ "items": items }).to_string()));
    }
    rig.run(batch(calls)).await;
    let all = rows(&rig, 1_000).await;
    assert!(all.len() == count && count > 10_000, "{} of {count}", all.len());
    let nanos: i64 = all.iter().map(|row| row.cost_nanos).sum();
    assert_eq!(nanos, expected * 10_000_000);
}

#[tokio::test]
async fn pages_of_any_size_give_the_same_rows() {
    let rig = priced("").await;
    let items = |units: &[u32]| {
        let items: Vec<_> = units.iter().map(|unit| (format!("u{unit}"), unit)).collect();
        call("usage", &serde_json::json!({ "items": items }).to_string())
    };
    let calls = [&[1, 2, 3][..], &[], &[4], &[5, 6]].map(items);
    let nowhere = (0..5).map(|_| call("nobody_serves_this", "{}"));
    let options = BatchOptions { stop_on_error: Some(false), ..BatchOptions::default() };
    rig.run(batch_with(nowhere.chain(calls).collect(), options)).await;
    let all = rows(&rig, ALL).await;
    let units: Vec<_> = all.iter().map(|row| row.unit.as_str()).collect();
    assert_eq!(units, ["u1", "u2", "u3", "calls", "u4", "u5", "u6"]);
    for page_size in 1..=8 {
        assert_eq!(rows(&rig, page_size).await, all, "{page_size}");
    }
    let token = list(&rig, "T", 2, "").await.expect("a page").next_page_token;
    rig.run(ExecuteBatchRequest { task_id: "U".into(), ..batch(vec![call("echo", "{}")]) }).await;
    for (task, page_size, token, field) in [
        ("U", 1, token.as_str(), "page_token"),
        ("T", 1, "x", "page_token"),
        ("T", 1, &token[..token.len() - 2], "page_token"),
        ("T", -1, "", "page_size"),
        ("", 1, "", "task_id"),
    ] {
        let status = list(&rig, task, page_size, token).await.expect_err("it is refused");
        assert_eq!(violations(&status)[0].0, field, "{status:?}");
    }
    not_found(&list(&rig, "nobody's", 1, "").await.expect_err("none"), "TASK_NOT_FOUND", ("task", "nobody's"));
    rig.set_variable("empty", "", "1").await.expect("it is stored");
    assert_eq!(list(&rig, "empty", 1, "").await.expect("a page"), ListUsageResponse::default());
}

#[tokio::test]
async fn a_resumed_call_counts_once_and_from_its_end_on() {
    let mut rig = priced("effect.calls = \"0.01\"\n").await;
    let gate = rig.backend.hold("a");
    let request = ExecuteBatchRequest {
        batch_id: "b".into(),
        ..batch(vec![call("effect", r#"{"id":"a"}"#), call("echo", "{}")])
    };
    rig.open(request).await.expect("taken in");
    rig.backend.journal().wait_for(|entries| entries.len() == 1).await;
    assert!(rows(&rig, ALL).await.is_empty(), "it runs");
    rig.restart().await;
    rig.backend.journal().wait_for(|entries| entries.len() == 2).await;
    assert!(rows(&rig, ALL).await.is_empty(), "it runs again");
    gate.release();
    rig.watch("b", 0).await.expect("it is there").until(|event| matches!(event, Event::BatchFinished(_))).await;
    let all = rows(&rig, ALL).await;
    assert_eq!(told(&all), [("effect", "calls", 1.0, 10_000_000, "USD"), ("echo", "calls", 1.0, 0, "")]);
    let step = rig.get_step(&all[0].step_id).await.expect("a step");
    assert_eq!((step.status(), step.attempts), (CallStatus::Completed, 2));
    // The prices of now are what rows are priced with.
    rig.stop().await;
    rig.restart_with(|config| config.prices = prices("echo.calls = \"3\"\n")).await;
    let all = rows(&rig, ALL).await;
    assert_eq!(told(&all), [("effect", "calls", 1.0, 0, ""), ("echo", "calls", 1.0, 3_000_000_000, "USD")]);
}
