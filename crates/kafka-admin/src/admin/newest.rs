//! The newest records of a partition, bounded.

use std::collections::VecDeque;

use tare_kafka::records::{BatchDecompressor, Batches, Record};

use crate::api::{RecordBytes, RecordRow};

use super::error::{AdminError, Result};
use super::offsets::OffsetSpec;
use super::{Admin, PartitionInfo};

/// Bytes of a key, a value or a header that are shown.
const SHOWN_BYTES: usize = 4096;
/// Headers that are shown.
const SHOWN_HEADERS: usize = 32;
/// Largest decompressed batch that is read.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// Fetches for one partition: offsets may have gaps, and control records are not shown.
const FETCHES_MAX: usize = 8;

impl Admin {
    /// The newest records of a partition, at most `count`, the oldest first.
    ///
    /// # Errors
    /// If the partition has no leader, or a batch is corrupt or too large.
    pub fn newest_records(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        count: usize,
    ) -> Result<Vec<RecordRow>> {
        let number = partition.partition;
        let name = format!("{topic}-{number}");
        let leader = partition
            .leader
            .ok_or_else(|| AdminError::Input(format!("{name} has no leader: start its brokers")))?;
        let key = (topic.to_owned(), number);
        let keys = std::slice::from_ref(&key);
        let first = self.offsets(keys, OffsetSpec::Earliest)?;
        let end = self.offsets(keys, OffsetSpec::Latest)?;
        let (Some(&first), Some(&end)) = (first.get(&key), end.get(&key)) else {
            return Ok(Vec::new());
        };
        let wanted = i64::try_from(count).unwrap_or(i64::MAX);
        let mut next = end.saturating_sub(wanted).max(first);
        let from = next;
        let mut rows = VecDeque::new();
        let mut unpacker = BatchDecompressor::new(BATCH_BYTES_MAX);
        for _ in 0..FETCHES_MAX {
            if next >= end {
                break;
            }
            let data = self.fetch(topic, number, leader, next)?;
            let bytes = data.records.unwrap_or_default();
            let before = next;
            for batch in Batches::new(&bytes) {
                let wrong = |reason: String| AdminError::Input(format!("{name}: {reason}"));
                let batch = batch.map_err(|error| wrong(error.to_string()))?;
                let header = batch.header;
                next = next.max(header.next_offset());
                if header.attributes.is_control() {
                    continue;
                }
                let records = unpacker
                    .unpack(&header, batch.body())
                    .map_err(|error| wrong(error.to_string()))?;
                for record in header.records(records) {
                    let record = record.map_err(|error| wrong(error.to_string()))?;
                    if record.offset >= from {
                        if rows.len() == count {
                            rows.pop_front();
                        }
                        rows.push_back(row(number, &record));
                    }
                }
            }
            if next == before {
                break;
            }
        }
        Ok(rows.into())
    }
}

fn row(partition: i32, record: &Record<'_>) -> RecordRow {
    let headers = record.headers().filter_map(std::result::Result::ok);
    RecordRow {
        partition,
        offset: record.offset,
        timestamp_ms: record.timestamp_ms,
        key: record.key.map(RecordBytes::of),
        value: record.value.map(RecordBytes::of),
        headers: headers
            .take(SHOWN_HEADERS)
            .map(|header| {
                let shown = &header.name[..header.name.len().min(SHOWN_BYTES)];
                let name = String::from_utf8_lossy(shown).into_owned();
                (name, header.value.map(RecordBytes::of))
            })
            .collect(),
    }
}

impl RecordBytes {
    /// Bytes as they are shown, cut to a limit.
    #[must_use]
    pub fn of(bytes: &[u8]) -> RecordBytes {
        let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
        // A cut may go through a character.
        let text = match str::from_utf8(shown) {
            Ok(text) => Some(text),
            Err(error) if bytes.len() > SHOWN_BYTES && error.error_len().is_none() => {
                str::from_utf8(&shown[..error.valid_up_to()]).ok()
            }
            Err(_) => None,
        };
        RecordBytes {
            text: text.map(str::to_owned),
            hex: shown.iter().map(|byte| format!("{byte:02x}")).collect(),
            size_bytes: bytes.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_text_where_they_are_text_and_cut_between_characters() {
        let text = RecordBytes::of("größe".as_bytes());
        assert_eq!((text.text.as_deref(), text.size_bytes), (Some("größe"), 7));
        assert_eq!(text.hex, "6772c3b6c39f65");
        assert_eq!(RecordBytes::of(&[0xff, 0x00]).text, None);
        let long = RecordBytes::of(format!("x{}", "ö".repeat(3000)).as_bytes());
        assert_eq!(long.text.unwrap().len(), SHOWN_BYTES - 1);
        assert_eq!((long.hex.len(), long.size_bytes), (2 * SHOWN_BYTES, 6001));
    }
}
