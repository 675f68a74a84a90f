//! Validation of a plan before anything is started.

use std::collections::BTreeSet;
use std::time::Duration;

use tare_schema::FORMAT_VERSION;
use tare_schema::load::session::SESSION_NAME;
use tare_schema::load::{
    ClientSpec, LoadPlan, OutOfReach, Pacing, RateProfile, RequestSpec, Rows, Stop, TcpExchange,
};
use thiserror::Error;

use super::{fetching, producing};
use crate::http1::request::RequestError;
use crate::tally::TAGGED_REQUESTS_MAX;

/// Highest rate: its start times still differ clearly in nanoseconds.
const RATE_MAX_PER_S: f64 = 10_000_000.0;
const RATE_MUST: &str = "more than 0 and at most 10000000 a second";
/// Bounds of the speed of a replay.
const SPEED_MIN: f64 = 0.001;
const SPEED_MAX: f64 = 1000.0;
const WORKERS_MAX: u32 = 256;
const CONNECTIONS_MAX: u32 = 1_000_000;
const STREAMS_MAX: u16 = 10_000;
/// Largest exchange over TCP.
const TCP_BYTES_MAX: u64 = 1 << 40;

/// Longest text in a MongoDB document; several must fit into one message.
const DOCUMENT_BYTES_MAX: u32 = 1 << 20;

/// Why a plan is invalid.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Written for another version of the format.
    #[error(
        "the load plan has version {found}, this agent reads version {FORMAT_VERSION}: use the same tare on both sides"
    )]
    Version {
        /// As in the plan.
        found: u32,
    },
    /// An address of the plan that the plan does not allow.
    #[error(transparent)]
    Reach(#[from] OutOfReach),
    /// A number out of range.
    #[error("{what} is {value}, but must be {must}")]
    Number {
        /// Name of the setting.
        what: &'static str,
        /// As in the plan.
        value: String,
        /// Allowed values.
        must: &'static str,
    },
    /// A name that is not valid in a tag.
    #[error("{what} {name:?} cannot stand in a histogram tag: use letters, digits, - and _")]
    Name {
        /// What has this name.
        what: &'static str,
        /// As in the plan.
        name: String,
    },
    /// Two requests of the same name.
    #[error("two requests are named {0:?}: name them apart")]
    Twice(String),
    /// A protocol that this version does not know.
    #[error("this agent does not speak {0:?}: use http1, http2, grpc, tcp or mongodb")]
    Protocol(String),
    /// A request over MongoDB's protocol that is not an operation.
    #[error(
        "request {name:?}: {method:?} is no operation on documents; use find, insert, update or delete"
    )]
    Operation {
        /// Its name.
        name: String,
        /// As in the plan.
        method: String,
    },
    /// A recording that cannot be replayed.
    #[error(transparent)]
    Recording(#[from] crate::arrivals::RecordingError),
    /// A request that cannot be sent.
    #[error("request {name:?}: {source}")]
    Request {
        /// Its name.
        name: String,
        /// Why.
        source: RequestError,
    },
    /// A session over a protocol without sessions.
    #[error(
        "sessions are possible over http/1.1 only in this version: leave out the other protocol"
    )]
    SessionProtocol,
    /// A table without complete rows.
    #[error("table {0:?} has no rows, or a row with too few values")]
    Table(String),
    /// A login that is not possible.
    #[error("{0}")]
    Login(String),
    /// Unique rows without a session.
    #[error(
        "table {0:?} has unique rows, and only sessions can have some: use sequential or random"
    )]
    UniqueTable(String),
    /// A request that cannot be sent over HTTP/2.
    #[error("request {name:?}: {source}")]
    Http2Request {
        /// Its name.
        name: String,
        /// Why.
        source: crate::http2::request::RequestError,
    },
}

pub(super) fn number(what: &'static str, value: impl ToString, must: &'static str) -> PlanError {
    PlanError::Number {
        what,
        value: value.to_string(),
        must,
    }
}

/// Checks the plan, except for the bytes of its requests.
///
/// # Errors
/// The first error found.
pub fn check(plan: &LoadPlan) -> Result<(), PlanError> {
    if plan.version != FORMAT_VERSION {
        return Err(PlanError::Version {
            found: plan.version,
        });
    }
    let load = &plan.load;
    tag_word("role", &plan.role)?;
    check_pacing(&load.pacing)?;
    if load.connections.exchanges_max == Some(0) {
        return Err(number(
            "the number of exchanges on a connection",
            0,
            "at least 1",
        ));
    }
    match load.stop {
        Stop::Duration { window_ns: 0 } => return Err(number("the duration", 0, "more than 0")),
        Stop::Count { exchanges: 0 } => {
            return Err(number("the number of exchanges", 0, "more than 0"));
        }
        Stop::Duration { .. } | Stop::Count { .. } | Stop::Interrupted => {}
    }
    if load.timeout_ns == 0 {
        return Err(number("the timeout", 0, "more than 0"));
    }
    if !(1..=WORKERS_MAX).contains(&load.workers) {
        return Err(number("the number of workers", load.workers, "1 to 256"));
    }
    if load.sample_every_ns < Duration::from_millis(10).as_nanos() as u64 {
        return Err(number(
            "the distance of samples in ns",
            load.sample_every_ns,
            "at least 10 ms",
        ));
    }
    if plan.endpoint.addresses.is_empty() {
        return Err(number("the number of addresses", 0, "at least 1"));
    }
    for address in &plan.endpoint.addresses {
        plan.reach.check(address.ip())?;
    }
    check_requests(plan)?;
    let connections = connections(&load.client)?;
    if !(1..=CONNECTIONS_MAX).contains(&connections) {
        return Err(number(
            "the number of connections",
            connections,
            "1 to 1000000",
        ));
    }
    Ok(())
}

/// Number of connections of a client.
///
/// # Errors
/// For an unknown protocol, and for invalid settings.
pub fn connections(client: &ClientSpec) -> Result<u32, PlanError> {
    match client {
        ClientSpec::Http1 { connections } => Ok(*connections),
        ClientSpec::Http2 {
            connections,
            streams,
        }
        | ClientSpec::Grpc {
            connections,
            streams,
            ..
        } => match streams {
            1..=STREAMS_MAX => Ok(*connections),
            _ => Err(number(
                "the number of streams on a connection",
                streams,
                "1 to 10000",
            )),
        },
        ClientSpec::Tcp {
            connections,
            exchange,
        } => {
            check_tcp(*exchange)?;
            Ok(*connections)
        }
        ClientSpec::Mongodb { connections, data } => match data.documents {
            0 => Err(number("the number of documents", 0, "at least 1")),
            _ if data.document_bytes > DOCUMENT_BYTES_MAX => Err(number(
                "the length of a document's text",
                data.document_bytes,
                "at most 1 MiB",
            )),
            _ => Ok(*connections),
        },
        ClientSpec::Connect { in_flight_max } => Ok(*in_flight_max),
        ClientSpec::KafkaProduce {
            connections,
            produce,
        } => {
            producing::check(produce)?;
            Ok(*connections)
        }
        ClientSpec::KafkaFetch { connections, fetch } => {
            fetching::check(fetch)?;
            Ok(*connections)
        }
        ClientSpec::Planned { name, .. } => Err(PlanError::Protocol(name.clone())),
    }
}

fn check_tcp(exchange: TcpExchange) -> Result<(), PlanError> {
    let (sent, expected) = match exchange {
        TcpExchange::Echo {
            send_bytes,
            expect_bytes,
            ..
        } => (send_bytes, expect_bytes),
        TcpExchange::HalfClose {
            send_bytes,
            expect_bytes,
            ..
        } => (send_bytes, expect_bytes.unwrap_or(1)),
        TcpExchange::Throughput { block_bytes, .. } => (block_bytes, block_bytes.min(1)),
    };
    for bytes in [sent, expected] {
        if bytes > TCP_BYTES_MAX {
            return Err(number("a size in bytes", bytes, "at most 1 TiB"));
        }
    }
    match (exchange, sent, expected) {
        (TcpExchange::HalfClose { .. }, ..) => Ok(()),
        // An exchange must send something to begin, and expect something to end.
        (TcpExchange::Echo { .. }, 0, _) => {
            Err(number("the number of bytes to send", 0, "at least 1"))
        }
        (_, _, 0) => Err(number(
            "the number of bytes of an exchange",
            0,
            "at least 1",
        )),
        _ => Ok(()),
    }
}

fn check_pacing(pacing: &Pacing) -> Result<(), PlanError> {
    match pacing {
        Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => {
            if rate_per_s.is_finite() && *rate_per_s > 0.0 && *rate_per_s <= RATE_MAX_PER_S {
                Ok(())
            } else {
                Err(number("the rate", rate_per_s, RATE_MUST))
            }
        }
        Pacing::Ramp { .. } | Pacing::Steps { .. } => {
            let Some(profile) = pacing.profile(0).filter(RateProfile::is_a_rate) else {
                return Err(number("a rate", "no number or below 0", RATE_MUST));
            };
            match profile.peak_per_s() {
                0.0 => Err(number("the highest rate", 0, RATE_MUST)),
                peak if peak > RATE_MAX_PER_S => Err(number("the highest rate", peak, RATE_MUST)),
                _ => Ok(()),
            }
        }
        Pacing::Replay { speed, shard, .. } => {
            if !(SPEED_MIN..=SPEED_MAX).contains(speed) {
                return Err(number("the speed of a replay", speed, "0.001 to 1000"));
            }
            match shard.index < shard.count {
                true => Ok(()),
                false => Err(number(
                    "the part of a replay",
                    shard.index,
                    "less than its parts",
                )),
            }
        }
        Pacing::Closed { clients: 0, .. } => Err(number("the number of clients", 0, "at least 1")),
        Pacing::Closed { .. } | Pacing::Max => Ok(()),
    }
}

fn check_requests(plan: &LoadPlan) -> Result<(), PlanError> {
    let mix = &plan.load.mix;
    for table in &mix.tables {
        let is_short = |row: &Vec<String>| row.len() < table.columns.len();
        if table.rows.is_empty() || table.rows.iter().any(is_short) {
            return Err(PlanError::Table(table.name.clone()));
        }
        if table.order == Rows::Unique && mix.session.is_none() {
            return Err(PlanError::UniqueTable(table.name.clone()));
        }
    }
    let requests: Vec<&RequestSpec> = match &mix.session {
        Some(session) => session
            .request_steps()
            .iter()
            .map(|step| &step.request)
            .collect(),
        None => plan.load.requests.iter().collect(),
    };
    // A session has one more name: its own.
    let room = TAGGED_REQUESTS_MAX - usize::from(mix.session.is_some());
    if requests.is_empty() || requests.len() > room {
        return Err(number(
            "the number of requests",
            requests.len(),
            "1 to 4096",
        ));
    }
    let mut names = BTreeSet::new();
    for request in requests {
        tag_word("request", &request.name)?;
        let is_taken = mix.session.is_some() && request.name == SESSION_NAME;
        if is_taken || !names.insert(&request.name) {
            return Err(PlanError::Twice(request.name.clone()));
        }
        if !(request.weight.is_finite() && request.weight > 0.0) {
            return Err(number(
                "the weight of a request",
                request.weight,
                "more than 0",
            ));
        }
    }
    Ok(())
}

/// Part of a tag. Dots separate parts; commas and spaces end a tag.
fn tag_word(what: &'static str, name: &str) -> Result<(), PlanError> {
    let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(fits) {
        return Ok(());
    }
    Err(PlanError::Name {
        what,
        name: name.to_owned(),
    })
}
