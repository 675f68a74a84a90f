//! The newest records of a partition, bounded.

use tare_kafka::records::{BatchDecompressor, Batches, Control, Record};

use crate::api::{RecordBytes, RecordRow, TransactionState};

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

/// The newest records of a partition, and what its newest offsets hold besides.
#[derive(Debug, Default)]
pub struct NewestRecords {
    /// The oldest first.
    pub records: Vec<RecordRow>,
    /// Offsets that hold transaction markers.
    pub markers: u64,
    /// Offsets without a record: compaction removed it.
    pub holes: u64,
    /// Offsets at the end that were not read, since the records before them are too large.
    pub unread: u64,
    /// Whether there are older offsets, which were not looked at.
    pub has_older: bool,
}

impl Admin {
    /// What the newest `count` offsets of a partition hold.
    ///
    /// # Errors
    /// If the partition has no leader, or a batch is corrupt or too large.
    pub fn newest_records(
        &mut self,
        topic: &str,
        partition: &PartitionInfo,
        count: usize,
    ) -> Result<NewestRecords> {
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
            return Ok(NewestRecords::default());
        };
        let wanted = i64::try_from(count).unwrap_or(i64::MAX);
        let from = end.saturating_sub(wanted).max(first);
        let mut window = Window::new(number, from);
        for _ in 0..FETCHES_MAX {
            let before = window.next;
            if before >= end {
                break;
            }
            let data = self.fetch(topic, number, leader, before)?;
            let bytes = data.records.unwrap_or_default();
            let wrong = |reason: String| AdminError::Input(format!("{name}: {reason}"));
            window.add(&bytes).map_err(wrong)?;
            if window.next == before {
                break;
            }
        }
        Ok(window.end(end, from > first))
    }
}

/// The offsets that are read, from the first on.
struct Window {
    partition: i32,
    from: i64,
    next: i64,
    rows: Vec<RecordRow>,
    /// Rows of transactions whose end was not read yet, by producer.
    open: Vec<(i64, usize)>,
    markers: u64,
    unpacker: BatchDecompressor,
}

impl Window {
    fn new(partition: i32, from: i64) -> Window {
        Window {
            partition,
            from,
            next: from,
            rows: Vec::new(),
            open: Vec::new(),
            markers: 0,
            unpacker: BatchDecompressor::new(BATCH_BYTES_MAX),
        }
    }

    /// Takes the batches of a fetch.
    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        for batch in Batches::new(bytes) {
            let batch = batch.map_err(|error| error.to_string())?;
            let header = batch.header;
            self.next = self.next.max(header.next_offset());
            let records = self
                .unpacker
                .unpack(&header, batch.body())
                .map_err(|error| error.to_string())?;
            for record in header.records(records) {
                let record = record.map_err(|error| error.to_string())?;
                if record.offset < self.from {
                    continue;
                }
                if header.attributes.is_control() {
                    self.markers += 1;
                    let ended = match record.control() {
                        Some(Control::Commit) => TransactionState::Committed,
                        Some(Control::Abort) => TransactionState::Aborted,
                        Some(Control::Other(_)) | None => continue,
                    };
                    for (producer, at) in &self.open {
                        if *producer == header.producer_id {
                            self.rows[*at].transaction = Some(ended);
                        }
                    }
                    self.open
                        .retain(|(producer, _)| *producer != header.producer_id);
                } else {
                    if header.attributes.is_transactional() {
                        self.open.push((header.producer_id, self.rows.len()));
                    }
                    self.rows.push(row(self.partition, &record));
                }
            }
        }
        Ok(())
    }

    /// What was found up to the end of the partition.
    fn end(mut self, end: i64, has_older: bool) -> NewestRecords {
        let count = |number: i64| u64::try_from(number).unwrap_or_default();
        // What was written meanwhile.
        self.rows.retain(|row| row.offset < end);
        if self.next >= end {
            for (_, at) in self.open {
                if let Some(row) = self.rows.get_mut(at) {
                    row.transaction = Some(TransactionState::Open);
                }
            }
        }
        let read = count(self.next.min(end) - self.from);
        NewestRecords {
            holes: read.saturating_sub(self.rows.len() as u64 + self.markers),
            markers: self.markers,
            unread: count(end - self.next),
            has_older,
            records: self.rows,
        }
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
        transaction: None,
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
    use tare_kafka::batch::{EncodedRecord, Producer, RecordBatchBuilder, ValuePrefix, layout};

    use super::*;

    const TRANSACTIONAL: u8 = 0b01_0000;
    const CONTROL: u8 = 0b10_0000;

    /// A batch of one record, as a partition has it.
    fn batch(offset: i64, producer: i64, attributes: u8, key: &[u8]) -> Vec<u8> {
        let record = EncodedRecord::new(Some(key), Some(b"value"), &[]);
        let mut batch = RecordBatchBuilder::new(0, 1 << 10, record);
        assert_eq!(batch.repeat(1, 0, ValuePrefix::NONE), 1);
        batch.seal(Producer {
            id: producer,
            ..Producer::NONE
        });
        let mut bytes = batch.bytes().to_vec();
        bytes[layout::BASE_OFFSET..layout::LENGTH].copy_from_slice(&offset.to_be_bytes());
        bytes[layout::ATTRIBUTES + 1] = attributes;
        bytes
    }

    fn marker(offset: i64, producer: i64, is_commit: bool) -> Vec<u8> {
        let key = [0, 0, 0, u8::from(is_commit)];
        batch(offset, producer, TRANSACTIONAL | CONTROL, &key)
    }

    #[test]
    fn records_are_told_how_their_transaction_ended_and_markers_and_holes_are_counted() {
        use TransactionState::{Aborted, Committed, Open};
        let mut window = Window::new(0, 10);
        let first = [
            // A fetch returns whole batches: this one is older.
            batch(9, 1, TRANSACTIONAL, b"a"),
            batch(10, 1, TRANSACTIONAL, b"a"),
            batch(11, 2, TRANSACTIONAL, b"b"),
            batch(12, -1, 0, b"c"),
            marker(13, 1, false),
        ];
        window.add(&first.concat()).unwrap();
        let second = [
            batch(14, 1, TRANSACTIONAL, b"d"),
            // 15 to 17 are gone.
            marker(18, 2, true),
            // Beyond the end that was read first.
            batch(20, -1, 0, b"e"),
        ];
        window.add(&second.concat()).unwrap();
        let found = window.end(20, true);
        let states: Vec<_> = found
            .records
            .iter()
            .map(|row| (row.offset, row.transaction))
            .collect();
        let expected = [
            (10, Some(Aborted)),
            (11, Some(Committed)),
            (12, None),
            (14, Some(Open)),
        ];
        assert_eq!(states, expected);
        assert_eq!((found.markers, found.holes, found.unread), (2, 4, 0));
    }

    #[test]
    fn what_was_not_read_is_told_and_open_is_not_guessed() {
        let mut window = Window::new(0, 10);
        window.add(&batch(10, 1, TRANSACTIONAL, b"a")).unwrap();
        let found = window.end(30, false);
        assert_eq!((found.unread, found.holes), (19, 0));
        assert_eq!(found.records[0].transaction, None);
    }

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
