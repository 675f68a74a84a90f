//! The sort order of a query.

use super::command_error::CommandError;
use super::index::{Direction, append_field_key};
use super::path;
use crate::bson::{Doc, Value};

/// Fields of a sort; as many as an index may have in MongoDB.
const FIELDS_MAX: usize = 32;

/// Sort fields, most significant first; without any, the order is unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sort<'a> {
    pub fields: Vec<SortField<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortField<'a> {
    pub path: &'a str,
    pub direction: Direction,
}

impl<'a> Sort<'a> {
    /// Parses `{field: 1, other: -1}`.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, CommandError> {
        let mut fields = Vec::new();
        for (path, value) in doc {
            if path == "$natural" {
                continue;
            }
            let direction = Direction::read(value).ok_or_else(|| {
                CommandError::bad_value(format!("the order of {path} in a sort must be 1 or -1"))
            })?;
            fields.push(SortField { path, direction });
        }
        if fields.len() > FIELDS_MAX {
            return Err(CommandError::bad_value(format!(
                "a sort has at most {FIELDS_MAX} fields"
            )));
        }
        Ok(Self { fields })
    }

    /// The sort key of a document.
    pub(crate) fn key(&self, doc: Doc<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        for field in &self.fields {
            let mut chosen: Option<Vec<u8>> = None;
            let mut offer = |value: Value<'_>| {
                let mut part = Vec::new();
                append_field_key(&mut part, value, field.direction);
                // An array sorts by its least item, or by its greatest in descending order: the smallest key in both cases.
                if chosen.as_ref().is_none_or(|chosen| part < *chosen) {
                    chosen = Some(part);
                }
            };
            path::any_at(doc, field.path, &mut |value| {
                match value {
                    Some(Value::Array(items)) if !items.is_empty() => {
                        items.values().for_each(&mut offer);
                    }
                    // In MongoDB, an empty array sorts as undefined, before null; here as null.
                    Some(Value::Array(_)) | None => offer(Value::Null),
                    Some(value) => offer(value),
                }
                false
            });
            match chosen {
                Some(part) => key.extend_from_slice(&part),
                None => append_field_key(&mut key, Value::Null, field.direction),
            }
        }
        key
    }
}
