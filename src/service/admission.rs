//! What all requests together may take (I29): how many wait for an answer, and how many bytes of requests and of answers are in memory.
//! What does not fit is refused before anything is recorded, and may come again in a moment.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::{BoxFuture, Either, Ready, ready};
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tonic::{Status, body::Body};
use tower::{Layer, Service};

use super::status;
use crate::config::Limits;

/// The services that are bounded: health and reflection stream for as long as they like, and say little.
const BOUNDED: &str = "/toolbatch.";
/// An answer of this size always fits: without it nobody could be told anything.
const SMALL: usize = 16 * 1024;

/// Something that there is only so much of.
#[derive(Debug)]
struct Budget {
    most: usize,
    taken: AtomicUsize,
    /// The setting that says how much.
    name: &'static str,
}

/// What was taken of a budget. Dropped, it is given back.
#[derive(Debug)]
struct Share {
    budget: Arc<Budget>,
    taken: AtomicUsize,
}

impl Budget {
    fn new(most: usize, name: &'static str) -> Arc<Self> {
        Arc::new(Self { most, taken: AtomicUsize::new(0), name })
    }

    fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), taken: AtomicUsize::new(0) }
    }
}

impl Share {
    fn take(&self, more: usize) -> Result<(), Status> {
        let Budget { most, taken, name } = &*self.budget;
        let fits = |now: usize| now.checked_add(more).filter(|sum| sum <= most);
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .map_err(|_| status::overloaded("SERVER_OVERLOADED", &format!("{name} = {most} is reached")))?;
        self.taken.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self) {
        self.budget.taken.fetch_sub(self.taken.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Admits requests.
#[derive(Clone, Debug)]
pub(crate) struct AdmissionLayer {
    waiting: Arc<Budget>,
    requests: Arc<Budget>,
    answers: Arc<Budget>,
}

impl AdmissionLayer {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            waiting: Budget::new(limits.waiting_requests, "limits.waiting_requests"),
            requests: Budget::new(limits.request_bytes, "limits.request_bytes"),
            answers: Budget::new(limits.answer_bytes, "limits.answer_bytes"),
        }
    }
}

impl<S> Layer<S> for AdmissionLayer {
    type Service = AdmissionService<S>;

    fn layer(&self, inner: S) -> AdmissionService<S> {
        AdmissionService { budgets: self.clone(), inner }
    }
}

/// See [`AdmissionLayer`].
#[derive(Clone, Debug)]
pub(crate) struct AdmissionService<S> {
    budgets: AdmissionLayer,
    inner: S,
}

impl<S> Service<Request<Body>> for AdmissionService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<
        Either<S::Future, Ready<Result<Response<Body>, S::Error>>>,
        BoxFuture<'static, Result<Response<Body>, S::Error>>,
    >;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !request.uri().path().starts_with(BOUNDED) {
            return Either::Left(Either::Left(self.inner.call(request)));
        }
        let waiting = self.budgets.waiting.share();
        if let Err(refused) = waiting.take(1) {
            return Either::Left(Either::Right(ready(Ok(refused.into_http()))));
        }
        let bytes = Arc::new(self.budgets.requests.share());
        let share = Arc::clone(&bytes);
        let response = self.inner.call(request.map(|inner| Body::new(Incoming { inner, share })));
        let share = self.budgets.answers.share();
        Either::Right(Box::pin(async move {
            let response = response.await?;
            drop((waiting, bytes));
            Ok(response.map(|inner| Body::new(Outgoing { inner, share, refused: false })))
        }))
    }
}

/// The body of a request, whose bytes count until its answer begins.
struct Incoming {
    inner: Body,
    share: Arc<Share>,
}

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        Pin::new(&mut this.inner).poll_frame(context).map(|frame| {
            frame.map(|frame| {
                let frame = frame?;
                this.share.take(frame.data_ref().map_or(0, Bytes::len))?;
                Ok(frame)
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

/// The body of an answer. A message counts until the next one is asked for, as then it is on its way.
struct Outgoing {
    inner: Body,
    share: Share,
    refused: bool,
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if this.refused {
            return Poll::Ready(None);
        }
        this.share.give_back();
        Pin::new(&mut this.inner).poll_frame(context).map(|frame| {
            frame.map(|frame| {
                let frame = frame?;
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                let Err(refused) = this.share.take(if bytes > SMALL { bytes } else { 0 }) else { return Ok(frame) };
                this.refused = true;
                let mut trailers = HeaderMap::new();
                refused.add_header(&mut trailers)?;
                Ok(Frame::trailers(trailers))
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        self.refused || self.inner.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_all_of_it_comes_back() {
        let budget = Budget::new(10, "limits.some");
        let (first, second) = (budget.share(), budget.share());
        assert!(first.take(4).is_ok() && first.take(4).is_ok() && second.take(2).is_ok());
        let refused = second.take(1).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(refused.message().contains("limits.some = 10 is reached"), "{}", refused.message());
        assert!(second.take(usize::MAX).is_err(), "a sum that has no number");
        drop(first);
        assert!(second.take(8).is_ok());
        second.give_back();
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
