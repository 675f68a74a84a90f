//! Decompression of a batch's records into a reused buffer.

use super::header::BatchHeader;
use crate::compress::{CompressError, Compression, Decompressor};

/// Default limit of the decompressed size: a hundred times the brokers' default limit of a batch.
pub const UNPACKED_MAX_BYTES: usize = 100 << 20;

/// Decompresses batches, one at a time.
#[derive(Debug)]
pub struct Unpacker {
    codecs: Decompressor,
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self::new(UNPACKED_MAX_BYTES)
    }
}

impl Unpacker {
    /// A decompressor with a limit of the decompressed size.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            codecs: Decompressor::default(),
            buffer: Vec::new(),
            max_bytes,
        }
    }

    /// The records to parse: the body itself if it is not compressed, else its decompressed bytes.
    ///
    /// # Errors
    /// If the body is invalid for its codec, or too large when decompressed.
    pub fn unpack<'a>(
        &'a mut self,
        header: &BatchHeader,
        body: &'a [u8],
    ) -> Result<&'a [u8], CompressError> {
        match Compression::of_attributes(header.attributes.0)? {
            Compression::None => Ok(body),
            codec => {
                self.codecs
                    .decompress(codec, body, &mut self.buffer, self.max_bytes)?;
                Ok(&self.buffer)
            }
        }
    }
}
