//! What is between the records of an answer: its head, the heads of topics and partitions, and tagged fields.

use thiserror::Error;

/// The first things an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerHead {
    /// For how long the broker held it back, or wants us to hold back.
    pub throttle_ms: i32,
    /// Why the whole request failed; 0 if it did not.
    pub error: i16,
}

/// What an answer says about a partition, before its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionHead<'a> {
    /// Its topic.
    pub topic: &'a [u8],
    /// Its number.
    pub partition: i32,
    /// Why it could not be read; 0 if it could.
    pub error: i16,
    /// The offset behind the last record that is replicated.
    pub high_watermark: i64,
    /// The oldest offset that is still there.
    pub log_start: i64,
    /// The replica to ask in place of the leader; −1 for none.
    pub preferred_replica: i32,
    /// Bytes of records that follow.
    pub records_bytes: usize,
}

/// Why an answer cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FetchError {
    /// It ends too early, or a length in it goes beyond it.
    #[error("the answer to a fetch ends within {0}: broker and Tare do not mean the same version")]
    Cut(&'static str),
    /// It goes on too long.
    #[error(
        "{0} bytes too many behind the answer to a fetch: broker and Tare do not mean the same version"
    )]
    Trailing(usize),
}

/// The parts of an answer that are not records, as far as they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    at: At,
    topics_left: u32,
    partitions_left: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    Topic,
    Partition,
    BehindRecords,
    End,
}

/// What a part turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section<'a> {
    Head(AnswerHead),
    /// The name of a topic.
    Topic(&'a [u8]),
    /// A partition; its topic is known to whoever asked.
    Partition(PartitionHead<'a>),
    End,
}

impl Place {
    pub(super) const START: Place = Place {
        at: At::Head,
        topics_left: 0,
        partitions_left: 0,
    };

    /// In which part it is, for messages.
    pub(super) fn word(self) -> &'static str {
        match self.at {
            At::Head => "its head",
            At::Topic => "the name of a topic",
            At::Partition => "the head of a partition",
            At::BehindRecords => "the end of a partition",
            At::End => "its end",
        }
    }

    /// Reads the next part; `None` when more bytes are needed, and then nothing has changed.
    pub(super) fn read<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Section<'a>> {
        let mut place = *self;
        let mut rest = Rest(bytes);
        let section = place.step(&mut rest)?;
        *self = place;
        *bytes = rest.0;
        Some(section)
    }

    fn step<'a>(&mut self, rest: &mut Rest<'a>) -> Option<Section<'a>> {
        loop {
            match self.at {
                At::Head => {
                    rest.tags()?;
                    let throttle_ms = rest.int()?;
                    let error = rest.short()?;
                    let _session = rest.int()?;
                    self.topics_left = rest.count()?;
                    self.at = At::Topic;
                    return Some(Section::Head(AnswerHead { throttle_ms, error }));
                }
                At::Topic if self.topics_left == 0 => self.at = At::End,
                At::Topic => {
                    let name_bytes = rest.count()?;
                    let name = rest.take(name_bytes as usize)?;
                    self.partitions_left = rest.count()?;
                    self.topics_left -= 1;
                    self.at = At::Partition;
                    return Some(Section::Topic(name));
                }
                At::Partition if self.partitions_left == 0 => {
                    rest.tags()?;
                    self.at = At::Topic;
                }
                At::Partition => {
                    let head = partition(rest)?;
                    self.partitions_left -= 1;
                    self.at = At::BehindRecords;
                    return Some(Section::Partition(head));
                }
                At::BehindRecords => {
                    rest.tags()?;
                    self.at = At::Partition;
                }
                At::End => {
                    rest.tags()?;
                    return Some(Section::End);
                }
            }
        }
    }
}

fn partition<'a>(rest: &mut Rest<'a>) -> Option<PartitionHead<'a>> {
    let partition = rest.int()?;
    let error = rest.short()?;
    let high_watermark = rest.long()?;
    let _last_stable = rest.long()?;
    let log_start = rest.long()?;
    for _ in 0..rest.count()? {
        // An aborted transaction: who, and since which offset.
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

/// What is left of the bytes at hand.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
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

    /// Seven bits a byte, at most 32 bits; what is longer is cut to them, and then too long for any frame.
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

    /// Of a compact array, string or bytes: one less than is written; none at all is 0.
    fn count(&mut self) -> Option<u32> {
        Some(self.number()?.saturating_sub(1))
    }

    /// Passes over tagged fields.
    fn tags(&mut self) -> Option<()> {
        for _ in 0..self.number()? {
            let _tag = self.number()?;
            let bytes = self.number()?;
            self.take(bytes as usize)?;
        }
        Some(())
    }
}
