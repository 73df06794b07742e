//! The trace that a batch belongs to, as W3C Trace Context has it (<https://www.w3.org/TR/trace-context/>): its caller's where the
//! request said so, else one that begins with it.

use super::event::StepId;

/// The longest `tracestate` that is passed on: what the recommendation asks everyone to carry. A longer one is left out.
pub const MAX_STATE_BYTES: usize = 512;

/// The flags that are passed on: sampled, and a trace id that is random.
const KNOWN_FLAGS: u8 = 0b11;

/// Where a batch stands in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The trace; 0 only for a batch from before traces were kept.
    pub trace_id: u128,
    /// The caller's span; 0 where the trace begins with the batch.
    pub parent: u64,
    /// Of `traceparent`.
    pub flags: u8,
    /// The caller's `tracestate`; empty where it sent none.
    pub state: String,
    /// The other toolbatch that sent the request; empty where none did.
    pub via: String,
}

impl Trace {
    /// A trace that begins here. `id` ends in random bytes, as `UUIDv7` does.
    #[must_use]
    pub fn begin(id: StepId) -> Self {
        Self { trace_id: id.0.as_u128(), parent: 0, flags: KNOWN_FLAGS, ..Self::default() }
    }

    /// The trace of a request with these headers. `None` where they are not as the recommendation has them: a trace then begins anew.
    #[must_use]
    pub fn parse(parent: &str, state: &str) -> Option<Self> {
        let lower = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut fields = parent.split('-');
        let mut field = |length| fields.next().filter(|text| text.len() == length && lower(text));
        let (version, trace_id, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        // A later version may have more fields; this one has none.
        if version == "ff" || (version == "00" && fields.next().is_some()) {
            return None;
        }
        let trace_id = u128::from_str_radix(trace_id, 16).ok().filter(|id| *id != 0)?;
        let parent = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        let flags = u8::from_str_radix(flags, 16).ok()? & KNOWN_FLAGS;
        let fits = state.len() <= MAX_STATE_BYTES && state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let state = if fits { state.to_owned() } else { String::new() };
        Some(Self { trace_id, parent, flags, state, via: String::new() })
    }

    /// The trace id as it is shown; empty where there is none.
    #[must_use]
    pub fn id(&self) -> String {
        if self.trace_id == 0 { String::new() } else { format!("{:032x}", self.trace_id) }
    }

    /// `traceparent` for what happens under this span; `None` where there is no trace.
    #[must_use]
    pub fn parent_of(&self, span: u64) -> Option<String> {
        (self.trace_id != 0).then(|| format!("00-{:032x}-{span:016x}-{:02x}", self.trace_id, self.flags))
    }
}

/// The span of an attempt: another one for each, and the same whenever it is asked for.
#[must_use]
pub fn span_of(step: StepId, attempt: u32) -> u64 {
    // The half of a `UUIDv7` with its random bits; its top bit is set, so this is never 0.
    step.0.as_u64_pair().1 ^ u64::from(attempt)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_callers_trace_goes_on() {
        let trace = Trace::parse(PARENT, "vendor=a,other=b").unwrap();
        assert_eq!(trace.id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((trace.parent, trace.state.as_str()), (0x00f0_67aa_0ba9_02b7, "vendor=a,other=b"));
        let inner = trace.parent_of(0xb7ad_6b71_6920_3331).unwrap();
        assert_eq!(inner, "00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01");
        let later = format!("cc{}-of-a-later-version", &PARENT[2..]);
        assert_eq!(Trace::parse(&later, "").map(|trace| trace.id()), Some(trace.id()));
    }

    #[test]
    fn what_is_no_trace_context_is_passed_over() {
        let broken = [
            "",
            "00",
            "nonsense",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01",
        ];
        for parent in broken {
            assert_eq!(Trace::parse(parent, ""), None, "{parent}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_passed_on_is_left_out() {
        for state in ["x".repeat(MAX_STATE_BYTES + 1), "a=\n".to_owned(), "a=ü".to_owned()] {
            assert_eq!(Trace::parse(PARENT, &state).unwrap().state, "");
        }
        let longest = "x".repeat(MAX_STATE_BYTES);
        assert_eq!(Trace::parse(PARENT, &longest).unwrap().state, longest);
    }

    #[test]
    fn each_attempt_has_a_span_of_its_own() {
        let [one, other] = [StepId(Uuid::now_v7()), StepId(Uuid::now_v7())];
        assert_eq!(span_of(one, 1), span_of(one, 1));
        assert_ne!(span_of(one, 1), span_of(one, 2));
        assert_ne!(span_of(one, 1), span_of(other, 1));
        assert_eq!(Trace::begin(one).id(), one.to_string().replace('-', ""));
        assert_eq!(Trace::default().parent_of(7), None);
    }
}
