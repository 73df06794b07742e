//! What a server's status means to a person: refused, with every violation on its own line, or lost.

use std::{error::Error as _, fmt::Write as _, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{connect::TOKEN_VARIABLE, exit::Failure, render::words};

/// Why writing to a `String` cannot fail.
const WRITES: &str = "a String takes all that is written";

/// The connection broke, or the server is going away: the same request can be made again.
///
/// A status that came over the wire has no source; one that the transport made has the error that it was made from, whatever
/// code tonic chose for it.
pub(crate) fn is_lost(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

/// How long the server asks to be left alone.
pub(crate) fn retry_delay(status: &Status) -> Option<Duration> {
    status.get_details_retry_info()?.retry_delay
}

/// The failure that a status comes to.
pub(crate) fn failure(status: &Status) -> Failure {
    if is_lost(status) { Failure::Unreachable(lost(status)) } else { Failure::Refused(refused(status)) }
}

/// One line on a lost connection, with the cause that stands at the root.
pub(crate) fn lost(status: &Status) -> String {
    let mut root = status.source();
    while let Some(next) = root.and_then(std::error::Error::source) {
        root = Some(next);
    }
    let code = code_name(status.code());
    match root {
        Some(root) => format!("{code}: {root}"),
        None => format!("{code}: {}", status.message()),
    }
}

/// A refusal: code, reason and message, then a line for each violation.
fn refused(status: &Status) -> String {
    let details = status.get_error_details();
    let reason = details.error_info().map(|info| format!(", {}", info.reason)).unwrap_or_default();
    // A server that does not know a method says so by the code alone.
    let message = match status.message() {
        "" => status.code().description(),
        message => message,
    };
    let mut text = format!("refused ({}{reason}): {message}", code_name(status.code()));
    if let Some(request) = details.bad_request() {
        for violation in &request.field_violations {
            write!(text, "\n  {}: {}", violation.field, violation.description).expect(WRITES);
        }
    }
    if status.code() == Code::Unauthenticated {
        write!(text, "\n  put a token of this server into the environment variable {TOKEN_VARIABLE}").expect(WRITES);
    }
    if let Some(delay) = details.retry_info().and_then(|info| info.retry_delay) {
        let millis = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
        write!(text, "\n  try again after {}", words::duration(millis)).expect(WRITES);
    }
    text
}

/// `INVALID_ARGUMENT`.
fn code_name(code: Code) -> String {
    let mut name = String::new();
    for c in format!("{code:?}").chars() {
        if c.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn each_violation_stands_on_its_own_line() {
        let mut details = ErrorDetails::with_error_info("INVALID_REQUEST", "toolbatch.v1", HashMap::new());
        details.add_bad_request_violation("call_list.calls[3].key", "is the same as that of calls[0]");
        details.add_bad_request_violation("options.max_concurrency", "expected 0 to 16, found 17");
        details.set_retry_info(Some(Duration::from_millis(1_500)));
        let status = Status::with_error_details(Code::InvalidArgument, "2 violations", details);
        let failure = failure(&status);
        assert_eq!(
            failure.to_string(),
            "refused (INVALID_ARGUMENT, INVALID_REQUEST): 2 violations\n  \
             call_list.calls[3].key: is the same as that of calls[0]\n  \
             options.max_concurrency: expected 0 to 16, found 17\n  \
             try again after 1.50 s"
        );
        assert_eq!(failure.exit().code(), 2);
    }

    #[test]
    fn a_refusal_without_details_is_still_readable() {
        let text = |status| failure(&status).to_string();
        assert_eq!(text(Status::not_found("no batch b1")), "refused (NOT_FOUND): no batch b1");
        assert_eq!(
            text(Status::unauthenticated("no token")),
            "refused (UNAUTHENTICATED): no token\n  put a token of this server into the environment variable TOOLBATCH_TOKEN"
        );
        assert_eq!(
            text(Status::unimplemented("")),
            "refused (UNIMPLEMENTED): Operation is not implemented or not supported"
        );
    }

    #[test]
    fn what_the_transport_says_is_a_lost_connection_whatever_its_code() {
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let broken = Status::from_error(Box::new(reset));
        assert_eq!(broken.code(), Code::Unknown);
        assert!(is_lost(&broken));
        assert!(is_lost(&Status::unavailable("going away")));
        assert!(!is_lost(&Status::unknown("the server said so")));
        assert_eq!(failure(&broken).exit().code(), 3);
        assert_eq!(lost(&Status::unavailable("going away")), "UNAVAILABLE: going away");
    }
}
