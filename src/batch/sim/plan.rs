//! What a world is made of, and how such plans are generated. Everything is written down beforehand, so that a failing world
//! shrinks to the few lines that matter.

use std::{ops::Range, sync::Arc, time::Duration};

use proptest::{collection::vec, prelude::*, sample::select};

use crate::batch::{
    event::{Reason, StopReason},
    spec::{CallSpec, InDoubtPolicy, Mode, Options, RetryPolicy, Spec},
};

/// The tools by the names that batches use, and the base tools behind them: the second is another name of the first.
pub(crate) const TOOLS: [(&str, &str); 5] =
    [("ledger", "ledger"), ("Book it", "ledger"), ("mail", "mail"), ("stock", "stock"), ("crm", "crm")];

/// Args as text, and which of them are the same JSON value.
pub(crate) const ARGS: [(&str, u8); 4] =
    [(r#"{"id":1,"to":"x"}"#, 0), (r#"{ "to": "\u0078", "id": 1.0 }"#, 0), (r#"{"id":2}"#, 1), ("{}", 2)];

/// A whole world.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) batches: Vec<BatchPlan>,
    /// One for each of [`TOOLS`].
    pub(crate) tools: Vec<ToolPlan>,
    /// In the order they happen.
    pub(crate) crashes: Vec<CrashPlan>,
    pub(crate) stops: Vec<StopPlan>,
    /// SIGTERMs: when, how long running calls may take, and how long the server stays away.
    pub(crate) drains: Vec<(u64, u64, u64)>,
    /// How many inputs of the same moment one commit may hold.
    pub(crate) group: usize,
    /// How many calls each backend takes at once, over all batches; 0: any number.
    pub(crate) places: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct BatchPlan {
    pub(crate) task: u8,
    pub(crate) at_ms: u64,
    pub(crate) mode: Mode,
    pub(crate) stop_on_error: bool,
    pub(crate) include_results: bool,
    pub(crate) retry: RetryPolicy,
    pub(crate) in_doubt: InDoubtPolicy,
    pub(crate) calls: Vec<CallPlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct CallPlan {
    /// Into [`TOOLS`].
    pub(crate) tool: usize,
    /// Into [`ARGS`].
    pub(crate) args: usize,
    pub(crate) key: Option<u8>,
    pub(crate) lane: Option<u8>,
    /// What each of its attempts comes to; the last one stands for all further ones.
    pub(crate) script: Vec<Script>,
}

/// What one attempt comes to.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) answer: Answer,
    pub(crate) ms: u64,
    /// Whether the backend can tell later what became of it, and how long that takes.
    pub(crate) can_tell: bool,
    pub(crate) tell_ms: u64,
    /// The answer comes a second time, so much later.
    pub(crate) echo_ms: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Heard(Deed),
    NotSent(Reason),
    /// No usable answer; this is what really happened.
    Lost(Reason, Option<Deed>),
}

/// What a tool did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Completed { bytes: u64 },
    Awaiting { bytes: u64 },
    Failed { retryable: bool, message: usize },
}

/// What a tool's name comes to over time: at the start, and from each of the moments on.
#[derive(Clone, Debug)]
pub(crate) struct ToolPlan {
    pub(crate) first: View,
    pub(crate) changes: Vec<(u64, View)>,
    /// After a restart its backend is reached so much later.
    pub(crate) reconnect_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    Ready,
    Refused(Reason),
    NotYet,
}

#[derive(Clone, Debug)]
pub(crate) struct CrashPlan {
    /// It happens at this step, or at the first one after.
    pub(crate) step: usize,
    pub(crate) point: CrashPoint,
    pub(crate) away_ms: u64,
    /// How far the wall clock is moved meanwhile.
    pub(crate) jump_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// Nothing of the open group is kept.
    BeforeCommit,
    /// The group is kept; of its effects those whose bits are set got out.
    AfterCommit { reached: u16 },
}

#[derive(Clone, Debug)]
pub(crate) struct StopPlan {
    pub(crate) at_ms: u64,
    pub(crate) batch: usize,
    pub(crate) reason: StopReason,
    pub(crate) abort: bool,
}

/// How wild the worlds of one property are.
#[derive(Clone, Debug)]
pub(crate) struct Climate {
    pub(crate) batches: Range<usize>,
    pub(crate) calls: Range<usize>,
    /// How many attempts of a call are written down.
    pub(crate) attempts: Range<usize>,
    /// Of 10 calls so many have a key.
    pub(crate) keyed: u32,
    /// Of 10 attempts so many go wrong in some way.
    pub(crate) trouble: u32,
    /// Of 10 tools so many are not simply there.
    pub(crate) absent: u32,
    pub(crate) crashes: Range<usize>,
    pub(crate) stops: Range<usize>,
    pub(crate) drains: Range<usize>,
    pub(crate) sizes: &'static [u64],
}

impl BatchPlan {
    pub(crate) fn spec(&self, number: usize) -> Spec {
        let call = |call: &CallPlan| CallSpec {
            tool: TOOLS[call.tool].0.into(),
            args: ARGS[call.args].0.into(),
            key: call.key.map(|key| Arc::from(format!("k{key}"))),
            lane: call.lane.map(|lane| Arc::from(format!("lane {lane}"))),
        };
        Spec {
            task_id: format!("task {}", self.task),
            agent_id: String::new(),
            batch_id: Some(format!("batch {number}")),
            calls: self.calls.iter().map(call).collect(),
            options: Options {
                mode: self.mode,
                serialize_on: String::new(),
                stop_on_error: self.stop_on_error,
                include_results: self.include_results,
                call_timeout: None,
                retry: self.retry,
                in_doubt: self.in_doubt,
            },
            direct: false,
            trace: None,
            content_digest: [0; 32],
        }
    }
}

impl CallPlan {
    pub(crate) fn attempt(&self, number: usize) -> &Script {
        &self.script[number.min(self.script.len() - 1)]
    }
}

impl Answer {
    /// What the attempt really did, if it ran at all.
    pub(crate) fn deed(&self) -> Option<Deed> {
        match self {
            Self::Heard(deed) => Some(*deed),
            Self::NotSent(_) => None,
            Self::Lost(_, deed) => *deed,
        }
    }
}

impl Deed {
    /// Whether a repeat would be a second effect.
    pub(crate) fn landed(self) -> bool {
        match self {
            Self::Completed { .. } | Self::Awaiting { .. } => true,
            Self::Failed { retryable, .. } => !retryable,
        }
    }
}

pub(crate) fn plans(climate: &Climate) -> impl Strategy<Value = Plan> + use<> {
    (
        vec(batch(climate), climate.batches.clone()),
        vec(tool(climate.absent), TOOLS.len()),
        vec(crash(), climate.crashes.clone()),
        vec(stop(), climate.stops.clone()),
        vec((0_u64..1_500, 0_u64..300, 0_u64..5_000), climate.drains.clone()),
        1_usize..4,
        prop_oneof![2 => Just(0_u32), 1 => 1_u32..4],
    )
        .prop_map(|(batches, tools, mut crashes, stops, drains, group, places)| {
            crashes.sort_by_key(|crash| crash.step);
            Plan { batches, tools, crashes, stops, drains, group, places }
        })
}

fn batch(climate: &Climate) -> impl Strategy<Value = BatchPlan> + use<> {
    let mode = prop_oneof![
        1 => Just(Mode::Sequential { max_concurrency: 4 }),
        3 => (1_u32..=5).prop_map(|max_concurrency| Mode::Parallel { max_concurrency }),
    ];
    let lanes = prop_oneof![Just(0_u8), 1_u8..4];
    let calls = vec(call(climate), climate.calls.clone());
    (
        prop_oneof![3 => Just(0_u8), 1 => Just(1_u8)],
        prop_oneof![1 => Just(0_u64), 3 => 0_u64..600],
        mode,
        proptest::bool::weighted(0.35),
        any::<bool>(),
        retry(),
        in_doubt(),
        lanes,
        calls,
    )
        .prop_map(|(task, at_ms, mode, stop_on_error, include_results, retry, in_doubt, lanes, mut calls)| {
            let mut keys = std::collections::HashSet::new();
            for call in &mut calls {
                // R1 refuses a key twice in one list, and lanes in sequential mode.
                call.key = call.key.filter(|key| keys.insert(*key));
                let parallel = matches!(mode, Mode::Parallel { .. });
                call.lane = call.lane.filter(|_| parallel && lanes > 0).map(|lane| lane % lanes.max(1));
            }
            BatchPlan { task, at_ms, mode, stop_on_error, include_results, retry, in_doubt, calls }
        })
}

fn call(climate: &Climate) -> impl Strategy<Value = CallPlan> + use<> {
    let keys = prop_oneof![
        10 - climate.keyed => Just(None),
        climate.keyed => (0_u8..5).prop_map(Some),
    ];
    let lane = prop_oneof![1 => Just(None), 3 => (0_u8..6).prop_map(Some)];
    let args = prop_oneof![6 => 0_usize..2, 1 => 2..ARGS.len()];
    let tool = prop_oneof![4 => 0_usize..2, 3 => 2..TOOLS.len()];
    // Mostly one key is one call, in whatever spelling; otherwise nearly every key would come back as another call.
    let usual = proptest::bool::weighted(0.8);
    (tool, args, keys, lane, usual, vec(script(climate), climate.attempts.clone())).prop_map(
        |(tool, args, key, lane, usual, script)| {
            let usual = usual && key.is_some();
            CallPlan {
                tool: if usual { tool % 2 } else { tool },
                args: if usual { args % 2 } else { args },
                key,
                lane,
                script,
            }
        },
    )
}

fn script(climate: &Climate) -> impl Strategy<Value = Script> + use<> {
    let bytes = select(climate.sizes);
    let completed = bytes.clone().prop_map(|bytes| Deed::Completed { bytes });
    let failed = (any::<bool>(), select(&[10_usize, 2_047, 2_048, 2_049, 5_000][..]))
        .prop_map(|(retryable, message)| Deed::Failed { retryable, message });
    let deed = prop_oneof![
        3 => completed.clone(),
        1 => bytes.prop_map(|bytes| Deed::Awaiting { bytes }),
        3 => failed.clone(),
    ];
    let reasons = select(&[Reason::BackendUnavailable, Reason::TimedOut, Reason::BadResponse][..]);
    let not_sent = select(&[Reason::BackendUnavailable, Reason::BackendUnavailable, Reason::ToolNotFound][..]);
    let trouble = prop_oneof![
        2 => failed.prop_map(Answer::Heard),
        1 => deed.clone().prop_map(Answer::Heard),
        1 => not_sent.prop_map(Answer::NotSent),
        2 => (reasons, proptest::option::of(deed)).prop_map(|(reason, deed)| Answer::Lost(reason, deed)),
    ];
    let answer = prop_oneof![
        10 - climate.trouble => completed.prop_map(Answer::Heard),
        climate.trouble => trouble,
    ];
    let echo = prop_oneof![4 => Just(None), 1 => (0_u64..200).prop_map(Some)];
    (answer, 0_u64..120, proptest::bool::weighted(0.8), 0_u64..60, echo)
        .prop_map(|(answer, ms, can_tell, tell_ms, echo_ms)| Script { answer, ms, can_tell, tell_ms, echo_ms })
}

fn retry() -> impl Strategy<Value = RetryPolicy> {
    let ms = |range: Range<u64>| range.prop_map(Duration::from_millis);
    (1_u32..=4, prop_oneof![Just(Duration::ZERO), ms(1..200)], ms(0..500), select(&[1.0, 1.5, 2.0, 10.0][..])).prop_map(
        |(max_attempts, initial_backoff, max_backoff, backoff_multiplier)| RetryPolicy {
            max_attempts,
            initial_backoff,
            max_backoff,
            backoff_multiplier,
        },
    )
}

fn in_doubt() -> impl Strategy<Value = InDoubtPolicy> {
    select(&[InDoubtPolicy::Rerun, InDoubtPolicy::Lookup, InDoubtPolicy::Fail][..])
}

fn tool(absent: u32) -> impl Strategy<Value = ToolPlan> {
    let view = || {
        prop_oneof![
            4 => Just(View::Ready),
            4 => Just(View::NotYet),
            1 => select(&[Reason::ToolNotAllowed, Reason::ToolNotFound, Reason::InvalidArgs][..]).prop_map(View::Refused),
        ]
    };
    let there = Just(ToolPlan { first: View::Ready, changes: Vec::new(), reconnect_ms: 0 });
    let odd = (view(), vec((0_u64..3_000, view()), 0..4), prop_oneof![Just(0_u64), 0_u64..2_000, 55_000_u64..65_000])
        .prop_map(|(first, changes, reconnect_ms)| ToolPlan { first, changes, reconnect_ms });
    prop_oneof![10 - absent => there, absent => odd]
}

fn crash() -> impl Strategy<Value = CrashPlan> {
    let point = prop_oneof![
        1 => Just(CrashPoint::BeforeCommit),
        3 => any::<u16>().prop_map(|reached| CrashPoint::AfterCommit { reached }),
    ];
    let jump = prop_oneof![4 => Just(0_i64), 1 => -2_000_i64..2_000];
    (1_usize..60, point, 0_u64..500, jump).prop_map(|(step, point, away_ms, jump_ms)| CrashPlan {
        step,
        point,
        away_ms,
        jump_ms,
    })
}

fn stop() -> impl Strategy<Value = StopPlan> {
    let reason = prop_oneof![3 => Just(StopReason::Cancelled), 1 => Just(StopReason::TaskEnded)];
    (0_u64..800, 0_usize..3, reason, any::<bool>()).prop_map(|(at_ms, batch, reason, abort)| StopPlan {
        at_ms,
        batch,
        reason,
        abort,
    })
}
