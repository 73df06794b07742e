//! An attempt, from the core's wish to what the core is told. It runs as a task of its own.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tracing::{Span, field::Empty};

use super::{leases::Lease, read::Reader, tail::Reporter};
use crate::{
    batch::{
        core::{self, BatchNo, Input},
        outcome::{Body, Fate, INLINE_BODY_MAX, Outcome, Payload},
        spec::Spec,
        trace::span_of,
        wait,
    },
    dispatch::{self, Backends},
    store::{self, records::BatchRecord},
};

/// What is asked of the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Run the tool.
    Call,
    /// Tell what became of an earlier attempt.
    Lookup,
}

/// How an attempt's task ended.
pub(super) struct AttemptEnd {
    pub(super) batch: BatchNo,
    pub(super) index: u32,
    /// What the core is told, unless the result could not be stored.
    pub(super) input: Result<Input, store::Error>,
    /// Where the result is a blob.
    pub(super) lease: Option<Lease>,
}

/// The wish with all that a backend is told.
pub(super) fn outgoing(
    spec: &Spec,
    head: &BatchRecord,
    wish: &core::Attempt,
    call_timeout: Duration,
) -> dispatch::Attempt {
    let call = &spec.calls[wish.index as usize];
    dispatch::Attempt {
        backend: wish.target.backend.clone(),
        tool: wish.target.base_tool.clone(),
        args: call.args.clone(),
        task_id: spec.task_id.clone(),
        agent_id: spec.agent_id.clone(),
        key: call.key.as_deref().unwrap_or_default().to_owned(),
        // A direct step has a batch that nobody sees.
        batch_id: if head.direct { String::new() } else { head.batch_id.clone() },
        step_id: wish.step_id,
        index: wish.index,
        attempt: wish.attempt,
        idempotency_key: wish.idempotency_key.clone(),
        in_doubt: wish.in_doubt,
        trace: head.trace.clone(),
        timeout: spec.options.call_timeout.or(wish.target.timeout).unwrap_or(call_timeout),
        connect_wait: if wish.resumed { wait::REACH_WAIT_RESUMED } else { wait::REACH_WAIT },
    }
}

/// What tracing shows of an attempt: one span, from its wish to its outcome (R10). A question about an earlier attempt has one, too.
fn span(lane: Lane, attempt: &dispatch::Attempt) -> Span {
    let span = span_of(attempt.step_id, attempt.attempt);
    tracing::debug_span!(
        target: "toolbatch::tool_execution",
        "tool_execution",
        rpc = ?lane,
        task_id = attempt.task_id,
        agent_id = attempt.agent_id,
        batch_id = attempt.batch_id,
        step_id = %attempt.step_id,
        tool = attempt.tool,
        backend = attempt.backend,
        key = attempt.key,
        attempt = attempt.attempt,
        in_doubt = attempt.in_doubt,
        trace_id = attempt.trace.id(),
        span_id = format_args!("{span:016x}"),
        parent_span_id = format_args!("{:016x}", attempt.trace.parent),
        { STATUS } = Empty,
    )
}

/// The field of a span that is known last.
const STATUS: &str = "status";

/// How an attempt ended, in a word.
fn status(reply: &Outcome<Bytes>) -> &'static str {
    match reply {
        Outcome::Completed { .. } => "completed",
        Outcome::Awaiting { .. } => "awaiting",
        Outcome::Failed { .. } => "failed",
        Outcome::NotSent { .. } => "not sent",
        Outcome::Unknown { .. } => "unknown",
    }
}

/// What a backend knows of an earlier attempt.
fn found(fate: &Fate<Bytes>) -> &'static str {
    match fate {
        Fate::Landed(_) => "landed",
        Fate::NotLanded => "not landed",
        Fate::Unknown { .. } => "unknown",
    }
}

/// Carries the wish out. Its span is held rather than entered: what is logged on the way names its call itself, and a future that is
/// wrapped is moved once more for each call.
pub(super) async fn run(
    lane: Lane,
    wish: core::Attempt,
    attempt: dispatch::Attempt,
    backends: Backends,
    reader: Arc<Reader>,
    reporter: Reporter,
) -> AttemptEnd {
    let core::Attempt { batch, index, attempt: number, step_id, .. } = wish;
    let span = span(lane, &attempt);
    let mut lease = None;
    let input = match lane {
        Lane::Call => {
            let tell = |news: dispatch::Progress| reporter.tell(index, step_id, news);
            let reply = backends.call(attempt, &tell).await;
            span.record(STATUS, status(&reply));
            let outcome = stored(&reader, reply, &mut lease).await;
            outcome.map(|outcome| Input::Outcome { batch, index, attempt: number, outcome })
        }
        Lane::Lookup => {
            let fate = backends.lookup(attempt).await;
            span.record(STATUS, found(&fate));
            let fate = match fate {
                Fate::Landed(reply) => stored(&reader, reply, &mut lease).await.map(Fate::Landed),
                Fate::NotLanded => Ok(Fate::NotLanded),
                Fate::Unknown { message } => Ok(Fate::Unknown { message }),
            };
            fate.map(|fate| Input::Fate { batch, index, attempt: number, fate })
        }
    };
    AttemptEnd { batch, index, input, lease }
}

/// The outcome with its result where the core wants it: a large one is written ahead and synced, here, so that the event that
/// refers to it comes after.
async fn stored(
    reader: &Arc<Reader>,
    reply: Outcome<Bytes>,
    lease: &mut Option<Lease>,
) -> Result<Outcome, store::Error> {
    Ok(match reply {
        Outcome::Completed { result, usage } => {
            Outcome::Completed { result: payload(reader, result, lease).await?, usage }
        }
        Outcome::Awaiting { await_id, result, usage } => {
            Outcome::Awaiting { await_id, result: payload(reader, result, lease).await?, usage }
        }
        Outcome::Failed { message, code, retryable, usage } => Outcome::Failed { message, code, retryable, usage },
        Outcome::NotSent { reason, message } => Outcome::NotSent { reason, message },
        Outcome::Unknown { reason, message } => Outcome::Unknown { reason, message },
    })
}

async fn payload(reader: &Arc<Reader>, text: Bytes, lease: &mut Option<Lease>) -> Result<Payload, store::Error> {
    let bytes = text.len() as u64;
    if text.len() <= INLINE_BODY_MAX {
        return Ok(Payload { bytes, body: Body::Inline(text) });
    }
    let mut waiting = None;
    loop {
        let (writer, text) = (Arc::clone(reader), text.clone());
        let written = tokio::task::spawn_blocking(move || writer.leases.write(&*writer.store, &text)).await;
        match written {
            Ok(Ok((blob, of_blob))) => {
                *lease = Some(of_blob);
                return Ok(Payload { bytes, body: Body::Blob(blob) });
            }
            // The tool has run: its result is kept in memory until there is space.
            Ok(Err(store::Error::Full(message))) => {
                waiting.get_or_insert_with(|| {
                    tracing::error!(message, "the store is full: a result waits for space");
                    reader.intake.wait()
                });
                tokio::time::sleep(super::commit::FULL_RETRY).await;
            }
            Ok(Err(error)) => return Err(error),
            Err(error) => return Err(store::Error::Failed(format!("a result's write ended in a panic: {error}"))),
        }
    }
}
