//! Commands on collections and indexes: create, drop, list.

use super::Database;
use super::collection::Stored;
use super::command_error::{Code, CommandError};
use super::cursor::{CursorReply, FIRST_BATCH, Remainder};
use super::filter::Filter;
use super::index::{Coverage, Direction, IndexField, IndexSpec, Uniqueness};
use super::request::{Request, doc_of, reject_unsupported};
use crate::bson::{Doc, Value, Writer, document};

/// Fields per index, as in MongoDB.
const INDEX_FIELDS_MAX: usize = 32;

impl Database {
    pub(super) fn create(
        &mut self,
        request: &Request<'_>,
        _: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        request.refuse(&[
            "capped",
            "viewOn",
            "timeseries",
            "collation",
            "validator",
            "clusteredIndex",
        ])?;
        if self.collection(request.database, name).is_some() {
            return Err(CommandError::new(
                Code::NamespaceExists,
                format!("Collection {}.{name} already exists.", request.database),
            ));
        }
        self.modify_collection(request.database, name, |_| Ok(()))
    }

    pub(super) fn drop_collection(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        let collections = self.databases.get_mut(request.database);
        if let Some(dropped) = collections.and_then(|all| all.remove(name)) {
            self.bytes -= dropped.bytes();
            w.count("nIndexesWas", dropped.indexes().len())
                .str("ns", &format!("{}.{name}", request.database));
        }
        self.remove_if_empty(request.database);
        Ok(())
    }

    pub(super) fn drop_database(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        if let Some(dropped) = self.databases.remove(request.database) {
            self.bytes -= dropped
                .values()
                .map(|collection| collection.bytes())
                .sum::<usize>();
            w.str("dropped", request.database);
        }
        Ok(())
    }

    fn remove_if_empty(&mut self, database: &str) {
        if self
            .databases
            .get(database)
            .is_some_and(|all| all.is_empty())
        {
            self.databases.remove(database);
        }
    }

    pub(super) fn create_indexes(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        let specs = request.documents("indexes")?;
        if specs.is_empty() {
            return Err(CommandError::bad_value(
                "Must specify at least one index to create",
            ));
        }
        let specs = specs
            .into_iter()
            .map(read_index)
            .collect::<Result<Vec<_>, _>>()?;
        let is_new = self.collection(request.database, name).is_none();
        let (mut before, mut after, mut made) = (0, 0, 0);
        self.check_capacity(0)?;
        self.modify_collection(request.database, name, |collection| {
            before = collection.indexes().len();
            for spec in specs {
                made += usize::from(collection.create_index(spec)?);
            }
            after = collection.indexes().len();
            Ok(())
        })?;
        w.count("numIndexesBefore", before)
            .count("numIndexesAfter", after);
        w.value("createdCollectionAutomatically", Value::Bool(is_new));
        if made == 0 {
            w.str("note", "all indexes already exist");
        }
        Ok(())
    }

    pub(super) fn drop_indexes(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        let wanted = request.get("index");
        let no_collection = || {
            CommandError::new(
                Code::NamespaceNotFound,
                format!("ns not found {}.{name}", request.database),
            )
        };
        let collection = self
            .collection(request.database, name)
            .ok_or_else(no_collection)?;
        let before = collection.indexes().len();
        let index = match wanted {
            Some(Value::String(name)) => Some(name.to_owned()),
            Some(Value::Document(pattern)) => collection
                .indexes()
                .iter()
                .find(|index| *index.spec.pattern == *pattern.bytes())
                .map(|index| index.spec.name.to_string()),
            _ => None,
        };
        let not_found =
            || CommandError::new(Code::IndexNotFound, "index not found with that name or key");
        let index = index.ok_or_else(not_found)?;
        if index == "_id_" {
            return Err(CommandError::new(
                Code::InvalidOptions,
                "cannot drop _id index",
            ));
        }
        self.modify_collection(request.database, name, |collection| {
            collection.drop_index(&index).ok_or_else(not_found)
        })?;
        w.count("nIndexesWas", before);
        Ok(())
    }

    pub(super) fn list_indexes(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        let collection = self.collection(request.database, name).ok_or_else(|| {
            CommandError::new(
                Code::NamespaceNotFound,
                format!("ns does not exist: {}.{name}", request.database),
            )
        })?;
        let rows = collection
            .indexes()
            .iter()
            .map(|index| row(|w| index.spec.write(w)))
            .collect();
        self.list(request, name, rows, w)
    }

    pub(super) fn list_collections(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let filter = Filter::read(request.doc("filter")?)?;
        let names = self.databases.get(request.database);
        let rows = names
            .into_iter()
            .flat_map(|collections| collections.keys())
            .map(|name| {
                row(|w| {
                    w.str("name", name).str("type", "collection");
                    w.doc("options", |_| {});
                    w.doc("info", |w| {
                        w.no("readOnly");
                    });
                    w.doc("idIndex", |w| IndexSpec::of_id().write(w));
                })
            })
            .filter(|row| filter.passes(Doc::trusted(row)))
            .collect();
        self.list(request, "$cmd.listCollections", rows, w)
    }

    fn list(
        &mut self,
        request: &Request<'_>,
        name: &str,
        rows: std::collections::VecDeque<Stored>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let batch = doc_of(request.body, "cursor")?
            .get("batchSize")
            .and_then(|value| value.as_i64())
            .and_then(|batch| usize::try_from(batch).ok());
        self.cursors.answer(
            CursorReply {
                namespace: format!("{}.{name}", request.database),
                rows,
                projection: None,
                batch: batch.unwrap_or(FIRST_BATCH),
                rest: Remainder::Keep,
            },
            w,
        )
    }

    pub(super) fn list_databases(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let filter = Filter::read(request.doc("filter")?)?;
        let mut total = 0;
        w.array("databases", |list| {
            for (name, collections) in &self.databases {
                let bytes: usize = collections
                    .values()
                    .map(|collection| collection.bytes())
                    .sum();
                let row = row(|w| {
                    w.str("name", name).count("sizeOnDisk", bytes);
                    w.value("empty", Value::Bool(collections.is_empty()));
                });
                if filter.passes(Doc::trusted(&row)) {
                    total += bytes;
                    list.value(Value::Document(Doc::trusted(&row)));
                }
            }
        });
        w.count("totalSize", total);
        Ok(())
    }
}

fn row(write: impl FnOnce(&mut Writer<'_>)) -> Stored {
    let mut out = Vec::new();
    document(&mut out, write);
    out.into()
}

fn read_index(doc: Doc<'_>) -> Result<IndexSpec, CommandError> {
    reject_unsupported(
        doc,
        &[
            "expireAfterSeconds",
            "partialFilterExpression",
            "collation",
            "wildcardProjection",
            "hidden",
        ],
    )?;
    let key = doc_of(doc, "key")?;
    let refuse = |message: String| CommandError::new(Code::CannotCreateIndex, message);
    let mut fields = Vec::new();
    for (path, value) in key {
        if path.is_empty()
            || path
                .split('.')
                .any(|name| name.is_empty() || name.starts_with('$'))
        {
            return Err(refuse(format!("'{path}' is no field that can be indexed")));
        }
        let direction = Direction::read(value).ok_or_else(|| {
            refuse(format!(
                "index of {path}: only 1 and -1 are served by this database in memory; use mongod for others"
            ))
        })?;
        fields.push(IndexField {
            path: path.into(),
            direction,
        });
    }
    if !(1..=INDEX_FIELDS_MAX).contains(&fields.len()) {
        return Err(refuse(format!(
            "an index has 1 to {INDEX_FIELDS_MAX} fields"
        )));
    }
    let name = doc.get("name").and_then(|value| value.as_str());
    let name = name
        .filter(|name| !name.is_empty() && *name != "*")
        .ok_or_else(|| CommandError::new(Code::IDLFailedToParse, "every index needs a name"))?;
    let flag = |name| {
        doc.get(name)
            .is_some_and(|value: Value<'_>| value.is_true())
    };
    Ok(IndexSpec {
        name: name.into(),
        pattern: key.bytes().into(),
        fields,
        uniqueness: if flag("unique") {
            Uniqueness::Unique
        } else {
            Uniqueness::Any
        },
        coverage: if flag("sparse") {
            Coverage::Sparse
        } else {
            Coverage::All
        },
    })
}
