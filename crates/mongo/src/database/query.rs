//! Commands that read (find, getMore, killCursors), and cursors: results that do not fit one batch.

use std::collections::{BTreeMap, VecDeque};

use super::Database;
use super::collection::Stored;
use super::command_error::{Code, Result};
use super::filter::Filter;
use super::request::Request;
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, Value, Writer};

/// Default size of the first batch, as in MongoDB.
pub(crate) const FIRST_BATCH: usize = 101;

/// Query options that would change the result and are not supported.
const UNSUPPORTED: [&str; 13] = [
    "sort",
    "skip",
    "projection",
    "hint",
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

/// The rest of a result.
#[derive(Debug)]
struct Cursor {
    namespace: String,
    rows: VecDeque<Stored>,
}

/// Open cursors. A cursor returns the result as of its query, whatever changes later.
#[derive(Debug)]
pub(crate) struct Cursors {
    open: BTreeMap<i64, Cursor>,
    next: i64,
    max: usize,
}

impl Cursors {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            next: 1,
            max,
        }
    }

    /// Writes the first batch; if there is more, and it is wanted, opens a cursor for the rest.
    pub(crate) fn answer(
        &mut self,
        namespace: String,
        mut rows: VecDeque<Stored>,
        batch: usize,
        is_rest_wanted: bool,
        w: &mut Writer<'_>,
    ) {
        w.doc("cursor", |w| {
            write_batch("firstBatch", &mut rows, batch, w);
            let is_kept = !rows.is_empty() && is_rest_wanted;
            let id = if is_kept { self.next } else { 0 };
            w.i64("id", id).str("ns", &namespace);
            if is_kept {
                self.keep(Cursor { namespace, rows });
            }
        });
    }

    /// Writes the next batch.
    fn more(&mut self, id: i64, namespace: &str, batch: usize, w: &mut Writer<'_>) -> Result<()> {
        let not_found = || Code::CursorNotFound.error(format!("cursor id {id} not found"));
        let cursor = self
            .open
            .get_mut(&id)
            .filter(|cursor| cursor.namespace == namespace)
            .ok_or_else(not_found)?;
        w.doc("cursor", |w| {
            write_batch("nextBatch", &mut cursor.rows, batch, w);
            let left = if cursor.rows.is_empty() { 0 } else { id };
            w.i64("id", left).str("ns", namespace);
        });
        if cursor.rows.is_empty() {
            self.open.remove(&id);
        }
        Ok(())
    }

    /// Closes a cursor; `false` if there is none.
    fn kill(&mut self, id: i64, namespace: &str) -> bool {
        let its = |cursor: &Cursor| cursor.namespace == namespace;
        self.open.get(&id).is_some_and(its) && self.open.remove(&id).is_some()
    }

    /// Stores a cursor; the oldest ones are closed if there are too many.
    fn keep(&mut self, cursor: Cursor) {
        while self.open.len() >= self.max.max(1) {
            self.open.pop_first();
        }
        self.open.insert(self.next, cursor);
        self.next += 1;
    }
}

fn write_batch(name: &str, rows: &mut VecDeque<Stored>, batch: usize, w: &mut Writer<'_>) {
    w.array(name, |list| {
        let start = list.buffer_bytes();
        while list.count() < batch
            && let Some(row) = rows.front()
        {
            // The first document always fits; further ones only within the limit of a reply.
            let written = list.buffer_bytes() - start;
            if list.count() > 0 && written + row.len() > DOCUMENT_BYTES_MAX {
                break;
            }
            list.value(Value::Document(Doc::trusted(row)));
            rows.pop_front();
        }
    });
}

impl Database {
    pub(super) fn find(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let name = request.collection()?;
        request.refuse(&UNSUPPORTED)?;
        let filter = Filter::read(request.doc("filter")?)?;
        let limit = match request.count("limit")? {
            None | Some(0) => usize::MAX,
            Some(limit) => limit,
        };
        let batch = request.count("batchSize")?.unwrap_or(FIRST_BATCH);
        let is_rest_wanted = !request.flag("singleBatch");
        let records = self.matching(request.database, name, &filter, limit);
        let rows = records.into_iter().map(|record| record.doc).collect();
        let namespace = format!("{}.{name}", request.database);
        self.cursors
            .answer(namespace, rows, batch, is_rest_wanted, w);
        Ok(())
    }

    pub(super) fn get_more(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let name = request.get("collection").and_then(|value| value.as_str());
        let namespace = format!("{}.{}", request.database, name.unwrap_or_default());
        let id = request.body.first().and_then(|(_, value)| value.as_i64());
        let id = id.ok_or_else(|| Code::TypeMismatch.error("getMore needs a cursor's id"))?;
        // By default, as many documents as fit.
        let batch = request.count("batchSize")?.filter(|&batch| batch > 0);
        self.cursors
            .more(id, &namespace, batch.unwrap_or(usize::MAX), w)
    }

    pub(super) fn kill_cursors(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let namespace = format!("{}.{}", request.database, request.collection()?);
        let list = request.get("cursors").and_then(|value| value.as_array());
        let list = list
            .ok_or_else(|| Code::IDLFailedToParse.error("killCursors.cursors must be an array"))?;
        let ids = list.values().filter_map(|value| value.as_i64());
        let (killed, unknown): (Vec<i64>, Vec<i64>) =
            ids.partition(|id| self.cursors.kill(*id, &namespace));
        for (key, ids) in [
            ("cursorsKilled", killed),
            ("cursorsNotFound", unknown),
            ("cursorsAlive", Vec::new()),
            ("cursorsUnknown", Vec::new()),
        ] {
            w.array(key, |list| {
                for id in ids {
                    list.value(Value::Int64(id));
                }
            });
        }
        Ok(())
    }
}
