//! An answer to a fetch as it arrives: told part by part, from whatever pieces the network makes of it.

use super::section::{AnswerHead, FetchError, PartitionHead, Place, Section};
use super::stream::{BatchStream, Bodies, BodyIn, CrcCheck, Scanned, Step};
use crate::records::{BatchError, HEADER_BYTES};

/// Most bytes between the records of two partitions: names are short, and aborted transactions few.
const SECTION_MAX_BYTES: usize = 1 << 20;

/// A part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// It began.
    Answer(AnswerHead),
    /// A partition; its batches follow.
    Partition(PartitionHead<'a>),
    /// A batch of it.
    Batch(Scanned<'a>),
    /// What cannot be a batch; the rest of the partition passes unread.
    Bad(BatchError),
    /// Its last batch was cut after so many bytes: it is the first of the next fetch.
    Cut(usize),
    /// The answer is whole.
    End,
}

/// Reads the frames of answers.
#[derive(Debug)]
pub struct FetchScanner {
    place: Place,
    stage: Stage,
    /// Bytes of the frame that have not been used.
    frame_left: usize,
    /// A part that came in pieces, as far as it came.
    gathered: Vec<u8>,
    topic: Vec<u8>,
    batches: BatchStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Section,
    Records {
        left: usize,
    },
    /// Records behind something that is no batch.
    Skip {
        left: usize,
    },
    Over,
}

impl FetchScanner {
    /// One that expects no frame yet.
    #[must_use]
    pub fn new(check: CrcCheck, bodies: Bodies) -> Self {
        Self {
            place: Place::START,
            stage: Stage::Over,
            frame_left: 0,
            gathered: Vec::new(),
            topic: Vec::new(),
            batches: BatchStream::new(check, bodies),
        }
    }

    /// A frame of so many bytes follows, from behind its length and its correlation on.
    pub fn begin(&mut self, frame_bytes: usize) {
        self.place = Place::START;
        self.stage = Stage::Section;
        self.frame_left = frame_bytes;
        self.gathered.clear();
        self.batches.restart();
    }

    /// Whether the frame was read to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The next part; `None` when the bytes are used up. What it leaves of them behind the end belongs to the next frame.
    ///
    /// # Errors
    /// When this is no answer to a fetch; nothing more can be read then.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Event<'a>>, FetchError> {
        loop {
            match self.stage {
                Stage::Over => return Ok(None),
                Stage::Section => match self.section(bytes)? {
                    None => return Ok(None),
                    Some(Section::Head(head)) => return Ok(Some(Event::Answer(head))),
                    Some(Section::Topic(_)) => {}
                    Some(Section::End) => return self.end().map(Some),
                    Some(Section::Partition(head)) => {
                        if head.records_bytes > self.frame_left {
                            return Err(FetchError::Cut("the records of a partition"));
                        }
                        self.stage = Stage::Records {
                            left: head.records_bytes,
                        };
                        return Ok(Some(Event::Partition(PartitionHead {
                            topic: &self.topic,
                            partition: head.partition,
                            error: head.error,
                            high_watermark: head.high_watermark,
                            log_start: head.log_start,
                            preferred_replica: head.preferred_replica,
                            records_bytes: head.records_bytes,
                        })));
                    }
                },
                // Behind a batch: what is cut is told with its last byte.
                Stage::Records { left: 0 } | Stage::Skip { left: 0 } => {
                    self.stage = Stage::Section;
                    self.batches.restart();
                }
                Stage::Records { .. } | Stage::Skip { .. } if bytes.is_empty() => return Ok(None),
                Stage::Skip { left } => {
                    let count = left.min(bytes.len());
                    *bytes = &bytes[count..];
                    self.frame_left -= count;
                    self.stage = Stage::Skip { left: left - count };
                }
                Stage::Records { left } => return Ok(self.records(left, bytes)),
            }
        }
    }

    fn records<'a, 'b: 'a>(&'a mut self, left: usize, bytes: &mut &'b [u8]) -> Option<Event<'a>> {
        let offered = &bytes[..left.min(bytes.len())];
        let mut rest = offered;
        let step = self.batches.next(&mut rest);
        let used = &offered[..offered.len() - rest.len()];
        *bytes = &bytes[used.len()..];
        let left = left - used.len();
        self.frame_left -= used.len();
        self.stage = Stage::Records { left };
        match step {
            Step::Batch {
                header,
                checked,
                body,
            } => Some(Event::Batch(Scanned {
                header,
                checked,
                body: match body {
                    BodyIn::Nothing => None,
                    BodyIn::Gathered => Some(self.batches.gathered()),
                    BodyIn::Piece => {
                        Some(&used[used.len() - (header.batch_bytes - HEADER_BYTES)..])
                    }
                },
            })),
            Step::Bad(error) => {
                self.stage = Stage::Skip { left };
                Some(Event::Bad(error))
            }
            Step::More if left == 0 => {
                self.stage = Stage::Section;
                Some(Event::Cut(self.batches.restart()))
            }
            Step::More => None,
        }
    }

    fn end<'a>(&mut self) -> Result<Event<'a>, FetchError> {
        self.stage = Stage::Over;
        match self.frame_left {
            0 => Ok(Event::End),
            left => Err(FetchError::Trailing(left)),
        }
    }

    /// Reads a part, from the bytes at hand if it is whole there, or else from what was gathered of it.
    fn section(&mut self, bytes: &mut &[u8]) -> Result<Option<Section<'static>>, FetchError> {
        let cut = FetchError::Cut(self.place.word());
        if self.gathered.is_empty() {
            let offered = &bytes[..self.frame_left.min(bytes.len())];
            let mut rest = offered;
            if let Some(section) = self.place.read(&mut rest) {
                let section = keep(section, &mut self.topic);
                let used = offered.len() - rest.len();
                self.frame_left -= used;
                *bytes = &bytes[used..];
                return Ok(Some(section));
            }
            if offered.len() == self.frame_left {
                return Err(cut);
            }
            self.gathered.extend_from_slice(offered);
            *bytes = &bytes[offered.len()..];
            return Ok(None);
        }
        let before = self.gathered.len();
        // What is gathered is still counted as left.
        let offered = &bytes[..(self.frame_left - before).min(bytes.len())];
        self.gathered.extend_from_slice(offered);
        let mut rest = &self.gathered[..];
        let Some(section) = self.place.read(&mut rest) else {
            if self.gathered.len() == self.frame_left || self.gathered.len() > SECTION_MAX_BYTES {
                return Err(cut);
            }
            *bytes = &bytes[offered.len()..];
            return Ok(None);
        };
        let section = keep(section, &mut self.topic);
        let used = self.gathered.len() - rest.len();
        self.gathered.clear();
        self.frame_left -= used;
        *bytes = &bytes[used - before..];
        Ok(Some(section))
    }
}

/// A part without what it borrows: the name of a topic is kept until the next one.
fn keep(section: Section<'_>, topic: &mut Vec<u8>) -> Section<'static> {
    match section {
        Section::Head(head) => Section::Head(head),
        Section::Topic(name) => {
            topic.clear();
            topic.extend_from_slice(name);
            Section::Topic(&[])
        }
        Section::Partition(head) => Section::Partition(PartitionHead { topic: &[], ..head }),
        Section::End => Section::End,
    }
}
