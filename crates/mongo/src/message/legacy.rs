//! OP_QUERY and OP_REPLY: legacy messages, still used for the first hello of a connection.

use super::{HEADER_BYTES, MessageError, opcode, take_name, take_word, write_message};
use crate::bson::{Doc, Writer, document};

/// A validated OP_QUERY.
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

/// Appends an OP_QUERY with a command.
pub fn write_query(out: &mut Vec<u8>, request_id: i32, write: impl FnOnce(&mut Writer<'_>)) {
    write_message(out, request_id, 0, opcode::QUERY, |out| {
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(b"admin.$cmd\0");
        out.extend_from_slice(&0_i32.to_le_bytes());
        out.extend_from_slice(&(-1_i32).to_le_bytes());
        document(out, write);
    });
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

/// The first document of an OP_REPLY, given with its header.
///
/// # Errors
/// If parts or documents are invalid.
pub fn read_reply(message: &[u8]) -> Result<Doc<'_>, MessageError> {
    const FIELDS_BYTES: usize = 4 + 8 + 4 + 4;
    let body = message.get(HEADER_BYTES + FIELDS_BYTES..);
    Ok(Doc::check_first(body.ok_or(MessageError::Parts)?)?.0)
}
