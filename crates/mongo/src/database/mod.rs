//! An in-memory database that answers the commands of MongoDB drivers.
//!
//! It is the backend of a measurement: supported commands behave as in MongoDB, with its error codes; unsupported ones are
//! refused by name. Documents are stored as encoded. Nothing is written to disk; there are no transactions, no replication, no
//! authentication.

mod aggregate;
mod catalog;
mod collection;
mod command_error;
mod cursor;
mod display;
mod expression;
mod filter;
mod group;
mod hello;
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
mod sort;
mod update;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use command_error::{Code, CommandError};
pub use operation::Operation;

use collection::Collection;
use cursor::Cursors;
use object_id::ObjectIds;
use request::Request;

use crate::bson::Writer;
use crate::message::{Header, Message, write_msg, write_reply};

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
    /// Connection id.
    pub connection: i64,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// The outcome of a command.
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
    ids: ObjectIds,
    /// Memory of all collections.
    bytes: usize,
    last_reply: i32,
    connections: i64,
    /// Of the current command.
    now_ms: i64,
    connection: i64,
}

impl Database {
    /// An empty server. The seed makes its object ids distinct.
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
        self.now_ms = context.now_ms;
        self.connection = context.connection;
        self.last_reply = self.last_reply.wrapping_add(1);
        let id = self.last_reply;
        let mut outcome = CommandOutcome {
            operation: Operation::Command,
            failed: None,
        };
        match message {
            Message::Msg(msg) => write_msg(out, id, header.request_id, |w| {
                outcome = self.command(Request::of_msg(*msg), w);
            }),
            Message::Query(query) => write_reply(out, id, header.request_id, |w| {
                let request = Request::of_query(query.command());
                let request = match Operation::of(request.name) {
                    Some(Operation::Hello) if query.collection.ends_with(".$cmd") => Ok(request),
                    _ => Err(CommandError::new(
                        Code::UnsupportedOpQueryCommand,
                        format!(
                            "Unsupported OP_QUERY command: {}. The client driver may require an upgrade.",
                            request.name
                        ),
                    )),
                };
                outcome = self.command(request, w);
            }),
        }
        outcome
    }

    fn command(
        &mut self,
        request: Result<Request<'_>, CommandError>,
        w: &mut Writer<'_>,
    ) -> CommandOutcome {
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
            Err(command_error) => {
                w.rewind(start);
                command_error.write(w);
                Some(command_error.code)
            }
        };
        CommandOutcome { operation, failed }
    }

    fn run(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<(), CommandError> {
        if request.get("startTransaction").is_some() || request.get("txnNumber").is_some() {
            return Err(CommandError::new(
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
                hello::hello(self, request, w);
                Ok(())
            }
            "buildInfo" | "buildinfo" => {
                hello::build_info(w);
                Ok(())
            }
            "connectionStatus" => {
                hello::connection_status(w);
                Ok(())
            }
            // There are no sessions to keep or end.
            "ping" | "endSessions" | "refreshSessions" | "killSessions" => Ok(()),
            "startSession" => Err(CommandError::unsupported("startSession")),
            name => Err(CommandError::new(
                Code::CommandNotFound,
                format!("no such command: '{name}'"),
            )),
        }
    }

    fn collection(&self, database: &str, name: &str) -> Option<&Collection> {
        self.databases.get(database)?.get(name)
    }

    /// Changes a collection, creating it if necessary, and updates the memory total.
    fn modify_collection(
        &mut self,
        database: &str,
        name: &str,
        change: impl FnOnce(&mut Collection) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        if self.collection(database, name).is_none() {
            request::collection_name(database, name)?;
            let collections: usize = self.databases.values().map(BTreeMap::len).sum();
            if collections >= self.limits.collections_max {
                return Err(CommandError::new(
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

    fn check_capacity(&self, more_bytes: usize) -> Result<(), CommandError> {
        if self.bytes.saturating_add(more_bytes) <= self.limits.bytes_max {
            return Ok(());
        }
        Err(CommandError::new(
            Code::OutOfDiskSpace,
            format!(
                "the database in memory holds {} bytes of at most {}; delete something",
                self.bytes, self.limits.bytes_max
            ),
        ))
    }
}

/// Writes the error reply to a request that cannot be parsed; the connection is closed after it.
pub fn refuse(request_id: i32, code: Code, message: &str, out: &mut Vec<u8>) {
    write_msg(out, 0, request_id, |w| {
        CommandError::new(code, message).write(w);
    });
}
