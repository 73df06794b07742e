//! The names in the certificate that a client has shown.

use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// The most that are looked at; who is known has one.
const MAX_NAMES: usize = 100;

/// The DNS names, in lower case, and URIs of a client's certificate, for which an authority of `tls.client_ca` vouches. They are in the
/// extensions of each request that came over the connection.
#[derive(Clone, Debug)]
pub(crate) struct PeerNames(Arc<[String]>);

impl PeerNames {
    /// Those of a chain that was verified; the client's own certificate is its first.
    pub(super) fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let certificate = EndEntityCert::try_from(chain.first()?).ok()?;
        let hosts = certificate.valid_dns_names().map(str::to_ascii_lowercase);
        Some(Self(hosts.chain(certificate.valid_uri_names().map(str::to_owned)).take(MAX_NAMES).collect()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}
