//! The reference client.

/// Reads requests.
pub(crate) async fn run() -> anyhow::Result<()> {
    tokio::task::yield_now().await;
    Ok(())
}
