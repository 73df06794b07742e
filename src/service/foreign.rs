//! Statuses that tonic and its services make, brought into the form that ours have: with an `ErrorInfo`, and with the code that
//! gRPC's table gives them.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};

use super::status;

/// Rewrites refusals that did not come from `status`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignLayer;

impl<S> Layer<S> for ForeignLayer {
    type Service = ForeignService<S>;

    fn layer(&self, inner: S) -> ForeignService<S> {
        ForeignService { inner }
    }
}

/// See [`ForeignLayer`].
#[derive(Clone, Debug)]
pub(crate) struct ForeignService<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for ForeignService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let rpc = request.uri().path().to_owned();
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            // A refusal is an answer of headers alone, so its status stands there.
            let refused = Status::from_header_map(response.headers())
                .filter(|status| status.code() != Code::Ok && status.details().is_empty());
            Ok(match refused {
                Some(refused) => status::foreign(&rpc, &refused).into_http(),
                None => response,
            })
        })
    }
}
