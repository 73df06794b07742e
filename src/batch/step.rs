//! The step of one call: its own full record, kept as a direct step's is (R10).

use super::{
    event::{CallFinished, StepId, Timestamp},
    outcome::{Payload, UsageItem},
};

/// What is on record of one call. Args, tool and key stand in the batch's spec.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// Its id.
    pub step_id: StepId,
    /// Which call of its batch it is.
    pub index: u32,
    /// What the tool resolved to; empty where it resolved to nothing.
    pub base_tool: String,
    /// Where it went; empty where it went nowhere.
    pub backend: String,
    /// How often it was sent so far.
    pub attempts: u32,
    /// When the first attempt was about to leave, or when it failed without one.
    pub start_time: Timestamp,
    /// How it ended, once it has.
    pub end: Option<StepEnd>,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEnd {
    /// When.
    pub time: Timestamp,
    /// As the log has it, but with up to 64 KiB of an error's message.
    pub finished: CallFinished,
    /// The result, where there is one.
    pub result: Option<Payload>,
    /// What the tool used.
    pub usage: Vec<UsageItem>,
}
