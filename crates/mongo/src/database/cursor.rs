//! Cursors: results that do not fit one batch, and the batches of a reply.

use std::collections::{BTreeMap, VecDeque};

use super::collection::Stored;
use super::command_error::{Code, CommandError};
use super::projection::Projection;
use crate::bson::{DOCUMENT_BYTES_MAX, Doc, OwnedDoc, Writer};

/// Default size of the first batch, as in MongoDB.
pub(crate) const FIRST_BATCH: usize = 101;

/// The rest of a result.
#[derive(Debug)]
struct Cursor {
    namespace: String,
    rows: VecDeque<Stored>,
    projection: Option<OwnedDoc>,
}

/// Open cursors. A cursor returns the result as of its query, whatever changes later.
#[derive(Debug)]
pub(crate) struct Cursors {
    open: BTreeMap<i64, Cursor>,
    next: i64,
    max: usize,
}

/// The result of a query or a listing.
#[derive(Debug)]
pub(crate) struct CursorReply<'a> {
    pub namespace: String,
    pub rows: VecDeque<Stored>,
    /// As sent by the client, for later batches.
    pub projection: Option<Doc<'a>>,
    /// Largest number of documents in this batch.
    pub batch: usize,
    pub rest: Remainder,
}

/// Whether the documents after the first batch are kept for a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remainder {
    Keep,
    Discard,
}

impl Cursors {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            next: 1,
            max,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// Writes the first batch and opens a cursor for the rest.
    pub(crate) fn answer(
        &mut self,
        mut answer: CursorReply<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let projection = answer.projection.map(Projection::read).transpose()?;
        let mut id = 0;
        w.doc("cursor", |w| {
            let projection = projection.unwrap_or_default();
            write_batch("firstBatch", &mut answer.rows, &projection, answer.batch, w);
            if !answer.rows.is_empty() && answer.rest == Remainder::Keep {
                id = self.keep(Cursor {
                    namespace: answer.namespace.clone(),
                    rows: answer.rows,
                    projection: answer.projection.map(|doc| doc.bytes().into()),
                });
            }
            w.i64("id", id).str("ns", &answer.namespace);
        });
        Ok(())
    }

    /// Writes the next batch.
    pub(crate) fn more(
        &mut self,
        id: i64,
        namespace: &str,
        batch: usize,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let not_found =
            || CommandError::new(Code::CursorNotFound, format!("cursor id {id} not found"));
        let cursor = self
            .open
            .get_mut(&id)
            .filter(|cursor| cursor.namespace == namespace)
            .ok_or_else(not_found)?;
        let projection = match &cursor.projection {
            Some(doc) => Projection::read(Doc::trusted(doc))?,
            None => Projection::default(),
        };
        w.doc("cursor", |w| {
            write_batch("nextBatch", &mut cursor.rows, &projection, batch, w);
            let left = if cursor.rows.is_empty() { 0 } else { id };
            w.i64("id", left).str("ns", namespace);
        });
        if cursor.rows.is_empty() {
            self.open.remove(&id);
        }
        Ok(())
    }

    /// Closes a cursor; `false` if there is none.
    pub(crate) fn kill(&mut self, id: i64, namespace: &str) -> bool {
        let its = |cursor: &Cursor| cursor.namespace == namespace;
        self.open.get(&id).is_some_and(its) && self.open.remove(&id).is_some()
    }

    /// Stores a cursor; the oldest ones are closed if there are too many.
    fn keep(&mut self, cursor: Cursor) -> i64 {
        while self.open.len() >= self.max.max(1) {
            self.open.pop_first();
        }
        let id = self.next;
        self.next += 1;
        self.open.insert(id, cursor);
        id
    }
}

fn write_batch(
    name: &str,
    rows: &mut VecDeque<Stored>,
    projection: &Projection<'_>,
    batch: usize,
    w: &mut Writer<'_>,
) {
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
            if projection.is_all() {
                list.value(crate::bson::Value::Document(Doc::trusted(row)));
            } else {
                list.doc(|w| projection.write(Doc::trusted(row), w));
            }
            rows.pop_front();
        }
    });
}
