//! Incremental parsing of one partition's batches: headers buffered, checksums computed on the fly, bodies kept on request.

use crate::records::{BatchError, BatchHeader, CRC_FROM, HEADER_BYTES, PREFIX_BYTES, Prefix};

/// Longest batch whose body is kept: sixteen times the brokers' default limit.
const KEPT_MAX_BYTES: usize = 16 << 20;

/// Whether checksums are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcCheck {
    /// Verify.
    On,
    /// Skip, to measure their cost.
    Off,
}

/// What happens to the bodies of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyMode {
    /// Only checksummed; records are counted by the header.
    Skip,
    /// Returned whole, for parsing.
    Keep,
}

/// A parsed batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned<'a> {
    pub header: BatchHeader,
    /// Whether the checksum is right; always `Ok` without a check.
    pub checked: Result<(), BatchError>,
    /// The bytes after the header, if bodies are kept.
    pub body: Option<&'a [u8]>,
}

/// The result of consuming input.
#[derive(Debug)]
pub(super) enum Step {
    /// More input is needed.
    More,
    /// A batch ends with the last byte consumed.
    Batch {
        header: BatchHeader,
        checked: Result<(), BatchError>,
        body: BodyLocation,
    },
    /// An invalid batch; the rest of the partition cannot be parsed.
    Bad(BatchError),
}

/// Where the body of a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyLocation {
    /// It was not kept.
    Skipped,
    /// The last bytes consumed of the input.
    Input,
    /// It came in pieces and was assembled in the buffer.
    Buffered,
}

/// Parser of the batches of a partition.
#[derive(Debug)]
pub(super) struct BatchStream {
    check: CrcCheck,
    bodies: BodyMode,
    head: [u8; HEADER_BYTES],
    /// Bytes of the current batch that were consumed.
    consumed: usize,
    header: Option<BatchHeader>,
    crc: u32,
    /// The received part of a body that is kept and came in pieces.
    body: Vec<u8>,
}

impl BatchStream {
    pub(super) fn new(check: CrcCheck, bodies: BodyMode) -> Self {
        Self {
            check,
            bodies,
            head: [0; HEADER_BYTES],
            consumed: 0,
            header: None,
            crc: 0,
            body: Vec::new(),
        }
    }

    /// Starts with the next partition; returns the bytes of a partial batch.
    pub(super) fn restart(&mut self) -> usize {
        self.header = None;
        std::mem::take(&mut self.consumed)
    }

    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Step {
        let header = match self.header {
            Some(header) => header,
            None => match self.read_header(bytes) {
                Ok(Some(header)) => header,
                Ok(None) => return Step::More,
                Err(error) => return Step::Bad(error),
            },
        };
        if self.bodies == BodyMode::Keep && header.batch_bytes > KEPT_MAX_BYTES {
            let (offset, bytes) = (header.base_offset, header.batch_bytes);
            return Step::Bad(BatchError::TooLarge(offset, bytes, KEPT_MAX_BYTES));
        }
        let left = header.batch_bytes - self.consumed;
        let (piece, rest) = bytes.split_at(left.min(bytes.len()));
        *bytes = rest;
        if self.check == CrcCheck::On {
            self.crc = crc32c::crc32c_append(self.crc, piece);
        }
        let is_whole = piece.len() == left;
        let body_started = self.consumed > HEADER_BYTES;
        if self.bodies == BodyMode::Keep && (body_started || !is_whole) {
            if !body_started {
                self.body.clear();
            }
            self.body.extend_from_slice(piece);
        }
        self.consumed += piece.len();
        if !is_whole {
            return Step::More;
        }
        self.restart();
        Step::Batch {
            header,
            checked: self.check_crc(&header),
            body: match self.bodies {
                BodyMode::Skip => BodyLocation::Skipped,
                BodyMode::Keep if body_started => BodyLocation::Buffered,
                BodyMode::Keep => BodyLocation::Input,
            },
        }
    }

    /// The body that was assembled from pieces.
    pub(super) fn buffered(&self) -> &[u8] {
        &self.body
    }

    /// Buffers and parses the header. A batch of another format may be shorter than a header: the prefix is checked first.
    fn read_header(&mut self, bytes: &mut &[u8]) -> Result<Option<BatchHeader>, BatchError> {
        for until in [PREFIX_BYTES, HEADER_BYTES] {
            let wanted = until.saturating_sub(self.consumed);
            let (piece, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.head[self.consumed..self.consumed + piece.len()].copy_from_slice(piece);
            self.consumed += piece.len();
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

    fn check_crc(&self, header: &BatchHeader) -> Result<(), BatchError> {
        if self.check == CrcCheck::Off || self.crc == header.crc {
            return Ok(());
        }
        Err(BatchError::Crc(header.base_offset, header.crc, self.crc))
    }
}
