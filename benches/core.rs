//! What the core costs: a batch of 200 keyed calls from start to end, without disk and wire.
//!
//! ```sh
//! cargo bench --bench core
//! ```

use std::{hint::black_box, sync::Arc, time::Duration};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use toolbatch::batch::{
    core::{BatchNo, Begin, Context, Core, Effect, Input, Output, StepIds, TaskNo},
    event::{Now, StepId, Timestamp},
    outcome::{Body, Outcome, Payload},
    spec::{CallSpec, InDoubtPolicy, MAX_CALLS, Mode, Options, RetryPolicy, Spec},
    tools::{Resolution, Target, Tools},
};
use uuid::Uuid;

const NOW: Now = Now { wall: Timestamp(1_700_000_000_000_000_000), mono: Duration::ZERO };

struct Counting(u128);

impl StepIds for Counting {
    fn next(&mut self) -> StepId {
        self.0 += 1;
        StepId(Uuid::from_u128(self.0))
    }
}

struct Everything;

impl Tools for Everything {
    fn resolve(&self, _: &str, tool: &str, _: &str, _: bool) -> Resolution {
        Resolution::Ready(Target { base_tool: tool.to_owned(), backend: "erp".to_owned(), timeout: None })
    }

    fn base_tool(&self, _: &str, tool: &str) -> String {
        tool.to_owned()
    }
}

fn spec(mode: Mode, lanes: usize) -> Arc<Spec> {
    let calls = (0..MAX_CALLS).map(|n| CallSpec {
        tool: "create_sales_order".into(),
        args: format!(r#"{{"contract":"4004{:04}","quantity":6}}"#, n % lanes.max(1)).into(),
        key: Some(format!("so-{n}").into()),
        lane: (lanes > 0).then(|| format!("lane-{}", n % lanes).into()),
    });
    Arc::new(Spec {
        task_id: "T".to_owned(),
        agent_id: String::new(),
        batch_id: None,
        calls: calls.collect(),
        options: Options {
            mode,
            serialize_on: String::new(),
            stop_on_error: true,
            include_results: true,
            call_timeout: None,
            retry: RetryPolicy::default(),
            in_doubt: InDoubtPolicy::Rerun,
        },
        direct: false,
        trace: None,
        content_digest: [0; 32],
    })
}

/// Runs the batch, every call answered in the order in which it was sent.
fn run(spec: &Arc<Spec>) -> usize {
    let (mut core, mut ids, mut entries) = (Core::default(), Counting(0), 0);
    let begin = Begin {
        batch: BatchNo(1),
        task: TaskNo(1),
        tenant: "default".into(),
        batch_id: "b".into(),
        spec: Arc::clone(spec),
        keys: Vec::new(),
    };
    let mut inputs = vec![Input::Start(begin)];
    while !inputs.is_empty() {
        let mut out = Output::default();
        for input in inputs.drain(..) {
            core.step(input, &mut Context { now: NOW, ids: &mut ids, tools: &Everything }, &mut out);
        }
        entries += out.entries.len();
        inputs.extend(out.effects.into_iter().filter_map(|effect| match effect {
            Effect::Send(attempt) => Some(Input::Outcome {
                batch: attempt.batch,
                index: attempt.index,
                attempt: attempt.attempt,
                outcome: Outcome::Completed {
                    result: Payload { bytes: 4, body: Body::Inline(Bytes::from_static(b"null")) },
                    usage: Vec::new(),
                },
            }),
            Effect::Lookup(_) | Effect::Abort { .. } => None,
        }));
    }
    entries
}

fn core(criterion: &mut Criterion) {
    let cases = [
        ("sequential", spec(Mode::Sequential { max_concurrency: 4 }, 0)),
        ("parallel 16", spec(Mode::Parallel { max_concurrency: 16 }, 0)),
        ("8 lanes, 16 wide", spec(Mode::Parallel { max_concurrency: 16 }, 8)),
    ];
    let mut group = criterion.benchmark_group("a batch of 200 keyed calls");
    for (name, spec) in cases {
        assert_eq!(run(&spec), 2 * MAX_CALLS + 2);
        group.bench_function(name, |bencher| bencher.iter(|| run(black_box(&spec))));
    }
    group.finish();
}

criterion_group!(benches, core);
criterion_main!(benches);
