//! Indexes: the records of a collection by the keys of some of their fields.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::command_error::{Code, CommandError, Result};
use super::filter::Filter;
use super::request::{doc_of, reject_unsupported};
use crate::bson::{Doc, OwnedDoc, Value, append_key, document};

/// Fields per index, as in MongoDB.
const FIELDS_MAX: usize = 32;

/// Length of the record id after each key.
const RECORD_BYTES: usize = 8;

/// Record id of a document in its collection; ids follow insertion order.
pub(crate) type RecordId = u64;

/// The definition of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexSpec {
    pub name: Box<str>,
    /// `{field: 1, …}`, with 32-bit numbers.
    pub pattern: OwnedDoc,
    pub unique: bool,
}

impl IndexSpec {
    /// The `_id` index of every collection.
    pub(crate) fn of_id() -> Self {
        let mut pattern = Vec::new();
        document(&mut pattern, |w| {
            w.i32("_id", 1);
        });
        Self {
            name: "_id_".into(),
            pattern: pattern.into(),
            unique: true,
        }
    }

    /// Parses `{key: {field: 1, …}, name: "…", unique: true}`.
    pub(crate) fn read(doc: Doc<'_>) -> Result<Self> {
        reject_unsupported(
            doc,
            &[
                "expireAfterSeconds",
                "partialFilterExpression",
                "collation",
                "wildcardProjection",
                "hidden",
                "sparse",
            ],
        )?;
        let key = doc_of(doc, "key")?;
        let refuse = |message: String| Code::CannotCreateIndex.error(message);
        let mut fields = Vec::new();
        for (field, value) in key {
            if field.is_empty() || field.starts_with('$') || field.contains('.') {
                return Err(refuse(format!(
                    "'{field}' is no top-level field that can be indexed"
                )));
            }
            match value.as_i64() {
                Some(direction @ (1 | -1)) => fields.push((field, direction)),
                _ => {
                    return Err(refuse(format!(
                        "index of {field}: only 1 and -1 are supported by the in-memory database; use mongod"
                    )));
                }
            }
        }
        if !(1..=FIELDS_MAX).contains(&fields.len()) {
            return Err(refuse(format!("an index has 1 to {FIELDS_MAX} fields")));
        }
        let mut pattern = Vec::new();
        document(&mut pattern, |w| {
            for (field, direction) in fields {
                w.i32(field, if direction == 1 { 1 } else { -1 });
            }
        });
        let name = doc.get("name").and_then(|value| value.as_str());
        let name = name
            .filter(|name| !name.is_empty())
            .ok_or_else(|| Code::IDLFailedToParse.error("every index needs a name"))?;
        Ok(Self {
            name: name.into(),
            pattern: pattern.into(),
            unique: doc.get("unique").is_some_and(|value| value.is_true()),
        })
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        Doc::trusted(&self.pattern).iter().map(|(field, _)| field)
    }
}

/// An index with its entries: key, then record id.
#[derive(Debug)]
pub(crate) struct Index {
    pub spec: IndexSpec,
    entries: BTreeSet<Box<[u8]>>,
    /// Total length of the entries and of what a client chose to define it.
    pub bytes: usize,
}

impl Index {
    pub(crate) fn new(spec: IndexSpec) -> Self {
        Self {
            spec,
            entries: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// The key of a document: those of its fields, one after the other. MongoDB would have a key for each item of an array.
    pub(crate) fn key(&self, doc: Doc<'_>) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        for field in self.spec.fields() {
            let value = doc.get(field).unwrap_or(Value::Null);
            if matches!(value, Value::Array(_)) {
                return Err(CommandError::unsupported(format_args!(
                    "an array in the indexed field {field}"
                )));
            }
            append_key(&mut key, value);
        }
        Ok(key)
    }

    /// How many of the first fields a filter has values for, and the start of the keys with these values.
    pub(crate) fn prefix(&self, filter: &Filter<'_>) -> (usize, Vec<u8>) {
        let mut fields = 0;
        let mut prefix = Vec::new();
        for key in self.spec.fields().map_while(|field| filter.key_of(field)) {
            fields += 1;
            prefix.extend_from_slice(key);
        }
        (fields, prefix)
    }

    /// The records whose keys start with these bytes.
    pub(crate) fn records(&self, prefix: Vec<u8>) -> impl Iterator<Item = RecordId> {
        self.entries
            .range::<[u8], _>((Bound::Included(prefix.as_slice()), Bound::Unbounded))
            .take_while(move |entry| entry.starts_with(&prefix))
            .map(|entry| record_of(entry))
    }

    pub(crate) fn add(&mut self, key: &[u8], record: RecordId) {
        self.bytes += key.len() + RECORD_BYTES;
        self.entries.insert(entry(key, record));
    }

    pub(crate) fn remove(&mut self, key: &[u8], record: RecordId) {
        if self.entries.remove(&entry(key, record)) {
            self.bytes -= key.len() + RECORD_BYTES;
        }
    }
}

fn entry(key: &[u8], record: RecordId) -> Box<[u8]> {
    [key, &record.to_be_bytes()].concat().into()
}

fn record_of(entry: &[u8]) -> RecordId {
    entry.last_chunk().map_or(0, |raw| u64::from_be_bytes(*raw))
}
