//! The sections between the records of a Fetch response: response header, topic and partition headers, tagged fields.

use thiserror::Error;

/// The header of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerHead {
    /// Throttle time: how long the broker delayed the response, or the client should wait.
    pub throttle_ms: i32,
    /// Error code of the whole request; 0 for none.
    pub error: i16,
}

/// The header of a partition, before its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionHead<'a> {
    pub topic: &'a [u8],
    pub partition: i32,
    /// Error code; 0 for none.
    pub error: i16,
    /// The high watermark: the offset after the last replicated record.
    pub high_watermark: i64,
    /// The log start offset.
    pub log_start: i64,
    /// The preferred read replica; −1 for none.
    pub preferred_replica: i32,
    /// Length of the records that follow.
    pub records_bytes: usize,
}

/// Why a response is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FetchError {
    /// It is truncated, or a length in it exceeds it.
    #[error("truncated Fetch response (in {0}): version mismatch")]
    Cut(&'static str),
    /// It has trailing bytes.
    #[error("{0} trailing bytes after a Fetch response: version mismatch")]
    Trailing(usize),
}

/// Parser of the sections: its position in the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionReader {
    at: Position,
    topics_left: u32,
    partitions_left: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Head,
    Topic,
    Partition,
    AfterRecords,
    End,
}

/// A parsed section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section<'a> {
    Head(AnswerHead),
    /// A topic's name.
    Topic(&'a [u8]),
    /// A partition header; its topic is filled in by the caller.
    Partition(PartitionHead<'a>),
    End,
}

impl SectionReader {
    pub(super) const START: SectionReader = SectionReader {
        at: Position::Head,
        topics_left: 0,
        partitions_left: 0,
    };

    /// Name of the current section, for error messages.
    pub(super) fn section_name(self) -> &'static str {
        match self.at {
            Position::Head => "its head",
            Position::Topic => "the name of a topic",
            Position::Partition => "the head of a partition",
            Position::AfterRecords => "the end of a partition",
            Position::End => "its end",
        }
    }

    /// Parses the next section; `None` if more bytes are needed, and then nothing has changed.
    pub(super) fn read<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Section<'a>> {
        let mut reader = *self;
        let mut rest = ByteReader(bytes);
        let section = reader.step(&mut rest)?;
        *self = reader;
        *bytes = rest.0;
        Some(section)
    }

    fn step<'a>(&mut self, rest: &mut ByteReader<'a>) -> Option<Section<'a>> {
        loop {
            match self.at {
                Position::Head => {
                    rest.tags()?;
                    let throttle_ms = rest.int()?;
                    let error = rest.short()?;
                    let _session = rest.int()?;
                    self.topics_left = rest.count()?;
                    self.at = Position::Topic;
                    return Some(Section::Head(AnswerHead { throttle_ms, error }));
                }
                Position::Topic if self.topics_left == 0 => self.at = Position::End,
                Position::Topic => {
                    let name_bytes = rest.count()?;
                    let name = rest.take(name_bytes as usize)?;
                    self.partitions_left = rest.count()?;
                    self.topics_left -= 1;
                    self.at = Position::Partition;
                    return Some(Section::Topic(name));
                }
                Position::Partition if self.partitions_left == 0 => {
                    rest.tags()?;
                    self.at = Position::Topic;
                }
                Position::Partition => {
                    let head = partition(rest)?;
                    self.partitions_left -= 1;
                    self.at = Position::AfterRecords;
                    return Some(Section::Partition(head));
                }
                Position::AfterRecords => {
                    rest.tags()?;
                    self.at = Position::Partition;
                }
                Position::End => {
                    rest.tags()?;
                    return Some(Section::End);
                }
            }
        }
    }
}

fn partition<'a>(rest: &mut ByteReader<'a>) -> Option<PartitionHead<'a>> {
    let partition = rest.int()?;
    let error = rest.short()?;
    let high_watermark = rest.long()?;
    let _last_stable = rest.long()?;
    let log_start = rest.long()?;
    for _ in 0..rest.count()? {
        // An aborted transaction: producer id and first offset.
        rest.take(16)?;
        rest.tags()?;
    }
    let preferred_replica = rest.int()?;
    let records_bytes = rest.count()? as usize;
    Some(PartitionHead {
        topic: &[],
        partition,
        error,
        high_watermark,
        log_start,
        preferred_replica,
        records_bytes,
    })
}

/// The remaining input.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(front)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }

    fn short(&mut self) -> Option<i16> {
        self.array().map(i16::from_be_bytes)
    }

    fn int(&mut self) -> Option<i32> {
        self.array().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Option<i64> {
        self.array().map(i64::from_be_bytes)
    }

    /// A varint of at most 32 bits; a longer one is clamped, and then exceeds any frame.
    fn number(&mut self) -> Option<u32> {
        let mut value: u64 = 0;
        for at in 0..5 {
            let [byte] = self.array::<1>()?;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                break;
            }
        }
        Some(value.min(u64::from(u32::MAX)) as u32)
    }

    /// Length of a compact array, string or bytes, encoded plus one; null counts as 0.
    fn count(&mut self) -> Option<u32> {
        Some(self.number()?.saturating_sub(1))
    }

    /// Skips tagged fields.
    fn tags(&mut self) -> Option<()> {
        for _ in 0..self.number()? {
            let _tag = self.number()?;
            let bytes = self.number()?;
            self.take(bytes as usize)?;
        }
        Some(())
    }
}
