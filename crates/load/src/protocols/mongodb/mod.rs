//! MongoDB's wire protocol: a pool of connections, one operation at a time on each, on documents that the load inserted itself.
//!
//! Before the load, every worker inserts its share of the documents; existing ones stay. Finds and updates then use one of them
//! at random; inserts add new documents, deletes remove inserted ones, the oldest first. A response is correct if it has `ok: 1`
//! and the expected number of documents; a find must return the requested document.

mod answer;
mod client;
mod documents;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use client::{Mongodb, MongodbPlan};
pub use documents::{DocumentSource, Operation};
use serde::{Deserialize, Serialize};
use tare_record::load::{ClientOptions, ClientSpec, RequestSpec};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};
use tare_record::schemas::JsonSchema;
use tare_stats::random::Random;

use super::{Protocol, UrlScheme, UrlTls, check_range};
use crate::clock::realtime_ns;
use crate::generator::{Launch, LoadError, LoadOutcome, PlanError};

/// MongoDB's wire protocol (OP_MSG), one operation per connection at a time. A request's method names the operation.
pub static PROTOCOL: Protocol = Protocol {
    schemes: &[UrlScheme {
        rest: "host:port/database.collection",
        port: Some(27017),
        ..UrlScheme::over_tcp("mongodb", UrlTls::ByQuery, "mongodb://host:port/?tls=true")
    }],
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<MongoData>),
    ..Protocol::new(
        ProtocolInfo {
            name: MongoData::PROTOCOL,
            over_tcp: OverTcp::Usual,
            load: Some(LoadInfo {
                client: |connections, _| ClientSpec::with(connections, &MongoData::default()),
                check: |client| check(&client.options()?),
                requests: RequestUse::Operations(&OPERATIONS),
                connection_rules: true,
            }),
        },
        run,
    )
};

/// Methods of requests.
pub const OPERATIONS: [&str; 4] = ["find", "insert", "update", "delete"];

/// Longest text in a document; several must fit into one message.
const DOCUMENT_BYTES_MAX: u32 = 1 << 20;

/// The documents that operations work on. They are inserted before the load, with `_id` 0, 1, 2 …; existing documents are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MongoData {
    /// Database.
    pub database: String,
    /// Collection.
    pub collection: String,
    /// Number of documents that are found and updated.
    pub documents: u32,
    /// Length of the text in each document.
    pub document_bytes: u32,
}

impl Default for MongoData {
    fn default() -> Self {
        Self {
            database: "tare".into(),
            collection: "load".into(),
            documents: 10_000,
            document_bytes: 200,
        }
    }
}

impl ClientOptions for MongoData {
    const PROTOCOL: &'static str = "mongodb";
}

fn check(data: &MongoData) -> Result<(), String> {
    check_range("the number of documents", data.documents, 1..=u32::MAX)?;
    let what = "the length of a document's text";
    check_range(what, data.document_bytes, 0..=DOCUMENT_BYTES_MAX)
}

fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let data: MongoData = launch.options()?;
    let one = |spec: &RequestSpec| {
        Operation::of(&spec.method).ok_or_else(|| {
            PlanError::Invalid(format!(
                "request {:?}: {:?} is not a valid operation on documents; use find, insert, update or delete",
                spec.name, spec.method
            ))
        })
    };
    let operations = plan.load.requests.iter().map(one);
    let operations: Arc<[Operation]> = operations.collect::<Result<_, _>>()?;
    launch.clients(|part| {
        let purpose = format!("documents of worker {}", part.worker);
        let random = Random::for_purpose(setup.seed, &purpose);
        let shares = (part.worker, setup.workers);
        Mongodb::new(MongodbPlan {
            operations: Arc::clone(&operations),
            connections: setup.pooled(&part, part.connections),
            // The time distinguishes runs that insert into the same collection.
            documents: DocumentSource::new(&data, shares, (realtime_ns() >> 20) as u32, random),
        })
    })
}
