//! How values read: the contract's enums in lower case, durations, sizes, times.

use std::borrow::Cow;

use crate::proto::{
    BackendHealth, BatchMode, BatchStatus, CallErrorReason, CallStatus, InDoubtPolicy, KeyState, StopReason,
};

/// The value's name in lower case without its enum's prefix; `unknown_7` where a newer server sent a number that this
/// client has no name for.
macro_rules! word {
    ($name:ident, $type:ty, $prefix:literal) => {
        #[doc = concat!("A `", stringify!($type), "` in lower case.")]
        pub(crate) fn $name(value: i32) -> Cow<'static, str> {
            match <$type>::try_from(value) {
                Ok(known) => {
                    let name = known.as_str_name();
                    name.strip_prefix($prefix).unwrap_or(name).to_ascii_lowercase().into()
                }
                Err(_) => format!("unknown_{value}").into(),
            }
        }
    };
}

word!(mode, BatchMode, "BATCH_MODE_");
word!(batch_status, BatchStatus, "BATCH_STATUS_");
word!(call_status, CallStatus, "CALL_STATUS_");
word!(stop_reason, StopReason, "STOP_REASON_");
word!(error_reason, CallErrorReason, "CALL_ERROR_REASON_");
word!(key_state, KeyState, "KEY_STATE_");
word!(backend_health, BackendHealth, "BACKEND_HEALTH_");
word!(in_doubt, InDoubtPolicy, "IN_DOUBT_POLICY_");

/// Whole milliseconds; none below zero.
pub(crate) fn millis(duration: &prost_types::Duration) -> u64 {
    let seconds = u64::try_from(duration.seconds).unwrap_or(0);
    let nanos = u64::try_from(duration.nanos).unwrap_or(0);
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

/// `412 ms`, `1.24 s`, `2 min 03 s`, `1 h 02 min`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{:02} s", millis % 1_000 / 10),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// From one moment to a later one, in milliseconds; 0 where it is not later.
pub(crate) fn millis_between(from: &prost_types::Timestamp, to: &prost_types::Timestamp) -> u64 {
    let millis =
        |at: &prost_types::Timestamp| at.seconds.saturating_mul(1_000).saturating_add(i64::from(at.nanos) / 1_000_000);
    u64::try_from(millis(to).saturating_sub(millis(from))).unwrap_or(0)
}

/// Thousand-millionths as a decimal: `0.002`, `12.00`; every digit that counts, and two behind the point at least.
pub(crate) fn nanos(nanos: i128) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let decimals = format!("{:09}", nanos % 1_000_000_000);
    let used = decimals.trim_end_matches('0').len().max(2);
    format!("{sign}{}.{}", nanos / 1_000_000_000, &decimals[..used])
}

/// `1 call`, `2 calls`.
pub(crate) fn count(number: u32, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enums_read_in_lower_case() {
        assert_eq!(batch_status(BatchStatus::Partial.into()), "partial");
        assert_eq!(call_status(CallStatus::NotRun.into()), "not_run");
        assert_eq!(error_reason(CallErrorReason::ToolNotBatchable.into()), "tool_not_batchable");
        assert_eq!(stop_reason(StopReason::AwaitingReview.into()), "awaiting_review");
        assert_eq!(in_doubt(InDoubtPolicy::Lookup.into()), "lookup");
        assert_eq!(key_state(KeyState::Unknown.into()), "unknown");
        assert_eq!(mode(99), "unknown_99");
    }

    #[test]
    fn durations_read_in_two_units_at_most() {
        let read: Vec<String> = [0, 999, 1_000, 59_999, 60_000, 123_456, 3_600_000, 7_384_000].map(duration).into();
        assert_eq!(
            read,
            ["0 ms", "999 ms", "1.00 s", "59.99 s", "1 min 00 s", "2 min 03 s", "1 h 00 min", "2 h 03 min"]
        );
    }

    #[test]
    fn money_keeps_every_digit_that_counts() {
        let read: Vec<String> = [0, 1, 2_000_000, 1_500_000_000, -20_000_000, 9_007_199_254_740_994].map(nanos).into();
        assert_eq!(read, ["0.00", "0.000000001", "0.002", "1.50", "-0.02", "9007199.254740994"]);
    }

    #[test]
    fn negative_and_huge_durations_do_not_wrap() {
        assert_eq!(millis(&prost_types::Duration { seconds: -5, nanos: -1 }), 0);
        assert_eq!(millis(&prost_types::Duration { seconds: i64::MAX, nanos: 0 }), u64::MAX);
        let at = |seconds| prost_types::Timestamp { seconds, nanos: 0 };
        assert_eq!(millis_between(&at(2), &at(1)), 0);
        assert_eq!(millis_between(&at(1), &at(3)), 2_000);
    }
}
