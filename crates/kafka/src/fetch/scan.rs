//! An incremental parser of Fetch responses: events from arbitrary pieces of input.

use super::section::{AnswerHead, FetchError, PartitionHead, Section, SectionReader};
use super::stream::{BatchStream, BodyLocation, BodyMode, CrcCheck, Scanned, Step};
use crate::records::{BatchError, HEADER_BYTES};

/// Largest section between records: names are short, and aborted transactions few.
const SECTION_MAX_BYTES: usize = 1 << 20;

/// An event of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The response header.
    Answer(AnswerHead),
    /// A partition; its batches follow.
    Partition(PartitionHead<'a>),
    Batch(Scanned<'a>),
    /// An invalid batch; the rest of the partition is skipped.
    Invalid(BatchError),
    /// A partial batch at the end of a partition, with the bytes that were received; the next fetch returns it whole.
    Partial(usize),
    /// The end of the response.
    End,
}

/// Parses response frames.
#[derive(Debug)]
pub struct FetchScanner {
    reader: SectionReader,
    stage: Stage,
    /// Bytes of the frame that are not consumed yet.
    frame_left: usize,
    /// The received part of a section that came in pieces.
    buffered: Vec<u8>,
    topic: Vec<u8>,
    batches: BatchStream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Section,
    Records {
        left: usize,
    },
    /// Skipping the rest of a partition after an invalid batch.
    Skip {
        left: usize,
    },
    Over,
}

impl FetchScanner {
    /// A scanner without a frame.
    #[must_use]
    pub fn new(check: CrcCheck, bodies: BodyMode) -> Self {
        Self {
            reader: SectionReader::START,
            stage: Stage::Over,
            frame_left: 0,
            buffered: Vec::new(),
            topic: Vec::new(),
            batches: BatchStream::new(check, bodies),
        }
    }

    /// Begins a frame of this many bytes after length and correlation id.
    pub fn begin(&mut self, frame_bytes: usize) {
        self.reader = SectionReader::START;
        self.stage = Stage::Section;
        self.frame_left = frame_bytes;
        self.buffered.clear();
        self.batches.restart();
    }

    /// Whether the frame was read to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The next event; `None` if more input is needed. Bytes beyond the frame are left in `bytes`: they belong to the next one.
    ///
    /// # Errors
    /// If the frame is not a valid Fetch response; the scanner cannot continue then.
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
                        let topic = &self.topic;
                        return Ok(Some(Event::Partition(PartitionHead { topic, ..head })));
                    }
                },
                // After the records: a partial batch is reported together with its last byte.
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
                    BodyLocation::Skipped => None,
                    BodyLocation::Buffered => Some(self.batches.buffered()),
                    BodyLocation::Input => {
                        Some(&used[used.len() - (header.batch_bytes - HEADER_BYTES)..])
                    }
                },
            })),
            Step::Bad(error) => {
                self.stage = Stage::Skip { left };
                Some(Event::Invalid(error))
            }
            Step::More if left == 0 => {
                self.stage = Stage::Section;
                Some(Event::Partial(self.batches.restart()))
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

    /// Parses a section, from the input if it is whole there, else from the buffered bytes.
    fn section(&mut self, bytes: &mut &[u8]) -> Result<Option<Section<'static>>, FetchError> {
        let cut = FetchError::Cut(self.reader.section_name());
        if self.buffered.is_empty() {
            let offered = &bytes[..self.frame_left.min(bytes.len())];
            let mut rest = offered;
            if let Some(section) = self.reader.read(&mut rest) {
                let section = store_topic(section, &mut self.topic);
                let used = offered.len() - rest.len();
                self.frame_left -= used;
                *bytes = &bytes[used..];
                return Ok(Some(section));
            }
            if offered.len() == self.frame_left {
                return Err(cut);
            }
            self.buffered.extend_from_slice(offered);
            *bytes = &bytes[offered.len()..];
            return Ok(None);
        }
        let before = self.buffered.len();
        // Buffered bytes are still counted in `frame_left`.
        let offered = &bytes[..(self.frame_left - before).min(bytes.len())];
        self.buffered.extend_from_slice(offered);
        let mut rest = &self.buffered[..];
        let Some(section) = self.reader.read(&mut rest) else {
            if self.buffered.len() == self.frame_left || self.buffered.len() > SECTION_MAX_BYTES {
                return Err(cut);
            }
            *bytes = &bytes[offered.len()..];
            return Ok(None);
        };
        let section = store_topic(section, &mut self.topic);
        let used = self.buffered.len() - rest.len();
        self.buffered.clear();
        self.frame_left -= used;
        *bytes = &bytes[used - before..];
        Ok(Some(section))
    }
}

/// Detaches a section from the input: the name of a topic is stored until the next one.
fn store_topic(section: Section<'_>, topic: &mut Vec<u8>) -> Section<'static> {
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
