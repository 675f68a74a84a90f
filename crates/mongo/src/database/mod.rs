//! A database in memory that answers the commands of MongoDB's drivers.
//!
//! It is the far end of a measurement: what it serves it serves as MongoDB would, with its codes; what it does not serve
//! it refuses by name. Documents are kept as the bytes they came in. Nothing is written to disk, there are no transactions, no
//! replication, no authentication.

mod aggregate;
mod catalog;
mod collection;
mod cursor;
mod expression;
mod failure;
mod filter;
mod greeting;
mod group;
mod index;
mod node;
mod number;
mod object_id;
mod operation;
mod path;
mod plan;
mod projection;
mod query;
mod request;
mod show;
mod sort;
mod update;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use failure::{Code, Failure};
pub use operation::Operation;

use collection::Collection;
use cursor::Cursors;
use object_id::ObjectIds;
use request::Request;

use crate::bson::Writer;
use crate::message::{Header, Message, write_msg, write_reply};

/// Bounds on what clients may make the database keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all documents and indexes.
    pub bytes_max: usize,
    /// Collections of all databases.
    pub collections_max: usize,
    /// Answers of which clients have not taken everything; the eldest is dropped for a new one.
    pub cursors_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes_max: 2 << 30,
            collections_max: 10_000,
            cursors_max: 1000,
        }
    }
}

/// What surrounds a command: who asks, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// The number of the connection.
    pub connection: i64,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// What was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Which kind.
    pub operation: Operation,
    /// The code, if the command failed. Writes that fail within a command that works do not count.
    pub failed: Option<Code>,
}

/// Databases with their collections.
#[derive(Debug)]
pub struct Database {
    limits: Limits,
    databases: BTreeMap<Box<str>, BTreeMap<Box<str>, Collection>>,
    cursors: Cursors,
    ids: ObjectIds,
    /// Of all collections.
    bytes: usize,
    last_reply: i32,
    connections: i64,
    /// Of the command under way.
    now_ms: i64,
    connection: i64,
}

impl Database {
    /// An empty one. The seed makes the ids that it gives its own.
    #[must_use]
    pub fn new(limits: Limits, seed: u64) -> Self {
        Self {
            limits,
            databases: BTreeMap::new(),
            cursors: Cursors::new(limits.cursors_max),
            ids: ObjectIds::new(seed),
            bytes: 0,
            last_reply: 0,
            connections: 0,
            now_ms: 0,
            connection: 0,
        }
    }

    /// The number of a new connection.
    pub fn connect(&mut self) -> i64 {
        self.connections += 1;
        self.connections
    }

    /// Answers one message; appends the answer.
    pub fn serve(
        &mut self,
        header: &Header,
        message: &Message<'_>,
        context: Context,
        out: &mut Vec<u8>,
    ) -> Served {
        self.now_ms = context.now_ms;
        self.connection = context.connection;
        self.last_reply = self.last_reply.wrapping_add(1);
        let id = self.last_reply;
        let mut served = Served {
            operation: Operation::Command,
            failed: None,
        };
        match message {
            Message::Msg(msg) => write_msg(out, id, header.request_id, |w| {
                served = self.command(Request::of_msg(*msg), w);
            }),
            Message::Query(query) => write_reply(out, id, header.request_id, |w| {
                let request = Request::of_query(query.command());
                let request = match Operation::of(request.name) {
                    Some(Operation::Hello) if query.collection.ends_with(".$cmd") => Ok(request),
                    _ => Err(Failure::new(
                        Code::UnsupportedOpQueryCommand,
                        format!(
                            "Unsupported OP_QUERY command: {}. The client driver may require an upgrade.",
                            request.name
                        ),
                    )),
                };
                served = self.command(request, w);
            }),
        }
        served
    }

    fn command(&mut self, request: Result<Request<'_>, Failure>, w: &mut Writer<'_>) -> Served {
        let start = w.buffer_bytes();
        let operation = match &request {
            Ok(request) => Operation::of(request.name).unwrap_or(Operation::Command),
            Err(_) => Operation::Command,
        };
        let done = request.and_then(|request| self.run(&request, w));
        let failed = match done {
            Ok(()) => {
                w.f64("ok", 1.0);
                None
            }
            Err(failure) => {
                w.rewind(start);
                failure.write(w);
                Some(failure.code)
            }
        };
        Served { operation, failed }
    }

    fn run(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<(), Failure> {
        if request.get("startTransaction").is_some() || request.get("txnNumber").is_some() {
            return Err(Failure::new(
                Code::IllegalOperation,
                "Transaction numbers are only allowed on a replica set member or mongos",
            ));
        }
        match request.name {
            "find" => self.find(request, w),
            "insert" => self.insert(request, w),
            "update" => self.update(request, w),
            "delete" => self.delete(request, w),
            "findAndModify" | "findandmodify" => self.find_and_modify(request, w),
            "getMore" => self.get_more(request, w),
            "killCursors" => self.kill_cursors(request, w),
            "count" => self.count(request, w),
            "distinct" => self.distinct(request, w),
            "aggregate" => self.aggregate(request, w),
            "explain" => self.explain(request, w),
            "create" => self.create(request, w),
            "drop" => self.drop_collection(request, w),
            "dropDatabase" => self.drop_database(request, w),
            "createIndexes" => self.create_indexes(request, w),
            "dropIndexes" | "deleteIndexes" => self.drop_indexes(request, w),
            "listIndexes" => self.list_indexes(request, w),
            "listCollections" => self.list_collections(request, w),
            "listDatabases" => self.list_databases(request, w),
            "collStats" | "collstats" => self.stats(request, w),
            "serverStatus" => {
                self.server_status(w);
                Ok(())
            }
            "hello" | "isMaster" | "ismaster" => {
                greeting::hello(self, request, w);
                Ok(())
            }
            "buildInfo" | "buildinfo" => {
                greeting::build_info(w);
                Ok(())
            }
            "connectionStatus" => {
                greeting::connection_status(w);
                Ok(())
            }
            // Sessions hold nothing here: there is nothing to start, keep or end.
            "ping" | "endSessions" | "refreshSessions" | "killSessions" => Ok(()),
            "startSession" => Err(Failure::unserved("startSession")),
            name => Err(Failure::new(
                Code::CommandNotFound,
                format!("no such command: '{name}'"),
            )),
        }
    }

    fn collection(&self, database: &str, name: &str) -> Option<&Collection> {
        self.databases.get(database)?.get(name)
    }

    /// Changes a collection, made if need be, and keeps the sum of bytes right.
    fn changing(
        &mut self,
        database: &str,
        name: &str,
        change: impl FnOnce(&mut Collection) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.collection(database, name).is_none() {
            request::collection_name(database, name)?;
            let collections: usize = self.databases.values().map(BTreeMap::len).sum();
            if collections >= self.limits.collections_max {
                return Err(Failure::new(
                    Code::OutOfDiskSpace,
                    format!("there are {collections} collections; drop some"),
                ));
            }
            let new = Collection::new(format!("{database}.{name}"));
            let all = self.databases.entry(database.into()).or_default();
            all.insert(name.into(), new);
        }
        let all = self.databases.get_mut(database);
        let Some(collection) = all.and_then(|all| all.get_mut(name)) else {
            return Ok(());
        };
        let before = collection.bytes();
        let done = change(collection);
        self.bytes = self.bytes - before + collection.bytes();
        done
    }

    fn refuse_if_full(&self, more_bytes: usize) -> Result<(), Failure> {
        if self.bytes.saturating_add(more_bytes) <= self.limits.bytes_max {
            return Ok(());
        }
        Err(Failure::new(
            Code::OutOfDiskSpace,
            format!(
                "the database in memory holds {} bytes of at most {}; delete something",
                self.bytes, self.limits.bytes_max
            ),
        ))
    }
}

/// What is answered to a request that cannot be understood, before the connection is closed.
pub fn refuse(request_id: i32, code: Code, message: &str, out: &mut Vec<u8>) {
    write_msg(out, 0, request_id, |w| {
        Failure::new(code, message).write(w);
    });
}
