//! Documents in a buffer, and iteration over their elements.

use std::str;

use thiserror::Error;

use super::{DEPTH_MAX, Value, kind};

/// Why bytes are not a valid document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BsonError {
    /// A length or an element exceeds the input.
    #[error("the document ends within an element; send it whole")]
    Truncated,
    /// A length does not match the actual one.
    #[error("a length of {0} bytes does not fit; send documents and strings with their own length")]
    Length(i64),
    /// Unknown element type.
    #[error("{0:#04x} is not a type of BSON; send types of version 1.1")]
    Kind(u8),
    /// A string or a key is not UTF-8.
    #[error("a string is not UTF-8; send it as binary")]
    Utf8,
    /// A boolean is neither 0 nor 1.
    #[error("a boolean is {0}; send 0 or 1")]
    Bool(u8),
    /// The zero byte at the end of a string or document is missing.
    #[error(
        "a zero byte is missing at the end of a string or document; send it with its terminator"
    )]
    Terminator,
    /// Nested too deeply.
    #[error("documents are nested deeper than {DEPTH_MAX} levels")]
    Deep,
}

/// An encoded document, with length and terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doc<'a>(&'a [u8]);

/// An owned document.
pub type OwnedDoc = Box<[u8]>;

impl<'a> Doc<'a> {
    /// `{}`.
    pub const EMPTY: Doc<'static> = Doc(&[5, 0, 0, 0, 0]);

    /// Validates bytes as one document, to the last level.
    ///
    /// # Errors
    /// If the bytes are not exactly one document.
    pub fn check(bytes: &'a [u8]) -> Result<Self, BsonError> {
        match Self::check_first(bytes)? {
            (doc, []) => Ok(doc),
            (_, rest) => Err(BsonError::Length(rest.len() as i64)),
        }
    }

    /// Validates the document at the start of the bytes; also returns the rest.
    ///
    /// # Errors
    /// If the bytes do not start with a document.
    pub fn check_first(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), BsonError> {
        let (doc, rest) = take_doc(bytes)?;
        check_elements(doc.body(), 1)?;
        Ok((doc, rest))
    }

    /// Bytes that were validated before. Iteration over invalid bytes ends early and does no other harm.
    #[must_use]
    pub fn trusted(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, including length and terminator.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    fn body(self) -> &'a [u8] {
        let end = self.0.len().saturating_sub(1);
        self.0.get(4..end).unwrap_or_default()
    }

    /// Whether it has no element.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.body().is_empty()
    }

    /// Iterates over its elements.
    #[must_use]
    pub fn iter(self) -> Elements<'a> {
        Elements { rest: self.body() }
    }

    /// Iterates over its values: the items of an array.
    pub fn values(self) -> impl Iterator<Item = Value<'a>> {
        self.iter().map(|(_, value)| value)
    }

    /// The first element of this name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The first element: the name of a command or operator.
    #[must_use]
    pub fn first(self) -> Option<(&'a str, Value<'a>)> {
        self.iter().next()
    }
}

impl<'a> IntoIterator for Doc<'a> {
    type Item = (&'a str, Value<'a>);
    type IntoIter = Elements<'a>;

    fn into_iter(self) -> Elements<'a> {
        self.iter()
    }
}

/// Iterator over the elements of a document.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value, rest) = take_element(self.rest).ok().flatten()?;
        self.rest = rest;
        Some((key, value))
    }
}

type Element<'a> = (&'a str, Value<'a>, &'a [u8]);

/// The first element and the remaining bytes; `None` at the end.
fn take_element(bytes: &[u8]) -> Result<Option<Element<'_>>, BsonError> {
    let Some((&kind, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    let (key, rest) = take_cstring(rest)?;
    let (value, rest) = take_value(kind, rest)?;
    Ok(Some((key, value, rest)))
}

fn check_elements(mut rest: &[u8], depth: usize) -> Result<(), BsonError> {
    if depth > DEPTH_MAX {
        return Err(BsonError::Deep);
    }
    while let Some((_, value, behind)) = take_element(rest)? {
        match value {
            Value::Document(doc) | Value::Array(doc) => check_elements(doc.body(), depth + 1)?,
            Value::Other {
                kind: kind::CODE_WITH_SCOPE,
                bytes,
            } => check_code_with_scope(bytes, depth)?,
            _ => {}
        }
        rest = behind;
    }
    Ok(())
}

fn check_code_with_scope(bytes: &[u8], depth: usize) -> Result<(), BsonError> {
    let (_, rest) = take_i32(bytes)?;
    let (_, rest) = take_string(rest)?;
    match take_doc(rest)? {
        (scope, []) => check_elements(scope.body(), depth + 1),
        (_, rest) => Err(BsonError::Length(rest.len() as i64)),
    }
}

fn take_value(kind: u8, bytes: &[u8]) -> Result<(Value<'_>, &[u8]), BsonError> {
    Ok(match kind {
        kind::DOUBLE => {
            let (raw, rest) = take::<8>(bytes)?;
            (Value::Double(f64::from_le_bytes(raw)), rest)
        }
        kind::STRING => map(take_string(bytes)?, Value::String),
        kind::DOCUMENT => map(take_doc(bytes)?, Value::Document),
        kind::ARRAY => map(take_doc(bytes)?, Value::Array),
        kind::BINARY => {
            let (length, rest) = take_length(bytes)?;
            let ([subtype], rest) = take::<1>(rest)?;
            let (bytes, rest) = rest.split_at_checked(length).ok_or(BsonError::Truncated)?;
            (Value::Binary { subtype, bytes }, rest)
        }
        kind::OBJECT_ID => map(take(bytes)?, Value::ObjectId),
        kind::BOOL => match take::<1>(bytes)? {
            ([byte @ 0..=1], rest) => (Value::Bool(byte == 1), rest),
            ([byte], _) => return Err(BsonError::Bool(byte)),
        },
        kind::DATE => map(take(bytes)?, |raw| Value::Date(i64::from_le_bytes(raw))),
        kind::NULL => (Value::Null, bytes),
        kind::INT32 => map(take_i32(bytes)?, Value::Int32),
        kind::INT64 => map(take(bytes)?, |raw| Value::Int64(i64::from_le_bytes(raw))),
        kind => {
            let length = other_length(kind, bytes)?;
            let (bytes, rest) = bytes.split_at_checked(length).ok_or(BsonError::Truncated)?;
            (Value::Other { kind, bytes }, rest)
        }
    })
}

/// Length of a value at the start of the bytes, for types that are only passed on.
fn other_length(kind: u8, bytes: &[u8]) -> Result<usize, BsonError> {
    Ok(match kind {
        kind::UNDEFINED | kind::MIN_KEY | kind::MAX_KEY => 0,
        kind::TIMESTAMP => 8,
        kind::DECIMAL128 => 16,
        kind::REGEX => {
            let (pattern, rest) = take_cstring(bytes)?;
            let (options, _) = take_cstring(rest)?;
            pattern.len() + 1 + options.len() + 1
        }
        kind::CODE | kind::SYMBOL => 4 + take_string(bytes)?.0.len() + 1,
        kind::DB_POINTER => 4 + take_string(bytes)?.0.len() + 1 + 12,
        kind::CODE_WITH_SCOPE => take_length(bytes)?.0,
        kind => return Err(BsonError::Kind(kind)),
    })
}

fn map<T, U>((value, rest): (T, &[u8]), make: impl FnOnce(T) -> U) -> (U, &[u8]) {
    (make(value), rest)
}

fn take<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), BsonError> {
    let (&raw, rest) = bytes.split_first_chunk().ok_or(BsonError::Truncated)?;
    Ok((raw, rest))
}

fn take_i32(bytes: &[u8]) -> Result<(i32, &[u8]), BsonError> {
    let (raw, rest) = take(bytes)?;
    Ok((i32::from_le_bytes(raw), rest))
}

/// A length; negative ones are invalid.
fn take_length(bytes: &[u8]) -> Result<(usize, &[u8]), BsonError> {
    let (length, rest) = take_i32(bytes)?;
    let bytes = usize::try_from(length).map_err(|_| BsonError::Length(length.into()))?;
    Ok((bytes, rest))
}

fn take_cstring(bytes: &[u8]) -> Result<(&str, &[u8]), BsonError> {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .ok_or(BsonError::Terminator)?;
    let text = str::from_utf8(&bytes[..end]).map_err(|_| BsonError::Utf8)?;
    Ok((text, &bytes[end + 1..]))
}

fn take_string(bytes: &[u8]) -> Result<(&str, &[u8]), BsonError> {
    let (length, rest) = take_length(bytes)?;
    let (text, rest) = rest.split_at_checked(length).ok_or(BsonError::Truncated)?;
    let (&0, text) = text.split_last().ok_or(BsonError::Length(0))? else {
        return Err(BsonError::Terminator);
    };
    Ok((str::from_utf8(text).map_err(|_| BsonError::Utf8)?, rest))
}

fn take_doc(bytes: &[u8]) -> Result<(Doc<'_>, &[u8]), BsonError> {
    let (length, _) = take_length(bytes)?;
    if length < 5 {
        return Err(BsonError::Length(length as i64));
    }
    let (doc, rest) = bytes.split_at_checked(length).ok_or(BsonError::Truncated)?;
    if doc.last() != Some(&0) {
        return Err(BsonError::Terminator);
    }
    Ok((Doc(doc), rest))
}
