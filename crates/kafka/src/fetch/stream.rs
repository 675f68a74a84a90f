//! The records of one partition as they arrive in pieces: headers gathered, checksums run along, bodies kept only if wanted.

use crate::records::{BatchError, BatchHeader, CRC_FROM, HEADER_BYTES, PREFIX_BYTES, Prefix};

/// Longest batch whose body is kept: sixteen times what brokers take by default.
const KEPT_MAX_BYTES: usize = 16 << 20;

/// Whether checksums are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcCheck {
    /// They are.
    On,
    /// They are not; it shows what they cost.
    Off,
}

/// What becomes of the bodies of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    /// They are summed over and pass; their records are counted by the header.
    Pass,
    /// They are given out whole, to be walked.
    Keep,
}

/// A batch that went by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned<'a> {
    /// Its header.
    pub header: BatchHeader,
    /// Whether its checksum is right; without a check it is taken for right.
    pub checked: Result<(), BatchError>,
    /// What follows its header, if bodies are kept.
    pub body: Option<&'a [u8]>,
}

/// What became of the bytes given.
#[derive(Debug)]
pub(super) enum Step {
    /// They are used up.
    More,
    /// A batch is whole with the last of the bytes that were used.
    Batch {
        header: BatchHeader,
        checked: Result<(), BatchError>,
        body: BodyIn,
    },
    /// No batch; what is left of the partition cannot be read.
    Bad(BatchError),
}

/// Where the body of a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyIn {
    /// Nowhere: it was not kept.
    Nothing,
    /// It is the last bytes that were used.
    Piece,
    /// It came in pieces and was put together.
    Gathered,
}

/// The batches of a partition in pieces.
#[derive(Debug)]
pub(super) struct BatchStream {
    check: CrcCheck,
    bodies: Bodies,
    head: [u8; HEADER_BYTES],
    /// Bytes of the batch under way that went by.
    gone: usize,
    header: Option<BatchHeader>,
    crc: u32,
    /// The body as far as it came, if it is kept and came in pieces.
    body: Vec<u8>,
}

impl BatchStream {
    pub(super) fn new(check: CrcCheck, bodies: Bodies) -> Self {
        Self {
            check,
            bodies,
            head: [0; HEADER_BYTES],
            gone: 0,
            header: None,
            crc: 0,
            body: Vec::new(),
        }
    }

    /// Another partition begins; bytes of a batch that was cut.
    pub(super) fn restart(&mut self) -> usize {
        self.header = None;
        std::mem::take(&mut self.gone)
    }

    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Step {
        let header = match self.header {
            Some(header) => header,
            None => match self.gather(bytes) {
                Ok(Some(header)) => header,
                Ok(None) => return Step::More,
                Err(error) => return Step::Bad(error),
            },
        };
        if self.bodies == Bodies::Keep && header.batch_bytes > KEPT_MAX_BYTES {
            return Step::Bad(BatchError::TooLarge {
                offset: header.base_offset,
                bytes: header.batch_bytes,
                max_bytes: KEPT_MAX_BYTES,
            });
        }
        let left = header.batch_bytes - self.gone;
        let (piece, rest) = bytes.split_at(left.min(bytes.len()));
        *bytes = rest;
        if self.check == CrcCheck::On {
            self.crc = crc32c::crc32c_append(self.crc, piece);
        }
        let is_whole = piece.len() == left;
        let came_before = self.gone > HEADER_BYTES;
        if self.bodies == Bodies::Keep && (came_before || !is_whole) {
            if !came_before {
                self.body.clear();
            }
            self.body.extend_from_slice(piece);
        }
        self.gone += piece.len();
        if !is_whole {
            return Step::More;
        }
        self.restart();
        Step::Batch {
            header,
            checked: self.verdict(&header),
            body: match self.bodies {
                Bodies::Pass => BodyIn::Nothing,
                Bodies::Keep if came_before => BodyIn::Gathered,
                Bodies::Keep => BodyIn::Piece,
            },
        }
    }

    /// The body that came in pieces.
    pub(super) fn gathered(&self) -> &[u8] {
        &self.body
    }

    /// Gathers the header. A batch of another format may be shorter than one: the front is looked at first.
    fn gather(&mut self, bytes: &mut &[u8]) -> Result<Option<BatchHeader>, BatchError> {
        for until in [PREFIX_BYTES, HEADER_BYTES] {
            let wanted = until.saturating_sub(self.gone);
            let (piece, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.head[self.gone..self.gone + piece.len()].copy_from_slice(piece);
            self.gone += piece.len();
            *bytes = rest;
            if piece.len() < wanted {
                return Ok(None);
            }
            if until == PREFIX_BYTES
                && wanted > 0
                && let Some(front) = self.head.first_chunk::<PREFIX_BYTES>()
            {
                Prefix::read(front)?;
            }
        }
        let header = BatchHeader::read(&self.head)?;
        self.header = Some(header);
        if self.check == CrcCheck::On {
            self.crc = crc32c::crc32c(&self.head[CRC_FROM..]);
        }
        Ok(Some(header))
    }

    fn verdict(&self, header: &BatchHeader) -> Result<(), BatchError> {
        if self.check == CrcCheck::Off || self.crc == header.crc {
            return Ok(());
        }
        Err(BatchError::Crc {
            offset: header.base_offset,
            said: header.crc,
            found: self.crc,
        })
    }
}
