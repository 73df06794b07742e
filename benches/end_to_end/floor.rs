//! What the same work costs without toolbatch: a raw loop, with a durable write where one cannot be spared.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::Path,
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use tonic::transport::Channel;
use toolbatch::{
    clock::Clock,
    proto::{
        CallContext, CallToolRequest, CallToolWithProgressRequest, call_tool_with_progress_response::Event,
        tool_service_client::ToolServiceClient,
    },
};

use crate::{backend::LARGE, disk::Disk};

/// The same request that toolbatch sends.
fn call(tool: &str, n: usize) -> CallToolRequest {
    CallToolRequest {
        tool: tool.into(),
        args_json: format!(r#"{{"contract":"4004{n:04}","item":"pump","quantity":6}}"#),
        context: Some(CallContext {
            task_id: "task".into(),
            key: format!("order-{n}"),
            batch_id: "0190a0b0-0000-7000-8000-000000000000".into(),
            step_id: "0190a0b0-0000-7000-8000-000000000001".into(),
            index: u32::try_from(n % 200).expect("it is small"),
            attempt: 1,
            idempotency_key: "a2c1f0d3b4e59687a2c1f0d3b4e59687".into(),
            ..CallContext::default()
        }),
    }
}

/// Calls one after the other, each durable before the next, where there is a disk.
pub(crate) async fn sequential(
    tools: &mut ToolServiceClient<Channel>,
    tool: &str,
    calls: usize,
    mut disk: Option<&mut Disk>,
) -> Duration {
    let clock = Clock::start();
    for n in 0..calls {
        tools.call_tool(call(tool, n)).await.expect("it answers");
        if let Some(disk) = &mut disk {
            disk.write();
        }
    }
    clock.now().mono
}

/// Calls at most `width` at once, one durable write for every `width` of them, where there is a disk.
pub(crate) async fn parallel(
    tools: &ToolServiceClient<Channel>,
    tool: &str,
    calls: usize,
    width: usize,
    mut disk: Option<&mut Disk>,
) -> Duration {
    let clock = Clock::start();
    let mut answers = stream::iter(0..calls)
        .map(|n| {
            let mut tools = tools.clone();
            async move { tools.call_tool(call(tool, n)).await.expect("it answers") }
        })
        .buffer_unordered(width);
    let mut answered = 0;
    while answers.next().await.is_some() {
        answered += 1;
        if let Some(disk) = &mut disk
            && (answered % width == 0 || answered == calls)
        {
            disk.write();
        }
    }
    clock.now().mono
}

/// As many calls as `width` at once come to in a time. Gives calls a second.
pub(crate) async fn flood(tools: &ToolServiceClient<Channel>, tool: &str, width: usize, time: Duration) -> f64 {
    let clock = Clock::start();
    let mut answers = stream::iter(0..)
        .take_while(|_| std::future::ready(clock.now().mono < time))
        .map(|n| {
            let mut tools = tools.clone();
            async move { tools.call_tool(call(tool, n % 1_000)).await.expect("it answers") }
        })
        .buffer_unordered(width);
    let mut answered = 0_u32;
    while answers.next().await.is_some() {
        answered += 1;
    }
    f64::from(answered) / clock.now().mono.as_secs_f64()
}

/// How long a line of news takes, from before its durable write until it is here.
pub(crate) async fn news(tools: &mut ToolServiceClient<Channel>) -> Vec<Duration> {
    let clock = Clock::start();
    let request = CallToolWithProgressRequest { call: Some(call("news", 0)) };
    let mut stream = tools.call_tool_with_progress(request).await.expect("it answers").into_inner();
    let mut all = Vec::new();
    while let Some(message) = stream.message().await.expect("it is told to its end") {
        if let Some(Event::Progress(progress)) = message.event {
            all.push(since(clock, &progress.message));
        }
    }
    all
}

/// How long a stamp of this machine is ago.
pub(crate) fn since(clock: Clock, stamp: &str) -> Duration {
    let then: i64 = stamp.parse().expect("a stamp");
    Duration::from_nanos(u64::try_from(clock.now().wall.0 - then).unwrap_or(0))
}

/// Writes a file of the largest result's size, syncs it and reads it back.
pub(crate) fn large(path: &Path) -> Duration {
    let content = vec![b'x'; LARGE];
    let clock = Clock::start();
    let mut file = File::create(path).expect("a file");
    file.write_all(&content).expect("a write");
    file.sync_all().expect("a sync");
    let mut read = Vec::with_capacity(LARGE);
    File::open(path).expect("a file").read_to_end(&mut read).expect("a read");
    let took = clock.now().mono;
    assert_eq!(read.len(), LARGE);
    std::fs::remove_file(path).expect("it can go");
    took
}
