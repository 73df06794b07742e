//! R12: who is who, and what is whose. Table 4a of the reliability rules: each test is named after its row.

mod bounds;
mod certificates;
mod exchange;
mod isolation;
mod rotation;
mod rows;
mod secrets;

use std::fmt::Write as _;

use tonic::Request;
use toolbatch::config::{Agent, Binding, Config, Limits, Operator, Secret, Token};

use crate::{backend::ScriptedBackend, rig::Rig};

/// An agent of the tenant "acme", which has something to hide.
const ORDERS: &str = "orders-token-canary-secret-7f3a9";
/// An agent of the same tenant that may run no batches.
const READER: &str = "reader-token-canary-secret-7f3a9";
/// An agent of the tenant "globex".
const SPY: &str = "spy-token-canary-secret-7f3a9";
/// An operator.
const OPS: &str = "ops-token-canary-secret-7f3a9";

/// A server of two tenants.
async fn start() -> Rig {
    start_with(|_| {}).await
}

/// The same with other bounds.
async fn start_with(change: impl FnOnce(&mut Limits)) -> Rig {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let folder = tempfile::tempdir().expect("a folder");
    let secret = |token: &str| {
        let path = folder.path().join(token);
        std::fs::write(&path, token).expect("a file");
        vec![Token::Secret(Secret::File(path))]
    };
    let agent = |id: &str, tenant: &str, token: &str, tools: &[&str]| Agent {
        id: id.into(),
        tenant: tenant.into(),
        tokens: secret(token),
        tools: tools.iter().map(|name| Binding { name: (*name).into(), tool: (*name).into() }).collect(),
    };
    let every = ["execute_tool_batch", "batch_tool", "echo", "effect", "fail", "raw", "status", "silent"];
    let agents = vec![
        agent("orders", "acme", ORDERS, &every),
        agent("reader", "acme", READER, &["echo"]),
        agent("spy", "globex", SPY, &every),
    ];
    let operators = vec![Operator { id: "ops".into(), tokens: secret(OPS) }];
    // The tokens are read at the start; their files may go after it.
    Rig::start_with(backend, backends, |config: &mut Config| {
        config.agents = agents;
        config.operators = operators;
        change(&mut config.limits);
    })
    .await
}

/// A request of whoever has this token.
fn with<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().expect("a header"));
    request
}

/// The same about what belongs to a tenant.
fn within<T>(tenant: &str, mut request: Request<T>) -> Request<T> {
    request.metadata_mut().insert("toolbatch-tenant", tenant.parse().expect("a header"));
    request
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text takes all");
        text
    })
}
