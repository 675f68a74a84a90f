//! The header of a record batch; errors of batches and records.

use thiserror::Error;

use super::record::Records;
use crate::batch::layout;

/// Bytes up to and including the magic byte: enough to know the format and the length of a batch.
pub const PREFIX_BYTES: usize = 17;

/// Length of the header.
pub const HEADER_BYTES: usize = layout::RECORDS;

/// First byte covered by the checksum: the attributes.
pub const CRC_FROM: usize = layout::ATTRIBUTES;

/// Least bytes of a record: its length, attributes, deltas of time and offset, no key, no value, no headers; each a byte.
const RECORD_BYTES_MIN: usize = 7;

/// Most bytes that a byte of a compressed batch stands for: a block of zstd, of 128 KiB, may have 4 bytes. Other codecs reach less.
const EXPANSION_MAX: usize = (128 << 10) / 4;

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
    /// More records than its bytes can hold.
    #[error("the batch at offset {0} says {1} records in {2} bytes: it is corrupt")]
    Records(i64, u32, usize),
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

/// The prefix of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Base offset of the batch.
    pub base_offset: i64,
    /// Length of the whole batch.
    pub batch_bytes: usize,
}

impl Prefix {
    /// Parses a prefix.
    ///
    /// # Errors
    /// If the format is not supported, or the length impossible.
    pub fn read(bytes: &[u8; PREFIX_BYTES]) -> Result<Self, BatchError> {
        let offset = i64::from_be_bytes(array_at(bytes, layout::BASE_OFFSET));
        let length = i32::from_be_bytes(array_at(bytes, layout::LENGTH));
        match bytes[layout::MAGIC] as i8 {
            2 => {}
            magic @ (0 | 1) => return Err(BatchError::OldMagic(offset, magic)),
            magic => return Err(BatchError::Magic(offset, magic)),
        }
        // The length counts what follows it.
        let batch_bytes = usize::try_from(length)
            .ok()
            .map(|length| length + layout::LEADER_EPOCH)
            .filter(|&bytes| bytes >= HEADER_BYTES && offset >= 0)
            .ok_or(BatchError::Length(offset, length))?;
        Ok(Self {
            base_offset: offset,
            batch_bytes,
        })
    }
}

/// The attributes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(pub i16);

/// The timestamp type of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timestamps {
    /// CreateTime: set by the producer, for each record.
    Created,
    /// LogAppendTime: set by the broker, one for all records.
    Appended,
}

impl Attributes {
    /// The codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    #[must_use]
    pub fn codec(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// The timestamp type.
    #[must_use]
    pub fn timestamps(self) -> Timestamps {
        match self.0 & 8 {
            0 => Timestamps::Created,
            _ => Timestamps::Appended,
        }
    }

    /// Whether it belongs to a transaction.
    #[must_use]
    pub fn is_transactional(self) -> bool {
        self.0 & 16 != 0
    }

    /// Whether it is a control batch: a transaction marker of the broker, no data.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.0 & 32 != 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record when the batch was written.
    pub base_offset: i64,
    /// Length of the whole batch.
    pub batch_bytes: usize,
    /// Epoch of the leader that appended it; −1 if unknown.
    pub leader_epoch: i32,
    /// CRC32C over everything from [`CRC_FROM`] on.
    pub crc: u32,
    /// Codec, timestamp type, transaction.
    pub attributes: Attributes,
    /// Offset of the last record, relative to the first; compaction keeps it when it removes records.
    pub last_offset_delta: i32,
    /// The timestamp that deltas are relative to, in milliseconds since 1970.
    pub base_timestamp_ms: i64,
    /// The largest timestamp.
    pub max_timestamp_ms: i64,
    /// Producer id; −1 without idempotence.
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// Sequence number of the first record; −1 without idempotence.
    pub base_sequence: i32,
    pub records: u32,
}

impl BatchHeader {
    /// Parses a header.
    ///
    /// # Errors
    /// As [`Prefix::read`], and if its counts contradict each other.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, BatchError> {
        let prefix = Prefix::read(&array_at(bytes, 0))?;
        let last_delta = i32::from_be_bytes(array_at(bytes, layout::LAST_OFFSET_DELTA));
        let count = i32::from_be_bytes(array_at(bytes, layout::COUNT));
        let numbers = BatchError::Numbers(prefix.base_offset, count, last_delta);
        let records = u32::try_from(count).map_err(|_| numbers)?;
        // Compaction removes records and keeps the offsets: there may be fewer records, never more.
        let fits = last_delta >= 0 && i64::from(count) <= i64::from(last_delta) + 1;
        let ends = prefix.base_offset.checked_add(i64::from(last_delta) + 1);
        if !fits || ends.is_none() {
            return Err(numbers);
        }
        let attributes = Attributes(i16::from_be_bytes(array_at(bytes, layout::ATTRIBUTES)));
        let body = prefix.batch_bytes - HEADER_BYTES;
        let unpacked_max = match attributes.codec() {
            0 => body,
            _ => body.saturating_mul(EXPANSION_MAX),
        };
        if records as usize > unpacked_max / RECORD_BYTES_MIN {
            let bytes = prefix.batch_bytes;
            return Err(BatchError::Records(prefix.base_offset, records, bytes));
        }
        Ok(Self {
            base_offset: prefix.base_offset,
            batch_bytes: prefix.batch_bytes,
            leader_epoch: i32::from_be_bytes(array_at(bytes, layout::LEADER_EPOCH)),
            crc: u32::from_be_bytes(array_at(bytes, layout::CRC)),
            attributes,
            last_offset_delta: last_delta,
            base_timestamp_ms: i64::from_be_bytes(array_at(bytes, layout::BASE_TIMESTAMP)),
            max_timestamp_ms: i64::from_be_bytes(array_at(bytes, layout::MAX_TIMESTAMP)),
            producer_id: i64::from_be_bytes(array_at(bytes, layout::PRODUCER_ID)),
            producer_epoch: i16::from_be_bytes(array_at(bytes, layout::PRODUCER_EPOCH)),
            base_sequence: i32::from_be_bytes(array_at(bytes, layout::BASE_SEQUENCE)),
            records,
        })
    }

    /// The offset after the last record.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta) + 1
    }

    /// Iterates over the records in `body`: the bytes after the header, decompressed if the batch is compressed.
    #[must_use]
    pub fn records<'a>(&self, body: &'a [u8]) -> Records<'a> {
        Records::new(self, body)
    }
}

/// A fixed-size array at a position that is known to be in range.
#[inline]
fn array_at<const N: usize, const M: usize>(bytes: &[u8; N], at: usize) -> [u8; M] {
    let mut array_at = [0; M];
    array_at.copy_from_slice(&bytes[at..at + M]);
    array_at
}
