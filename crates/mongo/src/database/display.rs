//! Formatting of values for messages.

use std::fmt;

use crate::bson::{Doc, Value, decimal_to_f64};

/// A value, formatted as in the MongoDB shell.
pub(crate) struct Displayed<'a>(pub Value<'a>);

impl fmt::Display for Displayed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Double(value) => write!(f, "{value:?}"),
            Value::String(text) | Value::Symbol(text) | Value::Code(text) => write!(f, "{text:?}"),
            Value::Document(doc) => display(f, doc),
            Value::Array(items) => {
                f.write_str("[ ")?;
                for (at, item) in items.values().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", Displayed(item))?;
                }
                f.write_str(" ]")
            }
            Value::Binary { subtype, bytes } => {
                write!(f, "BinData({subtype}, {} bytes)", bytes.len())
            }
            Value::Undefined => f.write_str("undefined"),
            Value::ObjectId(id) => {
                f.write_str("ObjectId('")?;
                id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("')")
            }
            Value::Bool(value) => write!(f, "{value}"),
            Value::Date(value) => write!(f, "new Date({value})"),
            Value::Null => f.write_str("null"),
            Value::Regex { pattern, options } => write!(f, "/{pattern}/{options}"),
            Value::Int32(value) => write!(f, "{value}"),
            Value::Int64(value) => write!(f, "{value}"),
            Value::Timestamp(value) => {
                write!(f, "Timestamp({}, {})", value >> 32, value & 0xffff_ffff)
            }
            Value::Decimal128(value) => write!(f, "{}", decimal_to_f64(value)),
            Value::MinKey => f.write_str("MinKey"),
            Value::MaxKey => f.write_str("MaxKey"),
            Value::Opaque { kind, bytes } => write!(f, "type {kind} of {} bytes", bytes.len()),
        }
    }
}

fn display(f: &mut fmt::Formatter<'_>, doc: Doc<'_>) -> fmt::Result {
    f.write_str("{ ")?;
    for (at, (key, value)) in doc.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        write!(f, "{comma}{key}: {}", Displayed(value))?;
    }
    f.write_str(" }")
}
