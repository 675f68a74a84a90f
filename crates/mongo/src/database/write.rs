//! The commands that write: insert, update, delete, findAndModify.

use super::Database;
use super::collection::{Record, Slice, Stored};
use super::failure::{Code, Failure};
use super::filter::{Filter, Test};
use super::node::{self, Fields, Make, Node};
use super::projection::Projection;
use super::request::{Request, doc_of, refuse_in};
use super::sort::Sort;
use super::update::{Occasion, Update, immutable_id};
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, OwnedDoc, Value, Writer, document};

/// Writes of one command, as in MongoDB.
pub(crate) const WRITES_MAX: usize = 100_000;

/// Options of a write that would change what it does and are not served.
const UNSERVED: [&str; 4] = ["collation", "arrayFilters", "let", "c"];

/// What one update did.
#[derive(Debug, Default)]
struct Updated {
    matched: usize,
    changed: usize,
    /// The `_id` of a new document, in a document.
    upserted: Option<OwnedDoc>,
}

/// Whether further writes are tried behind one that failed.
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

/// Does each write and gives those that failed.
fn each<'a>(
    request: &Request<'a>,
    name: &str,
    mut write: impl FnMut(usize, Doc<'a>) -> Result<(), Failure>,
) -> Result<Vec<(usize, Failure)>, Failure> {
    let writes = request.documents(name)?;
    if !(1..=WRITES_MAX).contains(&writes.len()) {
        return Err(Failure::new(
            Code::InvalidOptions,
            format!("{} writes; send 1 to {WRITES_MAX}", writes.len()),
        ));
    }
    let order = Order::read(request);
    let mut failed = Vec::new();
    for (at, doc) in writes.into_iter().enumerate() {
        if let Err(failure) = write(at, doc) {
            failed.push((at, failure));
            if order == Order::Ordered {
                break;
            }
        }
    }
    Ok(failed)
}

fn write_failed(failed: &[(usize, Failure)], w: &mut Writer<'_>) {
    if !failed.is_empty() {
        w.array("writeErrors", |list| {
            for (at, failure) in failed {
                list.doc(|w| failure.write_as_write_error(*at, w));
            }
        });
    }
}

impl Database {
    pub(super) fn insert(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), Failure> {
        let collection = request.collection()?;
        let mut inserted = 0;
        let failed = each(request, "documents", |_, doc| {
            let with_id = self.with_id(doc)?;
            let doc = with_id.as_deref().map_or(doc, Doc::trusted);
            self.insert_one(request.database, collection, doc)?;
            inserted += 1;
            Ok(())
        })?;
        w.count("n", inserted);
        write_failed(&failed, w);
        Ok(())
    }

    /// The document with its `_id` in front, if that has to be made or moved.
    fn with_id(&mut self, doc: Doc<'_>) -> Result<Option<Vec<u8>>, Failure> {
        let id = doc.get("_id");
        if let Some(Value::Array(_) | Value::Regex { .. } | Value::Undefined) = id {
            return Err(Failure::new(
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
    ) -> Result<(), Failure> {
        let bytes = doc.bytes().len();
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(Failure::new(
                Code::BSONObjectTooLarge,
                format!(
                    "object to insert too large. size in bytes: {bytes}, max size: {DOCUMENT_BYTES_MAX}"
                ),
            ));
        }
        self.refuse_if_full(bytes)?;
        self.changing(database, collection, |collection| {
            collection.insert(doc).map(|_| ())
        })
    }

    pub(super) fn update(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), Failure> {
        let collection = request.collection()?;
        let (mut matched, mut changed) = (0, 0);
        let mut upserted: Vec<(usize, OwnedDoc)> = Vec::new();
        let failed = each(request, "updates", |at, write| {
            refuse_in(write, &UNSERVED)?;
            let filter = Filter::read(doc_of(write, "q")?)?;
            let update = Update::read(write.get("u").unwrap_or(Value::Null))?;
            let flag = |name| {
                write
                    .get(name)
                    .is_some_and(|value: Value<'_>| value.is_true())
            };
            let slice = if flag("multi") {
                Slice::ALL
            } else {
                Slice::FIRST
            };
            if slice == Slice::ALL && matches!(update, Update::Replace(_)) {
                return Err(Failure::new(
                    Code::FailedToParse,
                    "multi update is not supported for replacement-style update",
                ));
            }
            let sort = Sort::read(doc_of(write, "sort")?)?;
            let found = self.matching(request.database, collection, &filter, &sort, slice);
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
        write_failed(&failed, w);
        Ok(())
    }

    fn matching(
        &self,
        database: &str,
        collection: &str,
        filter: &Filter<'_>,
        sort: &Sort<'_>,
        slice: Slice,
    ) -> Vec<Record> {
        match self.collection(database, collection) {
            Some(collection) => collection.find(filter, sort, slice).0,
            None => Vec::new(),
        }
    }

    /// Updates one document; `None` if it stays as it was.
    fn replace(
        &mut self,
        database: &str,
        collection: &str,
        record: &Record,
        update: &Update<'_>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let old = Doc::trusted(&record.doc);
        if let Update::Replace(doc) = update
            && let (Some(given), Some(id)) = (doc.get("_id"), old.get("_id"))
            && crate::bson::compare(&given, &id).is_ne()
        {
            return Err(immutable_id());
        }
        let new = update.apply(old, Occasion::Update, self.now_ms)?;
        if *new == *record.doc {
            return Ok(None);
        }
        self.refuse_if_full(new.len().saturating_sub(record.doc.len()))?;
        self.changing(database, collection, |collection| {
            collection.replace(record, Doc::trusted(&new))
        })?;
        Ok(Some(new))
    }

    /// The document that an upsert makes: what the filter demands to be equal, then the update.
    fn upserted(&mut self, filter: &Filter<'_>, update: &Update<'_>) -> Result<Vec<u8>, Failure> {
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
                node::change(&mut fields, path, Make::Documents, &mut |_| {
                    Ok(Some(Node::Value(value)))
                })?;
            }
        }
        let mut base = Vec::new();
        document(&mut base, |w| node::write(&fields, w));
        let new = update.apply(Doc::trusted(&base), Occasion::Insert, self.now_ms)?;
        Ok(self.with_id(Doc::trusted(&new))?.unwrap_or(new))
    }

    pub(super) fn delete(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), Failure> {
        let collection = request.collection()?;
        let mut deleted = 0;
        let failed = each(request, "deletes", |_, write| {
            refuse_in(write, &UNSERVED)?;
            let filter = Filter::read(doc_of(write, "q")?)?;
            let slice = match write.get("limit").and_then(|value| value.as_i64()) {
                Some(0) => Slice::ALL,
                Some(1) => Slice::FIRST,
                _ => {
                    return Err(Failure::new(
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
                slice,
            );
            for record in &found {
                self.changing(request.database, collection, |collection| {
                    collection.remove(record)
                })?;
                deleted += 1;
            }
            Ok(())
        })?;
        w.count("n", deleted);
        write_failed(&failed, w);
        Ok(())
    }

    pub(super) fn find_and_modify(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), Failure> {
        let collection = request.collection()?;
        request.refuse(&UNSERVED)?;
        self.check_hint(request, collection)?;
        let filter = Filter::read(request.doc("query")?)?;
        let sort = Sort::read(request.doc("sort")?)?;
        let projection = Projection::read(request.doc("fields")?)?;
        let found = self.matching(request.database, collection, &filter, &sort, Slice::FIRST);
        let found = found.first();
        let removes = request.flag("remove");
        let (mut upserted, mut after) = (None, None);
        match (request.get("update"), found) {
            (None, _) if !removes => {
                return Err(Failure::new(
                    Code::FailedToParse,
                    "Either an update or remove=true must be specified",
                ));
            }
            (Some(_), _) if removes => {
                return Err(Failure::new(
                    Code::FailedToParse,
                    "Cannot specify both an update and remove=true",
                ));
            }
            (None, Some(record)) => {
                self.changing(request.database, collection, |collection| {
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
