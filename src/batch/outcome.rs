//! What came of one attempt of one call, as the dispatcher saw it.

use bytes::Bytes;

use super::event::Reason;

/// The most bytes of a result that are kept in a record; larger ones are written ahead as a blob (STORE.md 5.4).
pub const INLINE_BODY_MAX: usize = 3_584;

/// Exactly one of these ends an attempt. `R` is where its result is: the dispatcher has the text, the core a [`Payload`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<R = Payload> {
    /// The tool did it.
    Completed {
        /// What it answered.
        result: R,
        /// What it used.
        usage: Vec<UsageItem>,
    },
    /// The tool ran and waits for a person's review.
    Awaiting {
        /// Names the review.
        await_id: String,
        /// What it answered so far.
        result: R,
        /// What it used.
        usage: Vec<UsageItem>,
    },
    /// The tool said that it failed: a definite failure.
    Failed {
        /// The tool's words, at most 64 KiB.
        message: String,
        /// The tool's own code.
        code: String,
        /// The tool says that a repeat can succeed and that nothing was changed.
        retryable: bool,
        /// What it used.
        usage: Vec<UsageItem>,
    },
    /// The request never left: nothing can have happened.
    NotSent {
        /// `BackendUnavailable`, or `ToolNotFound` where the backend knows no such method.
        reason: Reason,
        /// What stood in the way.
        message: String,
    },
    /// The request left, and no usable answer came: the call may have taken effect.
    Unknown {
        /// `BackendUnavailable`, `TimedOut`, `BadResponse` or `Cancelled`.
        reason: Reason,
        /// What came instead.
        message: String,
    },
}

/// What a backend says became of an earlier attempt (`LookupCall`).
#[derive(Clone, Debug, PartialEq)]
pub enum Fate<R = Payload> {
    /// It took effect, with this outcome.
    Landed(Outcome<R>),
    /// It never took effect and never will.
    NotLanded,
    /// The backend cannot tell, or could not be asked.
    Unknown {
        /// Why not.
        message: String,
    },
}

/// A quantity of something that a tool used.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageItem {
    /// Such as "calls", "pages", "tokens".
    pub unit: String,
    /// How many; finite and not negative.
    pub quantity: f64,
}

/// A result's JSON text, in hand or already on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// The length of the JSON text.
    pub bytes: u64,
    /// Where it is.
    pub body: Body,
}

/// Where a payload's bytes are.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Here: at most [`INLINE_BODY_MAX`] bytes.
    Inline(Bytes),
    /// Written ahead and synced.
    Blob(BlobRef),
}

/// Where the store keeps a blob. Given out by a store and meaningful only to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobRef {
    /// Which file.
    pub file: u32,
    /// Where in it the blob's first frame begins.
    pub offset: u64,
    /// How many bytes of content, frames' headers not counted.
    pub bytes: u64,
}
