//! Kafka clients of the load generator: the cluster layer, a producer and a consumer.

pub mod cluster;
pub mod errors;
pub mod fetch;
mod fetching;
mod frame_reader;
pub mod produce;
mod producing;
pub mod resolver;
mod send_queue;
#[cfg(test)]
pub(crate) mod sim;
mod versions;

pub use cluster::{BrokerResponse, Cluster, ClusterPlan, Event};
pub use send_queue::{NoSegments, Segments};
use tare_record::load::{ClientOptions, ClientSpec, FetchSpec, ProduceSpec};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};
use tare_record::schemas::schema_of;
pub use versions::Api;

use super::{Protocol, UrlScheme, UrlServers, UrlTls};

const SECURED: &str = "kafka+tls://";

/// Pause before a request is repeated (`retry.backoff.ms`); the first one of a batch.
const RETRY_BACKOFF_NS: u64 = 100_000_000;

/// Kafka producer; an exchange is a record. Each worker has a connection to every broker that leads one of its partitions.
pub static PRODUCE: Protocol = Protocol {
    schemes: &[
        UrlScheme {
            rest: "host:port/topic",
            servers: UrlServers::Several,
            ..UrlScheme::over_tcp("kafka", UrlTls::Never, SECURED)
        },
        UrlScheme {
            rest: "host:port/topic",
            servers: UrlServers::Several,
            ..UrlScheme::over_tcp("kafka+tls", UrlTls::Always, SECURED)
        },
    ],
    options: Some(schema_of::<ProduceSpec>),
    ..Protocol::new(
        ProtocolInfo {
            name: ProduceSpec::PROTOCOL,
            over_tcp: OverTcp::Usual,
            load: Some(LoadInfo {
                client: |connections, _| ClientSpec::with(connections, &ProduceSpec::default()),
                check: |client| {
                    producing::check(&client.options()?).map_err(|error| error.to_string())
                },
                requests: RequestUse::Many,
                connection_rules: false,
            }),
        },
        producing::run,
    )
};

/// Kafka consumer; an exchange is a fetch. The endpoint's addresses are the bootstrap brokers.
pub static FETCH: Protocol = Protocol {
    // Its URLs are those of producers: a flag says that records are read.
    options: Some(schema_of::<FetchSpec>),
    ..Protocol::new(
        ProtocolInfo {
            name: FetchSpec::PROTOCOL,
            over_tcp: OverTcp::Usual,
            load: Some(LoadInfo {
                client: |connections, requests| {
                    let topics = requests.iter().map(|request| request.path.clone());
                    let fetch = FetchSpec {
                        topics: topics.collect(),
                        ..FetchSpec::default()
                    };
                    ClientSpec::with(connections, &fetch)
                },
                check: |client| {
                    fetching::check(&client.options()?).map_err(|error| error.to_string())
                },
                requests: RequestUse::Many,
                connection_rules: false,
            }),
        },
        fetching::run,
    )
};

/// The protocol of edges between clients and brokers.
pub const EDGE: ProtocolInfo = ProtocolInfo {
    name: "kafka",
    over_tcp: OverTcp::Usual,
    load: None,
};
