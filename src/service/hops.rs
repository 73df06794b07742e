//! Refuses what has come back to this server, or has come through more than one toolbatch: it is refused before anything is asked of
//! it, a token too, so that a server that is registered as its own backend finds itself.

use http::{HeaderMap, Request};
use tonic::{Status, body::Body};

use super::{guard::Guard, status};
use crate::dispatch::{HOPS_HEADER, Instance, MAX_INSTANCE_BYTES};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Hops(pub(crate) Instance);

impl Guard for Hops {
    fn check(&self, request: &mut Request<Body>) -> Result<(), Status> {
        check(&self.0, request.headers())
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
