//! `toolbatch check-config`.

use std::{collections::BTreeMap, path::Path, time::Duration};

use super::{
    exit::{Exit, Failure},
    render::{Form, print, table, tell, words},
    tools,
};
use crate::{config::Config, dispatch, proto::Tool};

/// For connecting and listing: what the server gives a backend, too.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks a file and reaches for every backend in it.
pub(crate) async fn check(file: &Path) -> Result<Exit, Failure> {
    let config = Config::load(file).map_err(|error| Failure::Refused(error.to_string()))?;
    print(&format!(
        "{}: right; listens on {}, {}",
        file.display(),
        config.listen,
        words::count(u32::try_from(config.backends.len()).unwrap_or(u32::MAX), "backend")
    ))?;
    let mut findings = Vec::new();
    let mut served: BTreeMap<String, String> = BTreeMap::new();
    for backend in &config.backends {
        for address in &backend.addresses {
            let tools = match tokio::time::timeout(ANSWER_TIMEOUT, dispatch::probe(&backend.tls, address)).await {
                Ok(Ok(tools)) => tools,
                Ok(Err(error)) => {
                    let why = if let dispatch::Error::Probe { cause, .. } = error { cause } else { error.to_string() };
                    findings.push(format!("backend {} at {address}: {why}", backend.name));
                    continue;
                }
                Err(_) => {
                    let seconds = ANSWER_TIMEOUT.as_secs();
                    findings.push(format!("backend {} at {address}: no answer in {seconds} s", backend.name));
                    continue;
                }
            };
            show(&backend.name, address, &tools)?;
            for tool in tools {
                match served.get(&tool.name) {
                    None => {
                        served.insert(tool.name, backend.name.clone());
                    }
                    Some(owner) if *owner != backend.name => {
                        let (name, tool) = (&backend.name, &tool.name);
                        findings.push(format!("backend {name} serves tool {tool}, which backend {owner} serves, too"));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    for finding in &findings {
        tell(finding);
    }
    Ok(if findings.is_empty() { Exit::Done } else { Exit::Refused })
}

fn show(backend: &str, address: &str, tools: &[Tool]) -> Result<(), Failure> {
    let form = Form::choose(false);
    let count = words::count(u32::try_from(tools.len()).unwrap_or(u32::MAX), "tool");
    print(&format!("backend {backend} at {address}: {count}"))?;
    let rows = tools.iter().map(tools::row).collect();
    let indent = "  ";
    let width = form.width().map(|width| width.saturating_sub(indent.len()));
    // Without its heading, as the line above says what these are.
    for line in table::lines(&["", "", ""], rows, form.palette(), width).iter().skip(1) {
        print(&format!("{indent}{line}"))?;
    }
    Ok(())
}
