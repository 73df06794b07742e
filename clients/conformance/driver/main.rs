//! The reference client and the reference backend.

mod backend;
mod client;

use anyhow::bail;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client"] => client::run().await,
        ["backend", addr] => backend::run(addr).await,
        _ => bail!("expected `client` or `backend ADDR`"),
    }
}
