//! What goes wrong while a client is answered, in its order.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, bail};
use tokio::sync::watch;

use crate::{
    json::Json,
    matching,
    names::Names,
    scenario::{Act, Fault, ServerKind},
    stage::Stage,
};

/// How often a gate is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long a tool may take to come to its gate.
const PATIENCE: Duration = Duration::from_secs(40);

/// Plays faults while events are shown. The end of `shown` is the end of the answer: what waits for an event fails then.
pub(crate) async fn play(
    stage: &mut Stage,
    kind: ServerKind,
    faults: &[Fault],
    names: &Names,
    mut shown: watch::Receiver<Vec<Json>>,
) -> anyhow::Result<()> {
    for (place, fault) in faults.iter().enumerate() {
        if let Some(after) = &fault.after {
            let seen = shown.wait_for(|events| events.iter().any(|event| matching::holds(event, after, names))).await;
            seen.ok().with_context(|| {
                format!("fault {}: the answer ended without an event that holds {after}", place + 1)
            })?;
        }
        if let Some(gate) = &fault.held {
            held(names.gates(), gate).await.with_context(|| format!("fault {}", place + 1))?;
        }
        act(stage, kind, &fault.act, names.gates()).await.with_context(|| format!("fault {}", place + 1))?;
    }
    Ok(())
}

async fn act(stage: &mut Stage, kind: ServerKind, act: &Act, gates: &Path) -> anyhow::Result<()> {
    match act {
        Act::Open(gate) => open(&gates.join(gate)),
        Act::RestartServer => {
            stage.server(kind)?.stop().await?;
            forget_held(gates)?;
            stage.server(kind)?.start().await
        }
        Act::KillServer => {
            stage.server(kind)?.kill().await?;
            forget_held(gates)?;
            stage.server(kind)?.start().await
        }
        Act::StopServer => stage.server(kind)?.kill().await,
        Act::RestartBackend => {
            stage.restart_backend().await?;
            forget_held(gates)
        }
        Act::TerminateBackend => stage.terminate_backend(),
        Act::KillBackend => {
            stage.kill_backend().await?;
            forget_held(gates)?;
            stage.start_backend().await
        }
    }
}

/// Lets who waits at a gate go on.
fn open(gate: &Path) -> anyhow::Result<()> {
    std::fs::write(gate, "").with_context(|| format!("cannot open the gate {}", gate.display()))
}

/// Waits until a tool waits at a gate.
async fn held(gates: &Path, gate: &str) -> anyhow::Result<()> {
    let mark = gates.join(format!("{gate}.held"));
    let waiting = async {
        while !mark.exists() {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
        bail!("no tool waits at the gate {gate:?}: there is no {} after {} s", mark.display(), PATIENCE.as_secs());
    }
    Ok(())
}

/// Who waited at a gate does so no more.
fn forget_held(gates: &Path) -> anyhow::Result<()> {
    for gate in held_gates(gates)? {
        std::fs::remove_file(gates.join(format!("{gate}.held")))?;
    }
    Ok(())
}

fn held_gates(gates: &Path) -> anyhow::Result<Vec<String>> {
    let names = std::fs::read_dir(gates)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(names.iter().filter_map(|name| name.strip_suffix(".held")).map(str::to_owned).collect())
}

/// Opens every gate that a tool still waits at, so that nobody waits for it.
pub(crate) fn release(gates: &Path) -> anyhow::Result<()> {
    held_gates(gates)?.iter().try_for_each(|gate| open(&gates.join(gate)))
}
