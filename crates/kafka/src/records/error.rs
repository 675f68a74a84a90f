//! Errors of batches and records.

use thiserror::Error;

/// Why a batch is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BatchError {
    /// A format before Kafka 0.11.
    #[error(
        "the batch at offset {offset} is of format {magic}, from before Kafka 0.11: rewrite the topic with a newer producer"
    )]
    OldMagic {
        /// Base offset of the batch.
        offset: i64,
        /// Its magic byte.
        magic: i8,
    },
    /// An unknown format.
    #[error(
        "the batch at offset {offset} is of format {magic}, only 2 is known: the batch is corrupt, or the broker too new"
    )]
    Magic {
        /// Base offset of the batch.
        offset: i64,
        /// Its magic byte.
        magic: i8,
    },
    /// An impossible length.
    #[error(
        "the batch at offset {offset} says it has {length} bytes: it is corrupt; see the broker's log of that partition"
    )]
    Length {
        /// Base offset of the batch.
        offset: i64,
        /// The stored length.
        length: i32,
    },
    /// Larger than the buffer for batches to parse.
    #[error(
        "the batch at offset {offset} has {bytes} bytes, of which at most {max_bytes} are kept to be walked: count it by its header"
    )]
    TooLarge {
        /// Base offset of the batch.
        offset: i64,
        /// Its length.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// A wrong checksum.
    #[error(
        "the batch at offset {offset} is corrupt: CRC32C {stored:#010x} in its header, {found:#010x} over its bytes; \
         verify the replicas of that partition"
    )]
    Crc {
        /// Base offset of the batch.
        offset: i64,
        /// The checksum in the header.
        stored: u32,
        /// The computed checksum.
        found: u32,
    },
    /// Contradictory counts.
    #[error(
        "the batch at offset {offset} says {records} records up to offset {offset} + {last_delta}: it is corrupt"
    )]
    Numbers {
        /// Base offset of the batch.
        offset: i64,
        /// The stored number of records.
        records: i32,
        /// The stored last offset delta.
        last_delta: i32,
    },
}

/// Why the records of a batch cannot be parsed further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end within a record.
    #[error("the bytes of the batch end within record {number} of {of}")]
    Cut {
        /// Index of the record.
        number: u32,
        /// The number of records in the header.
        of: u32,
    },
    /// An impossible length.
    #[error("record {number} of {of} has an impossible length in it")]
    Length {
        /// Index of the record.
        number: u32,
        /// The number of records in the header.
        of: u32,
    },
    /// Trailing bytes after the last record.
    #[error("{bytes} bytes are left behind the last of {of} records")]
    Trailing {
        /// How many bytes.
        bytes: usize,
        /// The number of records in the header.
        of: u32,
    },
}
