//! The deadline that a client sets (`grpc-timeout`), where it passes before the answer begins: gRPC's code for it is
//! `DEADLINE_EXCEEDED`. What an answer streams has its deadline with it.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use tokio::time::timeout;
use tonic::body::Body;
use tower::{Layer, Service};

use super::{status, stream};

/// What a client can do whose request may have been taken in.
const ASK_AGAIN: &str =
    "what it began goes on: ask for it, or send the same request again with the same batch_id or context.key";

/// Ends requests at their deadlines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadlineLayer;

impl<S> Layer<S> for DeadlineLayer {
    type Service = DeadlineService<S>;

    fn layer(&self, inner: S) -> DeadlineService<S> {
        DeadlineService { inner }
    }
}

/// See [`DeadlineLayer`].
#[derive(Clone, Debug)]
pub(crate) struct DeadlineService<S> {
    inner: S,
}

impl<S> Service<Request<Body>> for DeadlineService<S>
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
        let limit = stream::timeout_in(request.headers());
        let response = self.inner.call(request);
        Box::pin(async move {
            match limit {
                None => response.await,
                Some(limit) => match timeout(limit, response).await {
                    Ok(response) => response,
                    Err(_) => Ok(status::deadline(ASK_AGAIN).into_http()),
                },
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, time::Duration};

    use futures_util::future::{Pending, pending};
    use tonic::{Code, Status};

    use super::*;

    /// Answers nobody.
    struct Silent;

    impl Service<Request<Body>> for Silent {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = Pending<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            pending()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_passes_has_its_code() {
        let mut service = DeadlineLayer.layer(Silent);
        let request = |timeout: &str| Request::builder().header("grpc-timeout", timeout).body(Body::empty()).unwrap();
        let response = service.call(request("5S")).await.unwrap();
        let status = Status::from_header_map(response.headers()).unwrap();
        assert_eq!(status.code(), Code::DeadlineExceeded);
        let waiting = timeout(Duration::from_hours(1), service.call(request("soon")));
        assert!(waiting.await.is_err(), "what is no deadline ends nothing");
    }
}
