//! Refuses what has come back to this server, or has come through more than one toolbatch: it is refused before anything is asked of
//! it, a token too, so that a server that is registered as its own backend finds itself.

use std::task::{Context, Poll};

use futures_util::future::{Either, Ready, ready};
use http::{HeaderMap, Request, Response};
use tonic::{Status, body::Body};
use tower::{Layer, Service};

use super::status;
use crate::dispatch::{HOPS_HEADER, Instance, MAX_INSTANCE_BYTES};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct HopsLayer(pub(crate) Instance);

impl<S> Layer<S> for HopsLayer {
    type Service = HopsService<S>;

    fn layer(&self, inner: S) -> HopsService<S> {
        HopsService { instance: self.0.clone(), inner }
    }
}

/// See [`HopsLayer`].
#[derive(Clone, Debug)]
pub(crate) struct HopsService<S> {
    instance: Instance,
    inner: S,
}

impl<S> Service<Request<Body>> for HopsService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response<Body>, S::Error>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match check(&self.instance, request.headers()) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(refused) => Either::Right(ready(Ok(refused.into_http()))),
        }
    }
}

fn check(instance: &Instance, headers: &HeaderMap) -> Result<(), Status> {
    let mut hops = headers.get_all(HOPS_HEADER).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let Some(first) = hops.next() else { return Ok(()) };
    let more = hops.next();
    if first == instance.id().as_bytes() || more.into_iter().chain(hops).any(|hop| hop == instance.id().as_bytes()) {
        return Err(status::own_call(instance.id()));
    }
    if more.is_some() {
        return Err(status::too_many_hops());
    }
    let is_name = (1..=MAX_INSTANCE_BYTES).contains(&first.len()) && first.iter().all(u8::is_ascii_graphic);
    if is_name { Ok(()) } else { Err(status::invalid(HOPS_HEADER, "is no name of one toolbatch: leave it out")) }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    fn refused(instance: &Instance, hops: &[&str]) -> Option<Code> {
        let mut headers = HeaderMap::new();
        for hop in hops {
            headers.append(HOPS_HEADER, hop.parse().unwrap());
        }
        check(instance, &headers).err().map(|status| status.code())
    }

    #[test]
    fn one_other_toolbatch_is_passed_and_no_more() {
        let own = Instance::new();
        assert_eq!(refused(&own, &[]), None);
        assert_eq!(refused(&own, &["another"]), None);
        for hops in [&[own.id()][..], &[&format!("another,{}", own.id())], &["a", "b", own.id()], &["a,b"], &["a", "b"]]
        {
            assert_eq!(refused(&own, hops), Some(Code::FailedPrecondition), "{hops:?}");
        }
        for wrong in ["", "a b", &"x".repeat(65)] {
            assert_eq!(refused(&own, &[wrong]), Some(Code::InvalidArgument), "{wrong:?}");
        }
    }
}
