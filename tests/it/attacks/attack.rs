//! The attacks, each bounded in count, and what has to become of each.

use futures_util::future::BoxFuture;
use toolbatch::proto::{ReadStepResultRequest, WatchBatchRequest};

use crate::http2::{
    ACK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, GOAWAY, HEADERS,
    PING, PREFACE, REFUSED_STREAM, RST_STREAM, Raw, SETTINGS, WINDOW_UPDATE, frame, header, request, whole_request,
};

/// What an attack is told of its server.
pub(super) struct Target {
    pub(super) endpoint: String,
    /// A step with a result of megabytes.
    pub(super) step_id: String,
    /// A batch that runs for good.
    pub(super) batch_id: String,
}

pub(super) type Attack = for<'a> fn(&'a Target) -> BoxFuture<'a, ()>;

/// The limits that the attacks are made for: times short, counts as they are by default.
pub(super) const LIMITS: &str = "[limits]\nconnections = 300\nhandshake_timeout = \"500ms\"\nfirst_request_timeout = \"500ms\"\n\
    idle_timeout = \"500ms\"\nstall_timeout = \"500ms\"\n";

macro_rules! attacks {
    ($($name:ident),* $(,)?) => {
        pub(super) const ATTACKS: &[(&str, Attack)] = &[$((stringify!($name), |target| Box::pin($name(target)))),*];
    };
}

attacks![
    rapid_reset,
    made_you_reset,
    continuation_flood,
    header_list,
    too_many_streams,
    slow_preface,
    silent_after_the_greeting,
    idle_connections,
    ping_flood,
    settings_flood,
    empty_data_flood,
    window_overflow,
    stalled_streams,
    more_connections_than_there_may_be,
];

const GET_BATCH: &str = "/toolbatch.v1.BatchService/GetBatch";
const WATCH_BATCH: &str = "/toolbatch.v1.BatchService/WatchBatch";
const READ_RESULT: &str = "/toolbatch.v1.TaskService/ReadStepResult";
/// More than any bound on what is borne.
const MANY: u32 = 20_000;
/// The largest window there is, so that what is added to any other is too much.
const MOST: u32 = u32::MAX >> 1;
/// The number of a setting.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// The numbers of a client's streams.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|index| 2 * index + 1)
}

/// Says it in portions until it is said or the server has had enough.
async fn flood(raw: &mut Raw, frames: impl Iterator<Item = Vec<u8>>) {
    let frames: Vec<Vec<u8>> = frames.collect();
    for portion in frames.chunks(1_000) {
        if !raw.say(&portion.concat()).await {
            return;
        }
    }
}

/// The server closes, and says why where the reason still arrives: what was sent after may make the system drop it.
async fn is_closed_for(raw: &mut Raw, code: u32) {
    let said = raw.closed().await;
    assert!(said.is_none_or(|said| said == code), "{said:?}");
}

/// CVE-2023-44487: requests that are taken back at once.
async fn rapid_reset(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let headers = request(GET_BATCH);
    let requests = streams(MANY).map(|stream| {
        [frame(HEADERS, END_HEADERS, stream, &headers), frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())].concat()
    });
    flood(&mut raw, requests).await;
    is_closed_for(&mut raw, ENHANCE_YOUR_CALM).await;
}

/// CVE-2025-8671: requests that the server has to take back, as they break the protocol.
async fn made_you_reset(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let headers = request(GET_BATCH);
    let requests = streams(MANY).map(|stream| {
        [frame(HEADERS, END_HEADERS, stream, &headers), frame(WINDOW_UPDATE, 0, stream, &MOST.to_be_bytes())].concat()
    });
    flood(&mut raw, requests).await;
    is_closed_for(&mut raw, ENHANCE_YOUR_CALM).await;
}

/// Headers that never end.
async fn continuation_flood(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    raw.say(&frame(HEADERS, 0, 1, &request(GET_BATCH))).await;
    let more = header("x-more", &"x".repeat(100));
    flood(&mut raw, (0..MANY).map(|_| frame(CONTINUATION, 0, 1, &more))).await;
    is_closed_for(&mut raw, ENHANCE_YOUR_CALM).await;
}

/// 20 KiB of headers, in as few frames as there can be.
async fn header_list(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let many: Vec<u8> = (0..160).flat_map(|_| header("x-more", &"x".repeat(120))).collect();
    let (first, rest) = many.split_at(15_000);
    raw.say(&frame(HEADERS, END_STREAM, 1, &[request(GET_BATCH).as_slice(), first].concat())).await;
    raw.say(&frame(CONTINUATION, END_HEADERS, 1, rest)).await;
    let answer = raw.until(|frame| frame.stream == 1 && [HEADERS, RST_STREAM].contains(&frame.kind)).await;
    // "431" as HPACK has it: `:status` is entry 8 of its table.
    let too_large = answer.kind == HEADERS && answer.payload.starts_with(&[0x48]);
    assert!(answer.kind == RST_STREAM || too_large, "{answer:?}");
}

/// One more than a connection may have at a time.
async fn too_many_streams(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    // The bound counts from the moment that it was told.
    raw.until(|frame| frame.kind == SETTINGS && frame.flags & ACK == 0).await;
    raw.say(&frame(SETTINGS, ACK, 0, &[])).await;
    let watch = WatchBatchRequest { batch_id: target.batch_id.clone(), after_sequence: 0 };
    for stream in streams(101) {
        raw.say(&whole_request(stream, WATCH_BATCH, &watch)).await;
    }
    let refused = raw.until(|frame| [RST_STREAM, GOAWAY].contains(&frame.kind)).await;
    assert_eq!((refused.kind, refused.stream, refused.code()), (RST_STREAM, 201, REFUSED_STREAM), "{refused:?}");
}

/// Half a greeting.
async fn slow_preface(target: &Target) {
    let mut raws = Vec::new();
    for _ in 0..100 {
        let mut raw = Raw::connect(&target.endpoint).await;
        raw.say(&PREFACE[..12]).await;
        raws.push(raw);
    }
    for mut raw in raws {
        raw.closed().await;
    }
}

/// A greeting, and no request.
async fn silent_after_the_greeting(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    raw.closed().await;
}

/// Connections that are used once.
async fn idle_connections(target: &Target) {
    let mut raws = Vec::new();
    for _ in 0..200 {
        let mut raw = Raw::open(&target.endpoint, &[]).await;
        raw.say(&whole_request(1, "/nobody/Nothing", &())).await;
        raw.until(|frame| frame.stream == 1 && frame.kind == HEADERS).await;
        raws.push(raw);
    }
    for mut raw in raws {
        assert_eq!(raw.closed().await, Some(0), "it ends in order");
    }
}

/// Pings whose answers nobody reads until the end: the server stops to listen before it stores them.
async fn ping_flood(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let sent = async {
        for _ in 0..100 {
            let pings: Vec<u8> = (0..1_000).flat_map(|_| frame(PING, 0, 0, &[0; 8])).collect();
            if !raw.say(&pings).await {
                break;
            }
        }
    };
    // It cannot be sent whole while nobody reads.
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), sent).await;
}

/// Settings, each of which asks for an answer.
async fn settings_flood(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let sent = flood(&mut raw, (0..100_000).map(|_| frame(SETTINGS, 0, 0, &[])));
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), sent).await;
}

/// A request that says nothing, again and again.
async fn empty_data_flood(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    raw.say(&frame(HEADERS, END_HEADERS, 1, &request(GET_BATCH))).await;
    flood(&mut raw, (0..100_000).map(|_| frame(DATA, 0, 1, &[]))).await;
}

/// A window beyond what HTTP/2 has.
async fn window_overflow(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[]).await;
    let most = frame(WINDOW_UPDATE, 0, 0, &MOST.to_be_bytes());
    raw.say(&[most.clone(), most].concat()).await;
    is_closed_for(&mut raw, FLOW_CONTROL_ERROR).await;
}

/// Large results, asked for by a reader that takes none of them.
async fn stalled_streams(target: &Target) {
    let mut raw = Raw::open(&target.endpoint, &[(INITIAL_WINDOW_SIZE, 0)]).await;
    let read = ReadStepResultRequest { step_id: target.step_id.clone(), offset: 0 };
    for stream in streams(100) {
        raw.say(&whole_request(stream, READ_RESULT, &read)).await;
    }
    for _ in 0..100 {
        let reset = raw.until(|frame| frame.kind == RST_STREAM).await;
        assert_eq!(reset.code(), CANCEL, "{reset:?}");
    }
}

/// As many connections as there may be, and more.
async fn more_connections_than_there_may_be(target: &Target) {
    let mut raws = Vec::new();
    for _ in 0..400 {
        raws.push(Raw::connect(&target.endpoint).await);
    }
    for mut raw in raws {
        raw.closed().await;
    }
}
