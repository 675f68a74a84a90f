//! The documents of a load: which one an operation is about, and the messages that say so.

use std::collections::VecDeque;

use tare_mongo::bson::{Value, Writer, document};
use tare_mongo::message::{write_msg, write_msg_with};
use tare_schema::load::MongoData;
use tare_stats::random::Random;

/// Inserted documents that are remembered for deletes; further ones stay.
const DELETABLE_MAX: usize = 1 << 16;

/// Documents of one message while the collection is filled, and their bytes.
const FILL_DOCUMENTS: u64 = 500;
const FILL_BYTES: usize = 1 << 20;

/// Bytes of an answer beside a document that it brings: it may say of each document of one message what was wrong with it.
const ANSWER_BYTES: usize = FILL_DOCUMENTS as usize * 1024;

/// What a request of the plan does.
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
    /// As plans name it, by the method of a request.
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

/// What an operation was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub(super) operation: Operation,
    /// The number of the document: of the filled ones, or of the inserted ones.
    pub(super) document: u64,
    /// Documents that a right answer counts.
    pub(super) matches: i64,
    /// Of the message.
    pub(super) request_id: i32,
}

/// The documents of one worker.
#[derive(Debug)]
pub struct Documents {
    data: MongoData,
    padding: String,
    /// Numbers of the filled ones.
    first: u64,
    end: u64,
    random: Random,
    /// What makes the ids of this load and worker its own.
    mark: [u8; 6],
    inserted: u64,
    deletable: VecDeque<u64>,
    last_request: i32,
    /// The next to be filled in.
    fill: u64,
}

impl Documents {
    /// Those of one worker. The run's number keeps the ids of its inserts apart from those of others.
    #[must_use]
    pub fn new(data: &MongoData, (worker, workers): (u32, u32), run: u32, random: Random) -> Self {
        let bound =
            |worker: u32| u64::from(data.documents) * u64::from(worker) / u64::from(workers.max(1));
        let first = bound(worker);
        let mut mark = [0; 6];
        mark[..4].copy_from_slice(&run.to_be_bytes());
        mark[4..].copy_from_slice(&(worker as u16).to_be_bytes());
        Self {
            data: data.clone(),
            padding: "x".repeat(data.document_bytes as usize),
            first,
            // A worker without documents of its own shares its neighbour's.
            end: bound(worker + 1).max(first + 1),
            random,
            mark,
            inserted: 0,
            deletable: VecDeque::with_capacity(DELETABLE_MAX),
            last_request: 0,
            fill: first,
        }
    }

    fn next_request(&mut self) -> i32 {
        self.last_request = self.last_request.wrapping_add(1);
        self.last_request
    }

    /// The id of an inserted document.
    fn inserted_id(&self, document: u64) -> [u8; 12] {
        let mut id = [0; 12];
        id[..6].copy_from_slice(&self.mark);
        id[6..].copy_from_slice(&document.to_be_bytes()[2..]);
        id
    }

    /// Writes the message of an operation.
    pub(super) fn ask(&mut self, operation: Operation, message: &mut Vec<u8>) -> Asked {
        let request_id = self.next_request();
        let filled = self.first + self.random.below(self.end - self.first);
        let (document, matches) = match operation {
            Operation::Find | Operation::Update => (filled, 1),
            Operation::Insert => {
                self.inserted += 1;
                (self.inserted, 1)
            }
            // Without anything to delete, a document that never was: 0 is no number of an insert.
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
                    w.i32("limit", 1).yes("singleBatch");
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
        Asked {
            operation,
            document,
            matches,
            request_id,
        }
    }

    /// Bytes of a right answer at most, and of one that says what is wrong.
    pub(super) fn answer_bytes_max(&self) -> usize {
        self.padding.len() + ANSWER_BYTES
    }

    /// An insert was answered as it should.
    pub(super) fn is_there(&mut self, asked: &Asked) {
        if asked.operation == Operation::Insert && self.deletable.len() < DELETABLE_MAX {
            self.deletable.push_back(asked.document);
        }
    }

    /// Writes the next message that fills the collection; `None` if everything is there.
    pub(super) fn fill(&mut self, message: &mut Vec<u8>) -> Option<i32> {
        if self.fill >= self.end {
            return None;
        }
        let request_id = self.next_request();
        let MongoData {
            database,
            collection,
            ..
        } = &self.data;
        let head = |w: &mut Writer<'_>| {
            // What is there already stays, and does not end the message.
            w.str("insert", collection)
                .no("ordered")
                .str("$db", database);
        };
        let (mut next, end) = (self.fill, self.end.min(self.fill + FILL_DOCUMENTS));
        let padding = &self.padding;
        write_msg_with(message, request_id, head, "documents", |out| {
            let start = out.len();
            while next < end && out.len() - start < FILL_BYTES {
                document(out, |w| {
                    w.i64("_id", i64::try_from(next).unwrap_or(i64::MAX))
                        .i32("n", 0)
                        .str("text", padding);
                });
                next += 1;
            }
        });
        self.fill = next;
        Some(request_id)
    }

    /// The filling begins anew: its connection was lost.
    pub(super) fn fill_again(&mut self) {
        self.fill = self.first;
    }
}
