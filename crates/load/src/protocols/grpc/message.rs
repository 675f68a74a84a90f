//! Parser of length-prefixed messages in a body, independent of how the body was split into frames.

use tare_http2_frames::gzip::{self, Decoded};
use thiserror::Error;

use crate::protocols::http1::codec::{BodyCheck, BodyMismatch, BodyProgress, ContentCoding};

/// Flag and length before each message.
pub const PREFIX_BYTES: usize = 5;

/// Largest message that is read.
pub const MESSAGE_BYTES_MAX: u32 = 64 << 20;

/// Why the messages of a response are not the expected ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MessageError {
    #[error("a message has the flag {flag}, which is neither 0 nor 1 (compressed)")]
    Flag { flag: u8 },
    #[error(
        "a message is compressed and the answer's grpc-encoding is not gzip, the only one that is decoded"
    )]
    Compressed,
    #[error("message {number} is not the gzip that the answer's grpc-encoding says")]
    NotGzip {
        /// Which one, from 1.
        number: u32,
    },
    #[error("a message of {size_bytes} bytes, at most {MESSAGE_BYTES_MAX} are read")]
    TooLarge { size_bytes: u32 },
    #[error("the answer ends within a message, {missing_bytes} bytes before its end")]
    Truncated { missing_bytes: u32 },
    #[error("the call succeeded with {count} messages instead of {expected}")]
    Count { count: u32, expected: u32 },
    #[error("message {number} is wrong: {wrong}")]
    Body {
        /// Which one, from 1.
        number: u32,
        wrong: BodyMismatch,
    },
}

/// State of reading the messages of one response.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    prefix: [u8; PREFIX_BYTES],
    prefix_bytes: usize,
    left_bytes: u32,
    count: u32,
    /// Check state of the current message.
    body: BodyProgress,
    /// Whether the current message is compressed.
    is_compressed: bool,
    /// Whether any message was.
    has_compressed: bool,
    /// A compressed message, where its content is checked.
    compressed: Vec<u8>,
    /// The first error: an unexpected message, or one that ends the reading.
    first_error: Option<MessageError>,
}

impl Messages {
    /// Reads the next slice of the body.
    #[inline]
    pub fn push(&mut self, check: &BodyCheck, mut slice: &[u8]) {
        while !slice.is_empty() && !self.is_over() {
            if let (0, Some(&prefix)) = (self.prefix_bytes, slice.first_chunk::<PREFIX_BYTES>()) {
                // The common case: the whole prefix is in the slice.
                self.prefix_bytes = PREFIX_BYTES;
                slice = &slice[PREFIX_BYTES..];
                self.begin(check, prefix);
                continue;
            }
            if self.prefix_bytes < PREFIX_BYTES {
                let (taken, rest) =
                    slice.split_at(slice.len().min(PREFIX_BYTES - self.prefix_bytes));
                self.prefix[self.prefix_bytes..][..taken.len()].copy_from_slice(taken);
                self.prefix_bytes += taken.len();
                slice = rest;
                if self.prefix_bytes == PREFIX_BYTES {
                    self.begin(check, self.prefix);
                }
                continue;
            }
            let (taken, rest) = slice.split_at(slice.len().min(self.left_bytes as usize));
            match (self.is_compressed, check) {
                (false, _) => self.body.push(check, taken),
                (true, BodyCheck::Anything) => {}
                (true, _) => self.compressed.extend_from_slice(taken),
            }
            self.left_bytes -= taken.len() as u32;
            slice = rest;
            self.end_if_whole(check);
        }
    }

    /// Whether the rest of the body is ignored.
    #[inline]
    fn is_over(&self) -> bool {
        matches!(
            self.first_error,
            Some(MessageError::Flag { .. } | MessageError::TooLarge { .. })
        )
    }

    #[inline]
    fn begin(&mut self, check: &BodyCheck, prefix: [u8; PREFIX_BYTES]) {
        let [flag, a, b, c, d] = prefix;
        let size_bytes = u32::from_be_bytes([a, b, c, d]);
        self.left_bytes = size_bytes;
        self.is_compressed = flag == 1;
        self.has_compressed |= self.is_compressed;
        if flag > 1 {
            self.first_error = Some(MessageError::Flag { flag });
        } else if size_bytes > MESSAGE_BYTES_MAX {
            self.first_error = Some(MessageError::TooLarge { size_bytes });
        } else {
            self.end_if_whole(check);
        }
    }

    #[inline]
    fn end_if_whole(&mut self, check: &BodyCheck) {
        if self.left_bytes > 0 {
            return;
        }
        self.count = self.count.saturating_add(1);
        self.prefix_bytes = 0;
        if self.is_compressed && *check != BodyCheck::Anything {
            self.decode(check);
        }
        let body = std::mem::take(&mut self.body);
        if let (Err(wrong), None) = (body.finish(check), self.first_error) {
            let number = self.count;
            self.first_error = Some(MessageError::Body { number, wrong });
        }
    }

    /// Decodes a compressed message and compares it.
    #[cold]
    fn decode(&mut self, check: &BodyCheck) {
        let mut message = Vec::new();
        let decoded = gzip::decode(&self.compressed, MESSAGE_BYTES_MAX as usize, &mut message);
        self.compressed.clear();
        if decoded != Ok(Decoded::Whole) {
            let number = self.count;
            self.first_error
                .get_or_insert(MessageError::NotGzip { number });
        }
        self.body.push(check, &message);
    }

    /// Complete messages so far.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Checks the messages of a call that succeeded; `coding` is what compressed ones have, `expected` their number, if known.
    ///
    /// # Errors
    /// The first error.
    pub fn finish(&self, coding: ContentCoding, expected: Option<u32>) -> Result<(), MessageError> {
        if self.has_compressed && coding != ContentCoding::Gzip {
            return Err(MessageError::Compressed);
        }
        if let (Some(error), true) = (self.first_error, self.is_over()) {
            return Err(error);
        }
        if self.prefix_bytes > 0 {
            let missing_bytes = match self.prefix_bytes {
                PREFIX_BYTES => self.left_bytes,
                some => (PREFIX_BYTES - some) as u32,
            };
            return Err(MessageError::Truncated { missing_bytes });
        }
        if let Some(expected) = expected.filter(|&expected| expected != self.count) {
            let count = self.count;
            return Err(MessageError::Count { count, expected });
        }
        self.first_error.map_or(Ok(()), Err)
    }
}
