//! The tokens of the configuration, as digests: a token itself is kept nowhere.

use std::{collections::HashMap, env, io, path::PathBuf};

use sha2::{Digest as _, Sha256};

use super::caller::Principal;
use crate::config::{Agent, Operator, Secret};

/// A shorter token can be guessed.
const MIN_TOKEN_BYTES: usize = 16;
/// Clients send it with every request.
const MAX_TOKEN_BYTES: usize = 4_096;

/// Whose tokens cannot be used. The messages never show a token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variable is not set.
    #[error("{owner}: the environment variable {name} is not set; set it to the token, or name another in token_env")]
    Unset {
        /// Whose token.
        owner: String,
        /// The variable.
        name: String,
    },
    /// The file cannot be read.
    #[error("{owner}: cannot read the token's file {}: {source}", path.display())]
    Unreadable {
        /// Whose token.
        owner: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no token.
    #[error(
        "{owner}: the token has {bytes} bytes; expected {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} visible ASCII characters, such as \
         `openssl rand -hex 32` prints"
    )]
    Malformed {
        /// Whose token.
        owner: String,
        /// How long it is.
        bytes: usize,
    },
    /// Two have one token.
    #[error("{owner} and {other} have the same token; expected each to have its own")]
    Shared {
        /// Whose token.
        owner: String,
        /// Who else has it.
        other: String,
    },
}

/// Who shows which token. Looked up by digest, so that how long a look takes says nothing about the tokens.
#[derive(Debug, Default)]
pub(crate) struct Tokens(HashMap<[u8; 32], (Principal, String)>);

impl Tokens {
    /// Reads every token.
    pub(crate) fn read(agents: &[Agent], operators: &[Operator]) -> Result<Self, Error> {
        let mut tokens = Self::default();
        for Agent { id, tenant, token, .. } in agents {
            let principal = Principal::Agent { id: id.as_str().into(), tenant: tenant.as_str().into() };
            tokens.add(principal, format!("agent {id:?}"), token)?;
        }
        for Operator { id, token } in operators {
            tokens.add(Principal::Operator(id.as_str().into()), format!("operator {id:?}"), token)?;
        }
        Ok(tokens)
    }

    fn add(&mut self, principal: Principal, owner: String, secret: &Secret) -> Result<(), Error> {
        let text = match secret {
            Secret::Env(name) => {
                env::var(name).map_err(|_| Error::Unset { owner: owner.clone(), name: name.clone() })?
            }
            Secret::File(path) => std::fs::read_to_string(path).map_err(|source| Error::Unreadable {
                owner: owner.clone(),
                path: path.clone(),
                source,
            })?,
        };
        let token = text.trim();
        if !(MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len()) || !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Error::Malformed { owner, bytes: token.len() });
        }
        match self.0.insert(digest(token), (principal, owner.clone())) {
            Some((_, other)) => Err(Error::Shared { owner, other }),
            None => Ok(()),
        }
    }

    /// Nobody is asked for a token.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn owner(&self, token: &str) -> Option<Principal> {
        self.0.get(&digest(token)).map(|(principal, _)| principal.clone())
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str, token: &std::path::Path) -> Agent {
        Agent { id: id.into(), tenant: "acme".into(), token: Secret::File(token.into()), tools: Vec::new() }
    }

    #[test]
    fn a_token_belongs_to_one_and_is_shown_in_no_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let (good, short) = (file("good", "correct-horse-battery\n"), file("short", "horse"));
        let tokens = Tokens::read(&[agent("orders", &good)], &[]).unwrap();
        assert_eq!(
            tokens.owner("correct-horse-battery"),
            Some(Principal::Agent { id: "orders".into(), tenant: "acme".into() })
        );
        assert_eq!(tokens.owner("correct-horse-batter"), None);
        assert!(Tokens::default().is_open() && !tokens.is_open());

        let error = |agents: &[Agent]| Tokens::read(agents, &[]).unwrap_err().to_string();
        let shared = error(&[agent("a", &good), agent("b", &good)]);
        assert!(shared.contains("agent \"b\" and agent \"a\" have the same token"), "{shared}");
        let malformed = error(&[agent("a", &short)]);
        assert!(malformed.contains("has 5 bytes; expected 16 to 4096") && !malformed.contains("horse"), "{malformed}");
        assert!(error(&[agent("a", &folder.path().join("none"))]).contains("cannot read the token's file"));
        let unset = Agent { token: Secret::Env("TOOLBATCH_TEST_UNSET".into()), ..agent("a", &good) };
        assert!(error(&[unset]).contains("TOOLBATCH_TEST_UNSET is not set"));
    }
}
