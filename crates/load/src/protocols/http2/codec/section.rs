//! Decodes header blocks: all fields are validated, the needed ones kept (RFC 9113 §8.2 and §8.3).

use tare_http2_frames::field::{bad_name_byte, bad_value_byte, decimal};
use tare_record::agent::Redirects;

use super::super::error::CodecError;
use super::super::hpack::{Decoder, HeaderListLimits, HpackError, TableChange};
use crate::protocols::http1::codec::ContentCoding;

/// Bytes of a `grpc-message` that are kept, for error messages.
const MESSAGE_BYTES_MAX: usize = 256;

/// Longest block that is cached; longer ones are decoded each time.
const CACHED_BYTES_MAX: usize = 1024;

/// The decoded fields of a header block, as far as they are needed (RFC 9110 §6: header or trailer section).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldSection {
    /// `:status`; trailers have none.
    pub status: Option<u16>,
    /// `content-length`.
    pub content_length: Option<u64>,
    /// `content-type`.
    pub content_type: ContentType,
    /// `content-encoding`.
    pub coding: ContentCoding,
    /// `grpc-encoding`: of messages that are flagged as compressed.
    pub message_coding: ContentCoding,
    /// `grpc-status`.
    pub grpc_status: GrpcStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentType {
    /// Not stated.
    #[default]
    Absent,
    /// `application/grpc`, with or without a suffix.
    Grpc,
    /// Another one.
    Other,
}

/// The status of a gRPC call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrpcStatus {
    /// Not stated.
    #[default]
    Absent,
    Code(u16),
    /// Stated, but not a number.
    Malformed,
}

/// Decoder of header blocks, with a cache.
///
/// A server's responses to one request are mostly byte for byte the same. As long as no block changes the dynamic table, equal
/// bytes mean equal fields: the last two blocks are cached (a gRPC response has a head and trailers), and a block equal to
/// either costs a comparison. Blocks with a `grpc-message` are not cached: its text is kept only until the next block.
#[derive(Debug)]
pub struct FieldSectionDecoder {
    decoder: Decoder,
    message: Vec<u8>,
    redirected_to: Option<Box<[u8]>>,
    cached: [CachedBlock; 2],
    /// The cache entry that is overwritten next: the one that was not used last.
    older: usize,
}

#[derive(Debug, Default)]
struct CachedBlock {
    block: Vec<u8>,
    /// `None` if the entry is not valid any more.
    section: Option<FieldSection>,
}

impl FieldSectionDecoder {
    /// The decoder of a new connection.
    #[must_use]
    pub fn new(table_bytes_max: usize, limits: HeaderListLimits) -> Self {
        Self {
            decoder: Decoder::new(table_bytes_max, limits),
            message: Vec::new(),
            redirected_to: None,
            cached: Default::default(),
            older: 0,
        }
    }

    /// Back to the state of a new connection, keeping buffers.
    pub fn reset(&mut self) {
        self.decoder.reset();
        self.invalidate();
    }

    fn invalidate(&mut self) {
        for one in &mut self.cached {
            one.section = None;
        }
    }

    #[inline]
    fn lookup(&mut self, block: &[u8]) -> Option<FieldSection> {
        for (at, one) in self.cached.iter().enumerate() {
            if let Some(section) = one.section
                && one.block == block
            {
                self.older = 1 - at;
                return Some(section);
            }
        }
        None
    }

    /// The `grpc-message` of the last section, as sent.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// Where the first redirect led: its `location`.
    #[must_use]
    pub fn redirected_to(&self) -> Option<&[u8]> {
        self.redirected_to.as_deref()
    }

    /// Decodes one block.
    ///
    /// # Errors
    /// Outer: the block cannot be decoded, an error of the connection. Inner: the first invalid field, an error of the stream.
    #[inline]
    pub fn read(&mut self, block: &[u8]) -> Result<Result<FieldSection, CodecError>, HpackError> {
        if let Some(section) = self.lookup(block) {
            self.message.clear();
            return Ok(Ok(section));
        }
        self.decode(block)
    }

    fn decode(&mut self, block: &[u8]) -> Result<Result<FieldSection, CodecError>, HpackError> {
        let mut reader = FieldReader {
            section: FieldSection::default(),
            first_error: None,
            message: &mut self.message,
            redirected_to: &mut self.redirected_to,
            ordinary_seen: false,
        };
        reader.message.clear();
        let table_use = self
            .decoder
            .decode(block, |name, value| reader.field(name, value))?;
        let FieldReader {
            section,
            first_error,
            ..
        } = reader;
        match table_use {
            TableChange::Unchanged => {}
            TableChange::Changed => self.invalidate(),
        }
        if let Some(error) = first_error {
            return Ok(Err(error));
        }
        let fits = block.len() <= CACHED_BYTES_MAX && self.message.is_empty();
        if table_use == TableChange::Unchanged && fits {
            let one = &mut self.cached[self.older];
            one.block.clear();
            one.block.extend_from_slice(block);
            one.section = Some(section);
            self.older = 1 - self.older;
        }
        Ok(Ok(section))
    }
}

struct FieldReader<'m> {
    section: FieldSection,
    first_error: Option<CodecError>,
    message: &'m mut Vec<u8>,
    redirected_to: &'m mut Option<Box<[u8]>>,
    ordinary_seen: bool,
}

impl FieldReader<'_> {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        if self.first_error.is_none() {
            self.first_error = self.read(name, value).err();
        }
    }

    fn read(&mut self, name: &[u8], value: &[u8]) -> Result<(), CodecError> {
        check_value(value)?;
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.ordinary_seen = true;
        check_name(name)?;
        match name {
            b"content-length" => {
                let bytes = decimal(value).ok_or(CodecError::BadContentLength)?;
                if self
                    .section
                    .content_length
                    .is_some_and(|before| before != bytes)
                {
                    return Err(CodecError::BadContentLength);
                }
                self.section.content_length = Some(bytes);
            }
            b"content-type" => self.section.content_type = content_type(value),
            b"content-encoding" => self.section.coding.add(value),
            b"grpc-encoding" => self.section.message_coding.add(value),
            b"location" if self.redirected_to.is_none() => self.redirect(value),
            b"grpc-status" => {
                let code = decimal(value).and_then(|code| u16::try_from(code).ok());
                self.section.grpc_status = code.map_or(GrpcStatus::Malformed, GrpcStatus::Code);
            }
            b"grpc-message" => {
                self.message.clear();
                self.message
                    .extend_from_slice(&value[..value.len().min(MESSAGE_BYTES_MAX)]);
            }
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => {
                return Err(CodecError::ConnectionHeader);
            }
            _ => {}
        }
        Ok(())
    }

    #[cold]
    fn redirect(&mut self, value: &[u8]) {
        let status = self.section.status;
        if status.is_some_and(|status| Redirects::STATUSES.contains(&status)) {
            *self.redirected_to = Some(value.into());
        }
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), CodecError> {
        if name != b":status" || self.ordinary_seen {
            return Err(CodecError::BadPseudoHeader);
        }
        let status = match value {
            [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => decimal(value),
            _ => None,
        };
        let is_second = self.section.status.is_some();
        match status.and_then(|status| u16::try_from(status).ok()) {
            Some(status) if !is_second => {
                self.section.status = Some(status);
                Ok(())
            }
            _ => Err(CodecError::BadStatus),
        }
    }
}

fn content_type(value: &[u8]) -> ContentType {
    match value.strip_prefix(b"application/grpc") {
        Some([] | [b'+' | b';' | b' ', ..]) => ContentType::Grpc,
        _ => ContentType::Other,
    }
}

fn check_name(name: &[u8]) -> Result<(), CodecError> {
    bad_name_byte(name).map_or(Ok(()), |byte| Err(CodecError::BadHeaderName { byte }))
}

fn check_value(value: &[u8]) -> Result<(), CodecError> {
    bad_value_byte(value).map_or(Ok(()), |byte| Err(CodecError::BadHeaderValue { byte }))
}
