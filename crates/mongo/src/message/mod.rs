//! Wire protocol messages: framing, parsing, writing.
//!
//! Since MongoDB 5.1 there are two: OP_MSG for everything, and OP_QUERY for the first hello of older drivers.

mod op_msg;

#[cfg(test)]
pub(crate) mod tests;

pub use op_msg::{Documents, Msg, write_msg, write_msg_with};

use thiserror::Error;

use crate::bson::{BsonError, Doc, Writer, document};

/// Length of a header: message length, request id, response id, opcode; 32 bits each, little endian.
pub const HEADER_BYTES: usize = 16;

/// Largest message; MongoDB's `maxMessageSizeBytes`.
pub const MESSAGE_BYTES_MAX: usize = 48_000_000;

pub mod opcode {
    /// Reply to OP_QUERY.
    pub const REPLY: i32 = 1;
    /// Query; only used for the first hello.
    pub const QUERY: i32 = 2004;
    /// All other messages.
    pub const MSG: i32 = 2013;
}

/// Why a message is invalid. The connection must be closed after any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MessageError {
    /// An impossible length, and the limit.
    #[error("a message of {0} bytes; send 16 to {1}")]
    Length(i64, usize),
    /// An opcode that is not supported.
    #[error("opcode {0} is not served; use OP_MSG (2013), uncompressed")]
    Opcode(i32),
    /// A required flag that is not supported.
    #[error("flags {0:#010x} of an OP_MSG are not known; leave them 0")]
    Flags(u32),
    /// The parts do not match the message length.
    #[error("the parts of a message do not fill it; send its own length")]
    Parts,
    /// Not exactly one section of kind 0, or a section of an unknown kind.
    #[error("an OP_MSG has one section of kind 0 and may have some of kind 1; send it so")]
    Sections,
    /// The checksum is wrong.
    #[error("the checksum of a message is wrong; look for what changes bytes on the way")]
    Checksum,
    /// A document in it is invalid.
    #[error(transparent)]
    Bson(#[from] BsonError),
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the message, the header included.
    pub length: usize,
    /// Set by the sender.
    pub request_id: i32,
    /// The id of the request; 0 in requests.
    pub response_to: i32,
    pub opcode: i32,
}

impl Header {
    /// Parses the header at the start of the bytes; `None` if they are too short.
    ///
    /// # Errors
    /// If the length is impossible or above the limit.
    pub fn read(bytes: &[u8], bytes_max: usize) -> Result<Option<Self>, MessageError> {
        let Some(raw) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let word = |at: usize| i32::from_le_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
        let length = usize::try_from(word(0))
            .ok()
            .filter(|length| (HEADER_BYTES..=bytes_max).contains(length))
            .ok_or(MessageError::Length(word(0).into(), bytes_max))?;
        Ok(Some(Self {
            length,
            request_id: word(4),
            response_to: word(8),
            opcode: word(12),
        }))
    }
}

/// A message to a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Message<'a> {
    /// OP_MSG.
    Msg(Msg<'a>),
    /// OP_QUERY.
    Query(Query<'a>),
}

impl<'a> Message<'a> {
    /// Parses a whole message, given with its header, and validates all documents.
    ///
    /// # Errors
    /// If the message is invalid.
    pub fn read(header: &Header, message: &'a [u8]) -> Result<Self, MessageError> {
        let body = message.get(HEADER_BYTES..).ok_or(MessageError::Parts)?;
        match header.opcode {
            opcode::MSG => Msg::read(message).map(Self::Msg),
            opcode::QUERY => Query::read(body).map(Self::Query),
            opcode => Err(MessageError::Opcode(opcode)),
        }
    }
}

/// A validated OP_QUERY: before OP_MSG, the message of commands too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query<'a> {
    /// `admin.$cmd` for a command.
    pub collection: &'a str,
    /// The query, or the command.
    pub body: Doc<'a>,
}

impl<'a> Query<'a> {
    /// Parses the bytes after the message header.
    ///
    /// # Errors
    /// If parts or documents are invalid.
    pub fn read(body: &'a [u8]) -> Result<Self, MessageError> {
        let (_flags, rest) = take_word(body)?;
        let (collection, rest) = take_name(rest)?;
        let (_skip, rest) = take_word(rest)?;
        let (_count, rest) = take_word(rest)?;
        let (body, rest) = Doc::check_first(rest)?;
        if !rest.is_empty() {
            // The returned fields: not used for a command.
            Doc::check(rest)?;
        }
        Ok(Self { collection, body })
    }

    /// The command; old drivers wrap it in `$query`.
    #[must_use]
    pub fn command(&self) -> Doc<'a> {
        self.body
            .first()
            .filter(|(name, _)| matches!(*name, "$query" | "query"))
            .and_then(|(_, value)| value.as_doc())
            .unwrap_or(self.body)
    }
}

/// Appends an OP_REPLY with one document.
pub fn write_reply(
    out: &mut Vec<u8>,
    request_id: i32,
    response_to: i32,
    write: impl FnOnce(&mut Writer<'_>),
) {
    // "The server supports the await option": set in every reply since MongoDB 1.6.
    const AWAIT_CAPABLE: i32 = 8;
    write_message(out, request_id, response_to, opcode::REPLY, |out| {
        out.extend_from_slice(&AWAIT_CAPABLE.to_le_bytes());
        out.extend_from_slice(&0_i64.to_le_bytes());
        out.extend_from_slice(&0_i32.to_le_bytes());
        out.extend_from_slice(&1_i32.to_le_bytes());
        document(out, write);
    });
}

/// Appends a message with the body written by the closure, and sets its length.
fn write_message(
    out: &mut Vec<u8>,
    request_id: i32,
    response_to: i32,
    opcode: i32,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    for word in [0, request_id, response_to, opcode] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    write(out);
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn take_word(bytes: &[u8]) -> Result<(i32, &[u8]), MessageError> {
    let (&raw, rest) = bytes.split_first_chunk().ok_or(MessageError::Parts)?;
    Ok((i32::from_le_bytes(raw), rest))
}

fn take_name(bytes: &[u8]) -> Result<(&str, &[u8]), MessageError> {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .ok_or(MessageError::Parts)?;
    let name = std::str::from_utf8(&bytes[..end]).map_err(|_| BsonError::Utf8)?;
    Ok((name, &bytes[end + 1..]))
}
