//! What is written today is read tomorrow: each record goes around, and some are pinned byte for byte.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use uuid::Uuid;

use super::*;
use crate::batch::{
    event::{BatchStatus, CallError, CallFinished, Ending, Event, Reason, ResultMark, StepId, StopReason, Timestamp},
    key::KeyState,
    outcome::{BlobRef, Body, Payload, UsageItem},
    spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
    state::End,
    step::StepEnd,
    summary::Counts,
    trace::Trace,
};

const STEP: StepId = StepId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0001));
const COUNTS: Counts = Counts { total: 6, completed: 1, failed: 1, skipped: 1, awaiting: 1, waiting: 2 };

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn error() -> CallError {
    CallError {
        reason: Reason::TimedOut,
        message: "späť".into(),
        outcome_unknown: true,
        retryable: false,
        code: "E1".into(),
    }
}

fn finished(ending: Ending) -> CallFinished {
    CallFinished { index: 3, step_id: STEP, attempts: 2, duration: Duration::from_micros(1_500), ending }
}

fn endings() -> Vec<Ending> {
    let mark = ResultMark { bytes: 7, inlined: true };
    vec![
        Ending::Completed { result: mark },
        Ending::Awaiting { await_id: "review".into(), result: ResultMark { bytes: 4, inlined: false } },
        Ending::Failed(error()),
        Ending::Skipped { result: Some(mark), await_id: Some(String::new()), args_changed: false },
        Ending::Skipped { result: None, await_id: None, args_changed: true },
    ]
}

fn events() -> Vec<Event> {
    let mut events = vec![
        Event::BatchStarted,
        Event::CallStarted {
            index: 3,
            step_id: STEP,
            attempt: 2,
            in_doubt: true,
            base_tool: "create_order".into(),
            backend: "erp".into(),
            generation: 4,
        },
        Event::CallRetrying { index: 3, step_id: STEP, attempt: 1, error: error(), retry_time: Timestamp(-5) },
        Event::BatchResumed { in_doubt: vec![0, 199] },
        Event::BatchFinished {
            status: BatchStatus::Partial,
            counts: COUNTS,
            stop_reason: Some(StopReason::AwaitingReview),
        },
    ];
    events.extend(endings().into_iter().map(|ending| Event::CallFinished(finished(ending))));
    events
}

#[test]
fn every_event_is_read_back() {
    for event in events() {
        let entry = Entry { sequence: 9, time: Timestamp(1_700_000_000_000_000_000), event };
        assert_eq!(decode_entry(9, &encode_entry(&entry)).expect("it is read"), entry);
    }
}

#[test]
fn every_reason_policy_and_status_is_read_back() {
    for reason in [
        Reason::ToolFailed,
        Reason::ToolNotAllowed,
        Reason::ToolNotFound,
        Reason::ToolNotBatchable,
        Reason::InvalidArgs,
        Reason::BackendUnavailable,
        Reason::TimedOut,
        Reason::Cancelled,
        Reason::InDoubt,
        Reason::BadResponse,
    ] {
        let ending = Ending::Failed(CallError { reason, ..error() });
        let entry = Entry { sequence: 1, time: Timestamp(0), event: Event::CallFinished(finished(ending)) };
        assert_eq!(decode_entry(1, &encode_entry(&entry)).expect("it is read"), entry);
    }
    for (status, stop_reason) in [
        (BatchStatus::Completed, None),
        (BatchStatus::Failed, Some(StopReason::CallFailed)),
        (BatchStatus::Partial, Some(StopReason::Cancelled)),
        (BatchStatus::Partial, Some(StopReason::TaskEnded)),
        (BatchStatus::Failed, Some(StopReason::Parked)),
    ] {
        let event = Event::BatchFinished { status, counts: COUNTS, stop_reason };
        let entry = Entry { sequence: 1, time: Timestamp(0), event };
        assert_eq!(decode_entry(1, &encode_entry(&entry)).expect("it is read"), entry);
    }
}

fn steps() -> Vec<StepRecord> {
    let blob = Payload { bytes: 9_000, body: Body::Blob(BlobRef { file: 2, offset: 77, bytes: 9_000 }) };
    let inline = Payload { bytes: 4, body: Body::Inline(Bytes::from_static(b"null")) };
    let ends = [None, Some(blob), Some(inline)].map(|result| {
        let usage = vec![UsageItem { unit: "pages".into(), quantity: 0.5 }];
        Some(StepEnd { time: Timestamp(8), finished: finished(endings().remove(0)), result, usage })
    });
    let step = |end| StepRecord {
        step_id: STEP,
        index: 3,
        base_tool: "t".into(),
        backend: "b".into(),
        attempts: 1,
        start_time: Timestamp(7),
        end,
    };
    std::iter::once(None).chain(ends).map(step).collect()
}

#[test]
fn steps_are_read_back() {
    for step in steps() {
        let read = decode_step(STEP, &encode_step(BatchNo(5), &step)).expect("it is read");
        assert_eq!(read, (BatchNo(5), step));
    }
}

fn keys() -> [KeyRecord; 4] {
    [
        KeyState::Completed { result_bytes: 12, await_id: Some("a".into()) },
        KeyState::Completed { result_bytes: 0, await_id: None },
        KeyState::Failed,
        KeyState::Unknown,
    ]
    .map(|state| KeyRecord {
        state,
        step_id: STEP,
        base_tool: "t".into(),
        args_digest: [7; 32],
        generation: 3,
        update_time: Timestamp(6),
        settled_by: Some("ops".into()),
    })
}

#[test]
fn keys_are_read_back() {
    for record in keys() {
        assert_eq!(decode_key(&encode_key("k", &record)).expect("it is read"), ("k".into(), record));
    }
}

fn variables() -> [VariableRecord; 2] {
    let inline = Payload { bytes: 4, body: Body::Inline(Bytes::from_static(b"1.10")) };
    let blob = Payload { bytes: 9, body: Body::Blob(BlobRef { file: 2, offset: 4_096, bytes: 9 }) };
    [
        VariableRecord { value: inline, update_time: Timestamp(6), writer: "orders".into() },
        VariableRecord { value: blob, update_time: Timestamp(-1), writer: String::new() },
    ]
}

#[test]
fn variables_are_read_back_and_their_written_form_does_not_change() {
    for (variable, golden) in variables().into_iter().zip(GOLDEN_VARIABLES) {
        let written = encode_variable(&variable);
        assert_eq!(hex(&written), golden);
        assert_eq!(decode_variable(&written).expect("it is read"), variable);
    }
    let numbered = Task { task_id: "T".into(), last_variable: 3, ..Task::default() };
    assert_eq!(hex(&encode(&numbered)), "011201544003");
}

#[test]
fn a_registration_is_written_as_ever() {
    let registration = Registration { addresses: vec!["unix:/a".into()], ..Registration::default() };
    assert_eq!(hex(&encode(&registration)), "010a07756e69783a2f61");
}

const GOLDEN_VARIABLES: [&str; 2] =
    ["010a060a04312e313010061a066f7264657273", "010a0912070802108020180910ffffffffffffffffff01"];

fn spec() -> Spec {
    Spec {
        task_id: "T".into(),
        agent_id: "a".into(),
        batch_id: Some("b".into()),
        calls: vec![
            CallSpec { tool: "t".into(), args: r#"{"doc":1.0}"#.into(), key: None, lane: Some("1".into()) },
            CallSpec { tool: "u".into(), args: "{}".into(), key: Some("k".into()), lane: None },
        ],
        options: Options {
            mode: Mode::Parallel { max_concurrency: 9 },
            serialize_on: "doc".into(),
            stop_on_error: true,
            include_results: false,
            call_timeout: Some(Duration::from_millis(1)),
            retry: RetryPolicy { max_attempts: 3, ..RetryPolicy::default() },
            in_doubt: InDoubtPolicy::Lookup,
        },
        direct: false,
        trace: None,
        content_digest: [1; 32],
    }
}

#[test]
fn a_spec_is_read_back_with_its_lanes() {
    let spec = spec();
    let (content, outline_bytes) = Outline::write(&spec);
    let split = usize::try_from(outline_bytes).expect("small");
    let outline = Outline::read(content.slice(..split)).expect("it is read");
    assert_eq!(outline, Outline::of(&spec));
    assert_eq!(outline.args_range(1), Some((11, 2)));
    assert_eq!(outline.args_range(2), None);
    let read = outline.spec("b", [1; 32], &content.slice(split..)).expect("it is whole");
    assert_eq!(read, spec);
}

fn head() -> BatchRecord {
    let end = End { status: BatchStatus::Failed, stop_reason: None, time: Timestamp(3) };
    BatchRecord {
        batch_id: "b".into(),
        content_digest: [9; 32],
        start_time: Timestamp(1),
        content: Payload { bytes: 3, body: Body::Inline(Bytes::from_static(b"abc")) },
        outline_bytes: 2,
        stop: Some(StopReason::Cancelled),
        direct: true,
        variable: Some(7),
        trace: Trace { trace_id: 1 << 64, parent: 2, flags: 3, state: "a=b".into(), via: "other".into() },
        end: Some(BatchEnd { end, counts: COUNTS, last_sequence: 12 }),
    }
}

#[test]
fn heads_are_read_back() {
    let head = head();
    assert_eq!(decode_batch(&encode_batch(&head)).expect("it is read"), head);
}

#[test]
fn a_head_whose_outline_is_longer_than_its_content_is_refused() {
    let head = BatchRecord { outline_bytes: 4, ..head() };
    let refused = decode_batch(&encode_batch(&head)).expect_err("the content has 3 bytes");
    assert!(refused.to_string().contains("outline"), "{refused}");
}

#[test]
fn args_of_impossible_lengths_are_refused() {
    let (content, split) = content();
    let content = Bytes::from(content);
    let mut outline = Outline::read(content.slice(..split)).expect("it is read");
    for call in &mut outline.calls {
        call.args_bytes = u64::MAX;
    }
    assert_eq!(outline.args_range(1), Some((u64::MAX, u64::MAX)));
    outline.calls[0].args_bytes = 1;
    assert!(outline.spec("b", [1; 32], &content.slice(split..)).expect_err("too long").to_string().contains("args"));
}

/// A value of every kind, for the properties to damage.
pub(super) fn one_of_each() -> Vec<Vec<u8>> {
    let entry = |event| encode_entry(&Entry { sequence: 1, time: Timestamp(1_000), event });
    let mut all: Vec<Bytes> = events().into_iter().map(entry).collect();
    all.extend(steps().iter().map(|step| encode_step(BatchNo(5), step)));
    all.extend(keys().iter().map(|key| encode_key("k", key)));
    all.extend(variables().iter().map(encode_variable));
    all.push(encode_batch(&head()));
    all.push(encode(&Counters { next_task: 7, next_batch: 9, stopped_well: true, age: 8 }));
    all.push(encode(&Locator { task: 7, batch: 9 }));
    all.push(encode(&OpenBatch { task: 7, batch: 9, crashes: 2, ended_calls: 3 }));
    all.push(encode(&Task { task_id: "T".into(), tenant: "default".into(), last_variable: 3, ..Task::default() }));
    all.into_iter().map(Vec::from).collect()
}

/// A batch's content, outline and args, and where the args begin.
pub(super) fn content() -> (Vec<u8>, usize) {
    let (content, outline_bytes) = Outline::write(&spec());
    (content.into(), usize::try_from(outline_bytes).expect("small"))
}

/// Before crashes were counted, the record of an unfinished batch was a locator, and counters knew of no good stop.
#[test]
fn an_unfinished_batch_of_the_first_form_has_seen_no_crash() {
    let open: OpenBatch = decode(&encode(&Locator { task: 7, batch: 9 })).expect("it is read");
    assert_eq!(open, OpenBatch { task: 7, batch: 9, crashes: 0, ended_calls: 0 });
    let before = Bytes::from_static(&[1, 8, 7, 16, 9]);
    let counters: Counters = decode(&before).expect("it is read");
    assert_eq!(counters, Counters { next_task: 7, next_batch: 9, stopped_well: false, age: 0 });
    assert_eq!(hex(&encode(&OpenBatch { crashes: 2, ended_calls: 3, ..open })), "010807100918022003");
}

/// A change here is a change of what is on people's disks: it needs a reader for the old form.
#[test]
fn the_written_form_does_not_change() {
    let written: Vec<String> = events()
        .into_iter()
        .map(|event| hex(&encode_entry(&Entry { sequence: 1, time: Timestamp(1_000), event })))
        .collect();
    assert_eq!(written, GOLDEN_ENTRIES);
}

const GOLDEN_ENTRIES: [&str; 10] = [
    "0108e8071200",
    "0108e8071a2d0803121001900000000070008000000000000001180220012a0c6372656174655f6f7264657232036572703804",
    "0108e8072233080310011a10080712067370c3a4c5a518012a02453120fbffffffffffffffff012a1001900000000070008000000000000001",
    "0108e80732050a0300c701",
    "0108e8073a12080210021a0c080610011801200128013002",
    "0108e8072a220803121001900000000070008000000000000001180220e0c65b2a060a0408071001",
    "0108e8072a280803121001900000000070008000000000000001180220e0c65b320c0a0672657669657712020804",
    "0108e8072a2c0803121001900000000070008000000000000001180220e0c65b3a10080712067370c3a4c5a518012a024531",
    "0108e8072a240803121001900000000070008000000000000001180220e0c65b42080a04080710011200",
    "0108e8072a1e0803121001900000000070008000000000000001180220e0c65b42021801",
];

#[test]
fn what_is_no_record_is_refused_with_words() {
    let newer = decode_entry(1, &Bytes::from_static(&[9, 1, 2])).expect_err("a newer version");
    assert!(matches!(&newer, Error::Newer(message) if message.contains("version 9")), "{newer}");
    for damaged in [&[][..], &[0], &[1], &[1, 0xff], &[1, 0x3a, 0x00]] {
        let refused = decode_entry(1, &Bytes::copy_from_slice(damaged)).expect_err("no entry");
        assert!(matches!(refused, Error::Damaged(_)), "{damaged:?}: {refused}");
    }
}
