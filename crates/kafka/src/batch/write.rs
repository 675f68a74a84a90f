//! A reusable batch builder: copies of one template record stay laid out in the buffer and are only patched.

use super::{EncodedRecord, layout};
use crate::audit::SERIAL_AT;
use crate::compress::{CompressError, Compressor};
use crate::varint;

/// The timestamp delta follows a record's length and attributes. Up to this many ms it takes one byte, so records keep their
/// position when the batch is filled again.
const SHORT_DELTA_MS: i64 = 63;

/// Longest record prefix before the key: length, attributes, timestamp delta and offset delta.
const FRONT_BYTES_MAX: usize = 5 + 1 + 10 + 5;

/// Producer id, epoch and sequence of a batch, by which the broker detects duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// Producer id, assigned by the cluster.
    pub id: i64,
    /// Producer epoch, assigned with it.
    pub epoch: i16,
    /// Sequence number of the batch's first record in its partition.
    pub sequence: i32,
}

impl Producer {
    /// No idempotence: the broker appends a batch as often as it arrives.
    pub const NONE: Producer = Producer {
        id: -1,
        epoch: -1,
        sequence: -1,
    };
}

/// Bytes written over the start of each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ValuePrefix {
    /// Over the first eight bytes of each value.
    pub stamp: Option<u64>,
    /// Over the next eight bytes: of the first record; it grows by one per record.
    pub serial: Option<u64>,
}

impl ValuePrefix {
    /// Values stay unchanged.
    pub const NONE: ValuePrefix = ValuePrefix {
        stamp: None,
        serial: None,
    };

    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// The marks of the record that is `records` after the first.
    #[inline]
    fn after(self, records: u32) -> Self {
        Self {
            stamp: self.stamp,
            serial: self.serial.map(|first| first + u64::from(records)),
        }
    }
}

/// A batch with reserved space in front of it for the request header.
#[derive(Debug)]
pub struct RecordBatchBuilder {
    bytes: Vec<u8>,
    /// Start of the batch.
    start: usize,
    /// End of the batch.
    end: usize,
    /// Size limit; only the first record may exceed it.
    limit: usize,
    count: u32,
    base_timestamp_ms: i64,
    max_delta_ms: i64,
    /// The record that [`RecordBatchBuilder::repeat`] appends.
    template: EncodedRecord,
    /// How many leading records are laid out as copies of the template with a short timestamp delta.
    prepared: u32,
    /// The batch with compressed records, if it was compressed.
    compressed: Option<CompressedBatch>,
    spare_buffer: Vec<u8>,
}

#[derive(Debug)]
struct CompressedBatch {
    bytes: Vec<u8>,
    /// End of the batch; what the request appends follows.
    end: usize,
}

impl RecordBatchBuilder {
    /// An empty batch that takes records up to a size, header included; `room_bytes` are reserved in front of it.
    #[must_use]
    pub fn new(room_bytes: usize, size_bytes: usize, template: EncodedRecord) -> Self {
        let start = room_bytes;
        let limit = start + size_bytes.max(layout::RECORDS);
        Self {
            bytes: vec![0; start + layout::RECORDS],
            start,
            end: start + layout::RECORDS,
            limit,
            count: 0,
            base_timestamp_ms: 0,
            max_delta_ms: 0,
            template,
            prepared: 0,
            compressed: None,
            spare_buffer: Vec::new(),
        }
    }

    /// Number of records.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Uncompressed size in bytes.
    #[inline]
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.end - self.start
    }

    /// Removes all records; the buffer keeps their layout for the next ones.
    pub fn clear(&mut self) {
        self.count = 0;
        self.end = self.start + layout::RECORDS;
        self.base_timestamp_ms = 0;
        self.max_delta_ms = 0;
        if let Some(compressed) = self.compressed.take() {
            self.spare_buffer = compressed.bytes;
        }
    }

    /// Sets another template. The batch must be empty.
    pub fn take_form(&mut self, template: &EncodedRecord) {
        self.template = template.clone();
        self.prepared = 0;
    }

    /// Appends the template up to `most` times with one timestamp and returns how many fitted. The marks are written over the
    /// start of each value.
    #[inline]
    pub fn repeat(&mut self, most: u32, timestamp_ms: i64, marks: ValuePrefix) -> u32 {
        let delta_ms = self.delta(timestamp_ms);
        let mut done = 0;
        while done < most {
            let body = self.template.bytes().len() + varint::size(i64::from(self.count)) + 2;
            let length = varint::size(body as i64) + body;
            if delta_ms > SHORT_DELTA_MS || self.count >= self.prepared {
                if !self.write(&[], delta_ms) {
                    break;
                }
            } else {
                if self.end + length > self.limit && self.count > 0 {
                    break;
                }
                let delta_at = self.end + length - body + 1;
                self.bytes[delta_at] = (delta_ms << 1) as u8;
                self.end += length;
                self.count += 1;
            }
            if !marks.is_empty() {
                let from_end = self.template.bytes().len() - self.template.value_at();
                self.mark(from_end, self.template.value_bytes(), marks.after(done));
            }
            done += 1;
        }
        if done > 0 {
            self.max_delta_ms = self.max_delta_ms.max(delta_ms);
        }
        done
    }

    /// Appends a record given in parts (its key; the bytes after it), if there is room.
    #[inline]
    pub fn push(&mut self, parts: &[&[u8]], timestamp_ms: i64) -> bool {
        let delta_ms = self.delta(timestamp_ms);
        let done = self.write(parts, delta_ms);
        if done {
            self.max_delta_ms = self.max_delta_ms.max(delta_ms);
        }
        done
    }

    /// Timestamp delta to the first record; never negative.
    #[inline]
    fn delta(&mut self, timestamp_ms: i64) -> i64 {
        if self.count == 0 {
            self.base_timestamp_ms = timestamp_ms;
        }
        (timestamp_ms - self.base_timestamp_ms).max(0)
    }

    /// Writes a record: the template if there are no parts.
    fn write(&mut self, parts: &[&[u8]], delta_ms: i64) -> bool {
        let template = parts.is_empty();
        let own = self.template.bytes().len();
        let tail = if template {
            own
        } else {
            parts.iter().map(|part| part.len()).sum()
        };
        let body = 1 + varint::size(delta_ms) + varint::size(i64::from(self.count)) + tail;
        let length = varint::size(body as i64) + body;
        if self.end + length > self.limit && self.count > 0 {
            return false;
        }
        let room = self.end + FRONT_BYTES_MAX + length;
        if self.bytes.len() < room {
            // Doubles up to the limit: most batches reach it.
            let size = room.max((self.bytes.len() * 2).min(self.limit + FRONT_BYTES_MAX));
            self.bytes.resize(size, 0);
        }
        let mut at = self.end;
        at += varint::put(&mut self.bytes[at..], body as i64);
        self.bytes[at] = 0;
        at += 1;
        at += varint::put(&mut self.bytes[at..], delta_ms);
        at += varint::put(&mut self.bytes[at..], i64::from(self.count));
        if template {
            self.bytes[at..at + own].copy_from_slice(self.template.bytes());
        }
        for part in parts {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        match template && delta_ms <= SHORT_DELTA_MS && self.prepared == self.count {
            true => self.prepared += 1,
            false => self.prepared = self.prepared.min(self.count),
        }
        self.end += length;
        self.count += 1;
        true
    }

    /// Writes marks over the start of the last record's value, given its distance from the end of the batch and its length.
    #[inline]
    pub fn mark(&mut self, value_from_end: usize, value_bytes: usize, marks: ValuePrefix) {
        let at = self.end - value_from_end;
        for (place, mark) in [(0, marks.stamp), (SERIAL_AT, marks.serial)] {
            if let Some(mark) = mark {
                let length = value_bytes.saturating_sub(place).min(8);
                let at = at + place;
                self.bytes[at..at + length].copy_from_slice(&mark.to_be_bytes()[..length]);
            }
        }
    }

    /// Compresses the records, once all are there.
    ///
    /// # Errors
    /// If the codec fails.
    pub fn compress(&mut self, compressor: &mut Compressor) -> Result<(), CompressError> {
        let mut compressed = std::mem::take(&mut self.spare_buffer);
        compressed.clear();
        let head = self.start + layout::RECORDS;
        compressed.resize(head, 0);
        compressor.compress(&self.bytes[head..self.end], &mut compressed)?;
        compressed[self.start + layout::ATTRIBUTES..][..2]
            .copy_from_slice(&compressor.codec().attributes().to_be_bytes());
        let end = compressed.len();
        self.compressed = Some(CompressedBatch {
            bytes: compressed,
            end,
        });
        Ok(())
    }

    /// Writes the header with the producer's fields and the checksum. May be repeated with another producer.
    pub fn seal(&mut self, producer: Producer) {
        let (start, count) = (self.start, self.count);
        let first = self.base_timestamp_ms;
        let last = first + self.max_delta_ms;
        let batch = match &mut self.compressed {
            Some(compressed) => &mut compressed.bytes[start..compressed.end],
            None => &mut self.bytes[start..self.end],
        };
        let length = (batch.len() - layout::LEADER_EPOCH) as u32;
        let mut put = |at: usize, field: &[u8]| batch[at..at + field.len()].copy_from_slice(field);
        put(layout::BASE_OFFSET, &[0; 8]);
        put(layout::LENGTH, &length.to_be_bytes());
        put(layout::LEADER_EPOCH, &(-1_i32).to_be_bytes());
        put(layout::MAGIC, &[layout::MAGIC_V2]);
        put(
            layout::LAST_OFFSET_DELTA,
            &count.saturating_sub(1).to_be_bytes(),
        );
        put(layout::BASE_TIMESTAMP, &first.to_be_bytes());
        put(layout::MAX_TIMESTAMP, &last.to_be_bytes());
        put(layout::PRODUCER_ID, &producer.id.to_be_bytes());
        put(layout::PRODUCER_EPOCH, &producer.epoch.to_be_bytes());
        put(layout::BASE_SEQUENCE, &producer.sequence.to_be_bytes());
        put(layout::COUNT, &count.to_be_bytes());
        let crc = crc32c::crc32c(&batch[layout::ATTRIBUTES..]);
        batch[layout::CRC..layout::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    }

    /// The sealed batch.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.framed(0, 0)
    }

    /// Length of the sealed batch.
    #[inline]
    #[must_use]
    pub fn sealed_bytes(&self) -> usize {
        self.compressed
            .as_ref()
            .map_or(self.end, |compressed| compressed.end)
            - self.start
    }

    /// The sealed batch with bytes written before and after it by [`RecordBatchBuilder::frame`].
    ///
    /// # Panics
    /// If fewer bytes were written.
    #[inline]
    #[must_use]
    pub fn framed(&self, before: usize, after: usize) -> &[u8] {
        match &self.compressed {
            Some(compressed) => &compressed.bytes[self.start - before..compressed.end + after],
            None => &self.bytes[self.start - before..self.end + after],
        }
    }

    /// Writes bytes of the request before and after the batch.
    ///
    /// # Panics
    /// If there is not enough space in front.
    pub fn frame(&mut self, before: &[u8], after: &[u8]) {
        let (start, end) = (self.start, self.end);
        match &mut self.compressed {
            Some(compressed) => {
                compressed.bytes.truncate(compressed.end);
                compressed.bytes.extend_from_slice(after);
                compressed.bytes[start - before.len()..start].copy_from_slice(before);
            }
            None => {
                // This overwrites the layout of the next records.
                let framed_end = end + after.len();
                if self.bytes.len() < framed_end {
                    self.bytes.resize(framed_end, 0);
                }
                if !after.is_empty() {
                    self.prepared = self.prepared.min(self.count);
                }
                self.bytes[start - before.len()..start].copy_from_slice(before);
                self.bytes[end..framed_end].copy_from_slice(after);
            }
        }
    }
}
