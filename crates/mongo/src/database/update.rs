//! Update documents: `$set` and `$inc` of top-level fields; and the sum of two numbers.

use std::collections::BTreeMap;

use super::command_error::{Code, CommandError, Result};
use super::request::{check_field, check_types};
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, Value, document};

/// A parsed update: the changes of fields. As in MongoDB, new fields are added in alphabetical order.
#[derive(Debug)]
pub(crate) struct Update<'a> {
    changes: BTreeMap<&'a str, Change<'a>>,
}

/// The change of one field.
#[derive(Debug, Clone, Copy)]
enum Change<'a> {
    Set(Value<'a>),
    Increment(Value<'a>),
}

impl<'a> Update<'a> {
    /// Parses `{$set: {field: value, …}, $inc: {field: number, …}}`.
    pub(crate) fn read(value: Value<'a>) -> Result<Self> {
        let failed = |message: String| Code::FailedToParse.error(message);
        let doc = match value {
            Value::Document(doc) => doc,
            Value::Array(_) => return Err(CommandError::unsupported("an update by a pipeline")),
            _ => return Err(failed("an update must be a document".to_owned())),
        };
        if doc.first().is_none_or(|(name, _)| !name.starts_with('$')) {
            return Err(CommandError::unsupported(
                "the replacement of a whole document",
            ));
        }
        let mut changes = BTreeMap::new();
        for (operator, fields) in doc {
            let change: fn(Value<'a>) -> Change<'a> = match operator {
                "$set" => Change::Set,
                "$inc" => Change::Increment,
                _ => {
                    return Err(failed(format!(
                        "Unknown modifier: {operator}; supported are $set and $inc"
                    )));
                }
            };
            let fields = fields.as_doc().ok_or_else(|| {
                failed(format!(
                    "Modifiers operate on fields but {operator} has {fields}"
                ))
            })?;
            for (field, operand) in fields {
                check_name(field)?;
                check_types(operand)?;
                if changes.insert(field, change(operand)).is_some() {
                    return Err(Code::ConflictingUpdateOperators.error(format!(
                        "Updating the path '{field}' would create a conflict at '{field}'"
                    )));
                }
            }
        }
        Ok(Self { changes })
    }

    /// The changed document.
    pub(crate) fn apply(&self, old: Doc<'_>) -> Result<Vec<u8>> {
        let mut changes = self.changes.clone();
        let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
        for (name, before) in old {
            let after = match changes.remove(name) {
                Some(change) => change.apply(name, Some(before))?,
                None => before,
            };
            fields.push((name, after));
        }
        for (name, change) in changes {
            fields.push((name, change.apply(name, None)?));
        }
        let mut new = Vec::with_capacity(old.bytes().len() + 64);
        document(&mut new, |w| {
            for (name, value) in fields {
                w.value(name, value);
            }
        });
        if new.len() > DOCUMENT_BYTES_MAX {
            return Err(Code::BSONObjectTooLarge.error(format!(
                "the document would have {} bytes; at most {DOCUMENT_BYTES_MAX}",
                new.len()
            )));
        }
        Ok(new)
    }
}

fn check_name(field: &str) -> Result<()> {
    if field.is_empty() {
        return Err(Code::EmptyFieldName.error("An update path is empty, which is not allowed."));
    }
    if field.starts_with('$') {
        return Err(Code::DollarPrefixedFieldName.error(format!(
            "The dollar ($) prefixed field '{field}' is not allowed"
        )));
    }
    check_field(field)
}

impl<'a> Change<'a> {
    /// The new value of a field.
    fn apply(self, field: &str, before: Option<Value<'_>>) -> Result<Value<'a>> {
        let after = match self {
            Self::Set(value) => value,
            Self::Increment(operand) => {
                let before = before.unwrap_or(Value::Int32(0));
                add(before, operand).map_err(|error| match error {
                    AddError::Overflow => Code::BadValue.error(format!(
                        "Failed to apply $inc to current value {before}: it does not fit 64 bits"
                    )),
                    AddError::Type => Code::TypeMismatch.error(format!(
                        "Cannot add {operand} to {before} at '{field}': both must be numbers"
                    )),
                })?
            }
        };
        if field == "_id" && before != Some(after) {
            return Err(Code::ImmutableField.error(
                "Performing an update on the path '_id' would modify the immutable field '_id'",
            ));
        }
        Ok(after)
    }
}

/// Why there is no sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddError {
    /// An operand is not a number.
    Type,
    /// The sum does not fit 64 bits.
    Overflow,
}

/// The sum of two numbers: the wider type wins, and 32 bits grow to 64.
pub(crate) fn add(one: Value<'_>, other: Value<'_>) -> Result<Value<'static>, AddError> {
    let whole = |value: Value<'_>| match value {
        Value::Int32(value) => Some(i64::from(value)),
        Value::Int64(value) => Some(value),
        _ => None,
    };
    if let (Some(left), Some(right)) = (whole(one), whole(other)) {
        let sum = left.checked_add(right).ok_or(AddError::Overflow)?;
        let is_narrow = matches!((one, other), (Value::Int32(_), Value::Int32(_)));
        return Ok(match i32::try_from(sum) {
            Ok(sum) if is_narrow => Value::Int32(sum),
            _ => Value::Int64(sum),
        });
    }
    match (one.as_f64(), other.as_f64()) {
        (Some(left), Some(right)) => Ok(Value::Double(left + right)),
        _ => Err(AddError::Type),
    }
}
