//! MongoDB's comparison order of values (by type, then by value), and sort keys: byte strings that compare the same way.
//!
//! Source: MongoDB manual, "Comparison/Sort Order". No sort key is a prefix of another, so concatenated keys of several values
//! compare value by value.

use std::cmp::Ordering;

use super::{Doc, Value, decimal_to_f64};

/// Type order: values of one type class are compared by value. 0 ends a document in a sort key.
pub mod type_order {
    /// MinKey.
    pub const MIN: u8 = 1;
    /// Null, undefined and missing values.
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
    /// Replication timestamps.
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

/// The type order of a value.
#[must_use]
pub fn type_order_of(value: &Value<'_>) -> u8 {
    match value {
        Value::MinKey => type_order::MIN,
        Value::Null | Value::Undefined => type_order::NULL,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            type_order::NUMBER
        }
        Value::String(_) | Value::Symbol(_) => type_order::STRING,
        Value::Document(_) => type_order::DOCUMENT,
        Value::Array(_) => type_order::ARRAY,
        Value::Binary { .. } => type_order::BINARY,
        Value::ObjectId(_) => type_order::OBJECT_ID,
        Value::Bool(_) => type_order::BOOL,
        Value::Date(_) => type_order::DATE,
        Value::Timestamp(_) => type_order::TIMESTAMP,
        Value::Regex { .. } => type_order::REGEX,
        Value::Code(_) => type_order::CODE,
        Value::Opaque {
            kind: super::kind::DB_POINTER,
            ..
        } => type_order::DB_POINTER,
        Value::Opaque { .. } => type_order::CODE_WITH_SCOPE,
        Value::MaxKey => type_order::MAX,
    }
}

/// A number as its nearest double in sortable form, and the difference to it. NaN sorts first; both zeros are equal.
fn number_key(value: &Value<'_>) -> (u64, i64) {
    match *value {
        Value::Int32(value) => (sortable(f64::from(value)), 0),
        Value::Int64(value) => {
            let near = value as f64;
            // The difference is at most 512: doubles of this size are 1024 apart.
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

/// Compares two values.
#[must_use]
pub fn compare(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    use Value as V;
    let classes = type_order_of(left).cmp(&type_order_of(right));
    if classes != Ordering::Equal {
        return classes;
    }
    match (left, right) {
        (V::Int32(left), V::Int32(right)) => left.cmp(right),
        (V::String(left) | V::Symbol(left), V::String(right) | V::Symbol(right))
        | (V::Code(left), V::Code(right)) => left.as_bytes().cmp(right.as_bytes()),
        (V::Document(left), V::Document(right)) => compare_docs(*left, *right, Keys::Compared),
        (V::Array(left), V::Array(right)) => compare_docs(*left, *right, Keys::Ignored),
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
        (left, right) => number_key(left).cmp(&number_key(right)),
    }
}

/// Whether element names take part in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Compared,
    Ignored,
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
        let order = type_order_of(&one.1)
            .cmp(&type_order_of(&other.1))
            .then_with(|| match keys {
                Keys::Compared => one.0.as_bytes().cmp(other.0.as_bytes()),
                Keys::Ignored => Ordering::Equal,
            })
            .then_with(|| compare(&one.1, &other.1));
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Appends the sort key of a value.
pub fn append_sort_key(out: &mut Vec<u8>, value: Value<'_>) {
    out.push(type_order_of(&value));
    append_value_key(out, value);
}

fn append_value_key(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            let (near, missed) = number_key(&value);
            out.extend_from_slice(&near.to_be_bytes());
            append_i64(out, missed);
        }
        Value::String(text) | Value::Symbol(text) | Value::Code(text) => {
            append_escaped(out, text.as_bytes());
        }
        Value::Document(doc) => {
            for (key, value) in doc {
                out.push(type_order_of(&value));
                append_escaped(out, key.as_bytes());
                append_value_key(out, value);
            }
            out.push(0);
        }
        Value::Array(doc) => {
            for value in doc.values() {
                append_sort_key(out, value);
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
        Value::Date(value) => append_i64(out, value),
        Value::Timestamp(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Regex { pattern, options } => {
            append_escaped(out, pattern.as_bytes());
            append_escaped(out, options.as_bytes());
        }
        Value::Opaque { bytes, .. } => append_escaped(out, bytes),
        Value::MinKey | Value::MaxKey | Value::Null | Value::Undefined => {}
    }
}

fn append_i64(out: &mut Vec<u8>, value: i64) {
    // Sign bit inverted, so that negative numbers sort first.
    out.extend_from_slice(&(value.cast_unsigned() ^ (1 << 63)).to_be_bytes());
}

/// Zero bytes are written as 0, 255; the end as 0, 0, which sorts before any continuation.
fn append_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for part in bytes.split_inclusive(|&byte| byte == 0) {
        out.extend_from_slice(part);
        if part.last() == Some(&0) {
            out.push(255);
        }
    }
    out.extend_from_slice(&[0, 0]);
}
