//! The listener as clients meet it: TLS, a Unix socket's file, and how connections end.

use std::{os::unix::fs::PermissionsExt as _, path::Path, time::Duration};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use toolbatch::{
    config::{Config, Listen, Tls},
    proto::{ExecuteBatchRequest, ListToolsRequest, WatchBatchRequest, tool_service_client::ToolServiceClient},
    server::Server,
};

use crate::{
    backend::ScriptedBackend,
    commands::toolbatch_at,
    http2::{END_STREAM, GOAWAY, HEADERS, Raw, whole_request},
    rig::{Client, Rig, batch, call},
};

/// An authority, and what it signed for the server and for a client, as files.
pub(crate) struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    pub(crate) fn issue() -> Self {
        Self::issue_for(|_| {})
    }

    /// The same, with something changed about what is signed.
    pub(crate) fn issue_for(change: impl Fn(&mut CertificateParams)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = authority.self_signed(&key).expect("it signs itself");
        let write = |name: &str, pem: String| std::fs::write(folder.path().join(name), pem).expect("it is written");
        write("ca.pem", certificate.pem());
        let issuer = Issuer::new(authority, key);
        for name in ["server", "client"] {
            let key = KeyPair::generate().expect("a key");
            let mut leaf = CertificateParams::new(vec!["127.0.0.1".into()]).expect("parameters");
            change(&mut leaf);
            write(&format!("{name}.pem"), leaf.signed_by(&key, &issuer).expect("it is signed").pem());
            write(&format!("{name}.key"), key.serialize_pem());
        }
        Self { folder }
    }

    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn server(&self, mutual: bool) -> Tls {
        let client_ca = mutual.then(|| self.file("ca.pem"));
        Tls { cert: self.file("server.pem"), key: self.file("server.key"), client_ca }
    }

    pub(crate) fn client(&self, with_identity: bool) -> ClientTlsConfig {
        let read = |name: &str| std::fs::read(self.file(name)).expect("it was written");
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read("ca.pem")));
        if with_identity { tls.identity(Identity::from_pem(read("client.pem"), read("client.key"))) } else { tls }
    }
}

fn config(change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, Config) {
    let data = tempfile::tempdir().expect("a folder");
    let listen = Listen::Tcp("127.0.0.1:0".parse().expect("an address"));
    let mut config = Config { listen, data_dir: data.path().join("data"), ..Config::default() };
    change(&mut config);
    (data, config)
}

/// Whether a tool can be listed by a client that speaks this TLS.
async fn lists(endpoint: &str, tls: ClientTlsConfig) -> bool {
    let endpoint =
        Endpoint::from_shared(endpoint.to_owned()).expect("an endpoint").tls_config(tls).expect("it is right");
    let Ok(channel): Result<Channel, _> = endpoint.connect().await else { return false };
    ToolServiceClient::new(channel).list_tools(ListToolsRequest::default()).await.is_ok()
}

#[tokio::test]
async fn tls_is_spoken_with_whoever_knows_the_authority() {
    let certificates = Certificates::issue();
    let (_data, config) = config(|config| config.tls = Some(certificates.server(false)));
    let server = Server::start(config).await.expect("the server starts");
    let endpoint = server.endpoint();
    assert!(endpoint.starts_with("https://127.0.0.1:"), "{endpoint}");
    assert!(lists(endpoint, certificates.client(false)).await);
    assert!(!lists(endpoint, ClientTlsConfig::new()).await, "nobody vouches for it");
    let plain = Endpoint::from_shared(endpoint.replace("https", "http")).expect("an endpoint").connect().await;
    let listed = match plain {
        Ok(channel) => ToolServiceClient::new(channel).list_tools(ListToolsRequest::default()).await.is_ok(),
        Err(_) => false,
    };
    assert!(!listed, "without TLS nobody is served");
}

#[tokio::test]
async fn mutual_tls_takes_only_clients_with_a_certificate_of_the_authority() {
    let (certificates, others) = (Certificates::issue(), Certificates::issue());
    let (_data, config) = config(|config| config.tls = Some(certificates.server(true)));
    let server = Server::start(config).await.expect("the server starts");
    assert!(lists(server.endpoint(), certificates.client(true)).await);
    assert!(!lists(server.endpoint(), certificates.client(false)).await);
    let stranger = |name: &str| std::fs::read(others.file(name)).expect("it was written");
    let identity = Identity::from_pem(stranger("client.pem"), stranger("client.key"));
    assert!(!lists(server.endpoint(), certificates.client(false).identity(identity)).await);
}

#[tokio::test]
async fn certificates_are_renewed_while_the_server_runs() {
    let (first, second) = (Certificates::issue(), Certificates::issue());
    let (_data, start) = config(|config| config.tls = Some(first.server(true)));
    let server = Server::start(start.clone()).await.expect("the server starts");
    let endpoint = Endpoint::from_shared(server.endpoint().to_owned()).expect("an endpoint");
    let opened = endpoint.tls_config(first.client(true)).expect("it is right").connect().await.expect("it connects");

    server.reload(&Config { tls: Some(second.server(true)), ..start.clone() }).expect("they are taken");
    assert!(lists(server.endpoint(), second.client(true)).await, "the new ones hold");
    assert!(!lists(server.endpoint(), first.client(true)).await, "the old ones do not");
    let listed = ToolServiceClient::new(opened).list_tools(ListToolsRequest::default()).await;
    assert!(listed.is_ok(), "a connection that was there goes on: {listed:?}");

    std::fs::write(first.file("server.key"), "no key").expect("it is written");
    let refused = server.reload(&start).expect_err("that is no key").to_string();
    assert!(
        refused.contains("tls.key: cannot use") && refused.contains("expected a PEM file with a private key"),
        "{refused}"
    );
    assert!(lists(server.endpoint(), second.client(true)).await, "what was there goes on");
}

#[tokio::test]
async fn the_commands_speak_tls() {
    let certificates = Certificates::issue();
    let (_data, config) = config(|config| config.tls = Some(certificates.server(true)));
    let server = Server::start(config).await.expect("the server starts");
    let file = |name: &str| certificates.file(name).display().to_string();
    let [ca, cert, key] = [file("ca.pem"), file("client.pem"), file("client.key")];
    let line = ["tools", "--ca", &ca, "--cert", &cert, "--key", &key];
    let said = toolbatch_at(server.endpoint(), &line, "").await;
    assert_eq!(said.code, Some(0), "{}", said.err);
    for (line, code) in [(&line[..1], 3), (&line[..3], 3), (&line[..5], 2)] {
        let said = toolbatch_at(server.endpoint(), line, "").await;
        assert_eq!(said.code, Some(code), "{line:?}: {}", said.err);
    }
}

#[tokio::test]
async fn certificates_that_cannot_be_used_stop_the_start() {
    let certificates = Certificates::issue();
    let refused = async |tls: Tls| {
        let (_data, config) = config(|config| config.tls = Some(tls));
        match Server::start(config).await {
            Ok(_) => panic!("it started"),
            Err(error) => error.to_string(),
        }
    };
    let right = certificates.server(true);
    let missing = refused(Tls { cert: "/nowhere/a.pem".into(), ..right.clone() }).await;
    assert!(missing.starts_with("tls.cert: cannot use /nowhere/a.pem: "), "{missing}");
    let no_key = refused(Tls { key: right.cert.clone(), ..right.clone() }).await;
    assert!(no_key.starts_with("tls.key: cannot use ") && no_key.contains("with a private key"), "{no_key}");
    let strange = refused(Tls { key: certificates.file("client.key"), ..right.clone() }).await;
    assert!(strange.starts_with("tls: ") && strange.contains("tls.cert"), "{strange}");
    let no_authority = refused(Tls { client_ca: Some(right.key.clone()), ..right }).await;
    assert!(no_authority.starts_with("tls.client_ca: "), "{no_authority}");
}

#[tokio::test]
async fn half_a_handshake_ends() {
    let certificates = Certificates::issue();
    let (_data, config) = config(|config| {
        config.tls = Some(certificates.server(false));
        config.limits.handshake_timeout = Duration::from_millis(200);
    });
    let server = Server::start(config).await.expect("the server starts");
    let mut raws = Vec::new();
    for _ in 0..100 {
        let mut raw = Raw::connect(server.endpoint()).await;
        // The beginning of a ClientHello of 512 bytes.
        assert!(raw.say(&[22, 3, 1, 2, 0, 1]).await);
        raws.push(raw);
    }
    assert!(lists(server.endpoint(), certificates.client(false)).await, "others are served meanwhile");
    for mut raw in raws {
        raw.closed().await;
    }
}

#[tokio::test]
async fn a_unix_socket_is_for_its_owner_and_a_stale_one_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("toolbatch.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).expect("it is bound"));
    assert!(path.exists(), "a stale socket");
    let (_data, config) = config(|config| config.listen = Listen::Unix(path.clone()));
    let server = Server::start(config).await.expect("the server starts");
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    Client::connect(server.endpoint()).await;
    let (_data, second) = self::config(|config| config.listen = Listen::Unix(path.clone()));
    let Err(error) = Server::start(second).await else { panic!("two listen at one socket") };
    assert!(error.to_string().starts_with("cannot listen on unix:"), "{error}");
    server.stop().await.expect("it stops well");
    assert!(!path.exists());
}

/// A rig whose connections are old soon, a batch that waits, and what holds it.
async fn aging(grace: Duration) -> (Rig, crate::backend::Held, Raw) {
    let backend = ScriptedBackend::start().await;
    let backends = vec![backend.config("stub")];
    let rig = Rig::start_with(backend, backends, |config| {
        config.limits.connection_age = Duration::from_millis(300);
        config.limits.connection_age_grace = grace;
    });
    let rig = rig.await;
    let held = rig.backend.hold("held");
    let request = ExecuteBatchRequest { batch_id: "b".into(), ..batch(vec![call("effect", r#"{"id":"held"}"#)]) };
    Client::connect(rig.endpoint()).await.open(request).await.expect("taken in");
    let mut raw = Raw::open(rig.endpoint(), &[]).await;
    let watch = WatchBatchRequest { batch_id: "b".into(), after_sequence: 0 };
    raw.say(&whole_request(1, "/toolbatch.v1.BatchService/WatchBatch", &watch)).await;
    raw.until(|frame| frame.kind == GOAWAY && frame.code() == 0).await;
    (rig, held, raw)
}

#[tokio::test]
async fn an_old_connection_takes_no_request_and_its_streams_go_on_to_their_ends() {
    let (_rig, held, mut raw) = aging(Duration::from_mins(5)).await;
    drop(held);
    raw.until(|frame| frame.kind == HEADERS && frame.flags & END_STREAM != 0).await;
    raw.closed().await;
}

#[tokio::test]
async fn an_old_connection_is_cut_off_after_its_grace() {
    let (_rig, _held, mut raw) = aging(Duration::from_millis(100)).await;
    raw.closed().await;
}
