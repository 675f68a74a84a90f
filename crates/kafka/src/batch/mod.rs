//! Encoding of record batches, format version 2.

#[cfg(test)]
mod tests;
mod write;

use crate::varint;

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordHeader {
    pub key: String,
    /// Its value; `None` is null.
    pub value: Option<Vec<u8>>,
}

/// Key, value and headers, as they follow the offset delta of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRecord {
    bytes: Vec<u8>,
    value_at: usize,
    value_bytes: usize,
}

impl EncodedRecord {
    /// Encodes a record; `None` is null.
    #[must_use]
    pub fn new(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[RecordHeader]) -> Self {
        let mut bytes = Vec::new();
        append(&mut bytes, key);
        let start = bytes.len();
        append(&mut bytes, value);
        let value_bytes = value.map_or(0, <[u8]>::len);
        let value_at = bytes.len() - value_bytes;
        debug_assert!(value_at > start, "a value has its length in front");
        varint::append(&mut bytes, headers.len() as i64);
        for header in headers {
            append(&mut bytes, Some(header.key.as_bytes()));
            append(&mut bytes, header.value.as_deref());
        }
        Self {
            bytes,
            value_at,
            value_bytes,
        }
    }

    /// The encoded bytes.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Position of the value in [`EncodedRecord::bytes`].
    #[must_use]
    pub fn value_at(&self) -> usize {
        self.value_at
    }

    /// Length of the value.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        self.value_bytes
    }

    /// The bytes after the key: value and headers. The key can be replaced.
    #[inline]
    #[must_use]
    pub fn behind_key(&self) -> &[u8] {
        let mut rest = &self.bytes[..];
        let key_bytes = varint::take_long(&mut rest).unwrap_or(-1).max(0) as usize;
        &rest[key_bytes.min(rest.len())..]
    }

    /// The same record with another key.
    #[must_use]
    pub fn with_key(&self, key: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len() + key.len() + 5);
        append(&mut bytes, Some(key));
        let rest = self.behind_key();
        let value_at = bytes.len() + self.value_at - (self.bytes.len() - rest.len());
        bytes.extend_from_slice(rest);
        Self {
            bytes,
            value_at,
            value_bytes: self.value_bytes,
        }
    }
}

fn append(out: &mut Vec<u8>, field: Option<&[u8]>) {
    varint::append(out, field.map_or(-1, |bytes| bytes.len() as i64));
    out.extend_from_slice(field.unwrap_or_default());
}
