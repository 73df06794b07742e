//! How a batch is to run.

use std::time::Duration;

use super::{Violations, duration};
use crate::{
    batch::spec::{InDoubtPolicy, Mode, Options, RetryPolicy},
    json, proto,
};

/// R1.
pub const MAX_CONCURRENCY: u32 = 16;

/// What 0 means (R1).
pub(super) const DEFAULT_CONCURRENCY: u32 = 4;

/// R1.
pub const MAX_CALL_TIMEOUT: Duration = Duration::from_hours(24);

/// R1.
pub const MAX_ATTEMPTS: u32 = 10;

/// R1; for `initial_backoff` and `max_backoff` alike.
pub const MAX_BACKOFF: Duration = Duration::from_mins(10);

/// R1.
pub const MAX_MULTIPLIER: f64 = 10.0;

/// Checks the options; the path is there where `serialize_on` is to make lanes.
pub(super) fn check(violations: &mut Violations, sent: &proto::BatchOptions) -> (Options, Option<json::Path>) {
    let mode = check_mode(violations, sent);
    let path = check_serialize_on(violations, sent);
    let call_timeout = sent.call_timeout.as_ref().map(|wire| {
        let read = duration::read(wire).filter(|timeout| !timeout.is_zero() && *timeout <= MAX_CALL_TIMEOUT);
        read.unwrap_or_else(|| {
            let arrived = duration::show(wire);
            violations
                .add("options.call_timeout", format!("{arrived} arrived; expected above 0s and at most 86400s (24 h)"));
            MAX_CALL_TIMEOUT
        })
    });
    let unset = proto::RetryPolicy::default();
    let retry = check_retry(violations, sent.retry.as_ref().unwrap_or(&unset));
    let in_doubt = check_in_doubt(violations, sent.in_doubt);
    let options = Options {
        mode,
        serialize_on: sent.serialize_on.clone(),
        stop_on_error: sent.stop_on_error.unwrap_or(true),
        include_results: sent.include_results.unwrap_or(true),
        call_timeout,
        retry,
        in_doubt,
    };
    (options, path)
}

fn check_mode(violations: &mut Violations, sent: &proto::BatchOptions) -> Mode {
    let known = proto::BatchMode::try_from(sent.mode);
    if known.is_err() {
        let arrived = sent.mode;
        violations.add(
            "options.mode",
            format!("{arrived} arrived; expected 0 or BATCH_MODE_SEQUENTIAL (1), or BATCH_MODE_PARALLEL (2)"),
        );
    }
    let max_concurrency = match sent.max_concurrency {
        0 => DEFAULT_CONCURRENCY,
        sent => sent,
    };
    if max_concurrency > MAX_CONCURRENCY {
        violations.add(
            "options.max_concurrency",
            format!("{max_concurrency} arrived; expected 1 to {MAX_CONCURRENCY}, or 0 for {DEFAULT_CONCURRENCY}"),
        );
    }
    match known {
        Ok(proto::BatchMode::Parallel) => Mode::Parallel { max_concurrency },
        Ok(proto::BatchMode::Unspecified | proto::BatchMode::Sequential) | Err(_) => {
            Mode::Sequential { max_concurrency }
        }
    }
}

fn check_serialize_on(violations: &mut Violations, sent: &proto::BatchOptions) -> Option<json::Path> {
    const FIELD: &str = "options.serialize_on";
    if sent.serialize_on.is_empty() {
        return None;
    }
    match proto::BatchMode::try_from(sent.mode) {
        Ok(proto::BatchMode::Unspecified | proto::BatchMode::Sequential) => violations.add(
            FIELD,
            format!(
                "{} arrived with sequential mode, where it would do nothing; expected mode BATCH_MODE_PARALLEL with it, or no \
                 serialize_on",
                json::quote(&sent.serialize_on)
            ),
        ),
        // With a mode that is not known there is no telling.
        Ok(proto::BatchMode::Parallel) | Err(_) => {}
    }
    json::Path::parse(&sent.serialize_on).map_err(|fault| violations.add(FIELD, fault.to_string())).ok()
}

fn check_retry(violations: &mut Violations, sent: &proto::RetryPolicy) -> RetryPolicy {
    let default = RetryPolicy::default();
    if sent.max_attempts > MAX_ATTEMPTS {
        let arrived = sent.max_attempts;
        violations.add(
            "options.retry.max_attempts",
            format!("{arrived} arrived; expected 1 to {MAX_ATTEMPTS}, or 0 for {}", default.max_attempts),
        );
    }
    let initial_backoff = check_backoff(
        violations,
        "options.retry.initial_backoff",
        sent.initial_backoff.as_ref(),
        default.initial_backoff,
    );
    let max_backoff =
        check_backoff(violations, "options.retry.max_backoff", sent.max_backoff.as_ref(), default.max_backoff);
    let backoff_multiplier = multiplier_or_default(sent.backoff_multiplier);
    // NaN is in no range.
    if !(1.0..=MAX_MULTIPLIER).contains(&backoff_multiplier) {
        violations.add(
            "options.retry.backoff_multiplier",
            format!(
                "{backoff_multiplier:e} arrived; expected 1 to {MAX_MULTIPLIER}, or 0 for {}",
                default.backoff_multiplier
            ),
        );
    }
    RetryPolicy {
        max_attempts: attempts_or_default(sent.max_attempts),
        initial_backoff,
        max_backoff,
        backoff_multiplier,
    }
}

fn check_backoff(
    violations: &mut Violations,
    field: &str,
    sent: Option<&prost_types::Duration>,
    default: Duration,
) -> Duration {
    let Some(wire) = sent else { return default };
    duration::read(wire).filter(|backoff| *backoff <= MAX_BACKOFF).unwrap_or_else(|| {
        violations.add(field, format!("{} arrived; expected 0s to 600s (10 min)", duration::show(wire)));
        default
    })
}

fn check_in_doubt(violations: &mut Violations, sent: i32) -> InDoubtPolicy {
    match proto::InDoubtPolicy::try_from(sent) {
        Ok(proto::InDoubtPolicy::Unspecified | proto::InDoubtPolicy::Rerun) => InDoubtPolicy::Rerun,
        Ok(proto::InDoubtPolicy::Lookup) => InDoubtPolicy::Lookup,
        Ok(proto::InDoubtPolicy::Fail) => InDoubtPolicy::Fail,
        Err(_) => {
            violations.add(
                "options.in_doubt",
                format!(
                    "{sent} arrived; expected 0 or IN_DOUBT_POLICY_RERUN (1), IN_DOUBT_POLICY_LOOKUP (2) or \
                     IN_DOUBT_POLICY_FAIL (3)"
                ),
            );
            InDoubtPolicy::Rerun
        }
    }
}

pub(super) fn attempts_or_default(sent: u32) -> u32 {
    if sent == 0 { RetryPolicy::default().max_attempts } else { sent }
}

/// -0 counts as unset, as most encoders leave it out.
pub(super) fn multiplier_or_default(sent: f64) -> f64 {
    if sent == 0.0 { RetryPolicy::default().backoff_multiplier } else { sent }
}
