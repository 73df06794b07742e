//! What a client reads in a status, and the form that every status of ours has.

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// Common clients drop a status whose headers are over 8 KiB.
const HEADERS_MAX: usize = 8 * 1024;
/// What a header list counts for each header besides its text (RFC 9113, 6.5.2).
const HEADER_OVERHEAD: usize = 32;

/// Code and reason of a status that is in the form of all of ours: an `ErrorInfo` of our domain with a stable reason, a message,
/// and headers that every client takes.
#[track_caller]
pub(crate) fn refusal(status: &Status) -> (Code, String) {
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("{status:?} has no ErrorInfo"));
    assert_eq!(info.domain, "toolbatch.v1", "{status:?}");
    let is_reason = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    assert!(is_reason(&info.reason), "{status:?}");
    assert!(!status.message().is_empty(), "{status:?}");
    assert!(header_bytes(status) < HEADERS_MAX, "{} bytes: {status:?}", header_bytes(status));
    (status.code(), info.reason)
}

/// The violations of a request that breaks rules: field paths and what they say.
#[track_caller]
pub(crate) fn violations(status: &Status) -> Vec<(String, String)> {
    assert_eq!(refusal(status), (Code::InvalidArgument, "INVALID_REQUEST".to_owned()), "{status:?}");
    let request = status.get_details_bad_request().unwrap_or_else(|| panic!("{status:?} has no BadRequest"));
    request.field_violations.into_iter().map(|violation| (violation.field, violation.description)).collect()
}

/// Asserts that something is not there, and that the status names it.
#[track_caller]
pub(crate) fn not_found(status: &Status, reason: &str, resource: (&str, &str)) {
    assert_eq!(refusal(status), (Code::NotFound, reason.to_owned()), "{status:?}");
    let info = status.get_details_resource_info().unwrap_or_else(|| panic!("{status:?} has no ResourceInfo"));
    assert_eq!((info.resource_type.as_str(), info.resource_name.as_str()), resource);
}

/// Asserts that there was too much to do, and that the status says when to come again.
#[track_caller]
pub(crate) fn assert_overloaded(status: &Status, reason: &str) {
    assert_eq!(refusal(status), (Code::ResourceExhausted, reason.to_owned()), "{status:?}");
    assert!(status.get_details_retry_info().is_some_and(|info| info.retry_delay.is_some()), "{status:?}");
}

/// What a status takes of a client's bound on headers.
pub(crate) fn header_bytes(status: &Status) -> usize {
    let headers = status.clone().into_http::<()>().into_parts().0.headers;
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + HEADER_OVERHEAD).sum()
}
