//! OP_MSG: flags, one body document, document sequences, an optional checksum.

use super::{HEADER_BYTES, MessageError, opcode, take_name, write_message};
use crate::bson::{Doc, Writer, document};

const CHECKSUM_PRESENT: u32 = 1;
const MORE_TO_COME: u32 = 1 << 1;
/// Flags in the lower half must be supported; those in the upper half may be ignored.
const REQUIRED: u32 = 0xffff;

/// A validated OP_MSG.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Msg<'a> {
    /// No reply is expected (a write with w: 0), or another reply follows this one.
    pub more_to_come: bool,
    /// The command, or its reply.
    pub body: Doc<'a>,
    sections: &'a [u8],
}

impl<'a> Msg<'a> {
    /// Parses a whole message, given with its header.
    ///
    /// # Errors
    /// If flags, checksum, sections or documents are invalid.
    pub fn read(message: &'a [u8]) -> Result<Self, MessageError> {
        let body = message.get(HEADER_BYTES..).ok_or(MessageError::Parts)?;
        let (&raw, mut sections) = body.split_first_chunk().ok_or(MessageError::Parts)?;
        let flags = u32::from_le_bytes(raw);
        if flags & REQUIRED & !(CHECKSUM_PRESENT | MORE_TO_COME) != 0 {
            return Err(MessageError::Flags(flags));
        }
        if flags & CHECKSUM_PRESENT != 0 {
            let (before, &checksum) = sections.split_last_chunk().ok_or(MessageError::Parts)?;
            let covered = &message[..message.len() - checksum.len()];
            if crc32c::crc32c(covered) != u32::from_le_bytes(checksum) {
                return Err(MessageError::Checksum);
            }
            sections = before;
        }
        let mut found = None;
        let mut rest = sections;
        while !rest.is_empty() {
            let (section, behind) = take_section(rest, false)?;
            rest = behind;
            match section {
                Section::Body(doc) if found.is_none() => found = Some(doc),
                Section::Body(_) => return Err(MessageError::Sections),
                Section::Sequence { .. } => {}
            }
        }
        Ok(Self {
            more_to_come: flags & MORE_TO_COME != 0,
            body: found.ok_or(MessageError::Sections)?,
            sections,
        })
    }

    #[must_use]
    pub fn sequence(&self, name: &str) -> Option<Documents<'a>> {
        let mut rest = self.sections;
        while let Ok((section, behind)) = take_section(rest, true) {
            rest = behind;
            match section {
                Section::Sequence {
                    name: its,
                    documents,
                } if its == name => return Some(documents),
                Section::Sequence { .. } | Section::Body(_) => {}
            }
        }
        None
    }
}

/// A section of an OP_MSG.
enum Section<'a> {
    /// Kind 0.
    Body(Doc<'a>),
    /// Kind 1: documents of the command's field of this name.
    Sequence {
        name: &'a str,
        documents: Documents<'a>,
    },
}

/// A sequence of documents.
#[derive(Debug, Clone)]
pub struct Documents<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Documents<'a> {
    type Item = Doc<'a>;

    fn next(&mut self) -> Option<Doc<'a>> {
        let length = u32::from_le_bytes(*self.rest.first_chunk()?) as usize;
        let (doc, rest) = self.rest.split_at_checked(length.max(1))?;
        self.rest = rest;
        Some(Doc::trusted(doc))
    }
}

/// The first section; its documents are validated unless they were before.
fn take_section(bytes: &[u8], is_trusted: bool) -> Result<(Section<'_>, &[u8]), MessageError> {
    let (&kind, rest) = bytes.split_first().ok_or(MessageError::Parts)?;
    match (kind, is_trusted) {
        (0, false) => {
            let (doc, rest) = Doc::check_first(rest)?;
            Ok((Section::Body(doc), rest))
        }
        (0, true) => {
            let mut documents = Documents { rest };
            let doc = documents.next().ok_or(MessageError::Parts)?;
            Ok((Section::Body(doc), documents.rest))
        }
        (1, _) => take_sequence(rest, is_trusted),
        _ => Err(MessageError::Sections),
    }
}

fn take_sequence(bytes: &[u8], is_trusted: bool) -> Result<(Section<'_>, &[u8]), MessageError> {
    let raw = bytes.first_chunk().ok_or(MessageError::Parts)?;
    let size = usize::try_from(i32::from_le_bytes(*raw)).map_err(|_| MessageError::Parts)?;
    let (sequence, rest) = bytes.split_at_checked(size).ok_or(MessageError::Parts)?;
    let (name, documents) = take_name(sequence.get(4..).ok_or(MessageError::Parts)?)?;
    if !is_trusted {
        let mut unchecked = documents;
        while !unchecked.is_empty() {
            (_, unchecked) = Doc::check_first(unchecked)?;
        }
    }
    let documents = Documents { rest: documents };
    Ok((Section::Sequence { name, documents }, rest))
}

/// Appends an OP_MSG with one document.
pub fn write_msg(
    out: &mut Vec<u8>,
    request_id: i32,
    response_to: i32,
    write: impl FnOnce(&mut Writer<'_>),
) {
    write_message(out, request_id, response_to, opcode::MSG, |out| {
        out.extend_from_slice(&[0; 5]);
        document(out, write);
    });
}

/// Appends an OP_MSG with a body and a document sequence; the last closure appends the encoded documents.
pub fn write_msg_with(
    out: &mut Vec<u8>,
    request_id: i32,
    write: impl FnOnce(&mut Writer<'_>),
    name: &str,
    documents: impl FnOnce(&mut Vec<u8>),
) {
    write_message(out, request_id, 0, opcode::MSG, |out| {
        out.extend_from_slice(&[0; 5]);
        document(out, write);
        out.push(1);
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        documents(out);
        let size = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
        out[start..start + 4].copy_from_slice(&size.to_le_bytes());
    });
}
