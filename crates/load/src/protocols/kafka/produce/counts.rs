//! Counts of a producer, apart from its records.

/// The counts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProduceCounts {
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
    /// Retried batches that a broker had already written.
    pub duplicates: u64,
    /// Requests for a producer id after the first.
    pub renewals: u64,
    /// Responses with a throttle time.
    pub throttled: u64,
}

impl ProduceCounts {
    /// The counts with their names in results.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("requests", self.requests),
            ("batches", self.batches),
            ("batch-bytes", self.batch_bytes),
            ("payload-bytes", self.payload_bytes),
            ("retries", self.retries),
            ("duplicates", self.duplicates),
            ("producer-id-renewals", self.renewals),
            ("throttled", self.throttled),
        ]
    }
}
