//! Many readers of one batch, in a process of their own.

use futures_util::future::join_all;
use tonic::transport::Channel;
use toolbatch::proto::{WatchBatchRequest, batch_service_client::BatchServiceClient};

use crate::client::channel;

/// How many connections they share.
const CONNECTIONS: usize = 10;

/// Follows the batch to its end; says on its output when all of them have begun, and when all have seen the end.
pub(crate) async fn follow(endpoint: &str, batch_id: &str, readers: usize) {
    let mut channels = Vec::new();
    for _ in 0..CONNECTIONS {
        channels.push(channel(endpoint).await);
    }
    let begun = join_all((0..readers).map(|n| begin(channels[n % CONNECTIONS].clone(), batch_id))).await;
    println!("following");
    join_all(
        begun
            .into_iter()
            .map(|mut stream| async move { while stream.message().await.expect("it is told to its end").is_some() {} }),
    )
    .await;
    println!("ended");
}

async fn begin(channel: Channel, batch_id: &str) -> tonic::Streaming<toolbatch::proto::WatchBatchResponse> {
    let request = WatchBatchRequest { batch_id: batch_id.into(), after_sequence: 0 };
    let mut stream = BatchServiceClient::new(channel).watch_batch(request).await.expect("it is there").into_inner();
    stream.message().await.expect("it has begun");
    stream
}
