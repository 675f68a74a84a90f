//! Kafka producers and consumers: what planning knows of them. Their clients are the crate `tare-load-kafka`: a program that has it
//! installs them.

use std::sync::OnceLock;

use tare_record::load::{
    Acks, ClientOptions, ClientSpec, FetchAssignment, FetchSpec, Keys, Payloads, ProduceSpec,
};
use tare_record::protocol::{LoadInfo, OverTcp, ProtocolInfo, RequestUse};

use super::{Protocol, RunLoad, Runner, UrlScheme, UrlServers, UrlTls};
use crate::generator::{PlanError, require};

const SECURED: &str = "kafka+tls://";

/// Largest batch, and largest request; brokers accept less.
const BATCH_BYTES_MAX: u32 = 64 << 20;
/// Requests in flight on one connection.
const IN_FLIGHT_MAX: u16 = 1000;
/// A broker remembers this many batches of an idempotent producer.
const IN_FLIGHT_NUMBERED: u16 = 5;
/// Memory of the batches of one worker.
const BUFFER_BYTES_MAX: u64 = 4 << 30;
/// Memory of drawn payloads.
const DRAWN_BYTES_MAX: u64 = 256 << 20;

/// Most concurrent fetches of one worker.
const FETCHES_MAX: u16 = 1000;
/// Largest response, below the longest frame that is read.
const FETCH_BYTES_MAX: u32 = 100 << 20;

/// How the partitions of a group may be assigned.
pub const ASSIGNORS: [&str; 2] = ["range", "sticky"];

static PRODUCE_CLIENT: OnceLock<RunLoad> = OnceLock::new();
static FETCH_CLIENT: OnceLock<RunLoad> = OnceLock::new();

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
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<ProduceSpec>),
    ..Protocol::run_by(
        ProtocolInfo {
            name: ProduceSpec::PROTOCOL,
            over_tcp: OverTcp::Usual,
            load: Some(LoadInfo {
                client: |connections, _| ClientSpec::with(connections, &ProduceSpec::default()),
                check: |client| {
                    check_produce(&client.options()?).map_err(|error| error.to_string())
                },
                requests: RequestUse::Many,
                connection_rules: false,
            }),
        },
        Runner::Installed(&PRODUCE_CLIENT),
    )
};

/// Kafka consumer; an exchange is a fetch. The endpoint's addresses are the bootstrap brokers.
pub static FETCH: Protocol = Protocol {
    // Its URLs are those of producers: a flag says that records are read.
    #[cfg(feature = "schema")]
    options: Some(tare_record::schemas::schema_of::<FetchSpec>),
    ..Protocol::run_by(
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
                check: |client| check_fetch(&client.options()?).map_err(|error| error.to_string()),
                requests: RequestUse::Many,
                connection_rules: false,
            }),
        },
        Runner::Installed(&FETCH_CLIENT),
    )
};

/// The protocol of edges between clients and brokers.
pub const EDGE: ProtocolInfo = ProtocolInfo {
    name: "kafka",
    over_tcp: OverTcp::Usual,
    load: None,
};

/// Installs the clients: from now on this process can run loads of both.
pub fn install(produce: RunLoad, fetch: RunLoad) {
    // A second time they are the same.
    let _ = (PRODUCE_CLIENT.set(produce), FETCH_CLIENT.set(fetch));
}

/// Checks the settings of producing.
///
/// # Errors
/// The first error found.
fn check_produce(produce: &ProduceSpec) -> Result<(), PlanError> {
    let bytes = produce.batch_bytes;
    let fits = (1..=BATCH_BYTES_MAX).contains(&bytes);
    require(fits, "the size of a batch", bytes, "1 byte to 64 MiB")?;
    let in_flight = produce.in_flight_max;
    let (most, must) = match produce.idempotence {
        true => (IN_FLIGHT_NUMBERED, "1 to 5 with idempotence"),
        false => (IN_FLIGHT_MAX, "1 to 1000"),
    };
    let what = "the number of requests on a connection";
    require((1..=most).contains(&in_flight), what, in_flight, must)?;
    let fits = !produce.idempotence || produce.acks == Acks::All;
    let must = "all with idempotence: turn one of them off";
    require(fits, "acks", "not all", must)?;
    let bytes = produce.buffer_bytes;
    let fits = bytes <= BUFFER_BYTES_MAX;
    require(fits, "the size of the buffer", bytes, "at most 4 GiB")?;
    let (keys, exponent) = match produce.keys {
        Keys::None => (1, 1.0),
        Keys::RoundRobin { count } | Keys::Random { count } => (count, 1.0),
        Keys::Zipf { count, exponent } => (count, exponent),
    };
    require(keys > 0, "the number of keys", 0, "at least 1")?;
    let fits = exponent > 0.0 && exponent <= 10.0;
    require(fits, "the exponent of the keys", exponent, "0 to 10")?;
    if let Payloads::Drawn {
        count,
        bytes,
        randomness,
    } = produce.payloads
    {
        let fits = count > 0 && u64::from(count) * u64::from(bytes) <= DRAWN_BYTES_MAX;
        let must = "1 to as many as have 256 MiB together";
        require(fits, "the number of payloads", count, must)?;
        let fits = (0.0..=1.0).contains(&randomness);
        require(fits, "the share of random bytes", randomness, "from 0 to 1")?;
    }
    Ok(())
}

/// Checks the settings of fetching.
///
/// # Errors
/// The first error found.
fn check_fetch(fetch: &FetchSpec) -> Result<(), PlanError> {
    let has_topic = !fetch.topics.is_empty();
    require(has_topic, "the number of topics", 0, "at least 1")?;
    let in_flight_max = fetch.in_flight_max;
    let fits = (1..=FETCHES_MAX).contains(&in_flight_max);
    let what = "the number of fetches at once";
    require(fits, what, in_flight_max, "1 to 1000")?;
    let bytes = fetch.max_bytes.min(fetch.partition_max_bytes);
    let fits = bytes > 0 && fetch.max_bytes <= FETCH_BYTES_MAX;
    require(fits, "the size of a fetch", bytes, "1 byte to 100 MiB")?;
    let fits = fetch.until.records != Some(0);
    require(fits, "the number of records", 0, "at least 1")?;
    if let FetchAssignment::Group { assignors, .. } = &fetch.assignment {
        let is_known = |name: &String| ASSIGNORS.contains(&name.as_str());
        let are_known = !assignors.is_empty() && assignors.iter().all(is_known);
        let names = assignors.join(",");
        require(are_known, "the assignor", names, "range or sticky")?;
    }
    Ok(())
}
