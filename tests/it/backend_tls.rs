//! TLS and mTLS to backends: who is talked to, who is refused, and that a refused handshake never counts as a call that left.

use std::sync::Arc;

use rcgen::{SanType, date_time_ymd};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig, SupportedProtocolVersion,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
        server::WebPkiClientVerifier,
        version::{TLS12, TLS13},
    },
};
use tonic::Code;
use toolbatch::{
    config::{Backend, BackendTls, Identity, Registration},
    proto::{BackendHealth, BatchOptions, CallErrorReason, RetryPolicy},
};

use crate::{
    backend::ScriptedBackend,
    commands::toolbatch_at,
    listener::Certificates,
    refusal::refusal,
    rig::{Rig, batch, batch_with, call, parallel},
};

/// Speaks TLS in front of a scripted backend.
struct Front {
    address: String,
    acceptor: watch::Sender<TlsAcceptor>,
    _tasks: JoinSet<()>,
}

/// How it speaks it.
struct Manner {
    asks: bool,
    alpn: &'static [u8],
    version: &'static SupportedProtocolVersion,
}

const PLAIN: Manner = Manner { asks: false, alpn: b"h2", version: &TLS13 };
const MUTUAL: Manner = Manner { asks: true, ..PLAIN };

impl Front {
    async fn start(backend: &ScriptedBackend, certificates: &Certificates, manner: Manner) -> Self {
        let (acceptor, mut now) = watch::channel(acceptor(certificates, &manner));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("https://{}", listener.local_addr().expect("an address"));
        let to = backend.address().trim_start_matches("http://").to_owned();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut pipes = JoinSet::new();
            loop {
                let client = tokio::select! {
                    accepted = listener.accept() => accepted.expect("a connection").0,
                    changed = now.changed() => {
                        changed.expect("the front is there");
                        pipes.shutdown().await;
                        continue;
                    }
                };
                let (acceptor, to) = (now.borrow().clone(), to.clone());
                pipes.spawn(async move {
                    // Who is refused is gone.
                    let Ok(mut client) = acceptor.accept(client).await else { return };
                    let mut server = TcpStream::connect(to).await.expect("the backend is there");
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { address, acceptor, _tasks: tasks }
    }

    /// Cuts all connections, and takes new ones in another manner.
    fn turn(&self, certificates: &Certificates, manner: &Manner) {
        self.acceptor.send_replace(acceptor(certificates, manner));
    }

    fn config(&self, tls: BackendTls) -> Backend {
        Backend { name: "stub".into(), addresses: vec![self.address.clone()], tls, ..Backend::default() }
    }
}

fn acceptor(certificates: &Certificates, manner: &Manner) -> TlsAcceptor {
    let read = |name: &str| CertificateDer::from_pem_file(certificates.file(name)).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(certificates.file("server.key")).expect("a key");
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[manner.version])
        .expect("it is known");
    let config = if manner.asks {
        let mut roots = RootCertStore::empty();
        roots.add(read("ca.pem")).expect("an authority");
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        config.with_client_cert_verifier(verifier.expect("it is right"))
    } else {
        config.with_no_client_auth()
    };
    let mut config = config.with_single_cert(vec![read("server.pem")], key).expect("they belong together");
    config.alpn_protocols = vec![manner.alpn.to_vec()];
    Arc::new(config).into()
}

fn trusting(certificates: &Certificates) -> BackendTls {
    BackendTls { ca: Some(certificates.file("ca.pem")), identity: None }
}

fn showing(tls: BackendTls, of: &Certificates) -> BackendTls {
    let identity = Some(Identity { cert: of.file("client.pem"), key: of.file("client.key") });
    BackendTls { identity, ..tls }
}

fn effect() -> toolbatch::proto::ToolCall {
    call("effect", r#"{"id":"a"}"#)
}

/// Runs one call over TLS; what it ended with, where it failed for certain, and nothing was done.
async fn outcome(certificates: &Certificates, manner: Manner, tls: BackendTls) -> Result<(), String> {
    let backend = ScriptedBackend::start().await;
    let front = Front::start(&backend, certificates, manner).await;
    let rig = Rig::start_with(backend, vec![front.config(tls)], |_| {}).await;
    let ran = rig.run(batch_with(vec![effect()], single_attempt())).await;
    let result = &ran.results()[0];
    let Some(error) = &result.error else {
        assert_eq!(rig.backend.journal().ids(), ["a"]);
        return Ok(());
    };
    assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::BackendUnavailable, false), "{error:?}");
    assert!(rig.backend.journal().ids().is_empty());
    Err(error.message.clone())
}

fn single_attempt() -> BatchOptions {
    let retry = Some(RetryPolicy { max_attempts: 1, ..RetryPolicy::default() });
    BatchOptions { retry, ..BatchOptions::default() }
}

#[tokio::test]
async fn a_call_passes_where_the_authority_is_trusted() {
    let certificates = Certificates::issue();
    assert_eq!(outcome(&certificates, PLAIN, trusting(&certificates)).await, Ok(()));
    let older = Manner { version: &TLS12, ..PLAIN };
    assert_eq!(outcome(&certificates, older, trusting(&certificates)).await, Ok(()));
}

#[tokio::test]
async fn row_a_backend_whose_certificate_is_not_trusted_gets_no_call() {
    let (certificates, others) = (Certificates::issue(), Certificates::issue());
    let says = async |certificates: &Certificates, manner: Manner, tls: BackendTls, expected: &str| {
        let said = outcome(certificates, manner, tls).await.expect_err(expected);
        assert!(said.contains(expected), "{said}");
    };
    let elsewhere = Certificates::issue_for(|leaf| {
        leaf.subject_alt_names = vec![SanType::DnsName("crm.internal".try_into().expect("a name"))];
    });
    let old = Certificates::issue_for(|leaf| leaf.not_after = date_time_ymd(2001, 1, 1));
    let http1 = Manner { alpn: b"http/1.1", ..PLAIN };
    // Each call waits for its backend as long as calls do.
    tokio::join!(
        says(&certificates, PLAIN, trusting(&others), "its certificate has an unknown issuer"),
        says(&certificates, PLAIN, BackendTls::default(), "expected one of the system's authorities"),
        says(&elsewhere, PLAIN, trusting(&elsewhere), "its certificate is for another name"),
        says(&old, PLAIN, trusting(&old), "its certificate has expired"),
        says(&certificates, http1, trusting(&certificates), "no HTTP/2 is spoken there"),
    );
}

/// With TLS 1.3 the client's half of the handshake is over before its certificate is looked at.
#[tokio::test]
async fn a_backend_that_asks_for_a_certificate_gets_calls_from_those_who_have_one() {
    let (certificates, others) = (Certificates::issue(), Certificates::issue());
    let (trusting, strange) = (trusting(&certificates), showing(trusting(&certificates), &others));
    for version in [&TLS12, &TLS13] {
        let mutual = || Manner { version, ..MUTUAL };
        let (right, none, strange) = tokio::join!(
            outcome(&certificates, mutual(), showing(trusting.clone(), &certificates)),
            outcome(&certificates, mutual(), trusting.clone()),
            outcome(&certificates, mutual(), strange.clone()),
        );
        assert_eq!(right, Ok(()));
        let none = none.expect_err("it shows none");
        assert!(none.contains("it may ask for a client certificate: `cert` and `key` name one"), "{none}");
        let strange = strange.expect_err("a stranger's");
        assert!(strange.contains("it may not take the client certificate in "), "{strange}");
    }
}

/// Here the tool is known, so that calls wait for a connection, and would leave on one that is about to be refused.
#[tokio::test]
async fn calls_that_wait_for_a_backend_that_refuses_never_leave() {
    let certificates = Certificates::issue();
    let backend = ScriptedBackend::start().await;
    let front = Front::start(&backend, &certificates, PLAIN).await;
    let rig = Rig::start_with(backend, vec![front.config(trusting(&certificates))], |_| {}).await;
    assert_eq!(rig.run(batch(vec![effect()])).await.statuses(), ["completed"]);
    front.turn(&certificates, &MUTUAL);
    // What leaves before the cut is noticed may have been done.
    while rig.backends(1).await[0].health() == BackendHealth::Serving {
        tokio::task::yield_now().await;
    }
    let going_on = BatchOptions { stop_on_error: Some(false), ..parallel(16) };
    let ran = rig.run(batch_with(vec![effect(); 16], going_on)).await;
    for result in ran.results() {
        let error = result.error.as_ref().expect("it failed");
        assert_eq!((error.reason(), error.outcome_unknown), (CallErrorReason::BackendUnavailable, false), "{error:?}");
        assert!(error.message.contains("it may ask for a client certificate"), "{}", error.message);
    }
    front.turn(&certificates, &PLAIN);
    assert_eq!(rig.run(batch(vec![effect()])).await.statuses(), ["completed"]);
    assert_eq!(rig.backend.journal().ids(), ["a", "a"]);
}

#[tokio::test]
async fn a_plain_port_is_told_from_tls() {
    let backend = ScriptedBackend::start().await;
    let address = backend.address().replace("http://", "https://");
    let certificates = Certificates::issue();
    let said = toolbatch::dispatch::probe(&trusting(&certificates), &address).await.expect_err("no TLS").to_string();
    assert!(said.contains("no TLS is spoken there") || said.contains("the TLS handshake failed"), "{said}");
}

#[tokio::test]
async fn registered_backends_speak_tls_by_the_registrations_files_and_stay_in_their_networks() {
    let certificates = Certificates::issue();
    let stub = ScriptedBackend::start_with(vec![crate::backend::tool("other")]).await;
    let (erp, backends) = (ScriptedBackend::start().await, vec![stub.config("stub")]);
    let front = Front::start(&erp, &certificates, MUTUAL).await;
    let tls = showing(trusting(&certificates), &certificates);
    let mut rig = Rig::start_with(stub, backends, |config| {
        config.registration = Registration { tls, ..Registration::default() };
    })
    .await;
    for address in ["https://10.0.0.1:1", "https://169.254.169.254:443", "https://[fe80::1]:1"] {
        let status = rig.register("erp", &[address]).await.expect_err(address);
        assert_eq!(refusal(&status), (Code::PermissionDenied, "ADDRESS_NOT_ALLOWED".to_owned()), "{address}");
    }
    rig.deregister("stub").await.expect_err("it is configured");
    rig.register("erp", &[&front.address]).await.expect("it is there");
    assert_eq!(rig.run(batch(vec![effect()])).await.statuses(), ["completed"]);
    rig.restart().await;
    assert_eq!(rig.run(batch(vec![effect()])).await.statuses(), ["completed"], "and over a restart");
    rig.stop().await;
    rig.restart_with(|config| config.registration = Registration::default()).await;
    let status = rig.register("erp", &[&front.address]).await.expect_err("not by the system's authorities");
    assert_eq!(refusal(&status), (Code::Unavailable, "BACKEND_UNREACHABLE".to_owned()));
    assert!(status.message().contains("unknown issuer"), "{}", status.message());
}

#[tokio::test]
async fn check_config_reaches_backends_as_the_server_does() {
    let (certificates, others) = (Certificates::issue(), Certificates::issue());
    let backend = ScriptedBackend::start().await;
    let front = Front::start(&backend, &certificates, MUTUAL).await;
    let [cert, key] = ["client.pem", "client.key"].map(|name| certificates.file(name));
    let check = async |ca: &Certificates| {
        let text = format!(
            "[[backends]]\nname = \"erp\"\naddresses = [\"{}\"]\nca = {:?}\ncert = {cert:?}\nkey = {key:?}\n",
            front.address,
            ca.file("ca.pem")
        );
        let file = certificates.file("toolbatch.toml");
        std::fs::write(&file, text).expect("it is written");
        toolbatch_at("", &["check-config", file.to_str().expect("a path")], "").await
    };
    let right = check(&certificates).await;
    assert_eq!(right.code, Some(0), "{}", right.err);
    assert!(right.out.contains("backend erp at https://"), "{}", right.out);
    let wrong = check(&others).await;
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    assert!(wrong.err.contains("its certificate has an unknown issuer"), "{}", wrong.err);
}

#[tokio::test]
async fn files_that_cannot_be_used_stop_the_start() {
    let certificates = Certificates::issue();
    let refused = |tls: BackendTls| {
        let backend =
            Backend { name: "erp".into(), addresses: vec!["https://127.0.0.1:1".into()], tls, ..Backend::default() };
        let made = toolbatch::dispatch::Backends::new(
            &[backend],
            &[],
            Arc::default(),
            Arc::default(),
            toolbatch::dispatch::Instance::new(),
        );
        made.expect_err("files that cannot be used").to_string()
    };
    let missing = refused(BackendTls { ca: Some("/nowhere/ca.pem".into()), identity: None });
    assert!(missing.starts_with("backend `erp`: ca: cannot use /nowhere/ca.pem: "), "{missing}");
    let no_authority = refused(BackendTls { ca: Some(certificates.file("client.key")), identity: None });
    assert!(no_authority.contains("none stands in it; expected a PEM file with certificates"), "{no_authority}");
    let halves = Identity { cert: certificates.file("client.pem"), key: certificates.file("server.key") };
    let strange = refused(BackendTls { identity: Some(halves), ..trusting(&certificates) });
    assert!(strange.contains("expected a certificate chain in cert and its private key in key"), "{strange}");
}
