//! One scenario after the other, and what came of each.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, anyhow, bail, ensure};
use tokio::sync::watch;

use crate::{
    faults,
    json::Json,
    matching::{self, shorten},
    names::Names,
    process::Talk,
    proxy::Proxy,
    scenario::{Cut, Scenario, ServerKind, Step},
    server,
    stage::{Stage, Way, shell},
    whole::{self, Stream},
};

/// How many events of a failed step are shown.
const EVENTS_SHOWN: usize = 40;
/// What only a step that hangs takes so long for.
const STEP_BOUND: Duration = Duration::from_mins(1);

/// A client under test, a stage, and scenarios to play.
pub(crate) struct Play {
    client_command: String,
    client: Option<Talk>,
    stage: Stage,
    requests: u64,
}

/// What a client answered to one request.
#[derive(Default)]
struct Answer {
    events: Vec<Json>,
    end: Option<Json>,
}

impl Play {
    pub(crate) fn new(client_command: String, backend_command: String) -> anyhow::Result<Self> {
        Ok(Self { client_command, client: None, stage: Stage::new(backend_command)?, requests: 0 })
    }

    /// Plays one scenario.
    pub(crate) async fn play(&mut self, scenario: &Scenario) -> anyhow::Result<()> {
        let unique = uuid::Uuid::now_v7().simple().to_string();
        let gates = self.stage.folder().join("gates").join(&unique);
        std::fs::create_dir_all(&gates).with_context(|| format!("cannot make {}", gates.display()))?;
        let mut names = Names::new(gates.clone(), unique);
        let played = self.play_steps(scenario, &mut names).await;
        faults::release(&gates)?;
        if played.is_err() {
            // What it was in the middle of must not reach the next scenario.
            self.client = None;
        }
        played
    }

    async fn play_steps(&mut self, scenario: &Scenario, names: &mut Names) -> anyhow::Result<()> {
        let mut way = self.stage.raise(scenario.server).await?;
        let proxy = match &scenario.cut {
            Cut::Never => None,
            cut @ (Cut::EveryEvent | Cut::After(_)) => Some(Proxy::start(&way.server, cut.clone()).await?),
        };
        if let Some(proxy) = &proxy {
            way.server = proxy.endpoint();
        }
        for (place, step) in scenario.steps.iter().enumerate() {
            let played = self.play_step(scenario.server, step, &way, names).await;
            if played.is_err() {
                self.client = None;
            }
            let mended = self.stage.mend(scenario.server).await;
            let what = || format!("step {} ({})", place + 1, step.asked());
            played.with_context(what)?;
            mended.with_context(what)?;
        }
        Ok(())
    }

    async fn play_step(&mut self, kind: ServerKind, step: &Step, way: &Way, names: &mut Names) -> anyhow::Result<()> {
        let request = self.request(step, way, names)?;
        let (shown, receiver) = watch::channel(Vec::new());
        let client = match &mut self.client {
            Some(client) => client,
            none => {
                let command = format!("exec {} client", self.client_command);
                none.insert(Talk::start("the client", &mut shell(&command))?)
            }
        };
        if let Some(line) = client.stray() {
            bail!("the client wrote more than it was asked for: {}", shorten(&line));
        }
        client.ask(&request)?;
        let mut answer = Answer::default();
        let events = shown.subscribe();
        let outcome = {
            let listen = listen(client, shown, &mut answer);
            let play = faults::play(&mut self.stage, kind, &step.faults, names, receiver);
            let both = async { tokio::try_join!(listen, play) };
            tokio::time::timeout(STEP_BOUND, both).await
        };
        answer.events.clone_from(&events.borrow());
        match outcome {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(anyhow!("{error:#}{}", answer.shown())),
            Err(_) => {
                let log = self.client.as_ref().map(|client| client.process.error("was not done"));
                let seconds = STEP_BOUND.as_secs();
                let log = log.map(|log| log.to_string()).unwrap_or_default();
                bail!("no end within {seconds} s; {log}{}", answer.shown());
            }
        }
        check(kind, step, &answer, names).map_err(|error| anyhow!("{error:#}{}", answer.shown()))
    }

    /// The line that a client is sent.
    fn request(&mut self, step: &Step, way: &Way, names: &Names) -> anyhow::Result<String> {
        self.requests += 1;
        let text = |name: &str, value: &str| (name.to_owned(), Json::Text(value.to_owned()));
        let mut members = vec![text("id", &self.requests.to_string()), text("server", &way.server)];
        if let Some(ca) = &way.ca {
            members.push(text("ca", ca));
        }
        for (name, value) in &step.request {
            let value = names.fill(value);
            if name == "token" {
                let token = server::token(value.as_text().unwrap_or_default())?;
                members.extend(token.map(|token| text("token", token)));
            } else {
                members.push((name.clone(), value));
            }
        }
        Ok(Json::Object(members).to_string())
    }

    /// Ends everything; what does not end well is an error.
    pub(crate) async fn end(mut self) -> anyhow::Result<()> {
        if let Some(client) = self.client.take() {
            client.finish().await.context("at the end of its input")?;
        }
        self.stage.clear().await
    }
}

/// Reads lines until an end. Every event is shown at once; showing ends with the answer.
async fn listen(client: &mut Talk, shown: watch::Sender<Vec<Json>>, answer: &mut Answer) -> anyhow::Result<()> {
    loop {
        let line = client.answer().await?;
        let value = Json::parse(&line).with_context(|| format!("the client wrote no JSON: {}", shorten(&line)))?;
        if let Some(event) = value.get("event") {
            shown.send_modify(|events| events.push(event.clone()));
        } else if let Some(end) = value.get("end") {
            answer.end = Some(end.clone());
            return Ok(());
        } else {
            bail!("the client wrote neither an event nor an end: {}", shorten(&line));
        }
    }
}

/// Compares what came with what is expected.
fn check(kind: ServerKind, step: &Step, answer: &Answer, names: &mut Names) -> anyhow::Result<()> {
    let end = answer.end.as_ref().context("there was no end")?;
    let streams = matches!(step.asked(), "run" | "watch");
    ensure!(streams || answer.events.is_empty(), "{} gives no events, {} came", step.asked(), answer.events.len());
    if let Some(expected) = &step.expect.events {
        matching::check_events(expected, &answer.events, step.expect.order, names)?;
    }
    if let Some(expected) = &step.expect.end {
        matching::check(expected, end, "end", names)?;
    }
    if streams {
        let after = step.member("after_sequence").map(|value| names.fill(value)).and_then(|value| value.as_u64());
        let stream = Stream { after: after.unwrap_or(0), has_unknown: kind == ServerKind::Future };
        whole::check(&answer.events, end, stream)?;
    }
    Ok(())
}

impl Step {
    fn member(&self, name: &str) -> Option<&Json> {
        self.request.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    fn asked(&self) -> &str {
        self.member("do").and_then(Json::as_text).unwrap_or_default()
    }
}

impl Answer {
    /// What came, for people.
    fn shown(&self) -> String {
        let left_out = self.events.len().saturating_sub(EVENTS_SHOWN);
        let events = self.events.iter().take(EVENTS_SHOWN).map(|event| format!("event {event}"));
        let more = (left_out > 0).then(|| format!("and {left_out} events more"));
        let end = self.end.iter().map(|end| format!("end {end}"));
        let lines: Vec<_> = events.chain(more).chain(end).map(|line| format!("\n    {}", shorten(&line))).collect();
        lines.concat()
    }
}

/// The reference, as a command line.
pub(crate) fn reference() -> anyhow::Result<String> {
    let program: PathBuf = std::env::current_exe().context("this program's own path is not known")?;
    let path = program.to_str().context("this program's own path is no text")?;
    Ok(format!("'{}'", path.replace('\'', r"'\''")))
}
