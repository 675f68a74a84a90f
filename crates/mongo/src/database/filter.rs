//! Filters: top-level fields, each with the value that it must equal.

use super::command_error::{Code, Result};
use super::request::{check_field, check_types};
use crate::bson::{Doc, Value, append_key};

/// A parsed filter: fields, and the keys of their values. Without any, it matches every document.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    fields: Vec<(&'a str, Vec<u8>)>,
}

impl<'a> Filter<'a> {
    /// Parses `{field: value, …}`.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self> {
        let mut fields = Vec::new();
        for (field, value) in doc {
            if field.starts_with('$') {
                return Err(Code::BadValue.error(format!(
                    "unknown top level operator: {field}; supported are only fields and the values that they equal"
                )));
            }
            check_field(field)?;
            if let Some((operator, _)) = value.as_doc().and_then(Doc::first)
                && operator.starts_with('$')
            {
                return Err(Code::BadValue.error(format!(
                    "unknown operator: {operator}; supported are only values that a field equals"
                )));
            }
            check_types(value)?;
            let mut key = Vec::new();
            append_key(&mut key, value);
            fields.push((field, key));
        }
        Ok(Self { fields })
    }

    /// The key that a field must have.
    pub(crate) fn key_of(&self, field: &str) -> Option<&[u8]> {
        let found = self.fields.iter().find(|(name, _)| *name == field);
        found.map(|(_, key)| key.as_slice())
    }

    /// Whether a document matches. As in MongoDB, a missing field is null, and an array equals also what each of its items does.
    pub(crate) fn passes(&self, doc: Doc<'_>) -> bool {
        let mut key = Vec::new();
        let mut equals = |value: Value<'_>, wanted: &[u8]| {
            key.clear();
            append_key(&mut key, value);
            key == wanted
        };
        self.fields.iter().all(|(field, wanted)| {
            let value = doc.get(field).unwrap_or(Value::Null);
            equals(value, wanted)
                || value
                    .as_array()
                    .is_some_and(|items| items.values().any(|item| equals(item, wanted)))
        })
    }
}
