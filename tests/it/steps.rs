//! R10: what is kept of each call, and the lists of steps, batches and tools, a page at a time.

use std::collections::BTreeSet;

use tonic::{Code, Status};
use toolbatch::proto::{
    Batch, BatchOptions, BatchStatus, CallErrorReason, CallStatus, ExecuteBatchRequest, ListStepsRequest,
    ListToolsRequest, Step, ToolCall, batch_event::Event, task_service_client::TaskServiceClient,
    tool_service_client::ToolServiceClient,
};

use crate::{
    backend::{ScriptedBackend, stub_tools, tool},
    refusal::{not_found, refusal, violations},
    rig::{Ran, Rig, batch, batch_with, call, keyed, parallel},
};

/// More than a server gives at once.
const ALL: i32 = i32::MAX;

fn effect(id: &str) -> ToolCall {
    call("effect", &format!(r#"{{"id":"{id}"}}"#))
}

fn in_task(task_id: &str, calls: Vec<ToolCall>) -> ExecuteBatchRequest {
    ExecuteBatchRequest { task_id: task_id.into(), ..batch(calls) }
}

fn nanos(time: Option<prost_types::Timestamp>) -> i128 {
    let time = time.expect("it is set");
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos)
}

#[tokio::test]
async fn a_step_tells_all_of_its_call() {
    let mut rig = Rig::start().await;
    let request = ExecuteBatchRequest {
        agent_id: "orders".into(),
        ..batch_with(
            vec![
                keyed("k", "flaky", r#"{"id":"f","fail":1}"#),
                call("usage", r#"{"unit":"pages","quantity":2.5}"#),
                call("nobody_serves_this", r#"{"a":1}"#),
                call("fail", " "),
                call("review", r#"{"id":"r","result":"[1]"}"#),
            ],
            BatchOptions {
                stop_on_error: Some(false),
                retry: Some(toolbatch::proto::RetryPolicy { max_attempts: 2, ..Default::default() }),
                ..BatchOptions::default()
            },
        )
    };
    let ran = rig.run(request).await;
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        let mut steps = Vec::new();
        for (index, result) in (0..).zip(ran.results()) {
            let step = rig.get_step(&result.step_id).await.expect("a step");
            assert_eq!((step.step_id.as_str(), step.index), (result.step_id.as_str(), index));
            assert_eq!((step.parent_step_id.as_str(), step.task_id.as_str()), (ran.batch_id(), "T"));
            assert_eq!((step.agent_id.as_str(), &step.tool, &step.key), ("orders", &result.tool, &result.key));
            assert_eq!((step.status, step.attempts, &step.error), (result.status, result.attempts, &result.error));
            assert_eq!((&step.await_id, step.base_tool.as_str()), (&result.await_id, result.tool.as_str()));
            let duration = result.duration.expect("a duration");
            let took = i128::from(duration.seconds) * 1_000_000_000 + i128::from(duration.nanos);
            assert_eq!(nanos(step.end_time) - nanos(step.start_time), took);
            steps.push(step);
        }
        let told: Vec<_> = steps
            .iter()
            .map(|step| (step.backend.as_str(), step.attempts, step.args_json.as_str(), step.result_json.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("stub", 2, r#"{"id":"f","fail":1}"#, "true"),
                ("stub", 1, r#"{"unit":"pages","quantity":2.5}"#, "null"),
                ("", 0, r#"{"a":1}"#, ""),
                ("stub", 1, "{}", ""),
                ("stub", 1, r#"{"id":"r","result":"[1]"}"#, "[1]"),
            ]
        );
        let usage: Vec<_> = steps[1]
            .usage
            .iter()
            .map(|row| (row.step_id.as_str(), row.tool.as_str(), row.unit.as_str(), row.quantity))
            .collect();
        assert_eq!(usage, [(steps[1].step_id.as_str(), "usage", "pages", 2.5)]);
        for (failed, state) in [(2, "failed"), (3, "failed")] {
            let status = rig.read_result(&steps[failed].step_id, 0).await.expect_err("it has no result");
            assert_eq!(refusal(&status), (Code::FailedPrecondition, "STEP_HAS_NO_RESULT".to_owned()));
            assert!(status.message().contains(state), "{}", status.message());
        }
        let own = rig.get_step(ran.batch_id()).await.expect("a step");
        assert_eq!((own.status(), own.parent_step_id.as_str(), own.task_id.as_str()), (CallStatus::Completed, "", "T"));
        assert!(nanos(own.start_time) <= nanos(steps[0].start_time) && nanos(own.end_time) >= nanos(steps[4].end_time));
        let status = rig.read_result(ran.batch_id(), 0).await.expect_err("its calls have theirs");
        assert_eq!(refusal(&status), (Code::FailedPrecondition, "STEP_HAS_NO_RESULT".to_owned()));
    }
}

#[tokio::test]
async fn a_running_step_is_there_from_its_start() {
    let rig = Rig::start().await;
    let gate = rig.backend.hold("a");
    let mut events = rig.open(batch(vec![effect("a"), effect("b")])).await.expect("taken in");
    let started = events.until(|event| matches!(event, Event::CallStarted(_))).await;
    let Some(Event::CallStarted(call)) = &started.event else { unreachable!("it was looked for") };
    let step = rig.get_step(&call.step_id).await.expect("a step");
    assert_eq!((step.status(), step.attempts, step.args_json.as_str()), (CallStatus::Running, 1, r#"{"id":"a"}"#));
    assert!(step.start_time.is_some() && step.end_time.is_none() && step.result_bytes == 0, "{step:?}");
    assert_eq!((step.backend.as_str(), step.base_tool.as_str()), ("stub", "effect"));
    for id in [&call.step_id, &started.batch_id] {
        let status = rig.read_result(id, 0).await.expect_err("there is none yet");
        assert_eq!(refusal(&status), (Code::FailedPrecondition, "STEP_HAS_NO_RESULT".to_owned()));
    }
    let own = rig.get_step(&started.batch_id).await.expect("a step");
    assert_eq!((own.status(), own.end_time), (CallStatus::Running, None));
    let running = rig.get_batch(&started.batch_id).await.expect("a batch");
    let summary = running.summary.expect("a summary");
    assert_eq!(
        (summary.status(), summary.total, summary.not_run, summary.results.len()),
        (BatchStatus::Running, 2, 0, 0)
    );
    assert_eq!((running.last_sequence, running.end_time), (2, None));
    gate.release();
    events.rest().await.expect("it ends");
}

#[tokio::test]
async fn an_unknown_id_is_not_found_whatever_it_is() {
    let rig = Rig::start().await;
    let ran = rig.run(batch(vec![effect("a")])).await;
    let absent = uuid::Uuid::max().to_string();
    for id in ["", "nothing", "中\n\0", &absent, &format!("{}0", ran.batch_id())] {
        not_found(&rig.get_step(id).await.expect_err("none"), "STEP_NOT_FOUND", ("step", id));
        not_found(&rig.read_result(id, 0).await.expect_err("none"), "STEP_NOT_FOUND", ("step", id));
        not_found(&rig.get_batch(id).await.expect_err("none"), "BATCH_NOT_FOUND", ("batch", id));
        if !id.is_empty() {
            not_found(&rig.list_batches(id, 0, "").await.expect_err("none"), "TASK_NOT_FOUND", ("task", id));
        }
    }
    // An id that is too long for any client's headers is not sent back.
    let long = "中".repeat(100_000);
    for status in [
        rig.get_step(&long).await.expect_err("none"),
        rig.get_batch(&long).await.expect_err("none"),
        rig.list_batches(&long, 0, "").await.expect_err("none"),
        rig.watch(&long, 0).await.err().expect("none"),
        rig.refused(ExecuteBatchRequest { batch_id: long.clone(), ..batch(vec![effect("a")]) }).await,
        rig.refused(in_task(&long, vec![effect("a")])).await,
    ] {
        assert!([Code::NotFound, Code::InvalidArgument].contains(&refusal(&status).0), "{status:?}");
    }
    // A call's step is no batch.
    let step_id = &ran.results()[0].step_id;
    not_found(&rig.get_batch(step_id).await.expect_err("none"), "BATCH_NOT_FOUND", ("batch", step_id));
}

fn steps_of(task_id: &str, parent_step_id: &str, page_size: i32) -> ListStepsRequest {
    ListStepsRequest {
        task_id: task_id.into(),
        parent_step_id: parent_step_id.into(),
        page_size,
        page_token: String::new(),
    }
}

/// All pages of a list: the steps, and how many stood on each page.
async fn walk(rig: &Rig, mut request: ListStepsRequest) -> (Vec<Step>, Vec<usize>) {
    let (mut steps, mut pages) = (Vec::new(), Vec::new());
    loop {
        let page = rig.list_steps(request.clone()).await.expect("a page");
        pages.push(page.steps.len());
        steps.extend(page.steps);
        if page.next_page_token.is_empty() {
            return (steps, pages);
        }
        request.page_token = page.next_page_token;
    }
}

#[tokio::test]
async fn steps_are_listed_oldest_first_a_page_at_a_time() {
    let mut rig = Rig::start().await;
    let first = rig.run(in_task("T", (0..5).map(|n| effect(&n.to_string())).collect())).await;
    rig.run(in_task("U", vec![effect("u")])).await;
    let calls = vec![keyed("k", "echo", "{}"), call("fail", "{}"), call("echo", "{}")];
    let second = rig.run(in_task("T", calls)).await;
    let ids = |ran: &Ran| -> Vec<String> {
        ran.results().iter().map(|result| result.step_id.clone()).filter(|id| !id.is_empty()).collect()
    };
    let all = [ids(&first), ids(&second)].concat();
    assert_eq!(all.len(), 7, "a call that was not run has no step");
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        for (size, pages) in
            [(0, vec![7]), (1, vec![1; 7]), (2, vec![2, 2, 2, 1]), (7, vec![7]), (8, vec![7]), (ALL, vec![7])]
        {
            let (steps, found) = walk(&rig, steps_of("T", "", size)).await;
            assert_eq!(found, pages, "of {size}");
            assert_eq!(steps.iter().map(|step| step.step_id.clone()).collect::<Vec<_>>(), all);
            for step in steps {
                assert!(step.args_json.is_empty() && step.result_json.is_empty(), "{step:?}");
                let whole = rig.get_step(&step.step_id).await.expect("a step");
                let listed =
                    Step { args_json: whole.args_json.clone(), result_json: whole.result_json.clone(), ..step };
                assert_eq!(listed, whole);
            }
        }
        for ran in [&first, &second] {
            for task in ["T", ""] {
                let (steps, _) = walk(&rig, steps_of(task, ran.batch_id(), 2)).await;
                assert_eq!(steps.into_iter().map(|step| step.step_id).collect::<Vec<_>>(), ids(ran));
            }
        }
    }
    let skipping = rig.run(in_task("T", vec![keyed("k", "echo", "{}")])).await;
    assert_eq!(skipping.statuses(), ["skipped"]);
    assert!(
        walk(&rig, steps_of("T", skipping.batch_id(), 0)).await.0.is_empty(),
        "a skipped call has no step of its own"
    );
}

#[tokio::test]
async fn a_list_of_steps_is_refused_for_what_is_wrong_with_it() {
    let rig = Rig::start().await;
    let ran = rig.run(in_task("T", (0..3).map(|n| effect(&n.to_string())).collect())).await;
    let other = rig.run(in_task("U", vec![effect("u")])).await;
    let page_token = rig.list_steps(steps_of("T", "", 1)).await.expect("a page").next_page_token;
    assert!(!page_token.is_empty());

    let refused = async |request: ListStepsRequest| rig.list_steps(request).await.expect_err("it is refused");
    assert_eq!(violations(&refused(steps_of("", "", 0)).await)[0].0, "task_id");
    for size in [-1, i32::MIN] {
        let found = violations(&refused(steps_of("T", "", size)).await);
        assert_eq!(found[0].0, "page_size");
        assert!(found[0].1.contains(&size.to_string()), "{found:?}");
    }
    let with = |request: ListStepsRequest, token: &str| ListStepsRequest { page_token: token.into(), ..request };
    let altered = page_token.replace(|c: char| c.is_ascii_digit(), "e");
    for request in [
        with(steps_of("U", "", 1), &page_token),
        with(steps_of("T", ran.batch_id(), 1), &page_token),
        with(steps_of("T", "", 1), &altered),
        with(steps_of("T", "", 1), &page_token[1..]),
        with(steps_of("T", "", 1), "next"),
        with(steps_of("T", "", 1), &"é".repeat(100_000)),
    ] {
        assert_eq!(violations(&refused(request).await)[0].0, "page_token");
    }
    let status = rig.list_batches("T", 1, &page_token).await.expect_err("another list's");
    assert_eq!(violations(&status)[0].0, "page_token");
    // The size of the page may change on the way.
    let rest = rig.list_steps(with(steps_of("T", "", 5), &page_token)).await.expect("a page");
    assert_eq!(rest.steps.len(), 2);

    not_found(&refused(steps_of("V", "", 0)).await, "TASK_NOT_FOUND", ("task", "V"));
    for (task, parent) in [("T", "nobody"), ("", "nobody"), ("T", other.batch_id()), ("T", &ran.results()[0].step_id)] {
        not_found(&refused(steps_of(task, parent, 0)).await, "BATCH_NOT_FOUND", ("batch", parent));
    }
}

#[tokio::test]
async fn a_page_fits_into_what_clients_take() {
    let text = serde_json::json!({ "text": "x".repeat(65_536) }).to_string();
    let rig = Rig::start().await;
    let options = BatchOptions { stop_on_error: Some(false), ..parallel(16) };
    let ran = rig.run(batch_with(vec![call("fail", &text); 100], options)).await;
    // This client takes 4 MiB, as they all do by default.
    let mut client = TaskServiceClient::new(rig.channel.clone());
    let (mut request, mut ids, mut pages) = (steps_of("T", "", 1_000), BTreeSet::new(), 0);
    loop {
        let page = client.list_steps(request.clone()).await.expect("it fits").into_inner();
        assert!(page.steps.iter().all(|step| step.error.as_ref().is_some_and(|error| error.message.len() == 65_536)));
        ids.extend(page.steps.into_iter().map(|step| step.step_id));
        pages += 1;
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(ids, ran.results().iter().map(|result| result.step_id.clone()).collect());
    assert_eq!(pages, 3);
}

async fn walk_batches(rig: &Rig, task_id: &str, page_size: i32) -> (Vec<Batch>, Vec<usize>) {
    let (mut batches, mut pages, mut token) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = rig.list_batches(task_id, page_size, &token).await.expect("a page");
        pages.push(page.batches.len());
        batches.extend(page.batches);
        if page.next_page_token.is_empty() {
            return (batches, pages);
        }
        token = page.next_page_token;
    }
}

#[tokio::test]
async fn batches_are_listed_newest_first_a_page_at_a_time() {
    let mut rig = Rig::start().await;
    assert!(rig.list_batches("", 0, "").await.expect("a page").batches.is_empty());
    let mut ids: Vec<(&str, String)> = Vec::new();
    for task in ["T", "U", "T", "T", "U"] {
        let ran = rig.run(in_task(task, vec![effect("x"), call("fail", "{}"), effect("y")])).await;
        ids.insert(0, (task, ran.batch_id().to_owned()));
    }
    for restarted in [false, true] {
        if restarted {
            rig.restart().await;
        }
        for (task, size, pages) in
            [("", 0, vec![5]), ("", 2, vec![2, 2, 1]), ("T", 1, vec![1; 3]), ("T", 3, vec![3]), ("U", ALL, vec![2])]
        {
            let (batches, found) = walk_batches(&rig, task, size).await;
            assert_eq!(found, pages, "{task} of {size}");
            let expected: Vec<&str> =
                ids.iter().filter(|(of, _)| task.is_empty() || *of == task).map(|(_, id)| id.as_str()).collect();
            assert_eq!(batches.iter().map(|batch| batch.batch_id.as_str()).collect::<Vec<_>>(), expected);
            for listed in batches {
                let mut whole = rig.get_batch(&listed.batch_id).await.expect("a batch");
                whole.summary.as_mut().expect("a summary").results.clear();
                assert_eq!(listed, whole);
            }
        }
    }
    // One that runs is listed with what is known so far.
    let gate = rig.backend.hold("held");
    let mut events = rig.open(in_task("T", vec![effect("x"), effect("held")])).await.expect("taken in");
    let mut starts = 0;
    let started = events.until(|event| {
        starts += usize::from(matches!(event, Event::CallStarted(_)));
        starts == 2
    });
    let batch_id = started.await.batch_id;
    let page = rig.list_batches("T", 1, "").await.expect("a page");
    let summary = page.batches[0].summary.as_ref().expect("a summary");
    assert_eq!((page.batches[0].batch_id.as_str(), page.batches[0].last_sequence), (batch_id.as_str(), 4));
    assert_eq!((summary.status(), summary.total, summary.succeeded), (BatchStatus::Running, 2, 1));
    assert!(summary.results.is_empty());
    // A batch that begins in between moves no page.
    rig.run(in_task("T", vec![effect("z")])).await;
    let rest = rig.list_batches("T", 10, &page.next_page_token).await.expect("a page");
    assert_eq!(rest.batches.len(), 3);
    gate.release();
    events.rest().await.expect("it ends");

    for (task, size, token, field) in [
        ("T", -1, "", "page_size"),
        ("U", 1, page.next_page_token.as_str(), "page_token"),
        ("", 1, page.next_page_token.as_str(), "page_token"),
        ("T", 1, &page.next_page_token[2..], "page_token"),
    ] {
        let status = rig.list_batches(task, size, token).await.expect_err("it is refused");
        assert_eq!(violations(&status)[0].0, field);
    }
}

async fn walk_tools(
    client: &mut ToolServiceClient<tonic::transport::Channel>,
    page_size: i32,
) -> Vec<Vec<toolbatch::proto::Tool>> {
    let mut pages = Vec::new();
    let mut request = ListToolsRequest { page_size, ..ListToolsRequest::default() };
    loop {
        let page = client.list_tools(request.clone()).await.expect("a page").into_inner();
        pages.push(page.tools);
        if page.next_page_token.is_empty() {
            return pages;
        }
        request.page_token = page.next_page_token;
    }
}

#[tokio::test]
async fn tools_are_listed_a_page_at_a_time() {
    let rig = Rig::start().await;
    let mut expected = stub_tools();
    expected.sort_by(|one, other| one.name.cmp(&other.name));
    expected.extend(toolbatch::schema::batch_tools());
    let count = i32::try_from(expected.len()).expect("there are few");
    for size in [0, 1, 5, count, count + 1, ALL] {
        let pages = walk_tools(&mut rig.tools(), size).await;
        assert!(pages.iter().all(|page| size == 0 || page.len() <= usize::try_from(size).expect("it is positive")));
        assert_eq!(pages.concat(), expected, "of {size}");
    }
    let refused = async |page_size, page_token: &str| -> Status {
        let request = ListToolsRequest { page_size, page_token: page_token.into(), ..ListToolsRequest::default() };
        rig.tools().list_tools(request).await.expect_err("it is refused")
    };
    assert_eq!(violations(&refused(-1, "").await)[0].0, "page_size");
    assert_eq!(violations(&refused(1, "2").await)[0].0, "page_token");
}

#[tokio::test]
async fn a_page_of_tools_with_long_schemas_fits_into_what_clients_take() {
    let schema = serde_json::json!({ "type": "object", "description": "x".repeat(60_000) }).to_string();
    let tools =
        (0..100).map(|n| toolbatch::proto::Tool { input_schema_json: schema.clone(), ..tool(&format!("t{n:02}")) });
    let backend = ScriptedBackend::start_with(tools.collect()).await;
    let backends = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, backends, |_| {}).await;
    let pages = walk_tools(&mut ToolServiceClient::new(rig.channel.clone()), 1_000).await;
    assert_eq!(pages.concat().len(), 100 + toolbatch::schema::batch_tools().len());
    assert_eq!(pages.len(), 2);
    let ran = rig.run(batch(vec![call("effect", "{}")])).await;
    assert_eq!(ran.results()[0].error.as_ref().expect("an error").reason(), CallErrorReason::ToolNotFound);
}
