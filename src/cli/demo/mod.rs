//! `toolbatch demo`: what goes wrong without order, and right with it. `toolbatch demo-backend`: its order system alone.

mod backend;
mod orders;
#[cfg(test)]
mod tests;

use std::{io, net::SocketAddr};

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    args::ServerArgs,
    connect::Link,
    exit::{Exit, Failure},
    follow::{End, Follow, Start},
    interrupt::{Either, unless_interrupted},
    render::{Form, Tone, print},
    serve::not_started,
};
use crate::{
    config::{Backend, Config, Listen},
    proto::{BatchStatus, BatchSummary},
    server::Server,
};
use backend::OrderSystem;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

const NEXT: &str = r#"Try it yourself, in three terminals:
  toolbatch demo-backend

  printf '[[backends]]\nname = "erp"\naddresses = ["http://127.0.0.1:7001"]\n' > toolbatch.toml
  toolbatch serve --config toolbatch.toml

  echo '{"mode":"parallel","serialize_on":"contract","calls":[
    {"tool":"create_sales_order","key":"so-1","args":{"contract":"40040343","item":"pump P-100","quantity":6}},
    {"tool":"create_sales_order","key":"so-2","args":{"contract":"40040343","item":"valve V-20","quantity":3}}
  ]}' > orders.json
  toolbatch run orders.json --task T1
  toolbatch run orders.json --task T1      # once more: both are skipped
  toolbatch batches T1"#;

/// Runs the demo.
pub(crate) async fn demo(json: bool) -> Result<Exit, Failure> {
    match unless_interrupted(stage(Form::choose(json))).await? {
        Either::Ended(exit) => exit,
        Either::Interrupted => Err(Failure::Interrupted("interrupted; nothing stays behind".to_owned())),
    }
}

/// Sets up, plays, and takes everything down again. Dropped halfway, the folder goes and the tasks end with it.
async fn stage(form: Form) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("toolbatch-demo-").tempdir()?;
    let listener = TcpListener::bind(LOOPBACK).await?;
    let address = format!("http://{}", listener.local_addr()?);
    let system = OrderSystem::default();
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(system.clone().serve(listener, stop.clone()));

    let config = Config {
        listen: Listen::Tcp(LOOPBACK),
        data_dir: folder.path().join("data"),
        backends: vec![Backend { name: "erp".to_owned(), addresses: vec![address], ..Backend::default() }],
        ..Config::default()
    };
    let server = Server::start(config).await.map_err(|error| not_started(&error))?;
    let link = Link::open(&ServerArgs::at(server.endpoint())).await?;
    let played = play(&link, &system, form).await;
    drop(link);
    let stopped = server.stop().await;
    stop.cancel();
    tasks.join_all().await;
    let exit = played?;
    stopped.map(|()| exit).map_err(|error| Failure::StoreFailed(error.to_string()))
}

/// Both batches, and what they show.
async fn play(link: &Link, system: &OrderSystem, form: Form) -> Result<Exit, Failure> {
    let width = orders::WIDTH;
    let count = orders::COUNT;
    title(form, &format!("1. {count} calls for three contracts as a plain fan-out, {width} at once"))?;
    let first = batch(link, form, "demo-1-fan-out", "").await?;
    say(
        form,
        &format!(
            "What went wrong: the order system locks a contract while one of its orders is posted, as ERPs do.\n\
             Calls for one contract met, and {} of {count} were turned away.\n",
            first.failed
        ),
    )?;

    title(form, "2. The same list, in the same task, with \"serialize_on\": \"contract\"")?;
    let second = batch(link, form, "demo-2-in-lanes", "contract").await?;
    say(
        form,
        &format!(
            "Each contract's calls ran one at a time and in order, the contracts side by side: {} completed, and {} were\n\
             skipped, as their keys were done before. For {count} calls the order system posted {} times, nothing twice.\n",
            second.succeeded,
            second.skipped,
            system.posted()
        ),
    )?;
    say(form, NEXT)?;

    let as_told = first.failed > 0 && second.status == BatchStatus::Completed as i32 && system.posted() == count;
    Ok(if as_told { Exit::Done } else { Exit::Unsuccessful })
}

async fn batch(link: &Link, form: Form, batch_id: &str, serialize_on: &str) -> Result<BatchSummary, Failure> {
    let mut show = form.show(false);
    let start = Start::Execute(Box::new(orders::batch(batch_id, serialize_on)));
    match Follow::new(link, start).until_end(show.as_mut()).await? {
        End::Finished(summary) => Ok(summary),
        End::Planned(_) => {
            Err(Failure::Refused("the server planned the demo's batch instead of running it".to_owned()))
        }
    }
}

fn title(form: Form, text: &str) -> io::Result<()> {
    say(form, &form.palette().paint(Tone::Strong, text))
}

/// For people only.
fn say(form: Form, text: &str) -> io::Result<()> {
    if form.is_for_people() { print(text) } else { Ok(()) }
}

/// Serves the order system until Ctrl-C.
pub(crate) async fn backend_alone(listen: SocketAddr) -> Result<Exit, Failure> {
    let refused = |error: &dyn std::error::Error| Failure::Refused(format!("cannot listen on {listen}: {error}"));
    let listener = TcpListener::bind(listen).await.map_err(|error| refused(&error))?;
    let address = listener.local_addr()?;
    print(&format!("The sample order system listens on http://{address}; Ctrl-C ends it."))?;
    match unless_interrupted(OrderSystem::default().serve(listener, CancellationToken::new())).await? {
        Either::Ended(served) => served.map(|()| Exit::Done).map_err(|error| refused(&error)),
        Either::Interrupted => Ok(Exit::Done),
    }
}
