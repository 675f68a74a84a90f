//! Delivery audit: acknowledged records against the records read back.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Insertion, Ranges, Serial};
use crate::records::{BatchDecompressor, BatchError, Batches, RecordError};

/// Gaps per writer and partition; with more, the audit fails.
const RANGES_MAX: usize = 1 << 20;

/// The result of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryReport {
    /// Records that were acknowledged.
    pub acknowledged: u64,
    /// Records read back, every copy counted.
    pub read: u64,
    /// Acknowledged records that were not found.
    pub lost: u64,
    /// Copies beyond the first of a record.
    pub duplicated: u64,
    /// Records found without an acknowledgement: the response was lost, so they may exist.
    pub unacknowledged: u64,
    /// Records that come after one that was written later.
    pub reordered: u64,
    /// Records of other runs.
    pub foreign: u64,
}

/// Why the audit of this partition failed.
#[derive(Debug, Error)]
pub enum AuditError {
    /// A batch could not be read.
    #[error("partition {0}: {1}")]
    Batch(i32, #[source] BatchError),
    /// The records of the batch with this base offset could not be decoded.
    #[error("partition {0}, the batch at offset {1}: {2}")]
    Body(i32, i64, String),
    /// The log start offset is above 0: records were deleted.
    #[error(
        "partition {0} begins at offset {1}: records before it were deleted; raise the topic's retention"
    )]
    Deleted(i32, i64),
    /// Too many gaps in the numbers of a writer.
    #[error("partition {0}: more than {RANGES_MAX} gaps, they cannot be accounted for")]
    TooManyGaps(i32),
}

/// The numbers that one writer wrote to one partition.
#[derive(Debug)]
struct WriterLog {
    acknowledged: Ranges,
    seen: Ranges,
    last: Option<u64>,
}

impl WriterLog {
    fn new() -> Self {
        Self {
            acknowledged: Ranges::new(RANGES_MAX),
            seen: Ranges::new(RANGES_MAX),
            last: None,
        }
    }
}

/// A delivery audit of one topic.
#[derive(Debug)]
pub struct DeliveryAudit {
    run: u64,
    logs: BTreeMap<(i32, u32), WriterLog>,
    unpacker: BatchDecompressor,
    found: DeliveryReport,
}

impl DeliveryAudit {
    /// An empty audit of a run.
    #[must_use]
    pub fn of_run(run: u64) -> Self {
        Self {
            run,
            logs: BTreeMap::new(),
            unpacker: BatchDecompressor::default(),
            found: DeliveryReport::default(),
        }
    }

    /// Adds acknowledged numbers of a writer in a partition: the first number, and how many.
    ///
    /// # Errors
    /// If there are too many gaps.
    pub fn acknowledged(
        &mut self,
        partition: i32,
        writer: u32,
        (from, count): (u64, u64),
    ) -> Result<(), AuditError> {
        let log = self.logs.entry((partition, writer));
        let log = log.or_insert_with(WriterLog::new);
        match log.acknowledged.add_range(from, count) {
            Insertion::Full => Err(AuditError::TooManyGaps(partition)),
            Insertion::New | Insertion::Duplicate => Ok(()),
        }
    }

    /// Reads a Fetch response of a partition from `from` on; returns the next offset, or `from` if there was no complete batch.
    ///
    /// # Errors
    /// If a batch is corrupt or cannot be decoded, or there are too many gaps.
    pub fn read(&mut self, partition: i32, from: i64, bytes: &[u8]) -> Result<i64, AuditError> {
        let mut next = from;
        for batch in Batches::new(bytes) {
            let wrong = |source| AuditError::Batch(partition, source);
            let batch = batch.map_err(wrong)?;
            batch.check().map_err(wrong)?;
            let header = batch.header;
            if header.next_offset() <= from {
                continue;
            }
            let offset = header.base_offset;
            let body = |reason: String| AuditError::Body(partition, offset, reason);
            let records = self
                .unpacker
                .unpack(&header, batch.body())
                .map_err(|error| body(error.to_string()))?;
            for record in header.records(records) {
                let record = record.map_err(|error: RecordError| body(error.to_string()))?;
                if record.offset < from || header.attributes.is_control() {
                    continue;
                }
                let serial = Serial::of_value(self.run, record.value.unwrap_or_default());
                count_record(&mut self.logs, &mut self.found, partition, serial)?;
            }
            next = header.next_offset();
        }
        Ok(next)
    }

    /// The result, once everything has been read.
    #[must_use]
    pub fn close(&self) -> DeliveryReport {
        let mut found = self.found;
        for log in self.logs.values() {
            found.acknowledged += log.acknowledged.count();
            found.lost += log.acknowledged.without(&log.seen);
            found.unacknowledged += log.seen.without(&log.acknowledged);
        }
        found
    }
}

fn count_record(
    logs: &mut BTreeMap<(i32, u32), WriterLog>,
    found: &mut DeliveryReport,
    partition: i32,
    serial: Option<Serial>,
) -> Result<(), AuditError> {
    let Some(Serial { writer, number }) = serial else {
        found.foreign += 1;
        return Ok(());
    };
    found.read += 1;
    let log = logs
        .entry((partition, writer))
        .or_insert_with(WriterLog::new);
    match log.seen.add(number) {
        Insertion::Full => return Err(AuditError::TooManyGaps(partition)),
        Insertion::Duplicate => found.duplicated += 1,
        Insertion::New => found.reordered += u64::from(log.last.is_some_and(|last| number < last)),
    }
    log.last = log.last.max(Some(number));
    Ok(())
}
