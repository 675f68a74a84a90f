//! The order that a query asks for.

use super::failure::Failure;
use super::index::{Direction, put_field};
use super::path;
use crate::bson::{Doc, Value};

/// Fields that a sort may name; as many as an index may have in MongoDB.
const FIELDS_MAX: usize = 32;

/// Fields in the order of their weight; none leaves the order as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sort<'a> {
    pub fields: Vec<SortField<'a>>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortField<'a> {
    pub path: &'a str,
    pub direction: Direction,
}

impl<'a> Sort<'a> {
    /// Reads `{field: 1, other: -1}`.
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, Failure> {
        let mut fields = Vec::new();
        for (path, value) in doc {
            if path == "$natural" {
                continue;
            }
            let direction = Direction::read(value).ok_or_else(|| {
                Failure::bad(format!("the order of {path} in a sort must be 1 or -1"))
            })?;
            fields.push(SortField { path, direction });
        }
        if fields.len() > FIELDS_MAX {
            return Err(Failure::bad(format!(
                "a sort has at most {FIELDS_MAX} fields"
            )));
        }
        Ok(Self { fields })
    }

    /// Bytes that sort as the documents should be.
    pub(crate) fn key(&self, doc: Doc<'_>) -> Vec<u8> {
        let mut key = Vec::new();
        for field in &self.fields {
            let mut chosen: Option<Vec<u8>> = None;
            let mut offer = |value: Value<'_>| {
                let mut part = Vec::new();
                put_field(&mut part, value, field.direction);
                // Of an array the least item counts, or in a descending order the greatest: the least key both times.
                if chosen.as_ref().is_none_or(|chosen| part < *chosen) {
                    chosen = Some(part);
                }
            };
            path::any_at(doc, field.path, &mut |value| {
                match value {
                    Some(Value::Array(items)) if !items.is_empty() => {
                        items.values().for_each(&mut offer);
                    }
                    // An empty array sorts as what is undefined, which is below null; here as null.
                    Some(Value::Array(_)) | None => offer(Value::Null),
                    Some(value) => offer(value),
                }
                false
            });
            match chosen {
                Some(part) => key.extend_from_slice(&part),
                None => put_field(&mut key, Value::Null, field.direction),
            }
        }
        key
    }
}
