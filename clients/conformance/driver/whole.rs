//! Whether a stream is whole, whatever a scenario expects of it.

use anyhow::{bail, ensure};

use crate::json::Json;

/// What a stream has to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// The sequence that it goes on after.
    pub(crate) after: u64,
    /// The server sends kinds that a client passes over, so their sequences are missing.
    pub(crate) has_unknown: bool,
}

/// Sequences without gap or double, one batch id throughout, `batch_finished` last where the stream ended as finished.
pub(crate) fn check(events: &[Json], end: &Json, stream: Stream) -> anyhow::Result<()> {
    let mut last = stream.after;
    let mut batch_id: Option<&str> = None;
    for (place, event) in events.iter().enumerate() {
        let sequence = event.get("sequence").and_then(Json::as_u64).unwrap_or(0);
        if sequence > 0 {
            let next = last + 1;
            let fits = if stream.has_unknown { sequence >= next } else { sequence == next };
            ensure!(fits, "events[{place}]: the stream is not whole: expected sequence {next}, came {sequence}");
            last = sequence;
        }
        let kind = event.get("kind").and_then(Json::as_text).unwrap_or_default();
        ensure!(!kind.is_empty(), "events[{place}]: an event without a kind: {event}");
        if kind == "batch_finished" && place + 1 < events.len() {
            bail!("events[{place}]: the stream is not whole: something came after batch_finished");
        }
        let id = event.get("batch_id").and_then(Json::as_text).unwrap_or_default();
        match batch_id {
            Some(first) => ensure!(id == first, "events[{place}]: expected batch_id {first:?} as before, came {id:?}"),
            None => batch_id = Some(id),
        }
    }
    let finished = events.last().and_then(|event| event.get("kind")).and_then(Json::as_text) == Some("batch_finished");
    if end.get("finished").is_some() && !finished {
        bail!("the stream is not whole: it ended as finished, but its last event is no batch_finished");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(events: &str, end: &str, after: u64, has_unknown: bool) -> Result<(), String> {
        let Json::Array(events) = Json::parse(events).unwrap() else { panic!("an array") };
        check(&events, &Json::parse(end).unwrap(), Stream { after, has_unknown }).map_err(|error| error.to_string())
    }

    fn event(sequence: u64, kind: &str, batch_id: &str) -> String {
        format!(r#"{{"kind":"{kind}","sequence":{sequence},"batch_id":"{batch_id}"}}"#)
    }

    #[test]
    fn gaps_and_doubles_are_found() {
        let stream = |sequences: &[u64]| {
            let events: Vec<_> = sequences.iter().map(|sequence| event(*sequence, "call_started", "b")).collect();
            format!("[{}]", events.join(","))
        };
        let left = r#"{"left":true}"#;
        assert_eq!(check_text(&stream(&[1, 2, 0, 3]), left, 0, false), Ok(()));
        assert_eq!(check_text(&stream(&[5, 6]), left, 4, false), Ok(()));
        for wrong in [&[2][..], &[1, 3], &[1, 1], &[1, 2, 1]] {
            assert!(check_text(&stream(wrong), left, 0, false).is_err(), "{wrong:?}");
        }
        assert_eq!(check_text(&stream(&[1, 4]), left, 0, true), Ok(()));
        assert!(check_text(&stream(&[1, 1]), left, 0, true).is_err());
    }

    #[test]
    fn the_last_event_is_the_last() {
        let (first, last) = (event(1, "batch_started", "b"), event(2, "batch_finished", "b"));
        let finished = r#"{"finished":{}}"#;
        assert_eq!(check_text(&format!("[{first},{last}]"), finished, 0, false), Ok(()));
        assert!(check_text(&format!("[{first}]"), finished, 0, false).is_err());
        assert!(
            check_text(&format!("[{first},{last},{}]", event(3, "call_started", "b")), finished, 0, false).is_err()
        );
        assert!(check_text(&format!("[{first},{}]", event(2, "call_started", "c")), "{}", 0, false).is_err());
    }
}
