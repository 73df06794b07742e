//! The batch that the future server tells of, as bytes: the generated messages can hold neither unknown kinds nor unknown fields.

use prost::{
    Message as _,
    encoding::{WireType, encode_key, encode_varint},
};
use toolbatch::proto::{
    Batch, BatchEvent, BatchFinished, BatchOptions, BatchStarted, BatchStatus, BatchSummary, CallError, CallFinished,
    CallProgress, CallResult, CallStarted, CallStatus, ExecuteBatchRequest, Step, batch_event::Event,
};

/// A value that no enum has.
const UNKNOWN: i32 = 99;
/// A field that no message has.
const UNKNOWN_FIELD: u32 = 900;
/// After this one `ExecuteBatch` breaks off.
const BROKEN_OFF_AFTER: u64 = 5;

/// A field with bytes in it.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(number, WireType::LengthDelimited, &mut out);
    encode_varint(u64::try_from(bytes.len()).unwrap_or(u64::MAX), &mut out);
    out.extend(bytes);
    out
}

/// A message with a field that is new.
fn with_new_field(mut message: Vec<u8>) -> Vec<u8> {
    message.extend(field(UNKNOWN_FIELD, b"new"));
    message
}

/// The answers of `ExecuteBatch` and of `WatchBatch` hold an event in their first field.
fn response(event: &[u8]) -> Vec<u8> {
    with_new_field(field(1, event))
}

fn known(batch_id: &str, sequence: u64, event: Event) -> Vec<u8> {
    let event = BatchEvent { batch_id: batch_id.into(), sequence, time: None, event: Some(event) };
    with_new_field(event.encode_to_vec())
}

/// An event of a kind that is new.
fn unknown(batch_id: &str, sequence: u64) -> Vec<u8> {
    let event = BatchEvent { batch_id: batch_id.into(), sequence, time: None, event: None };
    with_new_field(event.encode_to_vec())
}

fn failed() -> CallResult {
    let error = CallError { reason: UNKNOWN, message: "it failed in a new way".into(), ..CallError::default() };
    CallResult {
        tool: "echo".into(),
        status: UNKNOWN,
        step_id: "step-0".into(),
        error: Some(error),
        attempts: 1,
        ..CallResult::default()
    }
}

fn completed() -> CallResult {
    CallResult {
        index: 1,
        tool: "echo".into(),
        status: CallStatus::Completed.into(),
        step_id: "step-1".into(),
        result_json: r#"{"n":1}"#.into(),
        attempts: 1,
        ..CallResult::default()
    }
}

fn summary() -> BatchSummary {
    BatchSummary {
        status: UNKNOWN,
        total: 2,
        succeeded: 1,
        failed: 1,
        stop_reason: UNKNOWN,
        results: vec![failed(), completed()],
        ..BatchSummary::default()
    }
}

/// Every event of the log, with its sequence.
fn events(batch_id: &str, task_id: &str) -> Vec<(u64, Vec<u8>)> {
    let options = BatchOptions { mode: UNKNOWN, in_doubt: UNKNOWN, max_concurrency: 4, ..BatchOptions::default() };
    let started = BatchStarted { task_id: task_id.into(), agent_id: "agent".into(), total: 2, options: Some(options) };
    let call = CallStarted { tool: "echo".into(), step_id: "step-0".into(), attempt: 1, ..CallStarted::default() };
    let finished = |result| Event::CallFinished(CallFinished { result: Some(result) });
    vec![
        (1, known(batch_id, 1, Event::BatchStarted(started))),
        (2, unknown(batch_id, 2)),
        (3, known(batch_id, 3, Event::CallStarted(call))),
        (4, known(batch_id, 4, finished(failed()))),
        (BROKEN_OFF_AFTER, unknown(batch_id, BROKEN_OFF_AFTER)),
        (6, known(batch_id, 6, finished(completed()))),
        (7, unknown(batch_id, 7)),
        (8, known(batch_id, 8, Event::BatchFinished(BatchFinished { summary: Some(summary()) }))),
    ]
}

/// The events up to the break, among them one that is live only.
pub(crate) fn begin(request: &ExecuteBatchRequest) -> Vec<Vec<u8>> {
    let id = &request.batch_id;
    let before = events(id, &request.task_id).into_iter().filter(|(sequence, _)| *sequence <= BROKEN_OFF_AFTER);
    let mut messages: Vec<_> = before.map(|(_, event)| response(&event)).collect();
    messages.insert(2, response(&unknown(id, 0)));
    messages
}

/// The rest; behind its first event comes one that is live only, and says after which sequence the client asked.
pub(crate) fn go_on(batch_id: &str, after: u64) -> Vec<Vec<u8>> {
    let progress = CallProgress {
        index: 1,
        step_id: "step-1".into(),
        progress: 1.0,
        message: format!("asked after {after}"),
        ..CallProgress::default()
    };
    let live = response(&known(batch_id, 0, Event::CallProgress(progress)));
    let rest = events(batch_id, "").into_iter().filter(|(sequence, _)| *sequence > after);
    let mut messages: Vec<_> = rest.map(|(_, event)| response(&event)).collect();
    if messages.len() > 1 {
        messages.insert(1, live);
    }
    messages
}

/// The answer of `CancelBatch`.
pub(crate) fn cancelled(batch_id: &str) -> Vec<u8> {
    let summary = BatchSummary { status: BatchStatus::Running.into(), stop_reason: UNKNOWN, ..BatchSummary::default() };
    let batch = Batch { batch_id: batch_id.into(), summary: Some(summary), ..Batch::default() };
    with_new_field(field(1, &with_new_field(batch.encode_to_vec())))
}

/// The answer of `GetStep`.
pub(crate) fn step(step_id: &str) -> Vec<u8> {
    let error = failed().error;
    let args_json = r#"{"n":1}"#.into();
    let step = Step { step_id: step_id.into(), status: UNKNOWN, attempts: 1, args_json, error, ..Step::default() };
    with_new_field(field(1, &with_new_field(step.encode_to_vec())))
}

#[cfg(test)]
mod tests {
    use toolbatch::proto::WatchBatchResponse;

    use super::*;

    #[test]
    fn a_generated_client_reads_what_it_knows() {
        let read = |message: &Vec<u8>| WatchBatchResponse::decode(&message[..]).unwrap().event.unwrap();
        let request =
            ExecuteBatchRequest { batch_id: "b".into(), task_id: "t".into(), ..ExecuteBatchRequest::default() };
        let begin: Vec<_> = begin(&request).iter().map(read).collect();
        let sequences: Vec<_> = begin.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, [1, 2, 0, 3, 4, 5]);
        let known: Vec<_> = begin.iter().map(|event| event.event.is_some()).collect();
        assert_eq!(known, [true, false, false, true, true, false]);
        let rest: Vec<_> = go_on("b", 5).iter().map(read).map(|event| event.sequence).collect();
        assert_eq!(rest, [6, 0, 7, 8]);
        assert_eq!(go_on("b", 7).len(), 1, "nothing comes after the last");
    }
}
