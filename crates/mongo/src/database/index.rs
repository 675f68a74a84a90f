//! Indexes: records ordered by the sort keys of some of their fields.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::command_error::{Code, CommandError};
use super::path;
use crate::bson::{Doc, OwnedDoc, Value, Writer, append_sort_key, document};

/// Keys per document and index: each item of an array makes one.
const KEYS_PER_DOCUMENT_MAX: usize = 100_000;

/// Length of the record id after each key.
const RECORD_BYTES: usize = 8;

/// Record id of a document in its collection; ids follow insertion order.
pub(crate) type RecordId = u64;

/// Sort direction of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// Parses the 1 or -1 of an index or a sort.
    pub(crate) fn read(value: Value<'_>) -> Option<Self> {
        match value.as_i64() {
            Some(1) => Some(Self::Ascending),
            Some(-1) => Some(Self::Descending),
            _ => None,
        }
    }
}

/// Whether two documents may have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uniqueness {
    Unique,
    Any,
}

/// Whether documents without any of the fields are in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    All,
    Sparse,
}

/// A field of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexField {
    pub path: Box<str>,
    pub direction: Direction,
}

/// The definition of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexSpec {
    pub name: Box<str>,
    /// The key pattern `{field: 1, …}`, as sent.
    pub pattern: OwnedDoc,
    pub fields: Vec<IndexField>,
    pub uniqueness: Uniqueness,
    pub coverage: Coverage,
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
            fields: vec![IndexField {
                path: "_id".into(),
                direction: Direction::Ascending,
            }],
            uniqueness: Uniqueness::Unique,
            coverage: Coverage::All,
        }
    }

    /// Writes it as listIndexes does.
    pub(crate) fn write(&self, w: &mut Writer<'_>) {
        w.i32("v", 2)
            .value("key", Value::Document(Doc::trusted(&self.pattern)))
            .str("name", &self.name);
        if self.uniqueness == Uniqueness::Unique && &*self.name != "_id_" {
            w.yes("unique");
        }
        if self.coverage == Coverage::Sparse {
            w.yes("sparse");
        }
    }
}

/// An index with its entries: key, then record id.
#[derive(Debug)]
pub(crate) struct Index {
    pub spec: IndexSpec,
    entries: BTreeSet<Box<[u8]>>,
    /// Total length of the entries.
    pub bytes: usize,
    /// Whether a document has had more than one key in it.
    pub multikey: bool,
}

/// A half-open range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    /// All keys with this prefix.
    pub(crate) fn with_prefix(prefix: Vec<u8>) -> Self {
        let to = successor(prefix.clone());
        Self { from: prefix, to }
    }
}

/// The first key after all keys with this prefix.
pub(crate) fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < 255 {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// Appends the sort key of a field in this direction.
pub(crate) fn append_field_key(out: &mut Vec<u8>, value: Value<'_>, direction: Direction) {
    let start = out.len();
    append_sort_key(out, value);
    if direction == Direction::Descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

impl Index {
    pub(crate) fn new(spec: IndexSpec) -> Self {
        Self {
            spec,
            entries: BTreeSet::new(),
            bytes: 0,
            multikey: false,
        }
    }

    /// The keys of a document, sorted, without duplicates.
    pub(crate) fn keys(&self, doc: Doc<'_>) -> Result<Vec<Vec<u8>>, CommandError> {
        let mut keys = vec![Vec::new()];
        let mut array = None;
        let mut missing = 0;
        for field in &self.spec.fields {
            let mut parts: Vec<Vec<u8>> = Vec::new();
            let (mut present, mut several) = (false, false);
            path::any_at(doc, &field.path, &mut |value| {
                present |= value.is_some();
                let mut part = |value| {
                    let mut key = Vec::new();
                    append_field_key(&mut key, value, field.direction);
                    parts.push(key);
                };
                part(value.unwrap_or(Value::Null));
                if let Some(Value::Array(items)) = value {
                    several = true;
                    if items.is_empty() {
                        // The second key marks the index as multikey: its order differs from that of a sort, where an empty
                        // array is null.
                        part(Value::MinKey);
                    }
                    items.values().for_each(part);
                }
                false
            });
            if parts.is_empty() {
                let mut key = Vec::new();
                append_field_key(&mut key, Value::Null, field.direction);
                parts.push(key);
            }
            several |= parts.len() > 1;
            parts.sort_unstable();
            parts.dedup();
            missing += usize::from(!present);
            if several && let Some(other) = array.replace(&field.path) {
                return Err(CommandError::new(
                    Code::CannotIndexParallelArrays,
                    format!("cannot index parallel arrays [{}] [{other}]", field.path),
                ));
            }
            keys = cross_product(&keys, &parts);
        }
        if missing == self.spec.fields.len() && self.spec.coverage == Coverage::Sparse {
            keys.clear();
        }
        if keys.len() > KEYS_PER_DOCUMENT_MAX {
            return Err(CommandError::bad_value(format!(
                "a document has more than {KEYS_PER_DOCUMENT_MAX} keys in index {}",
                self.spec.name
            )));
        }
        Ok(keys)
    }

    /// The record that has this key.
    pub(crate) fn record_with_key(&self, key: &[u8]) -> Option<RecordId> {
        let range = KeyRange::with_prefix(key.to_vec());
        self.walk(&range, Direction::Ascending).next()
    }

    pub(crate) fn add(&mut self, keys: &[Vec<u8>], record: RecordId) {
        self.multikey |= keys.len() > 1;
        for key in keys {
            self.bytes += key.len() + RECORD_BYTES;
            self.entries.insert(entry(key, record));
        }
    }

    pub(crate) fn remove(&mut self, keys: &[Vec<u8>], record: RecordId) {
        for key in keys {
            if self.entries.remove(&entry(key, record)) {
                self.bytes -= key.len() + RECORD_BYTES;
            }
        }
    }

    /// Records with keys in the range, in key order.
    pub(crate) fn walk<'i>(
        &'i self,
        range: &KeyRange,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = RecordId> + 'i> {
        let to = match &range.to {
            Some(to) if *to <= range.from => return Box::new(std::iter::empty()),
            Some(to) => Bound::Excluded(to.as_slice()),
            None => Bound::Unbounded,
        };
        let entries = self
            .entries
            .range::<[u8], _>((Bound::Included(range.from.as_slice()), to))
            .map(|entry| record_of(entry));
        match direction {
            Direction::Ascending => Box::new(entries),
            Direction::Descending => Box::new(entries.rev()),
        }
    }
}

fn entry(key: &[u8], record: RecordId) -> Box<[u8]> {
    [key, &record.to_be_bytes()].concat().into()
}

fn record_of(entry: &[u8]) -> RecordId {
    entry.last_chunk().map_or(0, |raw| u64::from_be_bytes(*raw))
}

/// All concatenations of a key of the first list with one of the second.
fn cross_product(firsts: &[Vec<u8>], seconds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    firsts
        .iter()
        .flat_map(|first| {
            seconds
                .iter()
                .map(|second| [first.as_slice(), second].concat())
        })
        .collect()
}
