//! A batch that is filled, sealed, sent, and filled again: records of one form stay laid out and are only patched.

use super::{Record, layout};
use crate::audit::SERIAL_AT;
use crate::compress::{CompressError, Compressor};
use crate::varint;

/// Behind a record's length and attributes stands its timestamp delta. Up to this many ms it takes one byte, so that records
/// lie where they lay when the batch was filled before.
const SHORT_DELTA_MS: i64 = 63;

/// Most bytes of a record in front of its key: its length, attributes, timestamp delta and offset delta.
const FRONT_BYTES_MAX: usize = 5 + 1 + 10 + 5;

/// Who writes a batch, so that the broker takes it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Producer {
    /// Given by the cluster.
    pub id: i64,
    /// Given with it.
    pub epoch: i16,
    /// Number of the batch's first record in its partition.
    pub sequence: i32,
}

impl Producer {
    /// Nobody: the broker takes a batch as often as it comes.
    pub const NONE: Producer = Producer {
        id: -1,
        epoch: -1,
        sequence: -1,
    };
}

/// What is written over the front of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// Over the first eight bytes of each.
    pub stamp: Option<u64>,
    /// Over the eight bytes behind those: of the first record; each of the next ones has one more.
    pub serial: Option<u64>,
}

impl Marks {
    /// Values stay as they are.
    pub const NONE: Marks = Marks {
        stamp: None,
        serial: None,
    };

    fn are_none(self) -> bool {
        self == Self::NONE
    }

    /// Those of the record so many behind the first.
    #[inline]
    fn behind(self, records: u32) -> Self {
        Self {
            stamp: self.stamp,
            serial: self.serial.map(|first| first + u64::from(records)),
        }
    }
}

/// One batch, with room in front of it for what a request says of it.
#[derive(Debug)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where the batch begins.
    start: usize,
    /// Where it ends.
    end: usize,
    /// Beyond this it takes no second record.
    limit: usize,
    count: u32,
    base_timestamp_ms: i64,
    max_delta_ms: i64,
    /// The form that [`Batch::repeat`] repeats.
    form: Record,
    /// The first records that lie as repeating the form lays them, with a short timestamp delta.
    laid: u32,
    /// The batch with its records compressed, if they are.
    packed: Option<Packed>,
    spare: Vec<u8>,
}

/// A batch whose records are compressed.
#[derive(Debug)]
struct Packed {
    bytes: Vec<u8>,
    /// Where it ends; behind it stands what a request says.
    end: usize,
}

impl Batch {
    /// An empty one that takes records up to a size, its head included. `room_bytes` are kept free in front of it.
    #[must_use]
    pub fn new(room_bytes: usize, size_bytes: usize, form: Record) -> Self {
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
            form,
            laid: 0,
            packed: None,
            spare: Vec::new(),
        }
    }

    /// Records in it.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Its size uncompressed, in bytes.
    #[inline]
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.end - self.start
    }

    /// Forgets its records; what lies there is kept for the next ones.
    pub fn clear(&mut self) {
        self.count = 0;
        self.end = self.start + layout::RECORDS;
        self.base_timestamp_ms = 0;
        self.max_delta_ms = 0;
        if let Some(packed) = self.packed.take() {
            self.spare = packed.bytes;
        }
    }

    /// Has another form repeated, from an empty batch on.
    pub fn take_form(&mut self, form: &Record) {
        self.form = form.clone();
        self.laid = 0;
    }

    /// Appends the form up to `most` times, all with one timestamp, and says how often it found room. The marks are written
    /// over the front of each value.
    #[inline]
    pub fn repeat(&mut self, most: u32, timestamp_ms: i64, marks: Marks) -> u32 {
        let delta_ms = self.delta(timestamp_ms);
        let mut done = 0;
        while done < most {
            let body = self.form.bytes().len() + varint::size(i64::from(self.count)) + 2;
            let length = varint::size(body as i64) + body;
            if delta_ms > SHORT_DELTA_MS || self.count >= self.laid {
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
            if !marks.are_none() {
                let from_end = self.form.bytes().len() - self.form.value_at();
                self.mark(from_end, self.form.value_bytes(), marks.behind(done));
            }
            done += 1;
        }
        if done > 0 {
            self.max_delta_ms = self.max_delta_ms.max(delta_ms);
        }
        done
    }

    /// Appends a record in parts (its key; what stands behind it), if there is room.
    #[inline]
    pub fn push(&mut self, parts: &[&[u8]], timestamp_ms: i64) -> bool {
        let delta_ms = self.delta(timestamp_ms);
        let done = self.write(parts, delta_ms);
        if done {
            self.max_delta_ms = self.max_delta_ms.max(delta_ms);
        }
        done
    }

    /// Timestamp of the next record against the first one's: time that goes back is not written.
    #[inline]
    fn delta(&mut self, timestamp_ms: i64) -> i64 {
        if self.count == 0 {
            self.base_timestamp_ms = timestamp_ms;
        }
        (timestamp_ms - self.base_timestamp_ms).max(0)
    }

    /// Writes a record, the form if it has no parts.
    fn write(&mut self, parts: &[&[u8]], delta_ms: i64) -> bool {
        let form = parts.is_empty();
        let own = self.form.bytes().len();
        let tail = if form {
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
            // Doubling up to the limit: most batches reach it.
            let size = room.max((self.bytes.len() * 2).min(self.limit + FRONT_BYTES_MAX));
            self.bytes.resize(size, 0);
        }
        let mut at = self.end;
        at += varint::put(&mut self.bytes[at..], body as i64);
        self.bytes[at] = 0;
        at += 1;
        at += varint::put(&mut self.bytes[at..], delta_ms);
        at += varint::put(&mut self.bytes[at..], i64::from(self.count));
        if form {
            self.bytes[at..at + own].copy_from_slice(self.form.bytes());
        }
        for part in parts {
            self.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        match form && delta_ms <= SHORT_DELTA_MS && self.laid == self.count {
            true => self.laid += 1,
            false => self.laid = self.laid.min(self.count),
        }
        self.end += length;
        self.count += 1;
        true
    }

    /// Writes marks over the front of the last record's value, which begins so many bytes before the end of the batch and has a
    /// length of so many.
    #[inline]
    pub fn mark(&mut self, value_from_end: usize, value_bytes: usize, marks: Marks) {
        let at = self.end - value_from_end;
        for (place, mark) in [(0, marks.stamp), (SERIAL_AT, marks.serial)] {
            if let Some(mark) = mark {
                let length = value_bytes.saturating_sub(place).min(8);
                let at = at + place;
                self.bytes[at..at + length].copy_from_slice(&mark.to_be_bytes()[..length]);
            }
        }
    }

    /// Compresses the records, once they are all there.
    ///
    /// # Errors
    /// When the codec refuses.
    pub fn compress(&mut self, compressor: &mut Compressor) -> Result<(), CompressError> {
        let mut packed = std::mem::take(&mut self.spare);
        packed.clear();
        let head = self.start + layout::RECORDS;
        packed.resize(head, 0);
        compressor.compress(&self.bytes[head..self.end], &mut packed)?;
        packed[self.start + layout::ATTRIBUTES..][..2]
            .copy_from_slice(&compressor.codec().attributes().to_be_bytes());
        let end = packed.len();
        self.packed = Some(Packed { bytes: packed, end });
        Ok(())
    }

    /// Writes the head, with who sends it and its checksum. May be done again, with another producer.
    pub fn seal(&mut self, producer: Producer) {
        let (start, count) = (self.start, self.count);
        let first = self.base_timestamp_ms;
        let last = first + self.max_delta_ms;
        let batch = match &mut self.packed {
            Some(packed) => &mut packed.bytes[start..packed.end],
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

    /// Bytes of the sealed batch.
    #[inline]
    #[must_use]
    pub fn sealed_bytes(&self) -> usize {
        self.packed.as_ref().map_or(self.end, |packed| packed.end) - self.start
    }

    /// The sealed batch with what was written in front of it and behind it.
    ///
    /// # Panics
    /// When more was not written.
    #[inline]
    #[must_use]
    pub fn framed(&self, before: usize, behind: usize) -> &[u8] {
        match &self.packed {
            Some(packed) => &packed.bytes[self.start - before..packed.end + behind],
            None => &self.bytes[self.start - before..self.end + behind],
        }
    }

    /// Writes what a request says in front of the batch and behind it.
    ///
    /// # Panics
    /// When it is more than there is room for in front.
    pub fn frame(&mut self, before: &[u8], behind: &[u8]) {
        let (start, end) = (self.start, self.end);
        match &mut self.packed {
            Some(packed) => {
                packed.bytes.truncate(packed.end);
                packed.bytes.extend_from_slice(behind);
                packed.bytes[start - before.len()..start].copy_from_slice(before);
            }
            None => {
                // The next records lie there: they are laid out anew.
                let laid_end = end + behind.len();
                if self.bytes.len() < laid_end {
                    self.bytes.resize(laid_end, 0);
                }
                if !behind.is_empty() {
                    self.laid = self.laid.min(self.count);
                }
                self.bytes[start - before.len()..start].copy_from_slice(before);
                self.bytes[end..laid_end].copy_from_slice(behind);
            }
        }
    }
}
