//! The connection, and how long to go on without one.

use std::{
    env, fs,
    hash::{BuildHasher as _, RandomState},
    time::Duration,
};

use anyhow::Context as _;
use tokio::time::Instant;
use tonic::{
    Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};
use toolbatch::proto::{
    batch_service_client::BatchServiceClient, task_service_client::TaskServiceClient,
    tool_service_client::ToolServiceClient,
};

use super::{
    error::{Error, Lost},
    request::Request,
};

/// Where a server listens if nobody says otherwise.
const DEFAULT_SERVER: &str = "http://127.0.0.1:50051";
/// A result of 64 MiB, and what stands around it.
const MESSAGE_MAX: usize = 65 * 1024 * 1024;
/// A server that is there accepts within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A stream may be silent for hours; pings find out that the other side is gone.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping's answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to go on while no stream is open, where nobody says otherwise.
const GIVE_UP_AFTER: Duration = Duration::from_mins(1);
/// The bound on the first wait; each further one has twice the bound.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The bound on every wait.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What is talked through. It connects when it is used, and again after it broke.
type Line = InterceptedService<Channel, Bearer>;

/// A way to a server.
pub(super) struct Link {
    line: Line,
    give_up_after: Duration,
}

/// Puts the token into each request, if there is one.
#[derive(Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

impl Link {
    /// The way that a request names, or the environment.
    pub(super) fn new(request: &Request) -> anyhow::Result<Self> {
        let server = given(&request.server, "TOOLBATCH_SERVER").unwrap_or_else(|| DEFAULT_SERVER.to_owned());
        let expected = || format!("{server}: expected http://HOST:PORT, https://HOST:PORT or unix:/PATH");
        let mut endpoint = Endpoint::from_shared(server.clone())
            .with_context(expected)?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        if server.starts_with("https://") {
            let tls = match request.ca.as_str() {
                "" => ClientTlsConfig::new().with_native_roots(),
                ca => {
                    let pem = fs::read(ca).with_context(|| format!("cannot read the authority {ca}"))?;
                    ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem))
                }
            };
            endpoint = endpoint.tls_config(tls).context("the authority cannot be used; expected a PEM file")?;
        }
        let token = given(&request.token, "TOOLBATCH_TOKEN").map(|token| {
            let mut value: MetadataValue<Ascii> =
                format!("Bearer {token}").parse().context("the token holds more than visible ASCII")?;
            value.set_sensitive(true);
            anyhow::Ok(value)
        });
        let bearer = Bearer(token.transpose()?);
        Ok(Self {
            line: InterceptedService::new(endpoint.connect_lazy(), bearer),
            give_up_after: request.give_up_after_ms.map_or(GIVE_UP_AFTER, Duration::from_millis),
        })
    }

    /// Batches.
    pub(super) fn batches(&self) -> BatchServiceClient<Line> {
        BatchServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// Steps, variables and usage.
    pub(super) fn tasks(&self) -> TaskServiceClient<Line> {
        TaskServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// Tools.
    pub(super) fn tools(&self) -> ToolServiceClient<Line> {
        ToolServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// A fresh measure of how long to go on.
    pub(super) fn patience(&self) -> Patience {
        Patience { give_up_after: self.give_up_after, left: self.give_up_after, since: Some(Instant::now()), waits: 0 }
    }
}

/// What is given, else what the environment says, if anything.
fn given(text: &str, variable: &str) -> Option<String> {
    if text.is_empty() { env::var(variable).ok().filter(|text| !text.is_empty()) } else { Some(text.to_owned()) }
}

/// How long to go on: the time without an open stream since the last event is bounded.
pub(super) struct Patience {
    give_up_after: Duration,
    /// What is left of it, as of `since`.
    left: Duration,
    /// Since when no stream is open.
    since: Option<Instant>,
    /// How many waits there were since the last event.
    waits: u32,
}

impl Patience {
    /// A stream is open, so time does not count.
    pub(super) fn opened(&mut self) {
        self.left = self.left();
        self.since = None;
    }

    /// Something came.
    pub(super) fn renewed(&mut self) {
        self.left = self.give_up_after;
        self.waits = 0;
    }

    /// How long to go on from now.
    pub(super) fn left(&self) -> Duration {
        self.since.map_or(self.left, |since| self.left.saturating_sub(since.elapsed()))
    }

    /// Waits before the next attempt, or says why there is none.
    pub(super) async fn wait(&mut self, lost: Lost) -> Result<(), Error> {
        self.since.get_or_insert_with(Instant::now);
        let bound = FIRST_WAIT.saturating_mul(1 << self.waits.min(16)).min(LONGEST_WAIT);
        self.waits += 1;
        let wait = bound.mul_f64(dice()).max(lost.wait);
        let left = self.left();
        tokio::time::sleep(wait.min(left)).await;
        if wait < left {
            return Ok(());
        }
        let millis = self.give_up_after.as_millis();
        Err(Error::Unavailable(format!("no answer for {millis} ms, and the client tries no longer: {}", lost.why)))
    }
}

/// A number from 0 to 1, by chance.
fn dice() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or_default();
    f64::from(bits) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(give_up_after: Duration) -> Patience {
        Patience { give_up_after, left: give_up_after, since: Some(Instant::now()), waits: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn it_gives_up_after_the_time_without_a_stream() {
        let start = Instant::now();
        let mut patience = patience(Duration::from_mins(1));
        let end = loop {
            if let Err(error) = patience.wait(Lost::because("refused")).await {
                break error;
            }
        };
        assert_eq!(start.elapsed().as_secs(), 60);
        assert!(
            matches!(end, Error::Unavailable(message) if message.contains("60000 ms") && message.ends_with(": refused"))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_stream_stops_the_clock_and_an_event_turns_it_back() {
        let mut patience = patience(Duration::from_mins(1));
        tokio::time::sleep(Duration::from_secs(20)).await;
        patience.opened();
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        assert_eq!(patience.left(), Duration::from_secs(40));
        patience.renewed();
        assert_eq!(patience.left(), Duration::from_mins(1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_says_the_least_to_wait() {
        let start = Instant::now();
        let lost = Lost { wait: Duration::from_secs(7), ..Lost::because("busy") };
        patience(Duration::from_mins(1)).wait(lost).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(7));
    }
}
