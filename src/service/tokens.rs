//! The tokens of the configuration, as digests: a token itself is kept nowhere. And the names in certificates that stand in their place.

use std::{
    collections::HashMap,
    env,
    fs::File,
    hash::{Hash, Hasher},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use sha2::{Digest as _, Sha256};

use super::caller::Principal;
use crate::{
    config::{Agent, Operator, Secret, Token},
    listen::PeerNames,
};

/// A shorter token can be guessed.
const MIN_TOKEN_BYTES: usize = 16;
/// Clients send it with every request.
const MAX_TOKEN_BYTES: usize = 4_096;

/// What of a file is read: a token, and some blanks around it.
const MAX_FILE_BYTES: u64 = 2 * MAX_TOKEN_BYTES as u64;

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
    /// Two have one token, or one name in a certificate.
    #[error("{owner} and {other} have the same {what}; expected each to have its own")]
    Shared {
        /// Token or name.
        what: &'static str,
        /// Whose token.
        owner: String,
        /// Who else has it.
        other: String,
    },
}

/// Who shows which token. They can be replaced while the server runs.
#[derive(Debug, Default)]
pub(crate) struct Tokens(RwLock<Owners>);

#[derive(Debug, Default)]
struct Owners {
    /// By digest, so that what is kept opens nothing.
    by_token: HashMap<Digest, Owner>,
    by_cert_name: HashMap<String, Owner>,
}

/// And how messages call it.
type Owner = (Principal, String);

impl Tokens {
    /// Reads every token.
    pub(crate) fn read(agents: &[Agent], operators: &[Operator]) -> Result<Self, Error> {
        let mut owners = Owners::default();
        for Agent { id, tenant, tokens, .. } in agents {
            let principal = Principal::Agent { id: id.as_str().into(), tenant: tenant.as_str().into() };
            owners.add(&principal, &format!("agent {id:?}"), tokens)?;
        }
        for Operator { id, tokens } in operators {
            owners.add(&Principal::Operator(id.as_str().into()), &format!("operator {id:?}"), tokens)?;
        }
        Ok(Self(RwLock::new(owners)))
    }

    /// Takes these instead of those that are there: from now on the others are unknown.
    pub(super) fn replace(&self, new: Self) {
        let new = new.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
    }

    /// Nobody is asked for a token.
    pub(super) fn is_open(&self) -> bool {
        let owners = self.owners();
        owners.by_token.is_empty() && owners.by_cert_name.is_empty()
    }

    pub(super) fn owner(&self, token: &str) -> Option<Principal> {
        self.owners().by_token.get(&Digest::of(token)).map(|(principal, _)| principal.clone())
    }

    /// Whose certificate it is, by the names in it, where they all that belong to anyone belong to one.
    pub(super) fn certified(&self, names: &PeerNames) -> Option<Principal> {
        let owners = self.owners();
        let mut principals =
            names.iter().filter_map(|name| owners.by_cert_name.get(name)).map(|(principal, _)| principal);
        let first = principals.next()?;
        principals.all(|other| other == first).then(|| first.clone())
    }

    // They are replaced whole, so those that are there are whole.
    fn owners(&self) -> RwLockReadGuard<'_, Owners> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owners {
    fn add(&mut self, principal: &Principal, name: &str, tokens: &[Token]) -> Result<(), Error> {
        for token in tokens {
            let owner = (principal.clone(), name.to_owned());
            let (what, earlier) = match token {
                Token::Secret(secret) => ("token", self.by_token.insert(Digest::of(&read(name, secret)?), owner)),
                Token::Sha256(digest) => ("token", self.by_token.insert(Digest(*digest), owner)),
                Token::Certificate(cert_name) => ("cert_name", self.by_cert_name.insert(cert_name.clone(), owner)),
            };
            match earlier {
                Some((other, other_name)) if other != *principal => {
                    return Err(Error::Shared { what, owner: name.into(), other: other_name });
                }
                // The old token may still be in the place of the new one.
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

/// The token from where it is kept.
fn read(owner: &str, secret: &Secret) -> Result<String, Error> {
    let owner = owner.to_owned();
    let text = match secret {
        Secret::Env(name) => env::var(name).map_err(|_| Error::Unset { owner: owner.clone(), name: name.clone() })?,
        Secret::File(path) => {
            read_file(path).map_err(|source| Error::Unreadable { owner: owner.clone(), path: path.clone(), source })?
        }
    };
    let token = text.trim();
    if !(MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len()) || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::Malformed { owner, bytes: token.len() });
    }
    Ok(token.to_owned())
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The SHA-256 of a token.
#[derive(Clone, Copy, Debug, Eq)]
struct Digest([u8; 32]);

impl Digest {
    fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// All bytes are looked at, so that the time it takes does not tell where two differ.
impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        let differing = self.0.iter().zip(other.0).fold(0, |differing, (one, two)| differing | (one ^ two));
        std::hint::black_box(differing) == 0
    }
}

impl Hash for Digest {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str, tokens: &[&Token]) -> Agent {
        let tokens = tokens.iter().map(|token| (*token).clone()).collect();
        Agent { id: id.into(), tenant: "acme".into(), tokens, tools: Vec::new() }
    }

    const HORSE: &str = "correct-horse-battery";
    const SECOND: &str = "correct-horse-battery-2";

    fn owner(id: &str) -> Principal {
        Principal::Agent { id: id.into(), tenant: "acme".into() }
    }

    #[test]
    fn a_token_belongs_to_one_and_is_shown_in_no_message() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Token::Secret(Secret::File(path))
        };
        let (good, short) = (file("good", "correct-horse-battery\n"), file("short", "horse"));
        let tokens = Tokens::read(&[agent("orders", &[&good])], &[]).unwrap();
        assert_eq!(tokens.owner(HORSE), Some(owner("orders")));
        assert_eq!(tokens.owner("correct-horse-batter"), None);
        assert!(Tokens::default().is_open() && !tokens.is_open());
        assert!(!format!("{tokens:?}").contains("horse"), "{tokens:?}");

        let error = |agents: &[Agent]| Tokens::read(agents, &[]).unwrap_err().to_string();
        let shared = error(&[agent("a", &[&good]), agent("b", &[&good])]);
        assert!(shared.contains("agent \"b\" and agent \"a\" have the same token"), "{shared}");
        let named = Token::Certificate("a.example".into());
        assert!(!Tokens::read(&[agent("a", &[&named])], &[]).unwrap().is_open());
        let shared = error(&[agent("a", &[&named]), agent("b", &[&named])]);
        assert!(shared.contains("agent \"b\" and agent \"a\" have the same cert_name"), "{shared}");
        let malformed = error(&[agent("a", &[&short])]);
        assert!(malformed.contains("has 5 bytes; expected 16 to 4096") && !malformed.contains("horse"), "{malformed}");
        let endless = error(&[agent("a", &[&Token::Secret(Secret::File("/dev/zero".into()))])]);
        assert!(endless.contains("has 8192 bytes"), "{endless}");
        let none = Token::Secret(Secret::File(folder.path().join("none")));
        assert!(error(&[agent("a", &[&none])]).contains("cannot read the token's file"));
        let unset = Token::Secret(Secret::Env("TOOLBATCH_TEST_UNSET".into()));
        assert!(error(&[agent("a", &[&unset])]).contains("TOOLBATCH_TEST_UNSET is not set"));
    }

    #[test]
    fn any_of_several_tokens_is_taken_until_they_are_replaced() {
        let digest = |token: &str| Token::Sha256(Sha256::digest(token.as_bytes()).into());
        let (first, second) = (digest(HORSE), digest(SECOND));
        let tokens = Tokens::read(&[agent("orders", &[&first, &second, &second])], &[]).unwrap();
        assert_eq!((tokens.owner(HORSE), tokens.owner(SECOND)), (Some(owner("orders")), Some(owner("orders"))));
        tokens.replace(Tokens::read(&[agent("orders", &[&second]), agent("late", &[&first])], &[]).unwrap());
        assert_eq!((tokens.owner(HORSE), tokens.owner(SECOND)), (Some(owner("late")), Some(owner("orders"))));
        tokens.replace(Tokens::read(&[agent("orders", &[&second])], &[]).unwrap());
        assert_eq!(tokens.owner(HORSE), None, "revoked");
    }

    #[test]
    fn digests_are_equal_where_every_byte_is() {
        let digest = Digest::of(HORSE);
        assert_eq!(digest, Digest::of(HORSE));
        for byte in 0..digest.0.len() {
            let mut other = digest;
            other.0[byte] ^= 1;
            assert_ne!(digest, other);
        }
    }
}
