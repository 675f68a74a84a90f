//! Encoding of record batches, format version 2.

mod record;
#[cfg(test)]
mod tests;
mod write;

pub use record::{EncodedRecord, RecordHeader};
pub use write::{Producer, RecordBatchBuilder, ValuePrefix};

/// Byte offsets of the header fields of a batch.
pub mod layout {
    /// Offset of the first record; 0 from a producer.
    pub const BASE_OFFSET: usize = 0;
    /// Length of the batch after this field.
    pub const LENGTH: usize = 8;
    /// Epoch of the leader; −1 from a producer.
    pub const LEADER_EPOCH: usize = 12;
    /// 2.
    pub const MAGIC: usize = 16;
    /// CRC32C of everything from the attributes on.
    pub const CRC: usize = 17;
    /// Compression, timestamp type, transactional, control.
    pub const ATTRIBUTES: usize = 21;
    /// Offset of the last record, relative to the first.
    pub const LAST_OFFSET_DELTA: usize = 23;
    /// Timestamp of the first record, in ms.
    pub const BASE_TIMESTAMP: usize = 27;
    /// Largest timestamp, in ms.
    pub const MAX_TIMESTAMP: usize = 35;
    /// −1 without idempotence.
    pub const PRODUCER_ID: usize = 43;
    /// −1 without idempotence.
    pub const PRODUCER_EPOCH: usize = 51;
    /// Sequence number of the first record; −1 without idempotence.
    pub const BASE_SEQUENCE: usize = 53;
    /// Number of records.
    pub const COUNT: usize = 57;
    /// Start of the records: length of the header.
    pub const RECORDS: usize = 61;
    /// Format version.
    pub const MAGIC_V2: u8 = 2;
}
