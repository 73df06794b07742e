//! The connection to a server.

use std::{error::Error, fs, future::Future, path::Path, time::Duration};

use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use super::{args::ServerArgs, exit::Failure, refusal};
use crate::proto::{
    batch_service_client::BatchServiceClient, registry_service_client::RegistryServiceClient,
    task_service_client::TaskServiceClient, tool_service_client::ToolServiceClient,
};

/// Where a server listens if nobody says otherwise.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:50051";
/// A server that is there accepts within this time, even across an ocean; R8 gives backends as long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A question that is answered from the store takes milliseconds; a server that needs this long is as good as gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// A watch may be silent for hours. Pings find out that the other side is gone; more often than this, servers take offence.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping's answer may take.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest message that is taken: a step's 1 MiB result and a batch's summary are far below; an echo of a 64 MiB
/// result by a future server still passes, with a MiB for what stands around it.
const MESSAGE_MAX: usize = 65 * 1024 * 1024;

/// The environment variable that holds the token, where the server asks for one. A flag would show it to every process of the machine.
pub(crate) const TOKEN_VARIABLE: &str = "TOOLBATCH_TOKEN";

/// What a client talks through.
pub(crate) type Line = InterceptedService<Channel, Bearer>;

/// Puts the token and the tenant into each request, if there are any.
#[derive(Clone)]
pub(crate) struct Bearer {
    token: Option<MetadataValue<Ascii>>,
    tenant: Option<MetadataValue<Ascii>>,
}

impl Bearer {
    fn new(tenant: Option<&str>) -> Result<Self, Failure> {
        let tenant = tenant.map(str::parse).transpose();
        let tenant = tenant.map_err(|_| Failure::Refused("the tenant is no text of visible ASCII".to_owned()))?;
        Ok(Self { token: Self::token()?, tenant })
    }

    fn token() -> Result<Option<MetadataValue<Ascii>>, Failure> {
        let Ok(token) = std::env::var(TOKEN_VARIABLE) else { return Ok(None) };
        let token = token.trim();
        if token.is_empty() {
            return Ok(None);
        }
        let mut value: MetadataValue<Ascii> = format!("Bearer {token}").parse().map_err(|_| {
            Failure::Refused(format!(
                "{TOKEN_VARIABLE} holds no token: expected visible ASCII characters without blanks"
            ))
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        if let Some(tenant) = &self.tenant {
            request.metadata_mut().insert("toolbatch-tenant", tenant.clone());
        }
        Ok(request)
    }
}

impl ServerArgs {
    /// A server that is known by its address alone.
    pub(crate) fn at(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }
}

/// A connection. It comes back by itself when it breaks: each call on it may fail, and the next one connects again.
pub(crate) struct Link {
    server: ServerArgs,
    line: Line,
}

impl Link {
    /// Connects, so that a wrong address is known at once.
    pub(crate) async fn open(server: &ServerArgs) -> Result<Self, Failure> {
        let url = &server.url;
        let endpoint = endpoint(url).and_then(|endpoint| secured(endpoint, server)).map_err(Failure::Refused)?;
        let bearer = Bearer::new(server.tenant.as_deref())?;
        let channel = endpoint.connect().await.map_err(|error| {
            Failure::Unreachable(format!(
                "cannot reach the server at {url}: {}\nStart one with `toolbatch serve`, or name another with --server or \
                 TOOLBATCH_SERVER.",
                root_cause(&error)
            ))
        })?;
        Ok(Self { server: server.clone(), line: InterceptedService::new(channel, bearer) })
    }

    /// Where it leads to.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// Which server it leads to, and whose things there.
    pub(crate) fn server(&self) -> &ServerArgs {
        &self.server
    }

    /// Batches.
    pub(crate) fn batches(&self) -> BatchServiceClient<Line> {
        BatchServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// Steps.
    pub(crate) fn tasks(&self) -> TaskServiceClient<Line> {
        TaskServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// Tools.
    pub(crate) fn tools(&self) -> ToolServiceClient<Line> {
        ToolServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }

    /// Backends.
    pub(crate) fn registry(&self) -> RegistryServiceClient<Line> {
        RegistryServiceClient::new(self.line.clone()).max_decoding_message_size(MESSAGE_MAX)
    }
}

/// `toolbatch` and the words after it, for a person to type: with what says which server, where that is not the default.
pub(crate) fn command(ServerArgs { url, tenant, ca, cert, key }: &ServerArgs, words: &str) -> String {
    let mut text = format!("toolbatch {words}");
    if url != DEFAULT_SERVER {
        text.extend([" --server ", url]);
    }
    if let Some(tenant) = tenant {
        text.extend([" --tenant ", tenant]);
    }
    for (flag, file) in [(" --ca ", ca), (" --cert ", cert), (" --key ", key)] {
        if let Some(file) = file {
            text.extend([flag, &file.display().to_string()]);
        }
    }
    text
}

/// The answer to one question, or why there is none.
pub(crate) async fn answer<T>(call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, Failure> {
    match tokio::time::timeout(ANSWER_TIMEOUT, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(refusal::failure(&status)),
        Err(_) => Err(Failure::Unreachable(format!("no answer in {} s", ANSWER_TIMEOUT.as_secs()))),
    }
}

/// The endpoint of `https://host:port`, `http://host:port`, `host:port`, `unix:/path` or `unix:///path`.
pub(crate) fn endpoint(url: &str) -> Result<Endpoint, String> {
    let expected = "expected https://HOST:PORT, http://HOST:PORT or unix:/PATH";
    let full = if ["unix:", "http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        url.to_owned()
    } else if url.contains("://") {
        return Err(format!("{url}: {expected}"));
    } else {
        format!("http://{url}")
    };
    let endpoint = Endpoint::from_shared(full).map_err(|error| format!("{url}: {expected}; {}", root_cause(&error)))?;
    Ok(endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT))
}

/// With the certificates that a server is known by, and shows itself to know; what they are for is `https://` alone.
fn secured(endpoint: Endpoint, server: &ServerArgs) -> Result<Endpoint, String> {
    let ServerArgs { url, ca, cert, key, tenant: _ } = server;
    if !url.starts_with("https://") {
        return match [("--ca", ca), ("--cert", cert)].into_iter().find(|(_, file)| file.is_some()) {
            Some((flag, _)) => Err(format!("{url}: {flag} is for TLS; expected https://HOST:PORT")),
            None => Ok(endpoint),
        };
    }
    let read = |flag: &str, file: &Path| fs::read(file).map_err(|error| format!("{flag} {}: {error}", file.display()));
    let mut tls = ClientTlsConfig::new();
    tls = match ca {
        Some(file) => tls.ca_certificate(Certificate::from_pem(read("--ca", file)?)),
        None => tls.with_native_roots(),
    };
    if let (Some(cert), Some(key)) = (cert, key) {
        tls = tls.identity(Identity::from_pem(read("--cert", cert)?, read("--key", key)?));
    }
    endpoint
        .tls_config(tls)
        .map_err(|error| format!("{url}: the certificates cannot be used: {}; expected PEM files", root_cause(&error)))
}

/// The message at the root of a chain: "Connection refused" instead of "transport error".
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_in_their_usual_spellings() {
        for url in [
            "http://127.0.0.1:50051",
            "https://batches.example:443",
            "localhost:50051",
            "unix:/run/toolbatch.sock",
            "unix:///run/t.sock",
        ] {
            assert!(endpoint(url).is_ok(), "{url}");
        }
        let expected = "expected https://HOST:PORT, http://HOST:PORT or unix:/PATH";
        assert_eq!(endpoint("ftp://host").unwrap_err(), format!("ftp://host: {expected}"));
        assert!(endpoint("http://a b").unwrap_err().starts_with(&format!("http://a b: {expected}; ")));
    }

    #[test]
    fn certificates_are_for_tls_alone_and_named_when_they_are_missing() {
        let secured = |url: &str| {
            let server = ServerArgs { ca: Some("/nowhere/ca.pem".into()), ..ServerArgs::at(url) };
            secured(endpoint(url).unwrap(), &server).unwrap_err()
        };
        assert_eq!(secured("http://host:1"), "http://host:1: --ca is for TLS; expected https://HOST:PORT");
        assert!(
            secured("https://host:1").starts_with("--ca /nowhere/ca.pem: No such file"),
            "{}",
            secured("https://host:1")
        );
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_unreachable() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let Err(failure) = Link::open(&ServerArgs::at(&format!("http://{free}"))).await else {
            panic!("something listens")
        };
        assert_eq!(failure.exit().code(), 3);
        assert!(failure.to_string().contains("Connection refused"), "{failure}");
    }
}
