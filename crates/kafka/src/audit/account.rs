//! What was acknowledged against what is read back.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Noted, Ranges, Serial};
use crate::records::{BatchError, Batches, RecordError, Unpacker};

/// Gaps of one writer in one partition that are kept apart: beyond, an account cannot be closed.
const RANGES_MAX: usize = 1 << 20;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    /// Records that were acknowledged.
    pub acknowledged: u64,
    /// Records that were read back, each copy.
    pub read: u64,
    /// Of those acknowledged, not there.
    pub lost: u64,
    /// Copies beyond the first of a record.
    pub duplicated: u64,
    /// Records that are there although nobody acknowledged them: their answers were lost, and they may be there.
    pub unacknowledged: u64,
    /// Records that stand before one that was written earlier.
    pub disordered: u64,
    /// Records of nobody who was asked about.
    pub foreign: u64,
}

/// Why nothing can be said.
#[derive(Debug, Error)]
pub enum AccountError {
    /// A batch cannot be read.
    #[error("partition {partition}: {source}")]
    Batch {
        /// Which partition.
        partition: i32,
        /// Why.
        source: BatchError,
    },
    /// What is in a batch cannot be read.
    #[error("partition {partition}, the batch at offset {offset}: {reason}")]
    Body {
        /// Which partition.
        partition: i32,
        /// Where the batch begins.
        offset: i64,
        /// Why.
        reason: String,
    },
    /// There is nothing at an offset where records were.
    #[error(
        "partition {partition} begins at offset {first}: records before it were deleted; raise the topic's retention"
    )]
    Deleted {
        /// Which partition.
        partition: i32,
        /// Its first offset.
        first: i64,
    },
    /// The account is too ragged.
    #[error("partition {partition}: more than {RANGES_MAX} gaps, they cannot be accounted for")]
    Ragged {
        /// Which partition.
        partition: i32,
    },
}

/// What one writer wrote to one partition.
#[derive(Debug)]
struct Line {
    acknowledged: Ranges,
    seen: Ranges,
    last: Option<u64>,
}

impl Line {
    fn new() -> Self {
        Self {
            acknowledged: Ranges::new(RANGES_MAX),
            seen: Ranges::new(RANGES_MAX),
            last: None,
        }
    }
}

/// An account of one topic.
#[derive(Debug)]
pub struct Account {
    run: u64,
    lines: BTreeMap<(i32, u32), Line>,
    unpacker: Unpacker,
    found: Found,
}

impl Account {
    /// An empty one of a run.
    #[must_use]
    pub fn of_run(run: u64) -> Self {
        Self {
            run,
            lines: BTreeMap::new(),
            unpacker: Unpacker::default(),
            found: Found::default(),
        }
    }

    /// Numbers that a writer had acknowledged in a partition, from one on and so many.
    ///
    /// # Errors
    /// When there are too many gaps.
    pub fn acknowledged(
        &mut self,
        partition: i32,
        writer: u32,
        (from, count): (u64, u64),
    ) -> Result<(), AccountError> {
        let line = self.lines.entry((partition, writer));
        let line = line.or_insert_with(Line::new);
        match line.acknowledged.add_range(from, count) {
            Noted::Full => Err(AccountError::Ragged { partition }),
            Noted::New | Noted::Again => Ok(()),
        }
    }

    /// Reads what a broker answered for a partition from an offset on, and says where to go on; the same offset: there was nothing.
    ///
    /// # Errors
    /// When a batch is corrupt, or records before it are gone.
    pub fn read(&mut self, partition: i32, from: i64, bytes: &[u8]) -> Result<i64, AccountError> {
        let mut next = from;
        for batch in Batches::new(bytes) {
            let wrong = |source| AccountError::Batch { partition, source };
            let batch = batch.map_err(wrong)?;
            batch.check().map_err(wrong)?;
            let header = batch.header;
            if header.next_offset() <= from {
                continue;
            }
            let offset = header.base_offset;
            let body = |reason: String| AccountError::Body {
                partition,
                offset,
                reason,
            };
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
                note(&mut self.lines, &mut self.found, partition, serial)?;
            }
            next = header.next_offset();
        }
        Ok(next)
    }

    /// What was found, when everything has been read.
    #[must_use]
    pub fn close(&self) -> Found {
        let mut found = self.found;
        for line in self.lines.values() {
            found.acknowledged += line.acknowledged.count();
            found.lost += line.acknowledged.without(&line.seen);
            found.unacknowledged += line.seen.without(&line.acknowledged);
        }
        found
    }
}

/// Takes one record in.
fn note(
    lines: &mut BTreeMap<(i32, u32), Line>,
    found: &mut Found,
    partition: i32,
    serial: Option<Serial>,
) -> Result<(), AccountError> {
    let Some(Serial { writer, number }) = serial else {
        found.foreign += 1;
        return Ok(());
    };
    found.read += 1;
    let line = lines.entry((partition, writer)).or_insert_with(Line::new);
    match line.seen.add(number) {
        Noted::Full => return Err(AccountError::Ragged { partition }),
        Noted::Again => found.duplicated += 1,
        Noted::New => found.disordered += u64::from(line.last.is_some_and(|last| number < last)),
    }
    line.last = line.last.max(Some(number));
    Ok(())
}
