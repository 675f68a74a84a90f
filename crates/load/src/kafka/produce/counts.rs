//! What a producer counts beside its records.

/// The counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Requests that were sent.
    pub requests: u64,
    /// Batches that were acknowledged.
    pub batches: u64,
    /// Bytes of acknowledged batches, as they went over the wire.
    pub batch_bytes: u64,
    /// Bytes of the values of acknowledged records.
    pub payload_bytes: u64,
    /// Batches sent again.
    pub retries: u64,
    /// Batches that a broker had already taken when they came again.
    pub duplicates: u64,
    /// Times that a new producer number was asked for, after the first.
    pub renewals: u64,
    /// Answers by which a broker had us wait for its quota.
    pub throttled: u64,
}

impl Counts {
    /// With their names in results.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("requests", self.requests),
            ("batches", self.batches),
            ("batch-bytes", self.batch_bytes),
            ("payload-bytes", self.payload_bytes),
            ("retries", self.retries),
            ("duplicates", self.duplicates),
            ("renewals", self.renewals),
            ("throttled", self.throttled),
        ]
    }
}
