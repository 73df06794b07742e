//! Durations on the wire: whole seconds and nanoseconds, either of which may be anything.

use std::time::Duration;

use prost_types::Duration as Wire;

const NANOS_PER_SECOND: u32 = 1_000_000_000;

/// The duration, where it is a valid one and not negative.
pub(super) fn read(wire: &Wire) -> Option<Duration> {
    let seconds = u64::try_from(wire.seconds).ok()?;
    let nanos = u32::try_from(wire.nanos).ok().filter(|nanos| *nanos < NANOS_PER_SECOND)?;
    Some(Duration::new(seconds, nanos))
}

/// What arrived, in the form that protobuf's JSON has (`-1.5s`); field by field where that has no form for it.
pub(super) fn show(wire: &Wire) -> String {
    let Wire { seconds, nanos } = *wire;
    let mixed = (seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0);
    if mixed || nanos.unsigned_abs() >= NANOS_PER_SECOND {
        return format!("{seconds} seconds and {nanos} nanos, which is no valid duration,");
    }
    let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
    let fraction = match nanos.unsigned_abs() {
        0 => String::new(),
        nanos => format!(".{nanos:09}"),
    };
    format!("{sign}{}{}s", seconds.unsigned_abs(), fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::{Duration, Wire, read, show};

    #[test]
    fn what_is_no_duration_is_not_read_and_still_shown() {
        for (seconds, nanos, duration, shown) in [
            (0, 0, Some(Duration::ZERO), "0s"),
            (1, 500_000_000, Some(Duration::from_millis(1500)), "1.5s"),
            (0, 1, Some(Duration::from_nanos(1)), "0.000000001s"),
            (20, 0, Some(Duration::from_secs(20)), "20s"),
            (-1, -500_000_000, None, "-1.5s"),
            (0, -1, None, "-0.000000001s"),
            (i64::MIN, 0, None, "-9223372036854775808s"),
            (1, -1, None, "1 seconds and -1 nanos, which is no valid duration,"),
            (-1, 1, None, "-1 seconds and 1 nanos, which is no valid duration,"),
            (0, 1_000_000_000, None, "0 seconds and 1000000000 nanos, which is no valid duration,"),
            (0, i32::MIN, None, "0 seconds and -2147483648 nanos, which is no valid duration,"),
        ] {
            let wire = Wire { seconds, nanos };
            assert_eq!(read(&wire), duration, "{wire:?}");
            assert_eq!(show(&wire), shown);
        }
    }
}
