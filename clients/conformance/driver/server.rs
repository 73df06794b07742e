//! `toolbatch serve` in each of the settings that scenarios ask for.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, ensure};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use crate::{
    port::Ports,
    process::{Process, Ready},
    scenario::ServerKind,
};

/// The token of the agent that `secure` knows, and one that it does not know.
const AGENT_TOKEN: &str = "conformance-agent-0123456789abcdef";
const STRANGER_TOKEN: &str = "conformance-stranger-0123456789abcdef";

/// The tools that the agent of `secure` may call: all but `crash`.
const AGENT: &str = r#"
[[agents]]
id = "agent"
token_file = "agent.token"
tools = [
    "execute_tool_batch", "batch_tool", "echo", "native", "post_order", "fail", "review", "count", "meter", "large", "context", "hold",
    "ledger", "wait",
]
"#;

/// The prices of `priced`.
const PRICES: &str = r#"
[prices]
currency = "USD"

[prices.tools]
echo = { calls = "0.002" }
meter = { tokens = "0.0000025", pages = "0.01" }
"#;

/// One server: over any number of processes, at one address, on one folder.
pub(crate) struct Server {
    program: PathBuf,
    folder: PathBuf,
    endpoint: String,
    secure: bool,
    process: Option<Process>,
}

impl Server {
    /// Configures a server in a folder of its own; it is not started.
    pub(crate) fn new(kind: ServerKind, folder: PathBuf, backend: &str, ports: &mut Ports) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let secure = kind == ServerKind::Secure;
        let (listen, endpoint) = if kind == ServerKind::Unix {
            let socket = format!("unix:{}", folder.join("socket").display());
            (socket.clone(), socket)
        } else {
            let address = ports.free()?.to_string();
            (address.clone(), format!("{}://{address}", if secure { "https" } else { "http" }))
        };
        let mut config = format!(
            "listen = {}\ndata_dir = {}\nshutdown_grace = \"500ms\"\n",
            quoted(&listen),
            quoted(&folder.join("data").display().to_string())
        );
        if secure {
            certify(&folder)?;
            std::fs::write(folder.join("agent.token"), AGENT_TOKEN)?;
            config.push_str("\n[tls]\ncert = \"server.pem\"\nkey = \"server.key\"\n");
            config.push_str(AGENT);
        }
        if kind == ServerKind::Priced {
            config.push_str(PRICES);
        }
        config.push_str("\n[[backends]]\nname = \"conformance\"\naddresses = [");
        config.push_str(&quoted(&format!("http://{backend}")));
        config.push_str("]\n");
        std::fs::write(folder.join("toolbatch.toml"), config)?;
        Ok(Self { program: program()?, folder, endpoint, secure, process: None })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The authority that a client has to trust.
    pub(crate) fn ca(&self) -> Option<PathBuf> {
        self.secure.then(|| self.folder.join("ca.pem"))
    }

    /// Starts it where it does not run.
    pub(crate) async fn start(&mut self) -> anyhow::Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let mut command = Command::new(&self.program);
        command.args(["serve", "--config"]).arg(self.folder.join("toolbatch.toml")).current_dir(&self.folder);
        // Whoever silences the log would silence that it serves.
        command.env_remove("TOOLBATCH_LOG");
        self.process = Some(Process::serve("toolbatch serve", &mut command, Ready::Error("serving")).await?);
        Ok(())
    }

    /// Stops it gracefully.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.terminate();
        process.end_well().await
    }

    /// Ends it as a crash does.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.kill().await
    }
}

/// The token that a scenario names; none for `none`.
pub(crate) fn token(name: &str) -> anyhow::Result<Option<&'static str>> {
    match name {
        "agent" => Ok(Some(AGENT_TOKEN)),
        "stranger" => Ok(Some(STRANGER_TOKEN)),
        "none" => Ok(None),
        other => anyhow::bail!("there is no token {other:?}: expected agent, stranger or none"),
    }
}

/// The binary under `TOOLBATCH_BIN`, else the one that this project builds.
fn program() -> anyhow::Result<PathBuf> {
    let file = env::var_os("TOOLBATCH_BIN").map_or_else(|| PathBuf::from("target/debug/toolbatch"), PathBuf::from);
    ensure!(file.is_file(), "there is no {}: build it by `cargo build`, or name it as TOOLBATCH_BIN", file.display());
    Ok(std::path::absolute(file)?)
}

/// A text as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An authority, and what it signed for the server, as files.
fn certify(folder: &Path) -> anyhow::Result<()> {
    let mut authority = CertificateParams::new(Vec::new())?;
    // A certificate that has the name of its issuer counts as signed by itself, which gRPC's C core refuses.
    authority.distinguished_name.push(DnType::CommonName, "the conformance suite's authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    std::fs::write(folder.join("ca.pem"), authority.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(vec!["127.0.0.1".into(), "localhost".into()])?;
    std::fs::write(folder.join("server.pem"), leaf.signed_by(&key, &issuer)?.pem())?;
    std::fs::write(folder.join("server.key"), key.serialize_pem())?;
    Ok(())
}
