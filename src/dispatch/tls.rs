//! TLS to backends: whose certificates are trusted, what is shown in return, and in words what went wrong.

use std::{
    io,
    path::Path,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::oneshot,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        AlertDescription, CertificateError, ClientConfig, Error as TlsError, InvalidMessage, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
    },
};

use crate::config::BackendTls;

/// The only protocol that is spoken within.
const ALPN: &[u8] = b"h2";

/// Whom the addresses of a backend trust. Clones share what was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Trust(Arc<Files>);

#[derive(Debug, Default)]
struct Files {
    tls: BackendTls,
    read: OnceLock<Arc<ClientConfig>>,
}

impl Trust {
    pub(super) fn new(tls: &BackendTls) -> Self {
        Self(Arc::new(Files { tls: tls.clone(), read: OnceLock::new() }))
    }

    /// Reads the files, once; where that fails, the next one who needs them tries again.
    pub(super) fn read(&self) -> Result<Arc<ClientConfig>, String> {
        if let Some(read) = self.0.read.get() {
            return Ok(Arc::clone(read));
        }
        let config = Arc::new(client_config(&self.0.tls)?);
        Ok(Arc::clone(self.0.read.get_or_init(|| config)))
    }

    /// Shakes hands over a connection that is there. What comes back says when the backend has answered within it.
    pub(super) async fn shake_hands(
        &self,
        name: &ServerName<'static>,
        stream: TcpStream,
    ) -> Result<(Heard<TlsStream<TcpStream>>, Answer), io::Error> {
        let config = self.read().map_err(io::Error::other)?;
        let connected = TlsConnector::from(config).connect(name.clone(), stream).await;
        let stream = connected.map_err(|error| self.in_words(&error, name))?;
        if stream.get_ref().1.alpn_protocol() != Some(ALPN) {
            return Err(no_http2());
        }
        let (tell, heard) = oneshot::channel();
        Ok((Heard { stream, tell: Some(tell) }, Answer { heard, trust: self.clone() }))
    }

    fn in_words(&self, error: &io::Error, name: &ServerName<'_>) -> io::Error {
        let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>());
        let said = match cause {
            Some(TlsError::InvalidCertificate(cause)) => self.certificate(cause, name),
            Some(TlsError::AlertReceived(AlertDescription::NoApplicationProtocol)) => return no_http2(),
            Some(TlsError::AlertReceived(alert)) if is_about_our_certificate(*alert) => self.refused(error),
            Some(TlsError::InvalidMessage(InvalidMessage::InvalidContentType)) => {
                "no TLS is spoken there: what came back is something else; expected TLS, or an address with http://"
                    .to_owned()
            }
            Some(_) | None => format!("the TLS handshake failed: {error}"),
        };
        io::Error::new(error.kind(), said)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open, and what it says itself is enough")]
    fn certificate(&self, cause: &CertificateError, name: &ServerName<'_>) -> String {
        let name = name.to_str();
        match cause {
            // The second is an authority of the same name that has another key.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => match &self.0.tls.ca {
                Some(ca) => format!(
                    "its certificate has an unknown issuer; expected one of the authorities in {}, which `ca` names",
                    ca.display()
                ),
                None => "its certificate has an unknown issuer; expected one of the system's authorities: name another with `ca`"
                    .to_owned(),
            },
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired: renew it, and see that the clocks are right".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet: see that the clocks are right".to_owned()
            }
            CertificateError::NotValidForName => {
                format!("its certificate is for another name; expected {name}, as in the address")
            }
            CertificateError::NotValidForNameContext { presented, .. } => {
                let presented = presented.join(", ");
                format!("its certificate is for another name ({presented}); expected {name}, as in the address")
            }
            _ => format!("its certificate cannot be used: {cause}"),
        }
    }

    /// The backend ended it, which is how it says no to a client's certificate.
    fn refused(&self, cause: &dyn std::fmt::Display) -> String {
        let advice = match &self.0.tls.identity {
            None => "it may ask for a client certificate: `cert` and `key` name one".to_owned(),
            Some(identity) => format!("it may not take the client certificate in {}", identity.cert.display()),
        };
        format!("the TLS handshake was refused: {cause}; {advice}")
    }
}

fn no_http2() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no HTTP/2 is spoken there over TLS; expected ALPN to choose h2")
}

fn is_about_our_certificate(alert: AlertDescription) -> bool {
    use AlertDescription as Alert;
    [
        Alert::CertificateRequired,
        Alert::BadCertificate,
        Alert::UnsupportedCertificate,
        Alert::CertificateRevoked,
        Alert::CertificateExpired,
        Alert::CertificateUnknown,
        Alert::UnknownCA,
        Alert::AccessDenied,
        Alert::DecryptError,
        Alert::HandshakeFailure,
    ]
    .contains(&alert)
}

fn client_config(tls: &BackendTls) -> Result<ClientConfig, String> {
    let roots = match &tls.ca {
        Some(path) => private_roots(path)?,
        None => system_roots()?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let mut config = match &tls.identity {
        None => config.with_no_client_auth(),
        Some(identity) => {
            let key = PrivateKeyDer::from_pem_file(&identity.key)
                .map_err(|error| unusable("key", &identity.key, &error, "a private key"))?;
            let chain = certificates("cert", &identity.cert)?;
            config.with_client_auth_cert(chain, key).map_err(|error| {
                format!("cert, key: {error}; expected a certificate chain in cert and its private key in key")
            })?
        }
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

fn private_roots(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("ca", path)? {
        roots.add(certificate).map_err(|error| unusable("ca", path, &error, "certificates of authorities"))?;
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some systems have one or the other that nobody can read; the rest is what is trusted.
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable > 0 {
        return Ok(roots);
    }
    let why = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
    Err(format!(
        "the system has no certificates of authorities that can be used: {why}; install them, or name some with `ca`"
    ))
}

fn certificates(field: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = read.map_err(|error| unusable(field, path, &error, "certificates"))?;
    if found.is_empty() {
        return Err(unusable(field, path, &"none stands in it", "certificates"));
    }
    Ok(found)
}

fn unusable(field: &str, path: &Path, cause: &dyn std::fmt::Display, expected: &str) -> String {
    format!("{field}: cannot use {}: {cause}; expected a PEM file with {expected}", path.display())
}

/// A stream that tells when the first bytes come in, or that none will.
#[derive(Debug)]
pub(super) struct Heard<S> {
    stream: S,
    tell: Option<oneshot::Sender<Result<(), io::Error>>>,
}

/// Whether the backend has answered.
///
/// With TLS 1.3 the client's side of the handshake is over before the backend has looked at the client's certificate. Were requests
/// sent at once, those that a refusal meets would count as having left. HTTP/2 begins with settings from both sides, and the
/// backend's come after it has taken the certificate.
#[derive(Debug)]
pub(super) struct Answer {
    heard: oneshot::Receiver<Result<(), io::Error>>,
    trust: Trust,
}

impl Answer {
    pub(super) async fn heard(self) -> Result<(), io::Error> {
        let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed");
        let heard = self.heard.await.unwrap_or_else(|_| Err(ended()));
        heard.map_err(|error| io::Error::new(error.kind(), self.trust.refused(&error)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, into);
        let heard = match &polled {
            Poll::Pending => return polled,
            Poll::Ready(Ok(())) if into.filled().len() > before => Ok(()),
            Poll::Ready(Ok(())) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed")),
            Poll::Ready(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        };
        if let Some(tell) = self.tell.take() {
            // Who waited may have given up.
            let _ = tell.send(heard);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
