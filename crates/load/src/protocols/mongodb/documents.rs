//! The documents of a load: selects one for each operation, and encodes the request.

use std::collections::VecDeque;

use tare_mongo::bson::{Value, Writer, document};
use tare_mongo::message::{write_msg, write_msg_with};
use tare_stats::random::Random;

use super::MongoData;

/// Inserted documents that are remembered for deletes; further ones are not deleted.
const DELETABLE_MAX: usize = 1 << 16;

/// Limits of one insert of the preload.
const PRELOAD_DOCUMENTS: u64 = 500;
const PRELOAD_BYTES: usize = 1 << 20;

/// Bytes of a response apart from a document in it: it may have an error for each document of an insert.
const ANSWER_BYTES: usize = PRELOAD_DOCUMENTS as usize * 1024;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// One document by its `_id`.
    Find,
    /// A new document.
    Insert,
    /// `$inc` on one document by its `_id`.
    Update,
    /// One document by its `_id`.
    Delete,
}

impl Operation {
    /// By its name in plans: the method of a request.
    #[must_use]
    pub fn of(method: &str) -> Option<Self> {
        Some(match method {
            "find" => Self::Find,
            "insert" => Self::Insert,
            "update" => Self::Update,
            "delete" => Self::Delete,
            _ => return None,
        })
    }
}

/// An operation that was sent, for checking its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentOperation {
    pub(super) operation: Operation,
    /// Number of the document, among the preloaded or the inserted ones.
    pub(super) document: u64,
    /// Documents that a correct response counts.
    pub(super) matches: i64,
    /// Request id of the message.
    pub(super) request_id: i32,
}

/// The documents of one worker.
#[derive(Debug)]
pub struct DocumentSource {
    data: MongoData,
    padding: String,
    /// Numbers of the preloaded ones: from `first`, before `end`.
    first: u64,
    end: u64,
    random: Random,
    /// Prefix of the ids of inserted documents: run and worker.
    id_prefix: [u8; 6],
    inserted: u64,
    deletable: VecDeque<u64>,
    last_request: i32,
    /// The next document of the preload.
    next_preload: u64,
}

impl DocumentSource {
    /// Those of one worker. The run's number keeps the ids of its inserts distinct from those of other runs.
    #[must_use]
    pub fn new(data: &MongoData, (worker, workers): (u32, u32), run: u32, random: Random) -> Self {
        let bound =
            |worker: u32| u64::from(data.documents) * u64::from(worker) / u64::from(workers.max(1));
        let first = bound(worker);
        let mut id_prefix = [0; 6];
        id_prefix[..4].copy_from_slice(&run.to_be_bytes());
        id_prefix[4..].copy_from_slice(&(worker as u16).to_be_bytes());
        Self {
            data: data.clone(),
            padding: "x".repeat(data.document_bytes as usize),
            first,
            // A worker without documents of its own shares its neighbour's.
            end: bound(worker + 1).max(first + 1),
            random,
            id_prefix,
            inserted: 0,
            deletable: VecDeque::with_capacity(DELETABLE_MAX),
            last_request: 0,
            next_preload: first,
        }
    }

    fn next_request(&mut self) -> i32 {
        self.last_request = self.last_request.wrapping_add(1);
        self.last_request
    }

    /// The id of an inserted document.
    fn inserted_id(&self, document: u64) -> [u8; 12] {
        let mut id = [0; 12];
        id[..6].copy_from_slice(&self.id_prefix);
        id[6..].copy_from_slice(&document.to_be_bytes()[2..]);
        id
    }

    /// Writes the message of an operation.
    pub(super) fn write_request(
        &mut self,
        operation: Operation,
        message: &mut Vec<u8>,
    ) -> SentOperation {
        let request_id = self.next_request();
        let filled = self.first + self.random.below(self.end - self.first);
        let (document, matches) = match operation {
            Operation::Find | Operation::Update => (filled, 1),
            Operation::Insert => {
                self.inserted += 1;
                (self.inserted, 1)
            }
            // With nothing to delete, a document that never existed: inserts are numbered from 1.
            Operation::Delete => self
                .deletable
                .pop_front()
                .map_or((0, 0), |number| (number, 1)),
        };
        let MongoData {
            database,
            collection,
            ..
        } = &self.data;
        let id = Value::Int64(i64::try_from(document).unwrap_or(i64::MAX));
        let own_id = Value::ObjectId(self.inserted_id(document));
        let padding = &self.padding;
        write_msg(message, request_id, 0, |w| {
            match operation {
                Operation::Find => {
                    w.str("find", collection).doc("filter", |w| {
                        w.value("_id", id);
                    });
                    w.i32("limit", 1).bool("singleBatch", true);
                }
                Operation::Insert => {
                    w.str("insert", collection).array("documents", |list| {
                        list.doc(|w| {
                            w.value("_id", own_id).i32("n", 0).str("text", padding);
                        });
                    });
                }
                Operation::Update => {
                    w.str("update", collection).array("updates", |list| {
                        list.doc(|w| {
                            w.doc("q", |w| {
                                w.value("_id", id);
                            });
                            w.doc("u", |w| {
                                w.doc("$inc", |w| {
                                    w.i32("n", 1);
                                });
                            });
                        });
                    });
                }
                Operation::Delete => {
                    w.str("delete", collection).array("deletes", |list| {
                        list.doc(|w| {
                            w.doc("q", |w| {
                                w.value("_id", own_id);
                            });
                            w.i32("limit", 1);
                        });
                    });
                }
            }
            w.str("$db", database);
        });
        SentOperation {
            operation,
            document,
            matches,
            request_id,
        }
    }

    /// Most bytes of a response, with or without errors.
    pub(super) fn answer_bytes_max(&self) -> usize {
        self.padding.len() + ANSWER_BYTES
    }

    /// After a correct response: remembers an inserted document for a delete.
    pub(super) fn record_insert(&mut self, sent: &SentOperation) {
        if sent.operation == Operation::Insert && self.deletable.len() < DELETABLE_MAX {
            self.deletable.push_back(sent.document);
        }
    }

    /// Encodes the next insert of the preload and returns its request id; `None` when it is complete.
    pub(super) fn next_preload(&mut self, message: &mut Vec<u8>) -> Option<i32> {
        if self.next_preload >= self.end {
            return None;
        }
        let request_id = self.next_request();
        let MongoData {
            database,
            collection,
            ..
        } = &self.data;
        let head = |w: &mut Writer<'_>| {
            // Unordered: documents that exist already do not stop the insert.
            w.str("insert", collection)
                .bool("ordered", false)
                .str("$db", database);
        };
        let (mut next, end) = (
            self.next_preload,
            self.end.min(self.next_preload + PRELOAD_DOCUMENTS),
        );
        let padding = &self.padding;
        write_msg_with(message, request_id, head, "documents", |out| {
            let start = out.len();
            while next < end && out.len() - start < PRELOAD_BYTES {
                document(out, |w| {
                    w.i64("_id", i64::try_from(next).unwrap_or(i64::MAX))
                        .i32("n", 0)
                        .str("text", padding);
                });
                next += 1;
            }
        });
        self.next_preload = next;
        Some(request_id)
    }

    /// Restarts the preload: its connection was lost.
    pub(super) fn restart_preload(&mut self) {
        self.next_preload = self.first;
    }
}
