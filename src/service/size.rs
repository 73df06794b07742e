//! Messages that the codec refuses for their size, with the code that gRPC's table gives them.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tonic::{Code, Status, body::Body};
use tower::{Layer, Service};

use super::status;

/// How tonic's message begins (0.14.9); a test sends such a message, so a change of words is noticed.
const REFUSED: &str = "Error, decoded message length too large";

/// Turns tonic's `OUT_OF_RANGE` for a message over the limit into `RESOURCE_EXHAUSTED`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeLayer;

impl<S> Layer<S> for SizeLayer {
    type Service = SizeService<S>;

    fn layer(&self, inner: S) -> SizeService<S> {
        SizeService { inner }
    }
}

/// See [`SizeLayer`].
#[derive(Clone, Debug)]
pub(crate) struct SizeService<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for SizeService<S>
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
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            let refused = Status::from_header_map(response.headers())
                .filter(|status| status.code() == Code::OutOfRange && status.message().starts_with(REFUSED));
            Ok(match refused {
                Some(refused) => status::too_large(refused.message()).into_http(),
                None => response,
            })
        })
    }
}
