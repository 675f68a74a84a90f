//! What can be wrong with a batch, and with a record in it.

use thiserror::Error;

/// Why a batch cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BatchError {
    /// The format before Kafka 0.11.
    #[error(
        "the batch at offset {offset} is of format {magic}, from before Kafka 0.11: rewrite the topic with a newer producer"
    )]
    OldMagic {
        /// Where the batch begins in the partition.
        offset: i64,
        /// Its format.
        magic: i8,
    },
    /// A format that is not known.
    #[error(
        "the batch at offset {offset} is of format {magic}, only 2 is known: the batch is corrupt, or the broker too new"
    )]
    Magic {
        /// Where the batch begins in the partition.
        offset: i64,
        /// Its format.
        magic: i8,
    },
    /// The length in front cannot be.
    #[error(
        "the batch at offset {offset} says it has {length} bytes: it is corrupt; see the broker's log of that partition"
    )]
    Length {
        /// Where the batch begins in the partition.
        offset: i64,
        /// What it says.
        length: i32,
    },
    /// Longer than what is kept of one.
    #[error(
        "the batch at offset {offset} has {bytes} bytes, of which at most {max_bytes} are kept to be walked: count it by its header"
    )]
    TooLarge {
        /// Where the batch begins in the partition.
        offset: i64,
        /// How long it is.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
    /// The checksum does not fit what it is over.
    #[error(
        "the batch at offset {offset} is corrupt: CRC32C {said:#010x} in its header, {found:#010x} over its bytes; \
         verify the replicas of that partition"
    )]
    Crc {
        /// Where the batch begins in the partition.
        offset: i64,
        /// In the header.
        said: u32,
        /// Over the bytes.
        found: u32,
    },
    /// Its numbers contradict each other.
    #[error(
        "the batch at offset {offset} says {records} records up to offset {offset} + {last_delta}: it is corrupt"
    )]
    Numbers {
        /// Where the batch begins in the partition.
        offset: i64,
        /// Records as it says.
        records: i32,
        /// Its last offset as it says, from its first.
        last_delta: i32,
    },
}

/// Why the records of a batch cannot be walked any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecordError {
    /// The bytes end within a record.
    #[error("the bytes of the batch end within record {number} of {of}")]
    Cut {
        /// Which one, from 0.
        number: u32,
        /// How many there should be.
        of: u32,
    },
    /// A length in it cannot be.
    #[error("record {number} of {of} has an impossible length in it")]
    Length {
        /// Which one, from 0.
        number: u32,
        /// How many there should be.
        of: u32,
    },
    /// Bytes are left behind the last one.
    #[error("{bytes} bytes are left behind the last of {of} records")]
    Trailing {
        /// How many bytes.
        bytes: usize,
        /// How many records there should be.
        of: u32,
    },
}
