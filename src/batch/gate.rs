//! What a backend takes at once, over all batches: its places, its pace, and a breaker that opens where attempts get lost on the way.

use std::{collections::HashMap, time::Duration};

use super::{
    core::CallRef,
    event::Reason,
    line::{Agent, Line},
    outcome::Outcome,
};

/// What a backend takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Attempts at once; 0: any number.
    pub max_concurrency: u32,
    /// Attempts that begin in a second, evenly spaced; 0: any number.
    pub max_calls_per_second: f64,
    /// Whether attempts are held back while they get lost on the way.
    pub breaks: bool,
}

/// After so many attempts in a row that got lost on the way, no more are sent for a while.
pub const BREAKS_AFTER: u32 = 5;
/// For how long, the first time. Then one is tried; each time that it gets lost as well, the pause doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest: within what a call waits for its backend to be reachable (R8), so that none ends before one more was tried.
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// How far a pace that fell behind may catch up: timers are late by a millisecond or so.
const CATCH_UP: Duration = Duration::from_millis(10);

/// All backends' gates.
#[derive(Debug, Default)]
pub(super) struct Gates {
    numbers: HashMap<String, usize>,
    gates: Vec<Gate>,
}

/// One backend's.
#[derive(Debug)]
pub(super) struct Gate {
    backend: String,
    pub(super) limits: Limits,
    /// Attempts that are under way.
    taken: u32,
    /// When the next may begin, by the pace.
    next: Duration,
    breaker: Breaker,
    /// Calls that wait for a place. Some may have ended meanwhile.
    line: Line,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Breaker {
    /// Attempts arrive; so many in a row got lost of late.
    Closed { lost: u32 },
    /// None is sent before `until`.
    Open { until: Duration, pause: Duration },
    /// One was sent to see.
    Trying { pause: Duration },
}

/// What an attempt's end says of the way to the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It was answered, however.
    Answered,
    /// The backend could not be reached, or the connection was cut.
    Lost,
    /// Nobody can tell: it took too long, or was cut off here.
    Unclear,
}

impl Arrival {
    pub(super) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::NotSent { reason: Reason::BackendUnavailable, .. }
            | Outcome::Unknown { reason: Reason::BackendUnavailable, .. } => Self::Lost,
            Outcome::Unknown { reason: Reason::TimedOut, .. } => Self::Unclear,
            Outcome::Completed { .. }
            | Outcome::Awaiting { .. }
            | Outcome::Failed { .. }
            | Outcome::NotSent { .. }
            | Outcome::Unknown { .. } => Self::Answered,
        }
    }
}

impl Gates {
    /// A backend's gate, with its limits as they are now.
    pub(super) fn of(&mut self, backend: &str, limits: Limits) -> usize {
        let number = self.numbers.get(backend).copied().unwrap_or_else(|| {
            let number = self.gates.len();
            self.numbers.insert(backend.to_owned(), number);
            self.gates.push(Gate::new(backend.to_owned()));
            number
        });
        self.gates[number].limits = limits;
        number
    }

    pub(super) fn gate(&mut self, number: usize) -> &mut Gate {
        &mut self.gates[number]
    }

    /// The gate of a backend that an attempt was sent to.
    pub(super) fn known(&mut self, backend: &str) -> Option<&mut Gate> {
        self.numbers.get(backend).map(|&number| &mut self.gates[number])
    }

    /// The gates before which somebody waits.
    pub(super) fn waiting(&self) -> Vec<usize> {
        (0..self.gates.len()).filter(|&number| !self.gates[number].line.is_empty()).collect()
    }

    /// When time alone may open a gate.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.gates.iter().filter_map(Gate::due).min()
    }
}

impl Gate {
    fn new(backend: String) -> Self {
        let breaker = Breaker::Closed { lost: 0 };
        Self { backend, limits: Limits::default(), taken: 0, next: Duration::ZERO, breaker, line: Line::default() }
    }

    pub(super) fn backend(&self) -> &str {
        &self.backend
    }

    /// Whether attempts are held back because earlier ones got lost.
    pub(super) fn is_shut(&self) -> bool {
        self.limits.breaks && !matches!(self.breaker, Breaker::Closed { .. })
    }

    fn has_place(&self) -> bool {
        self.limits.max_concurrency == 0 || self.taken < self.limits.max_concurrency
    }

    /// From when on an attempt may begin, where nothing but time stands before it.
    fn opens(&self) -> Option<Duration> {
        let next = if self.limits.max_calls_per_second > 0.0 { self.next } else { Duration::ZERO };
        match self.breaker {
            _ if !self.has_place() => None,
            Breaker::Open { until, .. } if self.limits.breaks => Some(next.max(until)),
            Breaker::Trying { .. } if self.limits.breaks => None,
            Breaker::Closed { .. } | Breaker::Open { .. } | Breaker::Trying { .. } => Some(next),
        }
    }

    fn due(&self) -> Option<Duration> {
        if self.line.is_empty() { None } else { self.opens() }
    }

    fn is_open(&self, now: Duration) -> bool {
        self.opens().is_some_and(|opens| opens <= now)
    }

    /// Takes a place for an attempt that nobody waits before, if there is one now.
    pub(super) fn enter(&mut self, now: Duration) -> bool {
        let enters = self.line.is_empty() && self.is_open(now);
        if enters {
            self.take_place(now);
        }
        enters
    }

    /// Takes a place for the call whose turn it is, if there is one now. `waits` tells whether a call in line still does.
    pub(super) fn call_up(&mut self, now: Duration, waits: impl Fn(CallRef) -> bool) -> Option<CallRef> {
        while self.is_open(now) {
            let next = self.line.pop()?;
            if waits(next) {
                self.take_place(now);
                return Some(next);
            }
        }
        None
    }

    fn take_place(&mut self, now: Duration) {
        self.taken += 1;
        if self.limits.max_calls_per_second > 0.0 {
            let pace = Duration::from_secs_f64(1.0 / self.limits.max_calls_per_second);
            self.next = self.next.max(now.saturating_sub(CATCH_UP)) + pace;
        }
        if let (Breaker::Open { pause, .. }, true) = (self.breaker, self.limits.breaks) {
            self.breaker = Breaker::Trying { pause };
        }
    }

    /// Gives a place back that was not used.
    pub(super) fn give_back(&mut self, now: Duration) {
        self.leave(Arrival::Unclear, now);
    }

    /// An attempt has ended. Gives whether the gate is shut from now on.
    pub(super) fn leave(&mut self, arrival: Arrival, now: Duration) -> bool {
        self.taken = self.taken.saturating_sub(1);
        let was_shut = self.is_shut();
        self.breaker = match (self.breaker, arrival) {
            (_, Arrival::Answered) => Breaker::Closed { lost: 0 },
            (Breaker::Closed { lost }, Arrival::Lost) if lost + 1 >= BREAKS_AFTER => {
                Breaker::Open { until: now + FIRST_PAUSE, pause: FIRST_PAUSE }
            }
            (Breaker::Closed { lost }, Arrival::Lost) => Breaker::Closed { lost: lost + 1 },
            (Breaker::Trying { pause }, Arrival::Lost) => {
                let pause = (pause * 2).min(MAX_PAUSE);
                Breaker::Open { until: now + pause, pause }
            }
            // Another one is tried.
            (Breaker::Trying { pause }, Arrival::Unclear) => Breaker::Open { until: now, pause },
            (Breaker::Open { .. }, Arrival::Lost) | (_, Arrival::Unclear) => self.breaker,
        };
        self.is_shut() && !was_shut
    }

    pub(super) fn wait(&mut self, agent: Agent, call: CallRef) {
        self.line.push(agent, call);
    }

    /// All that wait, in no order. Some may have ended meanwhile.
    pub(super) fn waiting(&self) -> Vec<CallRef> {
        self.line.calls()
    }
}
