//! Errors of batches and records.

use thiserror::Error;

/// Why the batch with this base offset is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BatchError {
    /// A format before Kafka 0.11, by its magic byte.
    #[error(
        "the batch at offset {0} is of format {1}, from before Kafka 0.11: rewrite the topic with a newer producer"
    )]
    OldMagic(i64, i8),
    /// An unknown format, by its magic byte.
    #[error(
        "the batch at offset {0} is of format {1}, only 2 is known: the batch is corrupt, or the broker too new"
    )]
    Magic(i64, i8),
    /// An impossible length.
    #[error(
        "the batch at offset {0} says it has {1} bytes: it is corrupt; see the broker's log of that partition"
    )]
    Length(i64, i32),
    /// Longer than the buffer for batches to parse: its length, and the limit.
    #[error(
        "the batch at offset {0} has {1} bytes, more than the {2} kept for parsing its records"
    )]
    TooLarge(i64, usize, usize),
    /// A wrong checksum: the one in the header, and the computed one.
    #[error(
        "the batch at offset {0} is corrupt: CRC32C {1:#010x} in its header, {2:#010x} over its bytes; \
         verify the replicas of that partition"
    )]
    Crc(i64, u32, u32),
    /// Contradictory counts: the number of records, and the last offset delta.
    #[error("the batch at offset {0} says {1} records up to offset {0} + {2}: it is corrupt")]
    Numbers(i64, i32, i32),
}

/// Why the records of a batch cannot be parsed further; the last number is that of the records in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end within the record with this index.
    #[error("the bytes of the batch end within record {0} of {1}")]
    Cut(u32, u32),
    /// An impossible length in the record with this index.
    #[error("record {0} of {1} has an impossible length in it")]
    Length(u32, u32),
    /// Bytes after the last record.
    #[error("{0} trailing bytes after the last of {1} records")]
    Trailing(usize, u32),
}
