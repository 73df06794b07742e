//! `toolbatch backends`, `toolbatch backend add` and `toolbatch backend remove`.

use std::borrow::Cow;

use super::{
    args::ClientArgs,
    connect::{Link, answer},
    exit::{Exit, Failure},
    pages::Pages,
    render::{
        Form, Tone, json, print, print_json,
        table::{self, Cell},
        words,
    },
};
use crate::proto::{Backend, BackendHealth, DeregisterBackendRequest, ListBackendsRequest, RegisterBackendRequest};

/// More backends than a server has.
const BACKENDS_MAX: u32 = 100_000;

/// Lists the backends.
pub(crate) async fn backends(client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let form = Form::choose(client.json);
    let mut pages = Pages::new(BACKENDS_MAX);
    let mut rows = Vec::new();
    while let Some((page_size, page_token)) = pages.next() {
        let request = ListBackendsRequest { page_size, page_token };
        let page = answer(link.registry().list_backends(request)).await?;
        for backend in &pages.take(page.backends, page.next_page_token) {
            match form {
                Form::Json { terminal } => print_json(&json::backend(backend), terminal)?,
                Form::Plain | Form::Terminal { .. } => rows.push(row(backend)),
            }
        }
    }
    pages.finish(form, &["BACKEND", "HEALTH", "TOOLS", "FROM", "ADDRESSES", "DETAIL"], rows)
}

fn row(backend: &Backend) -> Vec<Cell> {
    vec![
        Cell::new(&backend.name),
        Cell::toned(words::backend_health(backend.health), tone(backend.health)),
        Cell::new(backend.tools.len().to_string()),
        Cell::new(from(backend)),
        Cell::new(backend.addresses.join(" ")),
        Cell::new(&backend.health_detail),
    ]
}

fn from(backend: &Backend) -> &'static str {
    if backend.configured { "configuration" } else { "registration" }
}

fn tone(health: i32) -> Tone {
    match BackendHealth::try_from(health) {
        Ok(BackendHealth::Serving) => Tone::Good,
        Ok(BackendHealth::Unspecified) => Tone::Waiting,
        Ok(BackendHealth::NotServing | BackendHealth::Unreachable) | Err(_) => Tone::Bad,
    }
}

/// Registers a backend, and shows it as it is then.
pub(crate) async fn add(backend: Backend, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    let request = RegisterBackendRequest { backend: Some(backend) };
    let backend = answer(link.registry().register_backend(request)).await?.backend.unwrap_or_default();
    let form = Form::choose(client.json);
    if let Form::Json { terminal } = form {
        print_json(&json::backend(&backend), terminal)?;
        return Ok(Exit::Done);
    }
    let tools = backend.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>().join(" ");
    let fields = [
        ("backend", backend.name.clone()),
        ("addresses", backend.addresses.join(" ")),
        ("health", Cow::into_owned(words::backend_health(backend.health))),
        ("takes", takes(&backend)),
        ("tools", tools),
    ];
    for line in table::fields(&fields, form.palette()) {
        print(&line)?;
    }
    Ok(Exit::Done)
}

/// How many calls it is sent, over all batches.
fn takes(backend: &Backend) -> String {
    let at_once = match backend.max_concurrency {
        0 => "any number of calls at once".to_owned(),
        1 => "1 call at a time".to_owned(),
        most => format!("{most} calls at once"),
    };
    match backend.max_calls_per_second {
        pace if pace > 0.0 => format!("{at_once}, {pace} a second"),
        _ => at_once,
    }
}

/// Takes a backend out.
pub(crate) async fn remove(name: &str, client: &ClientArgs) -> Result<Exit, Failure> {
    let link = Link::open(&client.server).await?;
    answer(link.registry().deregister_backend(DeregisterBackendRequest { name: name.to_owned() })).await?;
    if let Form::Json { terminal } = Form::choose(client.json) {
        print_json(&json::removed_backend(name), terminal)?;
    } else {
        print(&format!("backend {} is taken out; its running calls finish", crate::json::quote(name)))?;
    }
    Ok(Exit::Done)
}
