//! Record batches of version 2: the only form in which records travel and lie.

mod record;
#[cfg(test)]
mod tests;
mod write;

pub use record::{Header, Record};
pub use write::{Batch, Marks, Producer};

/// Where the fields of a batch lie.
pub mod layout {
    /// Offset of the first record; 0 from a producer.
    pub const BASE_OFFSET: usize = 0;
    /// Bytes behind this field.
    pub const LENGTH: usize = 8;
    /// Epoch of the leader; −1 from a producer.
    pub const LEADER_EPOCH: usize = 12;
    /// 2.
    pub const MAGIC: usize = 16;
    /// CRC32C of everything from the attributes on.
    pub const CRC: usize = 17;
    /// Compression, kind of timestamp, transactional, control.
    pub const ATTRIBUTES: usize = 21;
    /// Of the last record.
    pub const LAST_OFFSET_DELTA: usize = 23;
    /// Of the first record, in ms.
    pub const BASE_TIMESTAMP: usize = 27;
    /// Of the youngest record, in ms.
    pub const MAX_TIMESTAMP: usize = 35;
    /// −1 without idempotence.
    pub const PRODUCER_ID: usize = 43;
    /// −1 without idempotence.
    pub const PRODUCER_EPOCH: usize = 51;
    /// Sequence number of the first record; −1 without idempotence.
    pub const BASE_SEQUENCE: usize = 53;
    /// Records.
    pub const COUNT: usize = 57;
    /// Where they begin: length of the head.
    pub const RECORDS: usize = 61;
    /// The version.
    pub const MAGIC_V2: u8 = 2;
}
