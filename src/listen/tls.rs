//! TLS of the listener: its certificate, and whose clients it takes. Both can be replaced while it listens.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{self, PemObject as _},
        },
        server::{VerifierBuilderError, WebPkiClientVerifier},
    },
};

use crate::config::Tls;

/// The only protocol that is spoken within.
const ALPN: &[u8] = b"h2";

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or is no PEM.
    #[error("{field}: cannot use {}: {cause}; expected a PEM file with {expected}", path.display())]
    File {
        /// Of the configuration.
        field: &'static str,
        /// The file.
        path: PathBuf,
        /// What has to stand in it.
        expected: &'static str,
        /// What is wrong.
        cause: pem::Error,
    },
    /// No certificates of authorities.
    #[error("tls.client_ca: {}: {cause}; expected the certificates of those who sign the clients'", path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: VerifierBuilderError,
    },
    /// Certificate and key do not go together, or cannot be used.
    #[error("tls: {0}; expected a certificate chain in tls.cert and its private key in tls.key")]
    Pair(#[from] rustls::Error),
}

/// What connections are met with.
#[derive(Clone)]
pub(crate) struct Certificates(Arc<RwLock<TlsAcceptor>>);

/// Read from their files, and not in use yet.
pub(crate) struct Renewed(TlsAcceptor);

impl Certificates {
    pub(super) fn read(tls: &Tls) -> Result<Self, Error> {
        Ok(Self(Arc::new(RwLock::new(acceptor(tls)?))))
    }

    /// Reads the files again; what is in use stays so until [`Self::replace`].
    pub(crate) fn renew(tls: &Tls) -> Result<Renewed, Error> {
        acceptor(tls).map(Renewed)
    }

    /// Meets every further connection with these. Those that are there go on as they are.
    pub(crate) fn replace(&self, renewed: Renewed) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = renewed.0;
    }

    // It is replaced whole, so what is there is whole.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads the files.
fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Error> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates("tls.cert", &tls.cert, "a certificate chain")?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|cause| Error::File {
        field: "tls.key",
        path: tls.key.clone(),
        expected: "a private key",
        cause,
    })?;
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let config = match &tls.client_ca {
        None => config.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates("tls.client_ca", path, "certificates")?);
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|cause| Error::ClientCa { path: path.clone(), cause })?;
            config.with_client_cert_verifier(verifier)
        }
    };
    let mut config = config.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config).into())
}

fn certificates(
    field: &'static str,
    path: &Path,
    expected: &'static str,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let refused = |cause| Error::File { field, path: path.to_owned(), expected, cause };
    CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(refused)
}
