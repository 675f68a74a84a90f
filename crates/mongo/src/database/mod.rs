//! An in-memory database that answers the commands of MongoDB drivers, as far as `tare load` and Acme Air use them.
//!
//! It is the backend of a measurement: supported commands behave as in MongoDB, with its error codes; everything else is
//! refused by name. Filters are equalities of top-level fields, updates are `$set` and `$inc`, a pipeline is one `$group`.
//! Documents are stored as encoded. Nothing is written to disk; there are no transactions, no replication, no authentication.

mod aggregate;
mod collection;
mod command_error;
mod filter;
mod index;
mod query;
mod request;
mod update;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use command_error::{Code, CommandError};
pub use request::Operation;

use collection::{Collection, Record};
use command_error::Result;
use filter::Filter;
use query::Cursors;
use request::Request;
use write::WRITES_MAX;

use crate::bson::{DOCUMENT_BYTES_MAX, Value, Writer};
use crate::message::{Header, MESSAGE_BYTES_MAX, Message, write_msg, write_reply};

/// The emulated server version, and its wire version.
const VERSION: [i32; 4] = [7, 0, 0, 0];
const WIRE_VERSION_MAX: i32 = 21;

/// Limits of what clients can make the database store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of all documents and indexes.
    pub bytes_max: usize,
    /// Collections of all databases.
    pub collections_max: usize,
    /// Open cursors; the oldest is closed for a new one.
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

/// Context of a command: connection and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    pub connection: i64,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The kind of operation.
    pub operation: Operation,
    /// The error code, if the command failed. Failed writes of a command that succeeds do not count.
    pub failed: Option<Code>,
}

/// The database server: databases with their collections.
#[derive(Debug)]
pub struct Database {
    limits: Limits,
    databases: BTreeMap<Box<str>, BTreeMap<Box<str>, Collection>>,
    cursors: Cursors,
    /// Memory of all collections.
    bytes: usize,
    last_reply: i32,
    connections: i64,
}

impl Database {
    /// An empty server.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            databases: BTreeMap::new(),
            cursors: Cursors::new(limits.cursors_max),
            bytes: 0,
            last_reply: 0,
            connections: 0,
        }
    }

    /// Assigns an id to a new connection.
    pub fn connect(&mut self) -> i64 {
        self.connections += 1;
        self.connections
    }

    /// Handles one message and appends the reply.
    pub fn serve(
        &mut self,
        header: &Header,
        message: &Message<'_>,
        context: Context,
        out: &mut Vec<u8>,
    ) -> CommandOutcome {
        self.last_reply = self.last_reply.wrapping_add(1);
        let id = self.last_reply;
        let mut outcome = CommandOutcome {
            operation: Operation::Command,
            failed: None,
        };
        match message {
            Message::Msg(msg) => write_msg(out, id, header.request_id, |w| {
                outcome = self.command(Request::of_msg(*msg), context, w);
            }),
            Message::Query(query) => write_reply(out, id, header.request_id, |w| {
                let request = Request::of_query(query.command());
                let is_hello = Operation::of(request.name) == Operation::Hello;
                let request = if is_hello && query.collection.ends_with(".$cmd") {
                    Ok(request)
                } else {
                    Err(Code::UnsupportedOpQueryCommand.error(format!(
                            "Unsupported OP_QUERY command: {}. The client driver may require an upgrade.",
                            request.name
                        ),
                    ))
                };
                outcome = self.command(request, context, w);
            }),
        }
        outcome
    }

    fn command(
        &mut self,
        request: Result<Request<'_>>,
        context: Context,
        w: &mut Writer<'_>,
    ) -> CommandOutcome {
        let start = w.buffer_bytes();
        let operation = match &request {
            Ok(request) => Operation::of(request.name),
            Err(_) => Operation::Command,
        };
        let done = request.and_then(|request| self.run(&request, context, w));
        let failed = match done {
            Ok(()) => {
                w.f64("ok", 1.0);
                None
            }
            Err(command_error) => {
                w.rewind(start);
                command_error.write(w);
                Some(command_error.code)
            }
        };
        CommandOutcome { operation, failed }
    }

    fn run(&mut self, request: &Request<'_>, context: Context, w: &mut Writer<'_>) -> Result<()> {
        if request.get("startTransaction").is_some() || request.get("txnNumber").is_some() {
            return Err(Code::IllegalOperation
                .error("Transaction numbers are only allowed on a replica set member or mongos"));
        }
        match request.name {
            "find" => self.find(request, w),
            "insert" => self.insert(request, w),
            "update" => self.update(request, w),
            "delete" => self.delete(request, w),
            "findAndModify" => self.find_and_modify(request, w),
            "aggregate" => self.aggregate(request, w),
            "createIndexes" => self.create_indexes(request, w),
            "getMore" => self.get_more(request, w),
            "killCursors" => self.kill_cursors(request, w),
            "hello" | "isMaster" | "ismaster" => {
                hello(request, context, w);
                Ok(())
            }
            "buildInfo" | "buildinfo" => {
                build_info(w);
                Ok(())
            }
            // There are no sessions to end.
            "ping" | "endSessions" => Ok(()),
            name => Err(Code::CommandNotFound.error(format!(
                    "no such command: '{name}'; supported are find, insert, update, delete, findAndModify, aggregate, createIndexes, getMore, killCursors"
                ),
            )),
        }
    }

    fn collection(&self, database: &str, name: &str) -> Option<&Collection> {
        self.databases.get(database)?.get(name)
    }

    /// Documents of a collection that match, at most as many as the limit.
    fn matching(
        &self,
        database: &str,
        collection: &str,
        filter: &Filter<'_>,
        limit: usize,
    ) -> Vec<Record> {
        match self.collection(database, collection) {
            Some(collection) => collection.find(filter, limit),
            None => Vec::new(),
        }
    }

    /// Changes a collection, creating it if necessary, and updates the memory total.
    fn modify_collection(
        &mut self,
        database: &str,
        name: &str,
        change: impl FnOnce(&mut Collection) -> Result<()>,
    ) -> Result<()> {
        if self.collection(database, name).is_none() {
            let collections: usize = self.databases.values().map(BTreeMap::len).sum();
            if collections >= self.limits.collections_max {
                return Err(Code::OutOfDiskSpace
                    .error(format!("there are {collections} collections; use fewer")));
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

    fn check_capacity(&self, more_bytes: usize) -> Result<()> {
        if self.bytes.saturating_add(more_bytes) <= self.limits.bytes_max {
            return Ok(());
        }
        Err(Code::OutOfDiskSpace.error(format!(
            "the database in memory holds {} bytes of at most {}; delete something",
            self.bytes, self.limits.bytes_max
        )))
    }
}

/// A standalone server: neither replica set nor shards, so drivers send no transactions and retry no writes.
fn hello(request: &Request<'_>, context: Context, w: &mut Writer<'_>) {
    let primary = if request.name == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    if request.flag("helloOk") {
        w.bool("helloOk", true);
    }
    w.bool(primary, true)
        .count("maxBsonObjectSize", DOCUMENT_BYTES_MAX)
        .count("maxMessageSizeBytes", MESSAGE_BYTES_MAX)
        .count("maxWriteBatchSize", WRITES_MAX)
        .value("localTime", Value::Date(context.now_ms))
        .i32("logicalSessionTimeoutMinutes", 30)
        .i64("connectionId", context.connection)
        .i32("minWireVersion", 0)
        .i32("maxWireVersion", WIRE_VERSION_MAX)
        .bool("readOnly", false);
}

fn build_info(w: &mut Writer<'_>) {
    let [major, minor, patch, _] = VERSION;
    w.str("version", &format!("{major}.{minor}.{patch}"))
        // Shows that this is not mongod.
        .str("gitVersion", "tare origin: a database in memory")
        .array("modules", |_| {})
        .array("versionArray", |list| {
            for part in VERSION {
                list.value(Value::Int32(part));
            }
        })
        .i32("bits", 64)
        .bool("debug", false)
        .count("maxBsonObjectSize", DOCUMENT_BYTES_MAX);
}

/// Writes the error reply to a request that cannot be parsed; the connection is closed after it.
pub fn refuse(request_id: i32, code: Code, message: &str, out: &mut Vec<u8>) {
    write_msg(out, 0, request_id, |w| {
        code.error(message).write(w);
    });
}
