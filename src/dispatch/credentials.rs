//! What backends are shown: secrets by name, from environment and files, sent as metadata with every request. They appear in no log, no
//! message and no answer; rotated ones are taken up by [`Credentials::reload`], without a connection being cut.

use std::{
    collections::BTreeMap,
    env, fmt, fs,
    sync::{Arc, PoisonError, RwLock},
};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::config::{self, Secret};

/// It goes with every request, and servers bound what headers come to.
const MAX_BYTES: usize = 4_096;

/// A credential that cannot be used. The message never shows its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("credential {name:?}: {cause}")]
pub struct CredentialError {
    /// Its name.
    pub name: String,
    /// What is wrong.
    pub cause: String,
}

/// The credentials of the configuration.
#[derive(Default)]
pub struct Credentials {
    sources: Vec<config::Credential>,
    values: RwLock<BTreeMap<String, (HeaderName, HeaderValue)>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("sources", &self.sources).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads every value.
    pub fn read(sources: &[config::Credential]) -> Result<Self, CredentialError> {
        let this = Self { sources: sources.to_vec(), values: RwLock::default() };
        this.reload()?;
        Ok(this)
    }

    /// Reads every value again. Where one cannot be used, all stay as they are.
    pub fn reload(&self) -> Result<(), CredentialError> {
        let values = self.sources.iter().map(|source| Ok((source.name.clone(), value(source)?)));
        let values = values.collect::<Result<_, CredentialError>>()?;
        *self.values.write().unwrap_or_else(PoisonError::into_inner) = values;
        Ok(())
    }

    /// Whether there is one of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.sources.iter().any(|source| source.name == name)
    }
}

fn value(source: &config::Credential) -> Result<(HeaderName, HeaderValue), CredentialError> {
    let fault = |cause: String| CredentialError { name: source.name.clone(), cause };
    let text = match &source.value {
        Secret::Env(name) => {
            env::var(name).map_err(|_| fault(format!("the environment variable {name} is not set, or is no text")))?
        }
        Secret::File(path) => {
            fs::read_to_string(path).map_err(|error| fault(format!("cannot read {}: {error}", path.display())))?
        }
    };
    let text = text.trim();
    let fits = (1..=MAX_BYTES).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let wrong = || {
        let bytes = text.len();
        fault(format!("the value has {bytes} bytes; expected 1 to {MAX_BYTES} printable ASCII characters"))
    };
    let mut value = HeaderValue::from_str(text).ok().filter(|_| fits).ok_or_else(wrong)?;
    value.set_sensitive(true);
    let header = HeaderName::from_bytes(source.header.as_bytes()).map_err(|error| fault(error.to_string()))?;
    Ok((header, value))
}

/// What one backend is shown.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) credentials: Arc<Credentials>,
}

impl Shown {
    /// Puts the value, as it is now, among a request's headers.
    pub(super) fn attach(&self, headers: &mut HeaderMap) {
        let values = self.credentials.values.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((header, value)) = values.get(&self.name) {
            headers.insert(header.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_again_when_told_and_kept_where_it_cannot_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "Bearer one\n").unwrap();
        let source = config::Credential {
            name: "sap".into(),
            header: "authorization".into(),
            value: Secret::File(path.clone()),
        };
        let credentials = Arc::new(Credentials::read(&[source]).unwrap());
        let shown = Shown { name: "sap".into(), credentials: Arc::clone(&credentials) };
        let attached = || {
            let mut headers = HeaderMap::new();
            shown.attach(&mut headers);
            headers["authorization"].clone()
        };
        assert_eq!(attached(), "Bearer one");
        assert!(!format!("{credentials:?} {:?}", attached()).contains("one"));
        fs::write(&path, "Bearer two").unwrap();
        assert_eq!(attached(), "Bearer one");
        credentials.reload().unwrap();
        assert_eq!(attached(), "Bearer two");
        for wrong in ["", "secret\u{7}", "sécret", &"x".repeat(MAX_BYTES + 1)] {
            fs::write(&path, wrong).unwrap();
            let error = credentials.reload().unwrap_err().to_string();
            assert!(error.contains("\"sap\"") && !error.contains("cret"), "{error}");
        }
        fs::remove_file(&path).unwrap();
        credentials.reload().unwrap_err();
        assert_eq!(attached(), "Bearer two");
    }
}
