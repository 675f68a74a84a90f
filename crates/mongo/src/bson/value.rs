//! A value: its type, conversions, its text in messages, and its key for comparisons and indexes.

use std::fmt;

use super::{Doc, kind};

/// A value, borrowed from its document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Double(f64),
    String(&'a str),
    Document(Doc<'a>),
    /// Keys are ignored.
    Array(Doc<'a>),
    Binary {
        subtype: u8,
        bytes: &'a [u8],
    },
    ObjectId([u8; 12]),
    Bool(bool),
    /// Milliseconds since 1970.
    Date(i64),
    Null,
    Int32(i32),
    Int64(i64),
    /// All other types: their bytes, read and written unchanged.
    Other {
        kind: u8,
        bytes: &'a [u8],
    },
}

impl<'a> Value<'a> {
    /// The type byte.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Double(_) => kind::DOUBLE,
            Self::String(_) => kind::STRING,
            Self::Document(_) => kind::DOCUMENT,
            Self::Array(_) => kind::ARRAY,
            Self::Binary { .. } => kind::BINARY,
            Self::ObjectId(_) => kind::OBJECT_ID,
            Self::Bool(_) => kind::BOOL,
            Self::Date(_) => kind::DATE,
            Self::Null => kind::NULL,
            Self::Int32(_) => kind::INT32,
            Self::Int64(_) => kind::INT64,
            Self::Other { kind, .. } => *kind,
        }
    }

    /// The value as an integer, whatever its type: drivers send 1, 1L and 1.0 for the same.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Int32(value) => Some(i64::from(value)),
            Self::Int64(value) => Some(value),
            // Both bounds are exact doubles; the upper one is the first out of range.
            Self::Double(value)
                if value.fract() == 0.0
                    && (-(2.0_f64.powi(63))..2.0_f64.powi(63)).contains(&value) =>
            {
                Some(value as i64)
            }
            _ => None,
        }
    }

    /// A number as a double.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Int32(value) => Some(f64::from(value)),
            Self::Int64(value) => Some(value as f64),
            Self::Double(value) => Some(value),
            _ => None,
        }
    }

    /// Whether it is true: the boolean, or a number other than 0.
    #[must_use]
    pub fn is_true(&self) -> bool {
        match *self {
            Self::Bool(value) => value,
            Self::Int32(value) => value != 0,
            Self::Int64(value) => value != 0,
            Self::Double(value) => value != 0.0,
            _ => false,
        }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A document, not an array.
    #[must_use]
    pub fn as_doc(&self) -> Option<Doc<'a>> {
        match *self {
            Self::Document(doc) => Some(doc),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_array(&self) -> Option<Doc<'a>> {
        match *self {
            Self::Array(doc) => Some(doc),
            _ => None,
        }
    }
}

/// As in the MongoDB shell, for messages.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Double(value) => write!(f, "{value:?}"),
            Self::String(text) => write!(f, "{text:?}"),
            Self::Document(doc) => write!(f, "{doc}"),
            Self::Array(items) => {
                f.write_str("[ ")?;
                for (at, item) in items.values().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str(" ]")
            }
            Self::Binary { subtype, bytes } => {
                write!(f, "BinData({subtype}, {} bytes)", bytes.len())
            }
            Self::ObjectId(id) => {
                f.write_str("ObjectId('")?;
                id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("')")
            }
            Self::Bool(value) => write!(f, "{value}"),
            Self::Date(value) => write!(f, "new Date({value})"),
            Self::Null => f.write_str("null"),
            Self::Int32(value) => write!(f, "{value}"),
            Self::Int64(value) => write!(f, "{value}"),
            Self::Other { kind, bytes } => write!(f, "type {kind:#04x} of {} bytes", bytes.len()),
        }
    }
}

/// As in the MongoDB shell, for messages.
impl fmt::Display for Doc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ ")?;
        for (at, (key, value)) in self.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{key}: {value}")?;
        }
        f.write_str(" }")
    }
}

/// Appends the key of a value: keys are equal exactly if MongoDB takes the values for equal, numbers whatever their type.
///
/// No key is a prefix of another one, so concatenated keys are equal only if all their values are.
pub fn append_key(out: &mut Vec<u8>, value: Value<'_>) {
    out.push(match value {
        Value::Int32(_) | Value::Int64(_) => kind::DOUBLE,
        value => value.kind(),
    });
    match value {
        Value::Double(number) if value.as_i64().is_none() => {
            // NaN has many encodings.
            let number = if number.is_nan() { f64::NAN } else { number };
            out.push(1);
            out.extend_from_slice(&number.to_bits().to_be_bytes());
        }
        Value::Double(_) | Value::Int32(_) | Value::Int64(_) => {
            out.push(0);
            out.extend_from_slice(&value.as_i64().unwrap_or_default().to_be_bytes());
        }
        Value::String(text) => append_escaped(out, text.as_bytes()),
        Value::Document(doc) => {
            for (name, value) in doc {
                append_key(out, value);
                append_escaped(out, name.as_bytes());
            }
            // No type byte is 0.
            out.push(0);
        }
        Value::Array(items) => {
            items.values().for_each(|item| append_key(out, item));
            out.push(0);
        }
        Value::Binary { subtype, bytes } => {
            out.push(subtype);
            append_escaped(out, bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(&id),
        Value::Bool(value) => out.push(u8::from(value)),
        Value::Date(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Null => {}
        Value::Other { bytes, .. } => append_escaped(out, bytes),
    }
}

/// Zero bytes are written as 0, 255; the end as 0, 0.
fn append_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.split_inclusive(|&byte| byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
