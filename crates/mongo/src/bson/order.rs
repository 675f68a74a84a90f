//! The order of values as MongoDB has it: first by class of type, then by value; and keys of bytes that sort the same way.
//!
//! Source: MongoDB manual, "Comparison/Sort Order". A key is made so that one is never the front of another, so keys of several
//! values can be written one behind the other and still sort value by value.

use std::cmp::Ordering;

use super::{Doc, Value, decimal_to_f64};

/// Classes of types in their order; types of one class are compared by value. 0 is the end of a document in a key.
pub mod class {
    /// MinKey.
    pub const MIN: u8 = 1;
    /// Null, undefined and what is missing.
    pub const NULL: u8 = 5;
    /// All numbers.
    pub const NUMBER: u8 = 10;
    /// Strings and symbols.
    pub const STRING: u8 = 15;
    /// Documents.
    pub const DOCUMENT: u8 = 20;
    /// Arrays.
    pub const ARRAY: u8 = 25;
    /// Binary data.
    pub const BINARY: u8 = 30;
    /// Object ids.
    pub const OBJECT_ID: u8 = 35;
    /// Booleans.
    pub const BOOL: u8 = 40;
    /// Dates.
    pub const DATE: u8 = 45;
    /// Time stamps of replication.
    pub const TIMESTAMP: u8 = 47;
    /// Regular expressions.
    pub const REGEX: u8 = 50;
    /// DBPointers.
    pub const DB_POINTER: u8 = 55;
    /// JavaScript code.
    pub const CODE: u8 = 60;
    /// Code with scope.
    pub const CODE_WITH_SCOPE: u8 = 65;
    /// MaxKey.
    pub const MAX: u8 = 127;
}

/// The class of a value's type.
#[must_use]
pub fn class_of(value: &Value<'_>) -> u8 {
    match value {
        Value::MinKey => class::MIN,
        Value::Null | Value::Undefined => class::NULL,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            class::NUMBER
        }
        Value::String(_) | Value::Symbol(_) => class::STRING,
        Value::Document(_) => class::DOCUMENT,
        Value::Array(_) => class::ARRAY,
        Value::Binary { .. } => class::BINARY,
        Value::ObjectId(_) => class::OBJECT_ID,
        Value::Bool(_) => class::BOOL,
        Value::Date(_) => class::DATE,
        Value::Timestamp(_) => class::TIMESTAMP,
        Value::Regex { .. } => class::REGEX,
        Value::Code(_) => class::CODE,
        Value::Opaque {
            kind: super::kind::DB_POINTER,
            ..
        } => class::DB_POINTER,
        Value::Opaque { .. } => class::CODE_WITH_SCOPE,
        Value::MaxKey => class::MAX,
    }
}

/// A number as its nearest double, made sortable, and what the double misses. NaN is below all others, both zeros are one.
fn rank(value: &Value<'_>) -> (u64, i64) {
    match *value {
        Value::Int32(value) => (sortable(f64::from(value)), 0),
        Value::Int64(value) => {
            let near = value as f64;
            // At most 512 apart: doubles of this size are 1024 apart.
            (sortable(near), (i128::from(value) - near as i128) as i64)
        }
        Value::Double(value) => (sortable(value), 0),
        Value::Decimal128(value) => (sortable(decimal_to_f64(value)), 0),
        _ => (0, 0),
    }
}

fn sortable(value: f64) -> u64 {
    if value.is_nan() {
        return 0;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | (1 << 63)
    }
}

/// Orders two values.
#[must_use]
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    use Value as V;
    let classes = class_of(left).cmp(&class_of(right));
    if classes != Ordering::Equal {
        return classes;
    }
    match (left, right) {
        (V::Int32(left), V::Int32(right)) => left.cmp(right),
        (V::String(left) | V::Symbol(left), V::String(right) | V::Symbol(right))
        | (V::Code(left), V::Code(right)) => left.as_bytes().cmp(right.as_bytes()),
        (V::Document(left), V::Document(right)) => compare_docs(*left, *right, Keys::Count),
        (V::Array(left), V::Array(right)) => compare_docs(*left, *right, Keys::DoNot),
        (
            V::Binary { subtype, bytes },
            V::Binary {
                subtype: other_subtype,
                bytes: other,
            },
        ) => (bytes.len(), subtype, bytes).cmp(&(other.len(), other_subtype, other)),
        (V::ObjectId(left), V::ObjectId(right)) => left.cmp(right),
        (V::Bool(left), V::Bool(right)) => left.cmp(right),
        (V::Date(left), V::Date(right)) => left.cmp(right),
        (V::Timestamp(left), V::Timestamp(right)) => left.cmp(right),
        (
            V::Regex { pattern, options },
            V::Regex {
                pattern: other,
                options: other_options,
            },
        ) => (pattern, options).cmp(&(other, other_options)),
        (V::Opaque { bytes, .. }, V::Opaque { bytes: other, .. }) => bytes.cmp(other),
        (left, right) => rank(left).cmp(&rank(right)),
    }
}

/// Whether the names of elements take part in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Count,
    DoNot,
}

fn compare_docs(left: Doc<'_>, right: Doc<'_>, keys: Keys) -> Ordering {
    let (mut left, mut right) = (left.iter(), right.iter());
    loop {
        let (one, other) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(one), Some(other)) => (one, other),
        };
        let order = class_of(&one.1)
            .cmp(&class_of(&other.1))
            .then_with(|| match keys {
                Keys::Count => one.0.as_bytes().cmp(other.0.as_bytes()),
                Keys::DoNot => Ordering::Equal,
            })
            .then_with(|| compare(&one.1, &other.1));
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Appends bytes that sort as the value does.
pub fn put_key(out: &mut Vec<u8>, value: Value<'_>) {
    out.push(class_of(&value));
    put_rest(out, value);
}

fn put_rest(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            let (near, missed) = rank(&value);
            out.extend_from_slice(&near.to_be_bytes());
            put_i64(out, missed);
        }
        Value::String(text) | Value::Symbol(text) | Value::Code(text) => {
            put_escaped(out, text.as_bytes());
        }
        Value::Document(doc) => {
            for (key, value) in doc {
                out.push(class_of(&value));
                put_escaped(out, key.as_bytes());
                put_rest(out, value);
            }
            out.push(0);
        }
        Value::Array(doc) => {
            for value in doc.values() {
                put_key(out, value);
            }
            out.push(0);
        }
        Value::Binary { subtype, bytes } => {
            out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            out.push(subtype);
            out.extend_from_slice(bytes);
        }
        Value::ObjectId(id) => out.extend_from_slice(&id),
        Value::Bool(value) => out.push(u8::from(value)),
        Value::Date(value) => put_i64(out, value),
        Value::Timestamp(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Regex { pattern, options } => {
            put_escaped(out, pattern.as_bytes());
            put_escaped(out, options.as_bytes());
        }
        Value::Opaque { bytes, .. } => put_escaped(out, bytes),
        Value::MinKey | Value::MaxKey | Value::Null | Value::Undefined => {}
    }
}

fn put_i64(out: &mut Vec<u8>, value: i64) {
    // The sign turned round, so that negative numbers come first.
    out.extend_from_slice(&(value.cast_unsigned() ^ (1 << 63)).to_be_bytes());
}

/// Zero bytes become 0, 255, so that 0, 0 is an end that sorts below every continuation.
fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.split_inclusive(|&byte| byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
