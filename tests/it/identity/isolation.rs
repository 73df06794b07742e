//! All RPCs by two tenants: what belongs to another is neither seen, nor told apart from what does not exist, nor changed.

use std::{collections::BTreeSet, time::Duration};

use prost::Message;
use prost_types::FileDescriptorSet;
use tokio::time::Instant;
use tonic::{Code, Request};
use tonic_types::StatusExt as _;
use toolbatch::proto::{
    self, BatchOptions, CallContext, CallList, CallToolRequest, CallToolWithProgressRequest, CancelBatchRequest,
    DeregisterBackendRequest, EndTaskRequest, ExecuteBatchRequest, GetBatchRequest, GetStepRequest,
    ListBackendsRequest, ListBatchesRequest, ListBatchesResponse, ListKeysRequest, ListStepsRequest, ListToolsRequest,
    ListUsageRequest, LookupCallRequest, ReadStepResultRequest, RegisterBackendRequest, SetVariableRequest,
    SettleKeyRequest, WatchBatchRequest, WatchTaskRequest, WatchTaskResponse,
    batch_event::Event,
    call_tool_response::Outcome,
    execute_batch_request::Source,
    settle_key_request::{Fate, NotLanded},
};

use super::{
    OPS, ORDERS, READER, SPY,
    exchange::{Answer, exchange},
    start, with, within,
};
use crate::rig::{Rig, call, keyed, tell};

/// What only "acme" may see.
const HIDDEN: &str = "acme-hidden-value";

/// What a request can name.
#[derive(Clone, Debug)]
struct Ids {
    task: String,
    batch: String,
    step: String,
    key: String,
    page_token: String,
    resume_token: String,
    agent: String,
}

impl Ids {
    /// Of the same form, and nobody's.
    fn unknown(&self) -> Self {
        let other = |text: &str| text.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect::<String>();
        Self {
            task: "task-of-nobodys".into(),
            batch: "batch-of-nobody".into(),
            step: other(&self.step),
            key: "key-of-nobodys".into(),
            page_token: other(&self.page_token),
            resume_token: other(&self.resume_token),
            agent: "nobody".into(),
        }
    }

    /// A text without what of it the sender put there.
    fn hide(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for id in [&self.task, &self.batch, &self.step, &self.key, &self.agent] {
            text = text.replace(id, "ID");
        }
        text
    }
}

/// How an RPC answers whoever names what is another's.
enum Answers {
    /// A refusal.
    Refused(Code),
    /// As on a server where it is alone. The text tells what a client can tell apart.
    Alone(fn(&[bytes::Bytes]) -> String),
    /// Not to agents; an operator is asked about something that belongs to no tenant.
    OperatorsOnly,
}

struct Row {
    rpc: &'static str,
    answers: Answers,
    requests: fn(&Ids) -> Vec<Vec<u8>>,
}

fn encoded(message: &impl Message) -> Vec<u8> {
    message.encode_to_vec()
}

fn echo(ids: &Ids) -> ExecuteBatchRequest {
    ExecuteBatchRequest {
        task_id: ids.task.clone(),
        batch_id: ids.batch.clone(),
        source: Some(Source::CallList(CallList { calls: vec![keyed(&ids.key, "echo", "{}")] })),
        ..ExecuteBatchRequest::default()
    }
}

fn direct(ids: &Ids, tool: &str, args: &str) -> CallToolRequest {
    let context = CallContext { task_id: ids.task.clone(), key: ids.key.clone(), ..CallContext::default() };
    CallToolRequest { tool: tool.into(), args_json: args.into(), context: Some(context) }
}

/// What became of a direct step, without its id.
fn outcome(response: &proto::CallToolResponse) -> String {
    let outcome = match &response.outcome {
        // A batch's, whose steps have ids and times.
        Some(Outcome::ResultJson(json)) if json.contains("step_id") => json.split("\"results\"").take(1).collect(),
        other => format!("{other:?}"),
    };
    format!("{outcome} {} {} {}", response.variable, response.skipped, response.args_changed)
}

/// Each RPC of the contract. Those that begin a task come last, as it is the caller's own afterwards.
const ROWS: [Row; 20] = [
    Row {
        rpc: "BatchService/GetBatch",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| [&ids.batch, &ids.step].map(|id| encoded(&GetBatchRequest { batch_id: id.clone() })).to_vec(),
    },
    Row {
        rpc: "BatchService/WatchBatch",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| {
            [0, 3, u64::MAX]
                .map(|after| encoded(&WatchBatchRequest { batch_id: ids.batch.clone(), after_sequence: after }))
                .to_vec()
        },
    },
    Row {
        rpc: "BatchService/CancelBatch",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| {
            [false, true]
                .map(|abort| encoded(&CancelBatchRequest { batch_id: ids.batch.clone(), abort_running: abort }))
                .to_vec()
        },
    },
    Row {
        rpc: "BatchService/ListBatches",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| vec![encoded(&ListBatchesRequest { task_id: ids.task.clone(), ..Default::default() })],
    },
    Row {
        rpc: "BatchService/ListBatches",
        answers: Answers::Refused(Code::InvalidArgument),
        requests: |ids| {
            ["", &ids.task]
                .map(|task| {
                    let page_token = ids.page_token.clone();
                    encoded(&ListBatchesRequest { task_id: task.into(), page_token, ..Default::default() })
                })
                .to_vec()
        },
    },
    Row {
        rpc: "TaskService/GetStep",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| [&ids.step, &ids.batch].map(|id| encoded(&GetStepRequest { step_id: id.clone() })).to_vec(),
    },
    Row {
        rpc: "TaskService/ReadStepResult",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| {
            [(&ids.step, 0), (&ids.step, u64::MAX), (&ids.batch, 0)]
                .map(|(id, offset)| encoded(&ReadStepResultRequest { step_id: id.clone(), offset }))
                .to_vec()
        },
    },
    Row {
        rpc: "TaskService/ListSteps",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| {
            [(ids.task.as_str(), ""), ("", &ids.batch), (&ids.task, &ids.batch)]
                .map(|(task, parent)| {
                    let (task_id, parent_step_id) = (task.into(), parent.into());
                    encoded(&ListStepsRequest { task_id, parent_step_id, ..Default::default() })
                })
                .to_vec()
        },
    },
    Row {
        rpc: "TaskService/ListUsage",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| vec![encoded(&ListUsageRequest { task_id: ids.task.clone(), ..Default::default() })],
    },
    Row {
        rpc: "TaskService/ListKeys",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| vec![encoded(&ListKeysRequest { task_id: ids.task.clone(), ..Default::default() })],
    },
    Row {
        rpc: "TaskService/WatchTask",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| {
            ["", &ids.resume_token]
                .map(|token| encoded(&WatchTaskRequest { task_id: ids.task.clone(), resume_token: token.into() }))
                .to_vec()
        },
    },
    Row {
        rpc: "TaskService/EndTask",
        answers: Answers::Refused(Code::NotFound),
        requests: |ids| vec![encoded(&EndTaskRequest { task_id: ids.task.clone(), reason: "spite".into() })],
    },
    Row {
        rpc: "TaskService/SettleKey",
        answers: Answers::OperatorsOnly,
        requests: |ids| {
            let fate = Some(Fate::NotLanded(NotLanded {}));
            vec![encoded(&SettleKeyRequest { task_id: ids.task.clone(), key: ids.key.clone(), fate })]
        },
    },
    Row {
        rpc: "ToolService/ListTools",
        answers: Answers::Refused(Code::InvalidArgument),
        requests: |ids| {
            vec![encoded(&ListToolsRequest { page_token: ids.page_token.clone(), ..ListToolsRequest::default() })]
        },
    },
    Row {
        rpc: "ToolService/LookupCall",
        answers: Answers::Refused(Code::Unimplemented),
        requests: |ids| {
            let CallToolRequest { tool, args_json, context } = direct(ids, "echo", "{}");
            vec![encoded(&LookupCallRequest { tool, args_json, context })]
        },
    },
    Row { rpc: "RegistryService/*", answers: Answers::OperatorsOnly, requests: |_| Vec::new() },
    Row {
        rpc: "BatchService/ExecuteBatch",
        answers: Answers::Alone(|messages| {
            let read = |bytes: &bytes::Bytes| {
                let event = proto::ExecuteBatchResponse::decode(bytes.clone()).expect("a response").event;
                event.and_then(|event| event.event).as_ref().map(tell).unwrap_or_default()
            };
            let planned = messages.iter().filter_map(|bytes| {
                let event = proto::ExecuteBatchResponse::decode(bytes.clone()).expect("a response").event?.event?;
                if let Event::BatchPlanned(plan) = event { Some(format!("{plan:?}")) } else { None }
            });
            format!("{:?} {:?}", messages.iter().map(read).collect::<Vec<_>>(), planned.collect::<Vec<_>>())
        }),
        requests: |ids| {
            let plan = ExecuteBatchRequest { validate_only: true, ..echo(ids) };
            // The id of another's step, too.
            let step = ExecuteBatchRequest { batch_id: ids.step.clone(), ..echo(ids) };
            vec![encoded(&plan), encoded(&echo(ids)), encoded(&step)]
        },
    },
    Row {
        rpc: "ToolService/CallTool",
        answers: Answers::Alone(|messages| {
            outcome(&proto::CallToolResponse::decode(messages[0].clone()).expect("a response"))
        }),
        requests: |ids| {
            let mut batch = direct(ids, "execute_tool_batch", r#"{"calls":[{"tool":"echo","args":{}}]}"#);
            batch.context.get_or_insert_default().key = format!("{}-of-batch", ids.key);
            vec![encoded(&direct(ids, "echo", "{}")), encoded(&batch)]
        },
    },
    Row {
        rpc: "ToolService/CallToolWithProgress",
        answers: Answers::Alone(|messages| {
            let last = messages.last().expect("an answer").clone();
            let last = proto::CallToolWithProgressResponse::decode(last).expect("a response").event;
            match last {
                Some(proto::call_tool_with_progress_response::Event::Response(response)) => outcome(&response),
                other => panic!("{other:?}"),
            }
        }),
        requests: |ids| vec![encoded(&CallToolWithProgressRequest { call: Some(direct(ids, "echo", "{}")) })],
    },
    Row {
        rpc: "TaskService/SetVariable",
        answers: Answers::Alone(|messages| format!("{messages:?}")),
        requests: |ids| {
            ["", "HIDDEN"]
                .map(|name| {
                    let (task_id, name, value_json) = (ids.task.clone(), name.into(), "1".into());
                    encoded(&SetVariableRequest { task_id, name, value_json })
                })
                .to_vec()
        },
    },
];

/// The RPCs of the registry, which is no tenant's, and how they answer operators: `stub` stands in the configuration.
fn registry() -> [(&'static str, Vec<u8>, Result<(), Code>); 3] {
    let stub = proto::Backend {
        name: "stub".into(),
        addresses: vec!["http://127.0.0.1:1".into()],
        ..proto::Backend::default()
    };
    let register = RegisterBackendRequest { backend: Some(stub) };
    let configured = Err(Code::FailedPrecondition);
    [
        ("RegistryService/RegisterBackend", encoded(&register), configured),
        ("RegistryService/DeregisterBackend", encoded(&DeregisterBackendRequest { name: "stub".into() }), configured),
        ("RegistryService/ListBackends", encoded(&ListBackendsRequest::default()), Ok(())),
    ]
}

#[test]
fn every_rpc_of_the_contract_has_a_row() {
    let files = FileDescriptorSet::decode(proto::DESCRIPTORS).expect("descriptors").file;
    let services = files.iter().filter(|file| file.package() == "toolbatch.v1").flat_map(|file| &file.service);
    let contract: BTreeSet<String> = services
        .flat_map(|service| service.method.iter().map(move |method| format!("{}/{}", service.name(), method.name())))
        .collect();
    let rows = ROWS.iter().map(|row| row.rpc).filter(|rpc| !rpc.ends_with('*'));
    let rows: BTreeSet<String> = rows.chain(registry().map(|(rpc, ..)| rpc)).map(str::to_owned).collect();
    assert_eq!(contract, rows, "an RPC without a row may show a tenant what is another's");
}

/// Lets "acme" have something of everything, and gives its names.
async fn furnish(rig: &Rig) -> Ids {
    let (task, key) = ("task-of-acmes-o".to_owned(), "key-of-acmes-o".to_owned());
    let hidden = format!(r#"{{"id":"{HIDDEN}"}}"#);
    for (batch, calls) in [
        ("batch-of-before", vec![call("echo", &hidden)]),
        ("batch-of-acmes-", vec![keyed(&key, "echo", &hidden), keyed("lost", "silent", &hidden)]),
    ] {
        let timeout = Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 });
        let request = ExecuteBatchRequest {
            task_id: task.clone(),
            batch_id: batch.into(),
            source: Some(Source::CallList(CallList { calls })),
            options: Some(BatchOptions { call_timeout: timeout, ..BatchOptions::default() }),
            ..ExecuteBatchRequest::default()
        };
        let mut events = rig.batches().execute_batch(with(ORDERS, request)).await.expect("taken in").into_inner();
        while events.message().await.expect("it goes on").is_some() {}
    }
    let variable = SetVariableRequest { task_id: task.clone(), name: "HIDDEN".into(), value_json: hidden };
    rig.tasks().set_variable(with(ORDERS, variable)).await.expect("it is set");
    let list = ListStepsRequest { task_id: task.clone(), page_size: 1, ..ListStepsRequest::default() };
    let steps = rig.tasks().list_steps(with(ORDERS, list)).await.expect("a page").into_inner().steps;
    let list = encoded(&ListBatchesRequest { page_size: 1, ..ListBatchesRequest::default() });
    let page = exchange(&rig.channel, "BatchService/ListBatches", with(ORDERS, list), 1).await.messages.remove(0);
    let feed = encoded(&WatchTaskRequest { task_id: task.clone(), resume_token: String::new() });
    let card = exchange(&rig.channel, "TaskService/WatchTask", with(ORDERS, feed), 1).await.messages.remove(0);
    Ids {
        task,
        batch: "batch-of-acmes-".into(),
        step: steps[0].step_id.clone(),
        key,
        page_token: ListBatchesResponse::decode(page).expect("a page").next_page_token,
        resume_token: WatchTaskResponse::decode(card).expect("a card").resume_token,
        agent: "orders".into(),
    }
}

/// All that "acme" can see, byte for byte.
async fn seen_by_its_owner(rig: &Rig, ids: &Ids) -> Vec<bytes::Bytes> {
    let (task_id, step_id) = (ids.task.clone(), ids.step.clone());
    let mut all = Vec::new();
    for (rpc, request) in [
        ("BatchService/GetBatch", encoded(&GetBatchRequest { batch_id: ids.batch.clone() })),
        ("BatchService/WatchBatch", encoded(&WatchBatchRequest { batch_id: ids.batch.clone(), after_sequence: 0 })),
        ("BatchService/ListBatches", encoded(&ListBatchesRequest::default())),
        ("TaskService/GetStep", encoded(&GetStepRequest { step_id: step_id.clone() })),
        ("TaskService/ReadStepResult", encoded(&ReadStepResultRequest { step_id, offset: 0 })),
        (
            "TaskService/ListSteps",
            encoded(&ListStepsRequest { task_id: task_id.clone(), ..ListStepsRequest::default() }),
        ),
        ("TaskService/ListKeys", encoded(&ListKeysRequest { task_id: task_id.clone(), ..ListKeysRequest::default() })),
        ("TaskService/ListUsage", encoded(&ListUsageRequest { task_id, ..ListUsageRequest::default() })),
    ] {
        let Answer { messages, end } = exchange(&rig.channel, rpc, with(ORDERS, request), usize::MAX).await;
        end.unwrap_or_else(|status| panic!("{rpc}: {status:?}"));
        assert!(!messages.is_empty(), "{rpc}");
        all.extend(messages);
    }
    all
}

/// An answer as a client can tell it from others: its code, message and details, without what the client sent itself.
fn told(ids: &Ids, row: &Row, answer: &Answer) -> String {
    let hides_nothing = answer.messages.iter().all(|bytes| !contains(bytes, HIDDEN));
    assert!(hides_nothing, "{} shows what is another's", row.rpc);
    match &answer.end {
        Err(status) => {
            assert!(!format!("{status:?}").contains(HIDDEN), "{status:?}");
            let details = format!("{:?} {:?}", status.code(), status.get_error_details());
            ids.hide(&format!("{details} {} {:?}", status.message(), status.metadata().keys().count()))
        }
        Ok(()) => match row.answers {
            Answers::Alone(read) => ids.hide(&read(&answer.messages)),
            Answers::Refused(_) | Answers::OperatorsOnly => panic!("{} answers: {:?}", row.rpc, answer.messages),
        },
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn what_is_another_tenants_is_as_if_it_did_not_exist_in_every_rpc() {
    let rig = start().await;
    let ids = furnish(&rig).await;
    let unknown = ids.unknown();
    let before = seen_by_its_owner(&rig, &ids).await;
    assert!(before.iter().any(|bytes| contains(bytes, HIDDEN)), "there is something to hide");
    for row in &ROWS {
        let requests = (row.requests)(&ids).into_iter().zip((row.requests)(&unknown));
        for (turn, (theirs, nobodys)) in requests.enumerate() {
            for operator in [false, true] {
                // An operator who names another tenant sees as little. Each turn in a tenant where nothing was done yet.
                let sent = |request, of: &str| -> Request<Vec<u8>> {
                    let tenant = format!("{}-{turn}-{of}", row.rpc.replace('/', "."));
                    if operator { within(&tenant, with(OPS, request)) } else { with(SPY, request) }
                };
                let foreign = exchange(&rig.channel, row.rpc, sent(theirs.clone(), "theirs"), usize::MAX).await;
                let absent = exchange(&rig.channel, row.rpc, sent(nobodys.clone(), "nobodys"), usize::MAX).await;
                let expected = match (&row.answers, operator) {
                    (Answers::Refused(code), _) => Some(*code),
                    (Answers::OperatorsOnly, false) => Some(Code::PermissionDenied),
                    (Answers::OperatorsOnly, true) => Some(Code::NotFound),
                    (Answers::Alone(_), _) => None,
                };
                let code = foreign.end.as_ref().err().map(tonic::Status::code);
                assert_eq!(code, expected, "{} {turn}: {:?}", row.rpc, foreign.end);
                assert_eq!(told(&ids, row, &foreign), told(&unknown, row, &absent), "{} {turn}", row.rpc);
            }
        }
    }
    for (rpc, request, expected) in registry() {
        for agent in [ORDERS, READER, SPY] {
            let refused = exchange(&rig.channel, rpc, with(agent, request.clone()), 1).await;
            let status = refused.end.expect_err("an agent");
            assert_eq!((status.code(), refused.messages.len()), (Code::PermissionDenied, 0), "{rpc}: {status:?}");
        }
        for tenant in ["acme", "default"] {
            let answer = exchange(&rig.channel, rpc, within(tenant, with(OPS, request.clone())), usize::MAX).await;
            assert_eq!(answer.end.map_err(|status| status.code()), expected, "{rpc}");
        }
    }
    assert_eq!(seen_by_its_owner(&rig, &ids).await, before, "nothing of it has changed");
    // Its task takes work all the same.
    let more = ExecuteBatchRequest { batch_id: String::new(), ..echo(&ids) };
    let more = exchange(&rig.channel, "BatchService/ExecuteBatch", with(ORDERS, encoded(&more)), usize::MAX).await;
    more.end.expect("it goes on");
}

#[tokio::test]
async fn lists_hold_only_what_is_the_tenants_own() {
    let rig = start().await;
    let ids = furnish(&rig).await;
    let list = |token| {
        let request = with(token, encoded(&ListBatchesRequest::default()));
        exchange(&rig.channel, "BatchService/ListBatches", request, 1)
    };
    let batches = |answer: Answer| {
        answer.end.expect("a page");
        ListBatchesResponse::decode(answer.messages[0].clone()).expect("a page").batches.len()
    };
    assert_eq!(batches(list(ORDERS).await), 2);
    assert_eq!(batches(list(SPY).await), 0);
    assert_eq!(batches(list(OPS).await), 0, "an operator who names none is in \"default\"");
    let named = within("acme", with(OPS, encoded(&ListBatchesRequest::default())));
    assert_eq!(batches(exchange(&rig.channel, "BatchService/ListBatches", named, 1).await), 2);
    // The same names are another's things in another tenant.
    let own = exchange(&rig.channel, "BatchService/ExecuteBatch", with(SPY, encoded(&echo(&ids))), usize::MAX).await;
    own.end.expect("it runs");
    assert_eq!((batches(list(ORDERS).await), batches(list(SPY).await)), (2, 1));
    let entries = rig.backend.journal().entries();
    let keys: Vec<_> =
        entries.iter().filter(|entry| entry.key == ids.key).map(|entry| &entry.idempotency_key).collect();
    assert_eq!(keys.len(), 2, "each tenant's call has run");
    assert_ne!(keys[0], keys[1], "one key of two tenants is two keys to a backend");
}

/// Information: how long a refusal takes where the id is another's, against one that nobody has. Decides nothing.
#[tokio::test]
async fn refusals_are_timed() {
    let rig = start().await;
    let ids = furnish(&rig).await;
    let unknown = ids.unknown();
    for row in ROWS.iter().filter(|row| matches!(row.answers, Answers::Refused(Code::NotFound))) {
        let mut medians = Vec::new();
        for ids in [&ids, &unknown] {
            let request = (row.requests)(ids).remove(0);
            let mut times = Vec::new();
            for _ in 0..60 {
                let begin = Instant::now();
                let refused = exchange(&rig.channel, row.rpc, with(SPY, request.clone()), 1).await.end;
                times.push(begin.elapsed());
                assert_eq!(refused.expect_err("another's").code(), Code::NotFound);
            }
            times.sort_unstable();
            medians.push(times[times.len() / 2].max(Duration::from_nanos(1)));
        }
        let ratio = medians[0].as_secs_f64() / medians[1].as_secs_f64();
        println!("{}: another's {:?}, nobody's {:?}, ratio {ratio:.2}", row.rpc, medians[0], medians[1]);
    }
}
