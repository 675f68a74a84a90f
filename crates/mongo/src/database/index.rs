//! An index: the documents in the order of some of their values.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::failure::{Code, Failure};
use super::path;
use crate::bson::{Doc, OwnedDoc, Value, Writer, document, put_key};

/// Keys that one document may have in one index: items of an array each make one.
const KEYS_PER_DOCUMENT_MAX: usize = 100_000;

/// Bytes of a record's number behind its key.
const RECORD_BYTES: usize = 8;

/// The number of a document in its collection, in order of insertion.
pub(crate) type RecordId = u64;

/// Which way a field is ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    /// As an index or a sort writes it: 1 or -1.
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

/// Whether documents without any of the fields are in it.
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

/// What an index is asked to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexSpec {
    pub name: Box<str>,
    /// `{field: 1, …}` as it was written.
    pub pattern: OwnedDoc,
    pub fields: Vec<IndexField>,
    pub uniqueness: Uniqueness,
    pub coverage: Coverage,
}

impl IndexSpec {
    /// The index that every collection has.
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

    /// As listIndexes shows it.
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

/// An index with its entries: key, then record.
#[derive(Debug)]
pub(crate) struct Index {
    pub spec: IndexSpec,
    entries: BTreeSet<Box<[u8]>>,
    /// Of all keys, with the records behind them.
    pub bytes: usize,
    /// A document has had more than one key in it.
    pub multikey: bool,
}

/// Keys from one on up to another that is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    /// All keys that begin so.
    pub(crate) fn beginning(prefix: Vec<u8>) -> Self {
        let to = successor(prefix.clone());
        Self { from: prefix, to }
    }
}

/// The first of the keys behind all that begin so.
pub(crate) fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < 255 {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// Appends the key of a value in a field of this direction.
pub(crate) fn put_field(out: &mut Vec<u8>, value: Value<'_>, direction: Direction) {
    let start = out.len();
    put_key(out, value);
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

    /// The keys of a document, each once, in order.
    pub(crate) fn keys(&self, doc: Doc<'_>) -> Result<Vec<Vec<u8>>, Failure> {
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
                    put_field(&mut key, value, field.direction);
                    parts.push(key);
                };
                part(value.unwrap_or(Value::Null));
                if let Some(Value::Array(items)) = value {
                    several = true;
                    if items.is_empty() {
                        // A second key marks the index: its order is not that of a sort, in which an empty array is null.
                        part(Value::MinKey);
                    }
                    items.values().for_each(part);
                }
                false
            });
            if parts.is_empty() {
                let mut key = Vec::new();
                put_field(&mut key, Value::Null, field.direction);
                parts.push(key);
            }
            several |= parts.len() > 1;
            parts.sort_unstable();
            parts.dedup();
            missing += usize::from(!present);
            if several && let Some(other) = array.replace(&field.path) {
                return Err(Failure::new(
                    Code::CannotIndexParallelArrays,
                    format!("cannot index parallel arrays [{}] [{other}]", field.path),
                ));
            }
            keys = join(&keys, &parts);
        }
        if missing == self.spec.fields.len() && self.spec.coverage == Coverage::Sparse {
            keys.clear();
        }
        if keys.len() > KEYS_PER_DOCUMENT_MAX {
            return Err(Failure::bad(format!(
                "a document has more than {KEYS_PER_DOCUMENT_MAX} keys in index {}",
                self.spec.name
            )));
        }
        Ok(keys)
    }

    /// The record that has this key already.
    pub(crate) fn holder(&self, key: &[u8]) -> Option<RecordId> {
        let range = KeyRange::beginning(key.to_vec());
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

    /// The records with keys in the range, in order of the keys.
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

/// Every key of the first followed by every one of the second.
fn join(firsts: &[Vec<u8>], seconds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    firsts
        .iter()
        .flat_map(|first| {
            seconds
                .iter()
                .map(|second| [first.as_slice(), second].concat())
        })
        .collect()
}
