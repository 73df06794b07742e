//! A batch's head and content.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use prost::Message as _;

use super::{
    damaged,
    log::{
        counts_from_wire, counts_to_wire, status_from_wire, status_to_wire, stop_reason_from_wire, stop_reason_to_wire,
    },
    step::{payload_from_wire, payload_to_wire},
    wire,
};
use crate::{
    batch::{
        event::{StopReason, Timestamp},
        outcome::Payload,
        spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
        state::End,
        summary::Counts,
        trace::Trace,
    },
    json,
    store::Error,
};

/// A batch's head: what finds its content, and, once it has ended, what a listing shows.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchRecord {
    /// Its id.
    pub batch_id: String,
    /// See [`Spec::content_digest`].
    pub content_digest: [u8; 32],
    /// When it was accepted.
    pub start_time: Timestamp,
    /// An outline of `outline_bytes`, then all calls' args.
    pub content: Payload,
    /// The length of the outline.
    pub outline_bytes: u64,
    /// It was told to stop.
    pub stop: Option<StopReason>,
    /// See [`Spec::direct`].
    pub direct: bool,
    /// Of a direct step that has a result: the `n` of the `VAR_<n>` that holds it.
    pub variable: Option<u64>,
    /// Where it stands in a trace.
    pub trace: Trace,
    /// Once it has ended.
    pub end: Option<BatchEnd>,
}

/// How a batch ended, for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    /// Status, reason, time.
    pub end: End,
    /// In numbers; `waiting` are those not run.
    pub counts: Counts,
    /// The sequence number of its last entry.
    pub last_sequence: u64,
}

/// A batch's content without its calls' args, which stand behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The task's id.
    pub task_id: String,
    /// As the client wrote it.
    pub agent_id: String,
    /// How it runs.
    pub options: Options,
    /// Tool, key and the length of the args of each call.
    pub calls: Vec<OutlineCall>,
}

/// A call without its args.
#[derive(Clone, Debug, PartialEq)]
pub struct OutlineCall {
    /// As the client named it.
    pub tool: Arc<str>,
    /// Its key.
    pub key: Option<Arc<str>>,
    /// The length of its args.
    pub args_bytes: u64,
}

impl Outline {
    /// The outline of a spec.
    #[must_use]
    pub fn of(spec: &Spec) -> Self {
        let calls = spec.calls.iter().map(|call| OutlineCall {
            tool: call.tool.clone(),
            key: call.key.clone(),
            args_bytes: call.args.len() as u64,
        });
        Self {
            task_id: spec.task_id.clone(),
            agent_id: spec.agent_id.clone(),
            options: spec.options.clone(),
            calls: calls.collect(),
        }
    }

    /// A spec as it is stored: the outline, then the args; and the outline's length.
    #[must_use]
    pub fn write(spec: &Spec) -> (Bytes, u64) {
        let calls = spec.calls.iter().map(|call| wire::OutlineCall {
            tool: call.tool.to_string(),
            key: call.key.as_deref().unwrap_or_default().to_owned(),
            args_bytes: call.args.len() as u64,
        });
        let outline = wire::Outline {
            task_id: spec.task_id.clone(),
            agent_id: spec.agent_id.clone(),
            options: Some(options_to_wire(&spec.options)),
            calls: calls.collect(),
        };
        let mut content = outline.encode_to_vec();
        let outline_bytes = content.len() as u64;
        for call in &spec.calls {
            content.extend_from_slice(call.args.as_bytes());
        }
        (content.into(), outline_bytes)
    }

    /// Reads an outline.
    pub fn read(bytes: Bytes) -> Result<Self, Error> {
        let outline = wire::Outline::decode(bytes)
            .map_err(|error| Error::Damaged(format!("a batch's outline cannot be read: {error}")))?;
        Ok(Self {
            task_id: outline.task_id,
            agent_id: outline.agent_id,
            options: options_from_wire(&outline.options.ok_or_else(|| damaged("options"))?)?,
            calls: outline
                .calls
                .into_iter()
                .map(|call| OutlineCall {
                    tool: call.tool.into(),
                    key: Some(call.key).filter(|key| !key.is_empty()).map(Into::into),
                    args_bytes: call.args_bytes,
                })
                .collect(),
        })
    }

    /// Where a call's args stand behind the outline, and their length; `None` past the last call.
    #[must_use]
    pub fn args_range(&self, index: u32) -> Option<(u64, u64)> {
        let (before, rest) = self.calls.split_at_checked(index as usize)?;
        let offset = before.iter().fold(0, |sum: u64, call| sum.saturating_add(call.args_bytes));
        Some((offset, rest.first()?.args_bytes))
    }

    /// The whole spec again, from the outline and the args behind it, as a batch's; whether it is direct, the head says. Lanes are
    /// derived as they were at first.
    pub fn spec(self, batch_id: &str, content_digest: [u8; 32], args: &Bytes) -> Result<Spec, Error> {
        let path = match self.options.serialize_on.as_str() {
            "" => None,
            path => Some(json::Path::parse(path).map_err(|_| damaged("lane path"))?),
        };
        let mut calls = Vec::with_capacity(self.calls.len());
        let mut at = 0;
        for call in self.calls {
            let end = usize::try_from(call.args_bytes).map_or(usize::MAX, |bytes| bytes.saturating_add(at));
            let text = args.get(at..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
            let text = text.ok_or_else(|| damaged("args"))?;
            let lane = path.as_ref().and_then(|path| json::lane(text, path)).map(Into::into);
            calls.push(CallSpec { tool: call.tool, args: text.into(), key: call.key, lane });
            at = end;
        }
        Ok(Spec {
            task_id: self.task_id,
            agent_id: self.agent_id,
            batch_id: Some(batch_id.to_owned()),
            calls,
            options: self.options,
            direct: false,
            trace: None,
            content_digest,
        })
    }
}

pub(super) fn batch_to_wire(batch: &BatchRecord) -> wire::Batch {
    wire::Batch {
        batch_id: batch.batch_id.clone(),
        content_digest: Bytes::copy_from_slice(&batch.content_digest),
        start_time: batch.start_time.0,
        content: Some(payload_to_wire(&batch.content)),
        outline_bytes: batch.outline_bytes,
        stop: stop_reason_to_wire(batch.stop).into(),
        direct: batch.direct,
        variable: batch.variable.unwrap_or_default(),
        trace: trace_to_wire(&batch.trace),
        end: batch.end.map(|end| wire::BatchEnd {
            time: end.end.time.0,
            status: status_to_wire(end.end.status).into(),
            stop_reason: stop_reason_to_wire(end.end.stop_reason).into(),
            counts: Some(counts_to_wire(&end.counts)),
            last_sequence: end.last_sequence,
        }),
    }
}

pub(super) fn batch_from_wire(batch: wire::Batch) -> Result<BatchRecord, Error> {
    let stop = stop_reason_from_wire(batch.stop());
    let content = payload_from_wire(batch.content.ok_or_else(|| damaged("content"))?)?;
    if batch.outline_bytes > content.bytes {
        return Err(damaged("outline"));
    }
    Ok(BatchRecord {
        batch_id: batch.batch_id,
        content_digest: batch.content_digest.as_ref().try_into().map_err(|_| damaged("digest"))?,
        start_time: Timestamp(batch.start_time),
        content,
        outline_bytes: batch.outline_bytes,
        stop,
        direct: batch.direct,
        variable: Some(batch.variable).filter(|&number| number > 0),
        trace: batch.trace.map(trace_from_wire).transpose()?.unwrap_or_default(),
        end: batch.end.map(end_from_wire).transpose()?,
    })
}

fn trace_to_wire(trace: &Trace) -> Option<wire::Trace> {
    (*trace != Trace::default()).then(|| wire::Trace {
        trace_id: Bytes::copy_from_slice(&trace.trace_id.to_be_bytes()),
        parent: trace.parent,
        flags: trace.flags.into(),
        state: trace.state.clone(),
        via: trace.via.clone(),
    })
}

fn trace_from_wire(trace: wire::Trace) -> Result<Trace, Error> {
    let trace_id = trace.trace_id.as_ref().try_into().map_err(|_| damaged("trace id"))?;
    let flags = u8::try_from(trace.flags).map_err(|_| damaged("trace flags"))?;
    let wire::Trace { parent, state, via, .. } = trace;
    Ok(Trace { trace_id: u128::from_be_bytes(trace_id), parent, flags, state, via })
}

fn end_from_wire(end: wire::BatchEnd) -> Result<BatchEnd, Error> {
    Ok(BatchEnd {
        end: End {
            status: status_from_wire(end.status())?,
            stop_reason: stop_reason_from_wire(end.stop_reason()),
            time: Timestamp(end.time),
        },
        counts: counts_from_wire(&end.counts.ok_or_else(|| damaged("counts"))?),
        last_sequence: end.last_sequence,
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn options_to_wire(options: &Options) -> wire::Options {
    let (parallel, max_concurrency) = match options.mode {
        Mode::Sequential { max_concurrency } => (false, max_concurrency),
        Mode::Parallel { max_concurrency } => (true, max_concurrency),
    };
    let in_doubt = match options.in_doubt {
        InDoubtPolicy::Rerun => wire::InDoubtPolicy::Rerun,
        InDoubtPolicy::Lookup => wire::InDoubtPolicy::Lookup,
        InDoubtPolicy::Fail => wire::InDoubtPolicy::Fail,
    };
    wire::Options {
        parallel,
        max_concurrency,
        serialize_on: options.serialize_on.clone(),
        stop_on_error: options.stop_on_error,
        include_results: options.include_results,
        call_timeout: options.call_timeout.map_or(0, nanos),
        max_attempts: options.retry.max_attempts,
        initial_backoff: nanos(options.retry.initial_backoff),
        max_backoff: nanos(options.retry.max_backoff),
        backoff_multiplier: options.retry.backoff_multiplier,
        in_doubt: in_doubt.into(),
    }
}

fn options_from_wire(options: &wire::Options) -> Result<Options, Error> {
    let max_concurrency = options.max_concurrency;
    Ok(Options {
        mode: if options.parallel { Mode::Parallel { max_concurrency } } else { Mode::Sequential { max_concurrency } },
        serialize_on: options.serialize_on.clone(),
        stop_on_error: options.stop_on_error,
        include_results: options.include_results,
        call_timeout: Some(options.call_timeout).filter(|&set| set > 0).map(Duration::from_nanos),
        retry: RetryPolicy {
            max_attempts: options.max_attempts,
            initial_backoff: Duration::from_nanos(options.initial_backoff),
            max_backoff: Duration::from_nanos(options.max_backoff),
            backoff_multiplier: options.backoff_multiplier,
        },
        in_doubt: match options.in_doubt() {
            wire::InDoubtPolicy::Unspecified => return Err(damaged("in-doubt policy")),
            wire::InDoubtPolicy::Rerun => InDoubtPolicy::Rerun,
            wire::InDoubtPolicy::Lookup => InDoubtPolicy::Lookup,
            wire::InDoubtPolicy::Fail => InDoubtPolicy::Fail,
        },
    })
}
