//! The generated messages and services of `proto/toolbatch/v1`.
tonic::include_proto!("toolbatch.v1");
/// The compiled descriptors, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

impl BatchSummary {
    /// How many calls came to what, without what none came to: `2 completed, 1 failed, 3 not run`.
    #[must_use]
    pub fn counts_in_words(&self) -> String {
        let counts = [
            (self.succeeded, "completed"),
            (self.failed, "failed"),
            (self.skipped, "skipped"),
            (self.awaiting, "awaiting a review"),
            (self.not_run, "not run"),
        ];
        let told = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        told.collect::<Vec<_>>().join(", ")
    }
}
