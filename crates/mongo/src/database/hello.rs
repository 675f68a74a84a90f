//! Commands about the server: hello, buildInfo, connectionStatus, serverStatus, collStats.

use super::Database;
use super::command_error::CommandError;
use super::request::Request;
use super::write::WRITES_MAX;
use crate::bson::{DOCUMENT_BYTES_MAX, Value, Writer};
use crate::message::MESSAGE_BYTES_MAX;

/// The emulated server version, and its wire version.
const VERSION: [i32; 4] = [7, 0, 0, 0];
const WIRE_VERSION_MAX: i32 = 21;

/// A standalone server: neither replica set nor shards, so drivers send no transactions and retry no writes.
pub(super) fn hello(database: &Database, request: &Request<'_>, w: &mut Writer<'_>) {
    let primary = if request.name == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    if request.flag("helloOk") {
        w.yes("helloOk");
    }
    w.yes(primary)
        .count("maxBsonObjectSize", DOCUMENT_BYTES_MAX)
        .count("maxMessageSizeBytes", MESSAGE_BYTES_MAX)
        .count("maxWriteBatchSize", WRITES_MAX)
        .value("localTime", Value::Date(database.now_ms))
        .i32("logicalSessionTimeoutMinutes", 30)
        .i64("connectionId", database.connection)
        .i32("minWireVersion", 0)
        .i32("maxWireVersion", WIRE_VERSION_MAX)
        .no("readOnly");
}

pub(super) fn build_info(w: &mut Writer<'_>) {
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
        .no("debug")
        .count("maxBsonObjectSize", DOCUMENT_BYTES_MAX);
}

pub(super) fn connection_status(w: &mut Writer<'_>) {
    w.doc("authInfo", |w| {
        w.array("authenticatedUsers", |_| {})
            .array("authenticatedUserRoles", |_| {});
    });
}

impl Database {
    pub(super) fn server_status(&self, w: &mut Writer<'_>) {
        w.str("version", "7.0.0").str("process", "tare origin");
        w.value("localTime", Value::Date(self.now_ms));
        w.doc("mem", |w| {
            w.count("bytes", self.bytes);
        });
        w.doc("metrics", |w| {
            w.doc("cursor", |w| {
                w.doc("open", |w| {
                    w.count("total", self.cursors.len());
                });
            });
        });
    }

    pub(super) fn stats(
        &self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let name = request.collection()?;
        let collection = self.collection(request.database, name);
        w.str("ns", &format!("{}.{name}", request.database))
            .count("count", collection.map_or(0, |collection| collection.len()))
            .count(
                "size",
                collection.map_or(0, |collection| collection.bytes()),
            )
            .count(
                "nindexes",
                collection.map_or(0, |collection| collection.indexes().len()),
            );
        Ok(())
    }
}
