//! The header of a batch: how long it is, how many records it says it has, and what it is summed over.

use super::error::BatchError;
use super::walk::Records;

/// From the first byte up to and with the format: what must be there to know how long a batch is.
pub const PREFIX_BYTES: usize = 17;

/// The whole header.
pub const HEADER_BYTES: usize = 61;

/// The first byte that the checksum is over: the attributes.
pub const CRC_FROM: usize = 21;

/// Offset and length, which the length does not count.
const UNCOUNTED_BYTES: usize = 12;

/// The front of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Offset of the batch in its partition.
    pub base_offset: i64,
    /// The whole batch, from its first byte to its last.
    pub batch_bytes: usize,
}

impl Prefix {
    /// Reads it.
    ///
    /// # Errors
    /// When it is of a format that is not known, or its length cannot be.
    pub fn read(bytes: &[u8; PREFIX_BYTES]) -> Result<Self, BatchError> {
        let offset = i64::from_be_bytes(part(bytes, 0));
        let length = i32::from_be_bytes(part(bytes, 8));
        match bytes[16] as i8 {
            2 => {}
            magic @ (0 | 1) => return Err(BatchError::OldMagic { offset, magic }),
            magic => return Err(BatchError::Magic { offset, magic }),
        }
        let batch_bytes = usize::try_from(length)
            .ok()
            .map(|length| length + UNCOUNTED_BYTES)
            .filter(|&bytes| bytes >= HEADER_BYTES && offset >= 0)
            .ok_or(BatchError::Length { offset, length })?;
        Ok(Self {
            base_offset: offset,
            batch_bytes,
        })
    }
}

/// What the attributes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes(pub i16);

/// Whose time the timestamps of a batch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timestamps {
    /// The producer's, for each record.
    Created,
    /// The broker's, one for all.
    Appended,
}

impl Attributes {
    /// The number of the codec: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
    #[must_use]
    pub fn codec(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// Whose time it is.
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

    /// Whether it is the broker's own mark at the end of a transaction, no data.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.0 & 32 != 0
    }
}

/// The header of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// Offset of the first record, as it was when the batch was written.
    pub base_offset: i64,
    /// The whole batch, from its first byte to its last.
    pub batch_bytes: usize,
    /// Epoch of the leader that appended it; −1 when unknown.
    pub leader_epoch: i32,
    /// CRC32C over everything from [`CRC_FROM`] on.
    pub crc: u32,
    /// Codec, kind of timestamps, transaction.
    pub attributes: Attributes,
    /// Offset of the last record, from the first; compaction keeps it when it takes records out.
    pub last_offset_delta: i32,
    /// What the records' times are relative to, in milliseconds since 1970.
    pub base_timestamp_ms: i64,
    /// The latest of them.
    pub max_timestamp_ms: i64,
    /// Who wrote it; −1 without idempotence.
    pub producer_id: i64,
    /// The writer's epoch.
    pub producer_epoch: i16,
    /// Sequence number of the first record; −1 without idempotence.
    pub base_sequence: i32,
    /// How many records there are.
    pub records: u32,
}

impl BatchHeader {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Prefix::read`], and when its numbers contradict each other.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Self, BatchError> {
        let prefix = Prefix::read(&part(bytes, 0))?;
        let last_delta = i32::from_be_bytes(part(bytes, 23));
        let count = i32::from_be_bytes(part(bytes, 57));
        let numbers = BatchError::Numbers {
            offset: prefix.base_offset,
            records: count,
            last_delta,
        };
        let records = u32::try_from(count).map_err(|_| numbers)?;
        // Compaction takes records out and leaves the offsets: there may be fewer, never more.
        let fits = last_delta >= 0 && i64::from(count) <= i64::from(last_delta) + 1;
        let ends = prefix.base_offset.checked_add(i64::from(last_delta) + 1);
        if !fits || ends.is_none() {
            return Err(numbers);
        }
        Ok(Self {
            base_offset: prefix.base_offset,
            batch_bytes: prefix.batch_bytes,
            leader_epoch: i32::from_be_bytes(part(bytes, 12)),
            crc: u32::from_be_bytes(part(bytes, 17)),
            attributes: Attributes(i16::from_be_bytes(part(bytes, 21))),
            last_offset_delta: last_delta,
            base_timestamp_ms: i64::from_be_bytes(part(bytes, 27)),
            max_timestamp_ms: i64::from_be_bytes(part(bytes, 35)),
            producer_id: i64::from_be_bytes(part(bytes, 43)),
            producer_epoch: i16::from_be_bytes(part(bytes, 51)),
            base_sequence: i32::from_be_bytes(part(bytes, 53)),
            records,
        })
    }

    /// The offset to fetch from next.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.base_offset + i64::from(self.last_offset_delta) + 1
    }

    /// Walks its records in `body`: what follows the header, decompressed if the batch is compressed.
    #[must_use]
    pub fn records<'a>(&self, body: &'a [u8]) -> Records<'a> {
        Records::new(self, body)
    }
}

/// A part of known length at a place that is known to be there.
#[inline]
fn part<const N: usize, const M: usize>(bytes: &[u8; N], at: usize) -> [u8; M] {
    let mut part = [0; M];
    part.copy_from_slice(&bytes[at..at + M]);
    part
}
