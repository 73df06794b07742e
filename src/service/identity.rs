//! Asks for the token (R12) before a request reaches any service but health.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{Either, Ready, ready};
use http::{HeaderMap, Request, Response, header::AUTHORIZATION};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

use super::{caller::Caller, status, tokens::Tokens};

/// Health needs no token: whoever balances load has none.
const HEALTH: &str = "/grpc.health.v1.Health/";

/// Puts the [`Caller`] into each request, or refuses it.
#[derive(Clone, Debug)]
pub(crate) struct IdentityLayer(pub(crate) Arc<Tokens>);

impl<S> Layer<S> for IdentityLayer {
    type Service = IdentityService<S>;

    fn layer(&self, inner: S) -> IdentityService<S> {
        IdentityService { tokens: Arc::clone(&self.0), inner }
    }
}

/// See [`IdentityLayer`].
#[derive(Clone, Debug)]
pub(crate) struct IdentityService<S> {
    tokens: Arc<Tokens>,
    inner: S,
}

impl<S> Service<Request<Body>> for IdentityService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if request.uri().path().starts_with(HEALTH) {
            return Either::Left(self.inner.call(request));
        }
        match caller(&self.tokens, request.headers()) {
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                // The caller's own credentials never reach a backend: from here on nobody sees them.
                request.headers_mut().remove(AUTHORIZATION);
                Either::Left(self.inner.call(request))
            }
            Err(refused) => Either::Right(ready(Ok(refused.into_http()))),
        }
    }
}

fn caller(tokens: &Tokens, headers: &HeaderMap) -> Result<Caller, Status> {
    if tokens.is_open() {
        return Ok(Caller::Anyone);
    }
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Err(status::unauthenticated("no token arrived"));
    };
    let bearer = value.to_str().ok().and_then(|text| text.split_once(' '));
    let Some((_, token)) = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
        return Err(status::unauthenticated("something other than a bearer token arrived"));
    };
    tokens.owner(token.trim()).ok_or_else(|| status::unauthenticated("a token arrived that belongs to nobody"))
}
