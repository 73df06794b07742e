//! The trace that a request belongs to, by its metadata.

use tonic::metadata::MetadataMap;

use crate::{batch::trace::Trace, dispatch::HOPS_HEADER};

/// Where the caller stands in its trace (W3C Trace Context).
const PARENT: &str = "traceparent";
/// What tracing systems keep of it; several headers count as one list.
const STATE: &str = "tracestate";

/// The caller's trace, and the toolbatch that sent the request; `None` where it names neither, or no trace that is as the
/// recommendation has it.
pub(super) fn of(metadata: &MetadataMap) -> Option<Trace> {
    // The layer in front has checked it.
    let via = metadata.get(HOPS_HEADER).and_then(|via| via.to_str().ok());
    match (context(metadata), via) {
        (trace, None) => trace,
        (trace, Some(via)) => Some(Trace { via: via.to_owned(), ..trace.unwrap_or_default() }),
    }
}

fn context(metadata: &MetadataMap) -> Option<Trace> {
    let mut parents = metadata.get_all(PARENT).iter();
    let (parent, None) = (parents.next()?, parents.next()) else { return None };
    let states: Option<Vec<&str>> = metadata.get_all(STATE).iter().map(|value| value.to_str().ok()).collect();
    Trace::parse(parent.to_str().ok()?, &states.unwrap_or_default().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_parent_counts_and_states_are_one_list() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut metadata = MetadataMap::new();
        assert_eq!(of(&metadata), None);
        metadata.append(PARENT, parent.parse().unwrap());
        for state in ["a=1", "b=2"] {
            metadata.append(STATE, state.parse().unwrap());
        }
        assert_eq!(of(&metadata), Trace::parse(parent, "a=1,b=2"));
        metadata.append(PARENT, parent.parse().unwrap());
        assert_eq!(of(&metadata), None);
    }
}
