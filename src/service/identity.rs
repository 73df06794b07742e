//! Asks for the token, or for a certificate that stands in its place (R12), before a request reaches any service but health.

use std::sync::Arc;

use http::{Request, header::AUTHORIZATION};
use tonic::{Status, body::Body};

use super::{
    caller::{Caller, Principal, TENANT_HEADER},
    guard::Guard,
    status,
    tokens::Tokens,
};
use crate::listen::PeerNames;

/// Health needs no token: whoever balances load has none.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// What agents may not call, whatever they send: the registry, and whatever settles what nobody knows.
const OPERATORS_ONLY: [&str; 2] = ["/toolbatch.v1.RegistryService/", "/toolbatch.v1.TaskService/SettleKey"];

/// Puts the [`Caller`] into each request, or refuses it.
#[derive(Clone, Debug)]
pub(crate) struct Identity(pub(crate) Arc<Tokens>);

impl Guard for Identity {
    fn check(&self, request: &mut Request<Body>) -> Result<(), Status> {
        if request.uri().path().starts_with(HEALTH) {
            return Ok(());
        }
        // The caller's own credentials never reach a backend: from here on nobody sees them.
        let admitted = admit(&self.0, request);
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert(admitted?);
        Ok(())
    }
}

/// Who calls, where they may call this at all. Nothing of the body is read for it.
fn admit(tokens: &Tokens, request: &Request<Body>) -> Result<Caller, Status> {
    let caller = caller(tokens, request)?;
    let path = request.uri().path();
    if OPERATORS_ONLY.iter().any(|prefix| path.starts_with(prefix)) {
        caller.must_be_operator(path)?;
    }
    Ok(caller)
}

fn caller(tokens: &Tokens, request: &Request<Body>) -> Result<Caller, Status> {
    let principal = principal(tokens, request).ok_or_else(status::unauthenticated)?;
    let mut named = request.headers().get_all(TENANT_HEADER).iter();
    let (first, more) = (named.next(), named.next());
    // What is no text names nothing either.
    let tenant = first.map(|value| value.to_str().unwrap_or_default());
    if more.is_some() {
        return Err(status::invalid(TENANT_HEADER, "arrived more than once; expected one tenant"));
    }
    principal.within(tenant)
}

/// Whose token it is, where exactly one arrived; where none did, whose certificate the connection was opened with. A token that is
/// nobody's is refused whatever the certificate says: who sends one means it.
fn principal(tokens: &Tokens, request: &Request<Body>) -> Option<Principal> {
    if tokens.is_open() {
        return Some(Principal::Anyone);
    }
    let mut values = request.headers().get_all(AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => tokens.certified(request.extensions().get::<PeerNames>()?),
        (Some(value), None) => {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            if scheme.eq_ignore_ascii_case("bearer") { tokens.owner(token.trim()) } else { None }
        }
        (Some(_), Some(_)) => None,
    }
}
