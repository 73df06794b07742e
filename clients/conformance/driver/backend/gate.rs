//! Gates: a tool waits until the driver has made a file.

use std::time::Duration;

use anyhow::Context as _;

/// How often a gate is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Shows by a file `GATE.held` that somebody waits, then waits until the gate's own file is there. Dropped, it waits no more.
pub(super) async fn hold(gate: &str) -> anyhow::Result<()> {
    let held = format!("{gate}.held");
    tokio::fs::write(&held, "").await.with_context(|| format!("cannot make {held}"))?;
    while !tokio::fs::try_exists(gate).await.with_context(|| format!("cannot look for {gate}"))? {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_is_held_until_its_file_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("x").display().to_string();
        let opens = async {
            while !tokio::fs::try_exists(format!("{gate}.held")).await.unwrap() {
                tokio::task::yield_now().await;
            }
            tokio::fs::write(&gate, "").await.unwrap();
        };
        let (held, ()) = tokio::join!(hold(&gate), opens);
        held.unwrap();
    }
}
