//! Commands that write: insert, update, delete, findAndModify.

use super::Database;
use super::collection::{Record, SkipLimit, Stored};
use super::command_error::{Code, CommandError};
use super::filter::{Filter, Test};
use super::node::{self, Fields, MissingPath, Node};
use super::projection::Projection;
use super::request::{Request, doc_of, reject_unsupported};
use super::sort::Sort;
use super::update::{Update, WriteKind, immutable_id};
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, OwnedDoc, Value, Writer, document};

/// Writes per command, as in MongoDB.
pub(crate) const WRITES_MAX: usize = 100_000;

/// Write options that would change the effect and are not supported.
const UNSUPPORTED: [&str; 4] = ["collation", "arrayFilters", "let", "c"];

/// The result of one update.
#[derive(Debug, Default)]
struct Updated {
    matched: usize,
    changed: usize,
    /// The `_id` of an upserted document, in a document.
    upserted: Option<OwnedDoc>,
}

/// Whether writes continue after one that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ordered,
    Unordered,
}

impl Order {
    fn read(request: &Request<'_>) -> Self {
        match request.body.get("ordered") {
            Some(value) if !value.is_true() => Self::Unordered,
            _ => Self::Ordered,
        }
    }
}

/// Executes each write of a command; returns the errors.
fn for_each_write<'a>(
    request: &Request<'a>,
    name: &str,
    mut write: impl FnMut(usize, Doc<'a>) -> Result<(), CommandError>,
) -> Result<Vec<(usize, CommandError)>, CommandError> {
    let writes = request.documents(name)?;
    if !(1..=WRITES_MAX).contains(&writes.len()) {
        return Err(CommandError::new(
            Code::InvalidOptions,
            format!("{} writes; send 1 to {WRITES_MAX}", writes.len()),
        ));
    }
    let order = Order::read(request);
    let mut failed = Vec::new();
    for (at, doc) in writes.into_iter().enumerate() {
        if let Err(command_error) = write(at, doc) {
            failed.push((at, command_error));
            if order == Order::Ordered {
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

impl Database {
    pub(super) fn insert(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let mut inserted = 0;
        let failed = for_each_write(request, "documents", |_, doc| {
            let with_id = self.with_id(doc)?;
            let doc = with_id.as_deref().map_or(doc, Doc::trusted);
            self.insert_one(request.database, collection, doc)?;
            inserted += 1;
            Ok(())
        })?;
        w.count("n", inserted);
        append_write_errors(&failed, w);
        Ok(())
    }

    /// The document with `_id` as its first field, if that has to be added or moved.
    fn with_id(&mut self, doc: Doc<'_>) -> Result<Option<Vec<u8>>, CommandError> {
        let id = doc.get("_id");
        if let Some(Value::Array(_) | Value::Regex { .. } | Value::Undefined) = id {
            return Err(CommandError::new(
                Code::InvalidIdField,
                "The '_id' value cannot be an array, a regular expression or undefined",
            ));
        }
        if doc.first().is_some_and(|(key, _)| key == "_id") {
            return Ok(None);
        }
        let id = id.unwrap_or(Value::ObjectId(self.ids.next(self.now_ms)));
        let mut out = Vec::with_capacity(doc.bytes().len() + 20);
        document(&mut out, |w| {
            w.value("_id", id);
            for (key, value) in doc.iter().filter(|(key, _)| *key != "_id") {
                w.value(key, value);
            }
        });
        Ok(Some(out))
    }

    fn insert_one(
        &mut self,
        database: &str,
        collection: &str,
        doc: Doc<'_>,
    ) -> Result<(), CommandError> {
        let bytes = doc.bytes().len();
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(CommandError::new(
                Code::BSONObjectTooLarge,
                format!(
                    "object to insert too large. size in bytes: {bytes}, max size: {DOCUMENT_BYTES_MAX}"
                ),
            ));
        }
        self.check_capacity(bytes)?;
        self.modify_collection(database, collection, |collection| {
            collection.insert(doc).map(|_| ())
        })
    }

    pub(super) fn update(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let (mut matched, mut changed) = (0, 0);
        let mut upserted: Vec<(usize, OwnedDoc)> = Vec::new();
        let failed = for_each_write(request, "updates", |at, write| {
            reject_unsupported(write, &UNSUPPORTED)?;
            let filter = Filter::read(doc_of(write, "q")?)?;
            let update = Update::read(write.get("u").unwrap_or(Value::Null))?;
            let flag = |name| {
                write
                    .get(name)
                    .is_some_and(|value: Value<'_>| value.is_true())
            };
            let skip_limit = if flag("multi") {
                SkipLimit::ALL
            } else {
                SkipLimit::FIRST
            };
            if skip_limit == SkipLimit::ALL && matches!(update, Update::Replace(_)) {
                return Err(CommandError::new(
                    Code::FailedToParse,
                    "multi update is not supported for replacement-style update",
                ));
            }
            let sort = Sort::read(doc_of(write, "sort")?)?;
            let found = self.matching(request.database, collection, &filter, &sort, skip_limit);
            let mut done = Updated::default();
            if found.is_empty() && flag("upsert") {
                let new = self.upserted(&filter, &update)?;
                self.insert_one(request.database, collection, Doc::trusted(&new))?;
                done.upserted = Some(id_of(Doc::trusted(&new)));
            }
            for record in &found {
                done.matched += 1;
                let new = self.replace(request.database, collection, record, &update)?;
                done.changed += usize::from(new.is_some());
            }
            matched += done.matched + usize::from(done.upserted.is_some());
            changed += done.changed;
            upserted.extend(done.upserted.map(|id| (at, id)));
            Ok(())
        })?;
        w.count("n", matched).count("nModified", changed);
        if !upserted.is_empty() {
            w.array("upserted", |list| {
                for (at, id) in &upserted {
                    list.doc(|w| {
                        w.count("index", *at).all_of(Doc::trusted(id));
                    });
                }
            });
        }
        append_write_errors(&failed, w);
        Ok(())
    }

    fn matching(
        &self,
        database: &str,
        collection: &str,
        filter: &Filter<'_>,
        sort: &Sort<'_>,
        skip_limit: SkipLimit,
    ) -> Vec<Record> {
        match self.collection(database, collection) {
            Some(collection) => collection.find(filter, sort, skip_limit).0,
            None => Vec::new(),
        }
    }

    /// Updates one document; `None` if it is unchanged.
    fn replace(
        &mut self,
        database: &str,
        collection: &str,
        record: &Record,
        update: &Update<'_>,
    ) -> Result<Option<Vec<u8>>, CommandError> {
        let old = Doc::trusted(&record.doc);
        if let Update::Replace(doc) = update
            && let (Some(given), Some(id)) = (doc.get("_id"), old.get("_id"))
            && crate::bson::compare(&given, &id).is_ne()
        {
            return Err(immutable_id());
        }
        let new = update.apply(old, WriteKind::Update, self.now_ms)?;
        if *new == *record.doc {
            return Ok(None);
        }
        self.check_capacity(new.len().saturating_sub(record.doc.len()))?;
        self.modify_collection(database, collection, |collection| {
            collection.replace(record, Doc::trusted(&new))
        })?;
        Ok(Some(new))
    }

    /// The document of an upsert: the equality conditions of the filter, then the update.
    fn upserted(
        &mut self,
        filter: &Filter<'_>,
        update: &Update<'_>,
    ) -> Result<Vec<u8>, CommandError> {
        let mut required = Vec::new();
        filter.required(&mut required);
        let mut fields: Fields<'_> = Vec::new();
        for (path, test) in required {
            let value = match test {
                Test::Equal(value) => *value,
                _ => continue,
            };
            let replaced = matches!(update, Update::Replace(_));
            if !replaced || path == "_id" {
                node::change(&mut fields, path, MissingPath::Create, &mut |_| {
                    Ok(Some(Node::Value(value)))
                })?;
            }
        }
        let mut base = Vec::new();
        document(&mut base, |w| node::write(&fields, w));
        let new = update.apply(Doc::trusted(&base), WriteKind::Insert, self.now_ms)?;
        Ok(self.with_id(Doc::trusted(&new))?.unwrap_or(new))
    }

    pub(super) fn delete(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let mut deleted = 0;
        let failed = for_each_write(request, "deletes", |_, write| {
            reject_unsupported(write, &UNSUPPORTED)?;
            let filter = Filter::read(doc_of(write, "q")?)?;
            let skip_limit = match write.get("limit").and_then(|value| value.as_i64()) {
                Some(0) => SkipLimit::ALL,
                Some(1) => SkipLimit::FIRST,
                _ => {
                    return Err(CommandError::new(
                        Code::FailedToParse,
                        "The limit field in delete objects must be 0 or 1",
                    ));
                }
            };
            let found = self.matching(
                request.database,
                collection,
                &filter,
                &Sort::default(),
                skip_limit,
            );
            for record in &found {
                self.modify_collection(request.database, collection, |collection| {
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
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        request.refuse(&UNSUPPORTED)?;
        self.check_hint(request, collection)?;
        let filter = Filter::read(request.doc("query")?)?;
        let sort = Sort::read(request.doc("sort")?)?;
        let projection = Projection::read(request.doc("fields")?)?;
        let found = self.matching(
            request.database,
            collection,
            &filter,
            &sort,
            SkipLimit::FIRST,
        );
        let found = found.first();
        let removes = request.flag("remove");
        let (mut upserted, mut after) = (None, None);
        match (request.get("update"), found) {
            (None, _) if !removes => {
                return Err(CommandError::new(
                    Code::FailedToParse,
                    "Either an update or remove=true must be specified",
                ));
            }
            (Some(_), _) if removes => {
                return Err(CommandError::new(
                    Code::FailedToParse,
                    "Cannot specify both an update and remove=true",
                ));
            }
            (None, Some(record)) => {
                self.modify_collection(request.database, collection, |collection| {
                    collection.remove(record)
                })?;
            }
            (None, None) => {}
            (Some(update), Some(record)) => {
                let update = Update::read(update)?;
                after = self.replace(request.database, collection, record, &update)?;
            }
            (Some(update), None) => {
                let update = Update::read(update)?;
                if request.flag("upsert") {
                    let new = self.upserted(&filter, &update)?;
                    self.insert_one(request.database, collection, Doc::trusted(&new))?;
                    upserted = Some(id_of(Doc::trusted(&new)));
                    after = Some(new);
                }
            }
        }
        let before: Option<&Stored> = found.map(|record| &record.doc);
        let given = if request.flag("new") {
            after.as_deref().or(before.map(|doc| &**doc))
        } else {
            before.map(|doc| &**doc)
        };
        w.doc("lastErrorObject", |w| {
            w.count("n", usize::from(found.is_some() || upserted.is_some()));
            if !removes {
                w.value("updatedExisting", Value::Bool(found.is_some()));
            }
            if let Some(id) = upserted
                .as_deref()
                .and_then(|id| Doc::trusted(id).get("_id"))
            {
                w.value("upserted", id);
            }
        });
        match given {
            Some(doc) => w.doc("value", |w| projection.write(Doc::trusted(doc), w)),
            None => w.value("value", Value::Null),
        };
        Ok(())
    }
}

/// `{_id: …}` of a document.
fn id_of(doc: Doc<'_>) -> OwnedDoc {
    let mut out = Vec::new();
    document(&mut out, |w| {
        w.value("_id", doc.get("_id").unwrap_or(Value::Null));
    });
    out.into()
}
