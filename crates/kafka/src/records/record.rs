//! Iteration over the records of a batch, in place: key, value, headers, timestamp and offset.

use super::header::{BatchHeader, RecordError, Timestamps};
use crate::varint::{take_int, take_long, take_unsigned};

/// The records of a batch. Ends after the first error; trailing bytes after the last record are one.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    number: u32,
    of: u32,
    base_offset: i64,
    base_timestamp_ms: i64,
    /// With LogAppendTime: the timestamp of all records.
    appended_ms: Option<i64>,
    is_over: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(header: &BatchHeader, body: &'a [u8]) -> Self {
        let appended = header.attributes.timestamps() == Timestamps::Appended;
        Self {
            rest: body,
            number: 0,
            of: header.records,
            base_offset: header.base_offset,
            base_timestamp_ms: header.base_timestamp_ms,
            appended_ms: appended.then_some(header.max_timestamp_ms),
            is_over: false,
        }
    }

    #[inline]
    fn read(&mut self) -> Result<Record<'a>, RecordError> {
        let (number, of) = (self.number, self.of);
        let cut = RecordError::Cut(number, of);
        let length = RecordError::Length(number, of);
        let record_bytes =
            usize::try_from(take_int(&mut self.rest).ok_or(cut)?).map_err(|_| length)?;
        let (mut record, rest) = self.rest.split_at_checked(record_bytes).ok_or(cut)?;
        self.rest = rest;
        self.number += 1;
        self.fields(&mut record).ok_or(length)
    }

    #[inline]
    fn fields(&self, rest: &mut &'a [u8]) -> Option<Record<'a>> {
        let (_attributes, behind) = rest.split_first()?;
        *rest = behind;
        let time_delta_ms = take_long(rest)?;
        let offset_delta = take_int(rest)?;
        let key = take_bytes(rest)?;
        let value = take_bytes(rest)?;
        let header_count = u32::try_from(take_int(rest)?).ok()?;
        if header_count == 0 && !rest.is_empty() {
            return None;
        }
        Some(Record {
            offset: self.base_offset.wrapping_add(i64::from(offset_delta)),
            timestamp_ms: match self.appended_ms {
                Some(at_ms) => at_ms,
                None => self.base_timestamp_ms.wrapping_add(time_delta_ms),
            },
            key,
            value,
            header_count,
            header_bytes: rest,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if self.number == self.of {
            self.is_over = true;
            let (bytes, of) = (self.rest.len(), self.of);
            return (bytes > 0).then_some(Err(RecordError::Trailing(bytes, of)));
        }
        let record = self.read();
        self.is_over = record.is_err();
        Some(record)
    }
}

/// A record; it borrows from the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its offset in the partition.
    pub offset: i64,
    /// CreateTime or LogAppendTime, in milliseconds since 1970.
    pub timestamp_ms: i64,
    pub key: Option<&'a [u8]>,
    /// Its value; `None`: a tombstone.
    pub value: Option<&'a [u8]>,
    header_count: u32,
    header_bytes: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeaderRef<'a> {
    /// Its key: UTF-8 according to Kafka, unchecked.
    pub name: &'a [u8],
    pub value: Option<&'a [u8]>,
}

/// The type of a control record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// The transaction was aborted.
    Abort,
    /// The transaction was committed.
    Commit,
    /// Another type: leader change, snapshot.
    Other(i16),
}

impl<'a> Record<'a> {
    /// Its headers, parsed on demand.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers {
            left: self.header_count,
            rest: self.header_bytes,
        }
    }

    /// The number of headers it declares.
    #[must_use]
    pub fn header_count(&self) -> u32 {
        self.header_count
    }

    /// The value of the first header with this key.
    #[must_use]
    pub fn header(&self, name: &[u8]) -> Option<&'a [u8]> {
        let mut headers = self.headers().filter_map(Result::ok);
        headers.find(|header| header.name == name)?.value
    }

    /// The type of a control record: its key holds version and type.
    #[must_use]
    pub fn control(&self) -> Option<Control> {
        let kind = self.key?.get(2..4)?;
        Some(match i16::from_be_bytes([kind[0], kind[1]]) {
            0 => Control::Abort,
            1 => Control::Commit,
            kind => Control::Other(kind),
        })
    }
}

/// The headers of a record are truncated or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the headers of a record do not fit into it")]
pub struct HeaderError;

/// The headers of a record. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    left: u32,
    rest: &'a [u8],
}

impl<'a> Headers<'a> {
    fn read(&mut self) -> Option<RecordHeaderRef<'a>> {
        let name_bytes = usize::try_from(take_int(&mut self.rest)?).ok()?;
        let (name, rest) = self.rest.split_at_checked(name_bytes)?;
        self.rest = rest;
        let value = take_bytes(&mut self.rest)?;
        Some(RecordHeaderRef { name, value })
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Result<RecordHeaderRef<'a>, HeaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let read = self.read();
        if read.is_none() {
            self.left = 0;
        }
        Some(read.ok_or(HeaderError))
    }
}

/// Takes bytes with a length prefix; −1 is null. The outer `None` is an impossible length.
#[inline]
#[expect(
    clippy::option_option,
    reason = "one says that it could be read, the other what it is"
)]
fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    // Zigzag: −1 is 1, and every other odd number is a length below −1.
    let raw = take_unsigned(rest)?;
    if raw & 1 == 1 {
        return (raw == 1).then_some(None);
    }
    let (bytes, behind) = rest.split_at_checked(usize::try_from(raw >> 1).ok()?)?;
    *rest = behind;
    Some(Some(bytes))
}
