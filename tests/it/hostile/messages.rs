//! Messages that are no messages: too large, too deep, not protobuf. Every RPC refuses them before anything is looked at.

use bytes::Bytes;
use tonic::Code;

use super::raw::{RPCS, send, send_compressed};
use crate::{
    refusal::refusal,
    rig::{Rig, batch, call},
};

fn malformed() -> (Code, String) {
    (Code::Internal, "MALFORMED_MESSAGE".to_owned())
}

/// Nothing that was refused has reached the backend, and the connection goes on.
async fn goes_on(rig: &Rig) {
    assert!(rig.backend.journal().entries().is_empty());
    assert_eq!(rig.run(batch(vec![call("echo", "{}")])).await.statuses(), ["completed"]);
}

/// A field that no message of the contract has, holding groups within groups.
fn nested_groups(levels: usize) -> Bytes {
    const FIELD_1000_BEGINS: [u8; 2] = [0xc3, 0x3e];
    const FIELD_1000_ENDS: [u8; 2] = [0xc4, 0x3e];
    [FIELD_1000_BEGINS.repeat(levels), FIELD_1000_ENDS.repeat(levels)].concat().into()
}

#[tokio::test]
async fn row_protobuf_that_is_too_deep_or_broken_is_refused_by_every_rpc() {
    let rig = Rig::start().await;
    let broken: [(&str, Bytes); 9] = [
        ("101 groups in one another", nested_groups(101)),
        ("a million groups in one another", nested_groups(1_000_000)),
        ("bad UTF-8", Bytes::from_static(b"\x0a\x02\xc3\x28")),
        ("wire type 6", Bytes::from_static(b"\x0e")),
        ("wire type 7", Bytes::from_static(b"\x0f\x00")),
        ("field 0", Bytes::from_static(b"\x00\x01")),
        // The first field of one RPC is a number, and its second a text.
        ("a number where a text belongs", Bytes::from_static(b"\x08\x01\x10\x01")),
        ("a text longer than the message", Bytes::from_static(b"\x0a\xff\xff\xff\xff\x0fx")),
        ("a number without end", Bytes::from_static(&[0xff; 12])),
    ];
    for rpc in RPCS {
        for (what, message) in &broken {
            let status = send(&rig.channel, rpc, message.clone()).await.expect_err(what);
            assert_eq!(refusal(&status), malformed(), "{rpc}: {what}");
        }
        // What prost still reads is no reason to refuse: a newer client may have sent the field.
        if let Err(status) = send(&rig.channel, rpc, nested_groups(99)).await {
            assert_ne!(refusal(&status), malformed(), "{rpc}");
        }
    }
    goes_on(&rig).await;
}

#[tokio::test]
async fn row_a_message_over_its_bound_is_refused_before_it_is_decoded() {
    const REQUEST: usize = 16 * 1024 * 1024;
    const SETTLE: usize = 64 * 1024 * 1024 + 64 * 1024;
    let rig = Rig::start().await;
    for (rpc, bound) in [
        ("/toolbatch.v1.BatchService/ExecuteBatch", REQUEST),
        ("/toolbatch.v1.BatchService/GetBatch", REQUEST),
        ("/toolbatch.v1.ToolService/CallTool", REQUEST),
        ("/toolbatch.v1.TaskService/SettleKey", SETTLE),
    ] {
        let status = send(&rig.channel, rpc, Bytes::from(vec![0xff; bound + 1])).await.expect_err("it is too large");
        assert_eq!(refusal(&status), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned()), "{rpc}");
        assert!(status.message().contains(&bound.to_string()), "{}", status.message());
    }
    goes_on(&rig).await;
}

#[tokio::test]
async fn row_a_gzip_bomb_is_bounded_after_inflation() {
    let rig = Rig::start().await;
    let bomb = Bytes::from(vec![0; 64 * 1024 * 1024]);
    let status = send_compressed(&rig.channel, "/toolbatch.v1.BatchService/ExecuteBatch", bomb).await;
    assert_eq!(
        refusal(&status.expect_err("it is too large")),
        (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".to_owned())
    );
    goes_on(&rig).await;
}
