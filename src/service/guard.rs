//! What is refused by its headers, before any service sees it.

use std::task::{Context, Poll};

use futures_util::future::{Either, Ready, ready};
use http::{Request, Response};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

/// Looks at a request, may put something into it, and lets it pass or refuses it. Nothing of the body is read for it.
pub(crate) trait Guard: Clone {
    fn check(&self, request: &mut Request<Body>) -> Result<(), Status>;
}

/// Has requests checked by a guard.
#[derive(Clone, Debug)]
pub(crate) struct GuardLayer<G>(pub(crate) G);

impl<S, G: Guard> Layer<S> for GuardLayer<G> {
    type Service = Guarded<G, S>;

    fn layer(&self, inner: S) -> Guarded<G, S> {
        Guarded { guard: self.0.clone(), inner }
    }
}

/// See [`GuardLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Guarded<G, S> {
    guard: G,
    inner: S,
}

impl<S, G: Guard> Service<Request<Body>> for Guarded<G, S>
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
        match self.guard.check(&mut request) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(refused) => Either::Right(ready(Ok(refused.into_http()))),
        }
    }
}
