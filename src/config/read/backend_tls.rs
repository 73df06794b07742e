//! How TLS is spoken to backends: `ca`, `cert` and `key` of a backend and of `[registration]`.

use std::path::PathBuf;

use toml::de::DeTable;

use super::{Field, Reader};
use crate::config::{BackendTls, Identity, value};

impl Reader<'_> {
    pub(super) fn backend_tls(&mut self, table: &DeTable<'_>, path: &str) -> BackendTls {
        let mut file = |key: &str| -> Option<PathBuf> {
            let (value, name) = (table.get(key)?, format!("{path}.{key}"));
            self.text(Field { value, name: &name }, "a path", value::file)
        };
        let [ca, cert, key] = ["ca", "cert", "key"].map(&mut file);
        for (here, other) in [("cert", "key"), ("key", "cert")] {
            if let (Some(value), None) = (table.get(here), table.get(other)) {
                let name = format!("{path}.{here}");
                self.fault(
                    Field { value, name: &name },
                    format!("it needs the other half; add {other} = \"client.pem\""),
                );
            }
        }
        BackendTls { ca, identity: cert.zip(key).map(|(cert, key)| Identity { cert, key }) }
    }

    /// Files that nothing reads would be taken for protection.
    pub(super) fn guard_backend_tls(&mut self, table: &DeTable<'_>, path: &str, addresses: &[String]) {
        if addresses.iter().any(|address| value::is_https(address)) {
            return;
        }
        for key in ["ca", "cert", "key"] {
            if let Some(value) = table.get(key) {
                let name = format!("{path}.{key}");
                self.fault(
                    Field { value, name: &name },
                    "it is for TLS alone, and none of the addresses begins with https://; correct them, or leave it out",
                );
            }
        }
    }
}
