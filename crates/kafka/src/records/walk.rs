//! Iteration over the records of a batch.

use super::error::RecordError;
use super::header::{BatchHeader, Timestamps};
use super::record::{Record, take_bytes};
use crate::varint::{take_int, take_long};

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
        let cut = RecordError::Cut { number, of };
        let length = RecordError::Length { number, of };
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
            return (bytes > 0).then_some(Err(RecordError::Trailing { bytes, of }));
        }
        let record = self.read();
        self.is_over = record.is_err();
        Some(record)
    }
}
