//! Iteration over the batches of a partition, and decompression of their records into a reused buffer.

use super::header::{BatchError, BatchHeader, CRC_FROM, HEADER_BYTES, PREFIX_BYTES, Prefix};
use crate::compress::{CompressError, Compression, Decompressor};

/// A batch, in place.
#[derive(Debug, Clone, Copy)]
pub struct RecordBatch<'a> {
    pub header: BatchHeader,
    bytes: &'a [u8],
}

impl<'a> RecordBatch<'a> {
    /// The bytes after the header: records, compressed as the attributes say.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// The whole batch.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Verifies its checksum.
    ///
    /// # Errors
    /// If the checksum is wrong.
    pub fn check(&self) -> Result<(), BatchError> {
        let found = crc32c::crc32c(&self.bytes[CRC_FROM..]);
        if found == self.header.crc {
            return Ok(());
        }
        Err(BatchError::Crc(
            self.header.base_offset,
            self.header.crc,
            found,
        ))
    }
}

/// The batches of a partition in a Fetch response: the last one may be partial, since a broker fills the requested size without
/// regard to batches. Ends after the first error.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
    cut_bytes: usize,
}

impl<'a> Batches<'a> {
    /// Iterates over the bytes of a partition.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            cut_bytes: 0,
        }
    }

    /// Bytes of a partial batch at the end; known once the iteration has ended.
    #[must_use]
    pub fn cut_bytes(&self) -> usize {
        self.cut_bytes
    }

    fn cut(&mut self) -> Option<Result<RecordBatch<'a>, BatchError>> {
        self.cut_bytes = self.rest.len();
        self.rest = &[];
        None
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<RecordBatch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(front) = self.rest.first_chunk::<PREFIX_BYTES>() else {
            return self.cut();
        };
        let whole_bytes = match Prefix::read(front) {
            Ok(prefix) => prefix.batch_bytes,
            Err(error) => {
                self.rest = &[];
                return Some(Err(error));
            }
        };
        let Some((bytes, rest)) = self.rest.split_at_checked(whole_bytes) else {
            return self.cut();
        };
        let header = BatchHeader::read(bytes.first_chunk::<HEADER_BYTES>()?);
        self.rest = if header.is_ok() { rest } else { &[] };
        Some(header.map(|header| RecordBatch { header, bytes }))
    }
}

/// Default limit of the decompressed size: a hundred times the brokers' default limit of a batch.
pub const UNPACKED_MAX_BYTES: usize = 100 << 20;

/// Decompresses batches, one at a time.
#[derive(Debug)]
pub struct BatchDecompressor {
    codecs: Decompressor,
    buffer: Vec<u8>,
    max_bytes: usize,
}

impl Default for BatchDecompressor {
    fn default() -> Self {
        Self::new(UNPACKED_MAX_BYTES)
    }
}

impl BatchDecompressor {
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
