//! Commands that write: insert, update, delete, findAndModify, createIndexes.

use std::sync::Arc;

use super::Database;
use super::collection::{Record, Stored};
use super::command_error::{Code, CommandError, Result};
use super::filter::Filter;
use super::index::IndexSpec;
use super::request::{Request, check_types, reject_unsupported};
use super::update::Update;
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, Value, Writer, document};

/// Writes per command, as in MongoDB.
pub(crate) const WRITES_MAX: usize = 100_000;

/// Write options that would change the effect and are not supported.
const UNSUPPORTED: [&str; 8] = [
    "upsert",
    "sort",
    "fields",
    "hint",
    "collation",
    "arrayFilters",
    "let",
    "c",
];

/// Executes each write of a command; returns the errors.
fn for_each_write<'a>(
    request: &Request<'a>,
    name: &str,
    mut write: impl FnMut(Doc<'a>) -> Result<()>,
) -> Result<Vec<(usize, CommandError)>> {
    let writes = request.documents(name)?;
    if !(1..=WRITES_MAX).contains(&writes.len()) {
        return Err(
            Code::InvalidOptions.error(format!("{} writes; send 1 to {WRITES_MAX}", writes.len()))
        );
    }
    // An ordered command ends with the first write that fails.
    let is_ordered = request
        .body
        .get("ordered")
        .is_none_or(|value| value.is_true());
    let mut failed = Vec::new();
    for (at, doc) in writes.into_iter().enumerate() {
        if let Err(command_error) = write(doc) {
            failed.push((at, command_error));
            if is_ordered {
                break;
            }
        }
    }
    Ok(failed)
}

fn append_write_errors(failed: &[(usize, CommandError)], w: &mut Writer<'_>) {
    if !failed.is_empty() {
        w.array("writeErrors", |list| {
            for (at, command_error) in failed {
                list.doc(|w| command_error.write_as_write_error(*at, w));
            }
        });
    }
}

/// The filter of an update or a delete.
fn filter_of(write: Doc<'_>) -> Result<Filter<'_>> {
    let Some(Value::Document(filter)) = write.get("q") else {
        return Err(Code::IDLFailedToParse.error("q, the filter of a write, must be a document"));
    };
    Filter::read(filter)
}

/// The document with `_id` as its first field, if that has to be moved.
fn with_id_first(doc: Doc<'_>) -> Result<Option<Vec<u8>>> {
    let id = match doc.get("_id") {
        None | Some(Value::Array(_)) => {
            return Err(Code::InvalidIdField
                .error("a document needs an '_id' that is no array; drivers add it"));
        }
        Some(id) => id,
    };
    if doc.first().is_some_and(|(key, _)| key == "_id") {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(doc.bytes().len());
    document(&mut out, |w| {
        w.value("_id", id);
        for (key, value) in doc.iter().filter(|(key, _)| *key != "_id") {
            w.value(key, value);
        }
    });
    Ok(Some(out))
}

impl Database {
    pub(super) fn insert(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let collection = request.collection()?;
        let mut inserted = 0;
        let failed = for_each_write(request, "documents", |doc| {
            self.insert_one(request.database, collection, doc)?;
            inserted += 1;
            Ok(())
        })?;
        w.count("n", inserted);
        append_write_errors(&failed, w);
        Ok(())
    }

    fn insert_one(&mut self, database: &str, collection: &str, doc: Doc<'_>) -> Result<()> {
        let bytes = doc.bytes().len();
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(Code::BSONObjectTooLarge.error(format!(
                "object to insert too large. size in bytes: {bytes}, max size: {DOCUMENT_BYTES_MAX}"
            )));
        }
        check_types(Value::Document(doc))?;
        let moved = with_id_first(doc)?;
        let doc = moved.as_deref().map_or(doc, Doc::trusted);
        self.check_capacity(bytes)?;
        self.modify_collection(database, collection, |collection| collection.insert(doc))
    }

    pub(super) fn update(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let (database, collection) = (request.database, request.collection()?);
        let (mut matched, mut changed) = (0, 0);
        let failed = for_each_write(request, "updates", |write| {
            reject_unsupported(write, &UNSUPPORTED)?;
            let filter = filter_of(write)?;
            let update = Update::read(write.get("u").unwrap_or(Value::Null))?;
            let is_multi = write.get("multi").is_some_and(|value| value.is_true());
            let limit = if is_multi { usize::MAX } else { 1 };
            for record in &self.matching(database, collection, &filter, limit) {
                let new = self.change(database, collection, record, &update)?;
                matched += 1;
                changed += usize::from(new.is_some());
            }
            Ok(())
        })?;
        w.count("n", matched).count("nModified", changed);
        append_write_errors(&failed, w);
        Ok(())
    }

    /// Updates one document; `None` if it is unchanged.
    fn change(
        &mut self,
        database: &str,
        collection: &str,
        record: &Record,
        update: &Update<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let new = update.apply(Doc::trusted(&record.doc))?;
        if *new == *record.doc {
            return Ok(None);
        }
        self.check_capacity(new.len().saturating_sub(record.doc.len()))?;
        self.modify_collection(database, collection, |collection| {
            collection.replace(record, Doc::trusted(&new))
        })?;
        Ok(Some(new))
    }

    pub(super) fn delete(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let (database, collection) = (request.database, request.collection()?);
        let mut deleted = 0;
        let failed = for_each_write(request, "deletes", |write| {
            reject_unsupported(write, &UNSUPPORTED)?;
            let filter = filter_of(write)?;
            let limit = match write.get("limit").and_then(|value| value.as_i64()) {
                Some(0) => usize::MAX,
                Some(1) => 1,
                _ => {
                    return Err(Code::FailedToParse
                        .error("The limit field in delete objects must be 0 or 1"));
                }
            };
            for record in &self.matching(database, collection, &filter, limit) {
                self.modify_collection(database, collection, |collection| {
                    collection.remove(record)
                })?;
                deleted += 1;
            }
            Ok(())
        })?;
        w.count("n", deleted);
        append_write_errors(&failed, w);
        Ok(())
    }

    pub(super) fn find_and_modify(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<()> {
        let (database, collection) = (request.database, request.collection()?);
        request.refuse(&UNSUPPORTED)?;
        let filter = Filter::read(request.doc("query")?)?;
        let update = request.get("update").map(Update::read).transpose()?;
        if update.is_some() == request.flag("remove") {
            return Err(Code::FailedToParse
                .error("Either an update or remove=true must be specified, and not both"));
        }
        let found = self.matching(database, collection, &filter, 1).pop();
        let mut value = found.as_ref().map(|record| Arc::clone(&record.doc));
        match (&found, &update) {
            (None, _) => {}
            (Some(record), None) => {
                self.modify_collection(database, collection, |collection| {
                    collection.remove(record)
                })?;
            }
            (Some(record), Some(update)) => {
                let new = self.change(database, collection, record, update)?;
                if request.flag("new") {
                    value = new.map(Stored::from).or(value);
                }
            }
        }
        w.doc("lastErrorObject", |w| {
            w.count("n", usize::from(found.is_some()));
            if update.is_some() {
                w.bool("updatedExisting", found.is_some());
            }
        });
        let value = value.as_deref();
        w.value(
            "value",
            value.map_or(Value::Null, |doc| Value::Document(Doc::trusted(doc))),
        );
        Ok(())
    }

    pub(super) fn create_indexes(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<()> {
        let name = request.collection()?;
        let specs = request
            .documents("indexes")?
            .into_iter()
            .map(IndexSpec::read)
            .collect::<Result<Vec<_>, _>>()?;
        if specs.is_empty() {
            return Err(Code::BadValue.error("Must specify at least one index to create"));
        }
        let is_new = self.collection(request.database, name).is_none();
        let (mut before, mut after, mut made) = (0, 0, 0);
        self.check_capacity(0)?;
        self.modify_collection(request.database, name, |collection| {
            before = collection.index_count();
            for spec in specs {
                made += usize::from(collection.create_index(spec)?);
            }
            after = collection.index_count();
            Ok(())
        })?;
        w.count("numIndexesBefore", before)
            .count("numIndexesAfter", after);
        w.bool("createdCollectionAutomatically", is_new);
        if made == 0 {
            w.str("note", "all indexes already exist");
        }
        Ok(())
    }
}
