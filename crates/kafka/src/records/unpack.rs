//! The records of a compressed batch: decompressed into a buffer that is kept.

use super::header::BatchHeader;
use crate::compress::{CompressError, Compression, Decompressor};

/// Most bytes that are taken out of one batch: hundred times what brokers take by default.
pub const UNPACKED_MAX_BYTES: usize = 100 << 20;

/// Decompresses batch after batch.
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
    /// One that takes at most so many bytes out of a batch.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            codecs: Decompressor::default(),
            buffer: Vec::new(),
            max_bytes,
        }
    }

    /// What is to be walked: the body as it is where it is not compressed, and else what comes out of it.
    ///
    /// # Errors
    /// When the body is not what its codec writes, or too much comes out of it.
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
