//! A collection: encoded documents in insertion order, and their indexes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::command_error::{Code, CommandError, Result};
use super::filter::Filter;
use super::index::{Index, IndexSpec, RecordId};
use crate::bson::{Doc, Value, document};

/// Indexes per collection, as in MongoDB.
const INDEXES_MAX: usize = 64;

/// Estimated memory per document besides its bytes: map entry and reference counts.
const DOCUMENT_OVERHEAD_BYTES: usize = 64;

/// A stored document; cursors keep it when it is replaced.
pub(crate) type Stored = Arc<[u8]>;

/// A document with its record id.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub id: RecordId,
    pub doc: Stored,
}

#[derive(Debug)]
pub(crate) struct Collection {
    /// `database.collection`, for error messages.
    namespace: Box<str>,
    documents: BTreeMap<RecordId, Stored>,
    next: RecordId,
    indexes: Vec<Index>,
    document_bytes: usize,
}

impl Collection {
    pub(crate) fn new(namespace: String) -> Self {
        Self {
            namespace: namespace.into(),
            documents: BTreeMap::new(),
            next: 1,
            indexes: vec![Index::new(IndexSpec::of_id())],
            document_bytes: 0,
        }
    }

    pub(crate) fn index_count(&self) -> usize {
        self.indexes.len()
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = Doc<'_>> {
        self.documents.values().map(|doc| Doc::trusted(doc))
    }

    /// Memory of documents and indexes.
    pub(crate) fn bytes(&self) -> usize {
        let indexes: usize = self.indexes.iter().map(|index| index.bytes).sum();
        self.document_bytes + self.documents.len() * DOCUMENT_OVERHEAD_BYTES + indexes
    }

    /// Inserts a document, unless one of its unique keys exists.
    pub(crate) fn insert(&mut self, doc: Doc<'_>) -> Result<()> {
        let keys = self.keys(doc)?;
        self.check_unique(&keys, doc, None)?;
        let id = self.next;
        self.next += 1;
        for (index, key) in self.indexes.iter_mut().zip(&keys) {
            index.add(key, id);
        }
        self.document_bytes += doc.bytes().len();
        self.documents.insert(id, doc.bytes().into());
        Ok(())
    }

    /// Replaces a document.
    pub(crate) fn replace(&mut self, record: &Record, doc: Doc<'_>) -> Result<()> {
        let before = self.keys(Doc::trusted(&record.doc))?;
        let after = self.keys(doc)?;
        self.check_unique(&after, doc, Some(record.id))?;
        for ((index, before), after) in self.indexes.iter_mut().zip(&before).zip(&after) {
            if before != after {
                index.remove(before, record.id);
                index.add(after, record.id);
            }
        }
        self.document_bytes += doc.bytes().len();
        self.document_bytes -= record.doc.len();
        self.documents.insert(record.id, doc.bytes().into());
        Ok(())
    }

    pub(crate) fn remove(&mut self, record: &Record) -> Result<()> {
        let keys = self.keys(Doc::trusted(&record.doc))?;
        for (index, key) in self.indexes.iter_mut().zip(&keys) {
            index.remove(key, record.id);
        }
        if self.documents.remove(&record.id).is_some() {
            self.document_bytes -= record.doc.len();
        }
        Ok(())
    }

    /// The key of a document in each index.
    fn keys(&self, doc: Doc<'_>) -> Result<Vec<Vec<u8>>> {
        self.indexes.iter().map(|index| index.key(doc)).collect()
    }

    fn check_unique(&self, keys: &[Vec<u8>], doc: Doc<'_>, except: Option<RecordId>) -> Result<()> {
        for (index, key) in self.indexes.iter().zip(keys) {
            let is_taken = index.spec.unique
                && index
                    .records(key.clone())
                    .any(|record| Some(record) != except);
            if is_taken {
                return Err(self.duplicate(index, doc));
            }
        }
        Ok(())
    }

    fn duplicate(&self, index: &Index, doc: Doc<'_>) -> CommandError {
        let mut value = Vec::new();
        document(&mut value, |w| {
            for field in index.spec.fields() {
                w.value(field, doc.get(field).unwrap_or(Value::Null));
            }
        });
        let (pattern, value) = (Doc::trusted(&index.spec.pattern), Doc::trusted(&value));
        let mut details = Vec::new();
        document(&mut details, |w| {
            w.value("keyPattern", Value::Document(pattern))
                .value("keyValue", Value::Document(value));
        });
        let message = format!(
            "E11000 duplicate key error collection: {} index: {} dup key: {value}",
            self.namespace, index.spec.name
        );
        CommandError {
            details: Some(details.into()),
            ..Code::DuplicateKey.error(message)
        }
    }

    /// Creates an index over the existing documents; `false` if it exists already.
    pub(crate) fn create_index(&mut self, spec: IndexSpec) -> Result<bool> {
        let same_fields = |index: &&Index| index.spec.pattern == spec.pattern;
        let same_name = |index: &&Index| index.spec.name == spec.name;
        if let Some(index) = self.indexes.iter().find(|i| same_name(i) || same_fields(i)) {
            if index.spec == spec || (same_fields(&index) && &*index.spec.name == "_id_") {
                return Ok(false);
            }
            let code = if same_fields(&index) {
                Code::IndexOptionsConflict
            } else {
                Code::IndexKeySpecsConflict
            };
            return Err(code.error(format!(
                    "index {} exists with other fields or options; choose another name or the same options",
                    index.spec.name
                )));
        }
        if self.indexes.len() >= INDEXES_MAX {
            return Err(Code::CannotCreateIndex
                .error(format!("a collection has at most {INDEXES_MAX} indexes")));
        }
        let mut index = Index::new(spec);
        // A client chooses how long the name and the fields are.
        index.bytes = index.spec.name.len() + index.spec.pattern.len();
        for (id, doc) in &self.documents {
            let key = index.key(Doc::trusted(doc))?;
            if index.spec.unique && index.records(key.clone()).next().is_some() {
                return Err(self.duplicate(&index, Doc::trusted(doc)));
            }
            index.add(&key, *id);
        }
        self.indexes.push(index);
        Ok(true)
    }

    /// Matching documents, at most as many as the limit.
    pub(crate) fn find(&self, filter: &Filter<'_>, limit: usize) -> Vec<Record> {
        self.candidates(filter)
            .filter(|(_, doc)| filter.passes(Doc::trusted(doc)))
            .take(limit)
            .map(|(id, doc)| Record {
                id,
                doc: Arc::clone(doc),
            })
            .collect()
    }

    /// The documents to look at for a filter: by the index with the most fields that the filter has values for, of equals the
    /// oldest; without such an index all.
    pub(crate) fn candidates(
        &self,
        filter: &Filter<'_>,
    ) -> Box<dyn Iterator<Item = (RecordId, &Stored)> + '_> {
        let prefixes = self
            .indexes
            .iter()
            .map(|index| (index, index.prefix(filter)));
        // Of equals, this gives the last: the order is reversed.
        match prefixes.rev().max_by_key(|(_, (fields, _))| *fields) {
            Some((index, (1.., prefix))) => Box::new(
                index
                    .records(prefix)
                    .filter_map(move |id| Some((id, self.documents.get(&id)?))),
            ),
            _ => Box::new(self.documents.iter().map(|(id, doc)| (*id, doc))),
        }
    }
}
