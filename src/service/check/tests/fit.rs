//! What a status carries, measured on the status.

use tonic_types::{ErrorDetails, StatusExt as _};

use super::*;

/// The status as `service` sends it: message, every entry, and an `ErrorInfo` of the size that it may have.
fn status(fitted: &Fitted) -> tonic::Status {
    let mut details = ErrorDetails::new();
    for violation in &fitted.violations {
        details.add_bad_request_violation(&violation.field, &violation.description);
    }
    let counts = [("violations", "200"), ("left_out", "117")];
    let counts = counts.map(|(name, value)| (name.to_owned(), value.to_owned()));
    details.set_error_info("R".repeat(63), "toolbatch.v1", counts);
    tonic::Status::with_error_details(tonic::Code::InvalidArgument, fitted.message.clone(), details)
}

/// Message in percent encoding and details in base64, as they stand in the trailers.
fn trailer_bytes(fitted: &Fitted) -> usize {
    fitted.message.bytes().map(|byte| if byte.is_ascii_alphanumeric() { 1 } else { 3 }).sum::<usize>()
        + status(fitted).details().len().div_ceil(3) * 4
}

pub(super) fn assert_fits(refusal: &Refusal) -> Fitted {
    let fitted = fit(refusal);
    let bytes = status(&fitted).details().len();
    assert!(bytes <= MAX_STATUS_BYTES, "{bytes} bytes");
    assert!(trailer_bytes(&fitted) <= 7_700, "{} bytes", trailer_bytes(&fitted));
    let kept = fitted.violations.len() - usize::from(fitted.more > 0);
    assert!(kept >= 1);
    assert_eq!(kept + fitted.more, refusal.count());
    assert!(refusal.violations().zip(&fitted.violations[..kept]).all(|(all, kept)| all == kept));
    fitted
}

#[test]
fn c47_two_hundred_violations_fit_into_5_kib() {
    let refusal = check(&request(vec![call("", "[]"); 200])).unwrap_err();
    assert_eq!(refusal.count(), 200);
    let fitted = assert_fits(&refusal);
    assert!(fitted.violations.len() > 40, "{} kept", fitted.violations.len());
    let last = fitted.violations.last().unwrap();
    assert_eq!((last.field.as_str(), last.description.clone()), ("", format!("and {} more violations", fitted.more)));
    assert_eq!(
        fitted.message,
        "200 violations, first call_list.calls[0].args_json: expected one JSON object, found an array"
    );
    assert_eq!(refusal.to_string(), fitted.message);
    let read = status(&fitted).get_details_bad_request().unwrap();
    assert_eq!(read.field_violations.len(), fitted.violations.len());
}

#[test]
fn c47_what_fits_is_kept_whole_and_what_does_not_is_counted() {
    let numbered = |count: usize, text: &str| {
        let mut all = Violations::default();
        for i in 0..count {
            all.add(format!("field[{i}]"), text);
        }
        all.refuse().unwrap_err()
    };
    for text in ["short", "é", &"\u{1f600}".repeat(300), &"x".repeat(333), &"%".repeat(2000)] {
        let mut before = 0;
        for count in 1..260 {
            let fitted = assert_fits(&numbered(count, text));
            assert!(fitted.violations.len() + 1 >= before, "more violations never show fewer of them by more than one");
            before = fitted.violations.len();
        }
        assert!(before >= 4);
    }
    let none_left_out = assert_fits(&numbered(2, "short"));
    assert_eq!(none_left_out.message, "2 violations, first field[0]: short");
    assert_eq!(none_left_out.more, 0);
    assert_eq!(assert_fits(&numbered(1, "short")).message, "field[0]: short");
    let long = assert_fits(&numbered(1, &"é".repeat(500)));
    assert!(long.message.len() <= 256 && long.message.ends_with('…'));
    assert_eq!(long.violations[0].description.len(), 1000);
}
