//! Why there is no answer.

use std::{error::Error as _, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::object::Object;

/// Why a request ended without what it asked for.
#[derive(Debug)]
pub(super) enum Error {
    /// The server says no.
    Refused(Box<Refusal>),
    /// The server could not be reached, for as long as the client tries.
    Unavailable(String),
    /// The caller's time is over.
    DeadlineExceeded,
    /// The caller wants no more of it.
    Cancelled,
    /// The request itself cannot be made, or nobody takes the answer.
    Local(anyhow::Error),
}

/// What a server says when it refuses.
#[derive(Debug)]
pub(super) struct Refusal {
    code: Code,
    reason: String,
    message: String,
    /// Field paths, each with what is wrong there.
    violations: Vec<(String, String)>,
}

/// A status is either an answer, or none came.
pub(super) enum Cut {
    /// The server says no.
    Refused(Box<Refusal>),
    /// No answer came, or one that says to come back.
    Lost(Lost),
}

/// Why an answer did not come.
pub(super) struct Lost {
    /// For people.
    pub(super) why: String,
    /// How long the server asks to be left alone.
    pub(super) wait: Duration,
}

impl Lost {
    /// Lost without a status.
    pub(super) fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), wait: Duration::ZERO }
    }
}

impl From<anyhow::Error> for Error {
    fn from(error: anyhow::Error) -> Self {
        Self::Local(error)
    }
}

impl From<Status> for Cut {
    fn from(status: Status) -> Self {
        let wait = status.get_details_retry_info().and_then(|info| info.retry_delay);
        // A status that came over the wire has no source; one that the transport made has, whatever code tonic chose for it.
        let lost = status.source().is_some()
            || matches!(status.code(), Code::Unavailable | Code::Cancelled)
            || (status.code() == Code::ResourceExhausted && wait.is_some());
        if !lost {
            return Self::Refused(Box::new(Refusal::from(&status)));
        }
        let mut why = format!("{}: {}", name(status.code()), status.message());
        let mut source = status.source();
        while let Some(cause) = source {
            // Most layers repeat what the one below them said.
            let text = cause.to_string();
            if !why.contains(&text) {
                why = format!("{why}: {text}");
            }
            source = cause.source();
        }
        Self::Lost(Lost { why, wait: wait.unwrap_or_default() })
    }
}

impl From<&Status> for Refusal {
    fn from(status: &Status) -> Self {
        let details = status.get_error_details();
        let violations = details.bad_request().map(|request| request.field_violations.as_slice()).unwrap_or_default();
        Self {
            code: status.code(),
            reason: details.error_info().map(|info| info.reason.clone()).unwrap_or_default(),
            message: status.message().to_owned(),
            violations: violations.iter().map(|one| (one.field.clone(), one.description.clone())).collect(),
        }
    }
}

impl Error {
    /// Where nothing is repeated: the first loss is the last.
    pub(super) fn at_once(status: Status) -> Self {
        match Cut::from(status) {
            Cut::Refused(refusal) => Self::Refused(refusal),
            Cut::Lost(lost) => Self::Unavailable(lost.why),
        }
    }

    /// The end that it is, or the error that ends the program.
    pub(super) fn end(self) -> anyhow::Result<String> {
        let end = Object::default();
        Ok(match self {
            Self::Refused(refusal) => end.raw("refused", &refusal.text()),
            Self::Unavailable(message) => end.raw("unavailable", &Object::default().text("message", &message).end()),
            Self::DeadlineExceeded => end.flag("deadline_exceeded", true),
            Self::Cancelled => end.flag("cancelled", true),
            Self::Local(error) => return Err(error),
        }
        .end())
    }
}

impl Refusal {
    fn text(&self) -> String {
        let violation = |(field, description): &(String, String)| {
            Object::default().text("field", field).text("description", description).end()
        };
        Object::default()
            .text("status", &name(self.code))
            .text("reason", &self.reason)
            .text("message", &self.message)
            .list("violations", self.violations.iter().map(violation))
            .end()
    }
}

/// `INVALID_ARGUMENT`.
fn name(code: Code) -> String {
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
    fn a_refusal_names_every_violation() {
        let mut details = ErrorDetails::with_error_info("INVALID_REQUEST", "toolbatch.v1", HashMap::new());
        details.add_bad_request_violation("task_id", "it is empty");
        let status = Status::with_error_details(Code::InvalidArgument, "1 violation", details);
        assert_eq!(
            Error::at_once(status).end().unwrap(),
            r#"{"refused":{"status":"INVALID_ARGUMENT","reason":"INVALID_REQUEST","message":"1 violation","violations":[{"field":"task_id","description":"it is empty"}]}}"#
        );
    }

    #[test]
    fn only_who_says_when_to_come_back_is_asked_again() {
        let lost = |status: Status| matches!(Cut::from(status), Cut::Lost(_));
        assert!(lost(Status::unavailable("going away")));
        assert!(lost(Status::cancelled("not by us")));
        assert!(lost(Status::from_error(Box::new(std::io::Error::other("reset")))));
        assert!(!lost(Status::resource_exhausted("too large")));
        let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(30)));
        let busy = Status::with_error_details(Code::ResourceExhausted, "busy", details);
        assert!(matches!(Cut::from(busy), Cut::Lost(Lost { wait, .. }) if wait == Duration::from_millis(30)));
        assert!(!lost(Status::deadline_exceeded("theirs")));
    }
}
