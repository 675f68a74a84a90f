//! Commands that read: find, getMore, killCursors, count, distinct, explain.

use std::collections::BTreeSet;

use super::Database;
use super::collection::{Examined, Record, SkipLimit};
use super::command_error::{Code, CommandError};
use super::cursor::{CursorReply, FIRST_BATCH, Remainder};
use super::filter::Filter;
use super::path;
use super::plan::Plan;
use super::request::{Request, collection_name};
use super::sort::Sort;
use crate::bson::{Doc, Value, Writer, append_sort_key};

/// Query options that would change the result and are not supported.
const UNSUPPORTED: [&str; 9] = [
    "collation",
    "tailable",
    "awaitData",
    "returnKey",
    "showRecordId",
    "min",
    "max",
    "let",
    "allowPartialResults",
];

/// The parsed query of a command.
struct FindQuery<'a> {
    filter: Filter<'a>,
    sort: Sort<'a>,
    skip_limit: SkipLimit,
}

impl<'a> FindQuery<'a> {
    fn read(request: &Request<'a>, filter: &str) -> Result<Self, CommandError> {
        request.refuse(&UNSUPPORTED)?;
        Ok(Self {
            filter: Filter::read(request.doc(filter)?)?,
            sort: Sort::read(request.doc("sort")?)?,
            skip_limit: SkipLimit {
                skip: request.count("skip")?.unwrap_or(0),
                limit: match request.count("limit")? {
                    None | Some(0) => usize::MAX,
                    Some(limit) => limit,
                },
            },
        })
    }
}

impl Database {
    fn records(
        &self,
        database: &str,
        collection: &str,
        query: &FindQuery<'_>,
    ) -> (Vec<Record>, Plan, Examined) {
        match self.collection(database, collection) {
            Some(collection) => collection.find(&query.filter, &query.sort, query.skip_limit),
            None => (Vec::new(), Plan::Scan, Examined::default()),
        }
    }

    pub(super) fn find(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let query = FindQuery::read(request, "filter")?;
        self.check_hint(request, collection)?;
        let projection = request.doc("projection")?;
        let batch = request.count("batchSize")?.unwrap_or(FIRST_BATCH);
        let single = request.flag("singleBatch");
        let (records, _, _) = self.records(request.database, collection, &query);
        self.cursors.answer(
            CursorReply {
                namespace: format!("{}.{collection}", request.database),
                rows: records.into_iter().map(|record| record.doc).collect(),
                projection: (!projection.is_empty()).then_some(projection),
                batch,
                rest: if single {
                    Remainder::Discard
                } else {
                    Remainder::Keep
                },
            },
            w,
        )
    }

    /// A hint must name an existing index. The planner chooses by the filter nevertheless.
    pub(super) fn check_hint(
        &self,
        request: &Request<'_>,
        collection: &str,
    ) -> Result<(), CommandError> {
        let there = |hint: Value<'_>| {
            let Some(collection) = self.collection(request.database, collection) else {
                return true;
            };
            collection.indexes().iter().any(|index| match hint {
                Value::String(name) => *index.spec.name == *name,
                Value::Document(doc) => {
                    *index.spec.pattern == *doc.bytes()
                        || doc.first().is_some_and(|(key, _)| key == "$natural")
                }
                _ => false,
            })
        };
        match request.get("hint") {
            Some(hint) if !there(hint) => Err(CommandError::bad_value(
                "error processing query: hint provided does not correspond to an existing index",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn get_more(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.get("collection").and_then(|value| value.as_str());
        let name = name.unwrap_or_default();
        let namespace = format!("{}.{name}", request.database);
        let id = request.body.first().and_then(|(_, value)| value.as_i64());
        let id =
            id.ok_or_else(|| CommandError::new(Code::TypeMismatch, "getMore needs a cursor's id"))?;
        // By default, as many documents as fit.
        let batch = request.count("batchSize")?.filter(|&batch| batch > 0);
        self.cursors
            .more(id, &namespace, batch.unwrap_or(usize::MAX), w)
    }

    pub(super) fn kill_cursors(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        // Cursors of listCollections have a collection name that is not valid otherwise: it is not checked.
        let name = request.body.first().and_then(|(_, value)| value.as_str());
        let namespace = format!("{}.{}", request.database, name.unwrap_or_default());
        let list = request.get("cursors").and_then(|value| value.as_array());
        let list = list.ok_or_else(|| {
            CommandError::new(
                Code::IDLFailedToParse,
                "killCursors.cursors must be an array",
            )
        })?;
        let ids: Vec<i64> = list.values().filter_map(|value| value.as_i64()).collect();
        let (killed, unknown): (Vec<i64>, Vec<i64>) = ids
            .into_iter()
            .partition(|id| self.cursors.kill(*id, &namespace));
        for (key, ids) in [
            ("cursorsKilled", &killed),
            ("cursorsNotFound", &unknown),
            ("cursorsAlive", &Vec::new()),
            ("cursorsUnknown", &Vec::new()),
        ] {
            w.array(key, |list| {
                for id in ids {
                    list.value(Value::Int64(*id));
                }
            });
        }
        Ok(())
    }

    pub(super) fn count(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let query = FindQuery::read(request, "query")?;
        self.check_hint(request, collection)?;
        let count = self
            .collection(request.database, collection)
            .map_or(0, |collection| collection.count(&query.filter));
        let SkipLimit { skip, limit } = query.skip_limit;
        w.count("n", count.saturating_sub(skip).min(limit));
        Ok(())
    }

    pub(super) fn distinct(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let collection = request.collection()?;
        let query = FindQuery::read(request, "query")?;
        let key = request.get("key").and_then(|value| value.as_str());
        let key = key.ok_or_else(|| {
            CommandError::new(Code::TypeMismatch, "distinct.key must be a string")
        })?;
        let (records, _, _) = self.records(request.database, collection, &query);
        let mut seen = BTreeSet::new();
        w.array("values", |list| {
            for record in &records {
                path::any_at(Doc::trusted(&record.doc), key, &mut |value| {
                    let mut give = |value: Value<'_>| {
                        let mut key = Vec::new();
                        append_sort_key(&mut key, value);
                        if seen.insert(key) {
                            list.value(value);
                        }
                    };
                    match value {
                        Some(Value::Array(items)) => items.values().for_each(give),
                        Some(value) => give(value),
                        None => {}
                    }
                    false
                });
            }
        });
        Ok(())
    }

    /// The plan of a find, count or distinct: its index, and what it examines.
    pub(super) fn explain(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let inner = request.body.first().and_then(|(_, value)| value.as_doc());
        let (name, target) = inner
            .and_then(Doc::first)
            .ok_or_else(|| CommandError::bad_value("explain needs a command"))?;
        let filter = match name {
            "find" => "filter",
            "count" | "distinct" => "query",
            _ => return Err(CommandError::unsupported(&format!("explain of {name}"))),
        };
        let explained = request.of_body(inner.unwrap_or(Doc::EMPTY));
        let collection = collection_name(request.database, target.as_str().unwrap_or_default())?;
        let query = FindQuery::read(&explained, filter)?;
        let (records, plan, examined) = self.records(request.database, collection, &query);
        let indexes = self
            .collection(request.database, collection)
            .map_or(&[][..], |collection| collection.indexes());
        w.doc("queryPlanner", |w| {
            w.str("namespace", &format!("{}.{collection}", request.database));
            w.doc("winningPlan", |w| write_plan(&plan, indexes, w));
        });
        w.doc("executionStats", |w| {
            w.yes("executionSuccess")
                .count("nReturned", records.len())
                .count("totalKeysExamined", examined.keys)
                .count("totalDocsExamined", examined.docs);
        });
        Ok(())
    }
}

fn write_plan(plan: &Plan, indexes: &[super::index::Index], w: &mut Writer<'_>) {
    match plan {
        Plan::Scan => {
            w.str("stage", "COLLSCAN");
        }
        Plan::Index { index, .. } => {
            w.str("stage", "FETCH").doc("inputStage", |w| {
                w.str("stage", "IXSCAN");
                if let Some(index) = indexes.get(*index) {
                    let pattern = Doc::trusted(&index.spec.pattern);
                    w.value("keyPattern", Value::Document(pattern))
                        .str("indexName", &index.spec.name);
                }
            });
        }
    }
}
