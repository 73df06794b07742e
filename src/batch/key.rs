//! A key's record: what became of the call that a task knows by this name.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    event::{StepId, Timestamp},
    outcome::Payload,
};

/// What is on record for a key of a task once a call under it has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRecord {
    /// What became of the last call.
    pub state: KeyState,
    /// The step that ran it last.
    pub step_id: StepId,
    /// The tool it ran with.
    pub base_tool: String,
    /// Digest of its args as JSON values (`json::digest`).
    pub args_digest: [u8; 32],
    /// Rises when a call under the key ends in a definite failure; part of the idempotency key.
    pub generation: u64,
    /// When this was recorded.
    pub update_time: Timestamp,
    /// Who settled it, where somebody did.
    pub settled_by: Option<String>,
}

/// What became of the last call under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// It runs never again.
    Completed {
        /// The length of its result's JSON text.
        result_bytes: u64,
        /// The review it waits for, where it does.
        await_id: Option<String>,
    },
    /// It failed for certain, and a new call under it runs.
    Failed,
    /// It may have taken effect.
    Unknown,
}

/// What somebody found out about a key whose outcome was unknown. `R` is where the result is.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict<R> {
    /// It took effect, with this result.
    Landed(R),
    /// It did not, and will not.
    NotLanded,
}

impl KeyRecord {
    /// The record once somebody settled it. The generation stays, also where the call did not land: it never took effect, so the
    /// same call is the same logical call still, and a backend that did see it after all can tell by its idempotency key. A call
    /// with another body begins the next generation (`KeyRecord::is_for_other_body`).
    #[must_use]
    pub fn settled(self, verdict: &Verdict<Payload>, by: String, time: Timestamp) -> Self {
        let state = match verdict {
            Verdict::Landed(result) => KeyState::Completed { result_bytes: result.bytes, await_id: None },
            Verdict::NotLanded => KeyState::Failed,
        };
        Self { state, update_time: time, settled_by: Some(by), ..self }
    }

    /// Whether a call that `differs` in tool or args must not share the generation: the backend may know its idempotency key with
    /// the former body. After a failure that was reported the generation has risen already.
    #[must_use]
    pub(super) fn is_for_other_body(&self, differs: bool) -> bool {
        self.state == KeyState::Failed && self.settled_by.is_some() && differs
    }
}

/// Names one logical call towards the backend: the same for every attempt of it, across restarts, and for nothing else (R5).
#[must_use]
pub fn keyed_idempotency_key(tenant: &str, task_id: &str, key: &str, generation: u64) -> String {
    derive(&[b"key", tenant.as_bytes(), task_id.as_bytes(), key.as_bytes(), &generation.to_be_bytes()])
}

/// The same for a call without a key.
#[must_use]
pub fn unkeyed_idempotency_key(tenant: &str, batch_id: &str, index: u32) -> String {
    derive(&[b"index", tenant.as_bytes(), batch_id.as_bytes(), &index.to_be_bytes()])
}

/// Names a batch by the key that a call of one of the batch tools has, in its task: a repeat is the same batch (R11). The keys of the
/// calls in it are another matter.
#[must_use]
pub fn keyed_batch_id(tenant: &str, task_id: &str, key: &str) -> String {
    derive(&[b"batch", tenant.as_bytes(), task_id.as_bytes(), key.as_bytes()])
}

/// Length-prefixed, so that no two lists of parts run together; shaped as a UUID (version 8), which the APIs that take
/// idempotency keys accept.
fn derive(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Uuid::new_v8(bytes).to_string()
}
