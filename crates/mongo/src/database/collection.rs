//! A collection: encoded documents in insertion order, and their indexes.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::command_error::{Code, CommandError};
use super::filter::Filter;
use super::index::{Direction, Index, IndexSpec, RecordId, Uniqueness};
use super::plan::{Plan, Sorted};
use super::sort::Sort;
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

/// Keys and documents examined by a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Examined {
    pub keys: usize,
    pub docs: usize,
}

/// Skip and limit of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SkipLimit {
    pub skip: usize,
    pub limit: usize,
}

impl SkipLimit {
    /// No skip, no limit.
    pub(crate) const ALL: Self = Self {
        skip: 0,
        limit: usize::MAX,
    };
    /// The first document.
    pub(crate) const FIRST: Self = Self { skip: 0, limit: 1 };
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

    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    /// Memory of documents and indexes.
    pub(crate) fn bytes(&self) -> usize {
        let indexes: usize = self.indexes.iter().map(|index| index.bytes).sum();
        self.document_bytes + self.len() * DOCUMENT_OVERHEAD_BYTES + indexes
    }

    /// Inserts a document, unless one of its unique keys exists.
    pub(crate) fn insert(&mut self, doc: Doc<'_>) -> Result<RecordId, CommandError> {
        let keys = self.keys(doc)?;
        self.check_unique(&keys, doc, None)?;
        let id = self.next;
        self.next += 1;
        for (index, keys) in self.indexes.iter_mut().zip(&keys) {
            index.add(keys, id);
        }
        self.document_bytes += doc.bytes().len();
        self.documents.insert(id, doc.bytes().into());
        Ok(id)
    }

    /// Replaces a document.
    pub(crate) fn replace(&mut self, record: &Record, doc: Doc<'_>) -> Result<(), CommandError> {
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

    pub(crate) fn remove(&mut self, record: &Record) -> Result<(), CommandError> {
        let keys = self.keys(Doc::trusted(&record.doc))?;
        for (index, keys) in self.indexes.iter_mut().zip(&keys) {
            index.remove(keys, record.id);
        }
        if self.documents.remove(&record.id).is_some() {
            self.document_bytes -= record.doc.len();
        }
        Ok(())
    }

    fn keys(&self, doc: Doc<'_>) -> Result<Vec<Vec<Vec<u8>>>, CommandError> {
        self.indexes.iter().map(|index| index.keys(doc)).collect()
    }

    fn check_unique(
        &self,
        keys: &[Vec<Vec<u8>>],
        doc: Doc<'_>,
        except: Option<RecordId>,
    ) -> Result<(), CommandError> {
        for (index, keys) in self.indexes.iter().zip(keys) {
            let taken = index.spec.uniqueness == Uniqueness::Unique
                && keys.iter().any(|key| {
                    index
                        .record_with_key(key)
                        .is_some_and(|record_with_key| Some(record_with_key) != except)
                });
            if taken {
                return Err(self.duplicate(index, doc));
            }
        }
        Ok(())
    }

    fn duplicate(&self, index: &Index, doc: Doc<'_>) -> CommandError {
        let mut value = Vec::new();
        document(&mut value, |w| {
            for field in &index.spec.fields {
                let found = super::path::at(doc, &field.path).unwrap_or(Value::Null);
                w.value(&field.path, found);
            }
        });
        let mut details = Vec::new();
        document(&mut details, |w| {
            w.value(
                "keyPattern",
                Value::Document(Doc::trusted(&index.spec.pattern)),
            )
            .value("keyValue", Value::Document(Doc::trusted(&value)));
        });
        let message = format!(
            "E11000 duplicate key error collection: {} index: {} dup key: {}",
            self.namespace,
            index.spec.name,
            super::display::Displayed(Value::Document(Doc::trusted(&value)))
        );
        CommandError {
            details: Some(details.into()),
            ..CommandError::new(Code::DuplicateKey, message)
        }
    }

    /// Creates an index over the existing documents; `false` if it exists already.
    pub(crate) fn create_index(&mut self, spec: IndexSpec) -> Result<bool, CommandError> {
        let same_fields = |index: &&Index| index.spec.fields == spec.fields;
        let same_name = |index: &&Index| index.spec.name == spec.name;
        if let Some(index) = self.indexes.iter().find(|i| same_name(i) || same_fields(i)) {
            if index.spec == spec
                || (index.spec.fields == spec.fields && &*index.spec.name == "_id_")
            {
                return Ok(false);
            }
            let code = if same_name(&index) && !same_fields(&index) {
                Code::IndexKeySpecsConflict
            } else {
                Code::IndexOptionsConflict
            };
            return Err(CommandError::new(
                code,
                format!(
                    "index {} exists with other fields or options; drop it first",
                    index.spec.name
                ),
            ));
        }
        if self.indexes.len() >= INDEXES_MAX {
            return Err(CommandError::new(
                Code::CannotCreateIndex,
                format!("a collection has at most {INDEXES_MAX} indexes"),
            ));
        }
        let mut index = Index::new(spec);
        for (id, doc) in &self.documents {
            let keys = index.keys(Doc::trusted(doc))?;
            let unique = index.spec.uniqueness == Uniqueness::Unique;
            if unique && keys.iter().any(|key| index.record_with_key(key).is_some()) {
                return Err(self.duplicate(&index, Doc::trusted(doc)));
            }
            index.add(&keys, *id);
        }
        self.indexes.push(index);
        Ok(true)
    }

    /// Drops an index by name, or all but that of `_id` for "*". `None` if there is no such index.
    pub(crate) fn drop_index(&mut self, name: &str) -> Option<()> {
        let before = self.indexes.len();
        self.indexes.retain(|index| {
            &*index.spec.name == "_id_" || (name != "*" && *index.spec.name != *name)
        });
        (name == "*" || self.indexes.len() < before).then_some(())
    }

    /// Matching documents in the requested order.
    pub(crate) fn find(
        &self,
        filter: &Filter<'_>,
        sort: &Sort<'_>,
        skip_limit: SkipLimit,
    ) -> (Vec<Record>, Plan, Examined) {
        let plan = Plan::choose(&self.indexes, filter, sort);
        let mut examined = Examined::default();
        let in_order = sort.fields.is_empty()
            || matches!(
                &plan,
                Plan::Index {
                    sorted: Sorted::Yes,
                    ..
                }
            );
        let enough = if in_order {
            skip_limit.limit.saturating_add(skip_limit.skip)
        } else {
            usize::MAX
        };
        let mut found = Vec::new();
        self.candidates(&plan, &mut examined, &mut |id, doc| {
            if found.len() >= enough {
                return ControlFlow::Break(());
            }
            if filter.passes(Doc::trusted(doc)) {
                let doc = Arc::clone(doc);
                found.push(Record { id, doc });
            }
            if found.len() >= enough {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if !in_order {
            found.sort_by_cached_key(|record| (sort.key(Doc::trusted(&record.doc)), record.id));
        }
        found.truncate(skip_limit.skip.saturating_add(skip_limit.limit));
        found.drain(..skip_limit.skip.min(found.len()));
        (found, plan, examined)
    }

    /// The number of matching documents.
    pub(crate) fn count(&self, filter: &Filter<'_>) -> usize {
        let everything = Filter::All(Vec::new());
        if *filter == everything {
            return self.len();
        }
        let plan = Plan::choose(&self.indexes, filter, &Sort::default());
        let mut count = 0;
        self.candidates(&plan, &mut Examined::default(), &mut |_, doc| {
            count += usize::from(filter.passes(Doc::trusted(doc)));
            ControlFlow::Continue(())
        });
        count
    }

    fn candidates(
        &self,
        plan: &Plan,
        examined: &mut Examined,
        take: &mut dyn FnMut(RecordId, &Stored) -> ControlFlow<()>,
    ) {
        let mut seen = HashSet::new();
        match plan {
            Plan::Scan => {
                for (id, doc) in &self.documents {
                    examined.docs += 1;
                    if take(*id, doc).is_break() {
                        return;
                    }
                }
            }
            Plan::Index {
                index,
                ranges,
                walk,
                ..
            } => {
                let Some(index) = self.indexes.get(*index) else {
                    return;
                };
                let ranges: Box<dyn Iterator<Item = _>> = match walk {
                    Direction::Ascending => Box::new(ranges.iter()),
                    Direction::Descending => Box::new(ranges.iter().rev()),
                };
                for id in ranges.flat_map(|range| index.walk(range, *walk)) {
                    examined.keys += 1;
                    if index.multikey && !seen.insert(id) {
                        continue;
                    }
                    let Some(doc) = self.documents.get(&id) else {
                        continue;
                    };
                    examined.docs += 1;
                    if take(id, doc).is_break() {
                        return;
                    }
                }
            }
        }
    }
}
