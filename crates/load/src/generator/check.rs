//! Validation of a plan before anything is started.

use std::collections::BTreeSet;
use std::fmt::Display;

use tare_record::FORMAT_VERSION;
use tare_record::load::session::SESSION_NAME;
use tare_record::load::{
    AddressNotAllowed, LoadPlan, Pacing, RateProfile, RequestSpec, Rows, Stop, Transport,
};
use thiserror::Error;

use crate::arrivals::NEVER;
use crate::protocols::{self, Protocol, SocketKind};
use crate::tally::TAGGED_REQUESTS_MAX;

/// Highest rate: its start times still differ clearly in nanoseconds.
const RATE_MAX_PER_S: f64 = 10_000_000.0;
const RATE_MUST: &str = "more than 0 and at most 10000000 a second";
/// Bounds of the speed of a replay.
const SPEED_MIN: f64 = 0.001;
const SPEED_MAX: f64 = 1000.0;
const WORKERS_MAX: u32 = 256;
const CONNECTIONS_MAX: u32 = 1_000_000;
const SAMPLE_EVERY_NS_MIN: u64 = 10_000_000;

/// Why a plan is invalid.
#[derive(Debug, Error)]
pub enum PlanError {
    #[error(
        "the load plan has version {found}, this agent reads version {FORMAT_VERSION}: use the same tare on both sides"
    )]
    Version { found: u32 },
    /// An address of the plan that the plan does not allow.
    #[error(transparent)]
    AddressPolicy(#[from] AddressNotAllowed),
    #[error("{what} is {value}, but must be {must}")]
    Number {
        what: &'static str,
        value: String,
        must: &'static str,
    },
    #[error("{what} {name:?} is not valid in a histogram tag: use letters, digits, - and _")]
    Name { what: &'static str, name: String },
    #[error("two requests are named {0:?}: name them apart")]
    Twice(String),
    #[error("this agent does not speak {0:?}: use {known}", known = known_protocols())]
    Protocol(String),
    /// A recording that cannot be replayed.
    #[error(transparent)]
    Trace(#[from] crate::arrivals::TraceError),
    #[error("request {name:?}: {why}")]
    Request { name: String, why: String },
    #[error(
        "sessions are possible over http/1.1 only in this version: leave out the other protocol"
    )]
    SessionProtocol,
    #[error("table {0:?} has no rows, or a row with too few values")]
    Table(String),
    #[error("{0}")]
    Invalid(String),
    #[error("table {0:?} has unique rows, which need a session: use sequential or random")]
    UniqueTable(String),
}

impl PlanError {
    pub fn request(name: &str, why: &dyn Display) -> Self {
        PlanError::Request {
            name: name.to_owned(),
            why: why.to_string(),
        }
    }
}

fn known_protocols() -> String {
    let names: Vec<&str> = protocols::ALL.iter().map(|one| one.info.name).collect();
    names.join(", ")
}

pub fn number(what: &'static str, value: impl ToString, must: &'static str) -> PlanError {
    PlanError::Number {
        what,
        value: value.to_string(),
        must,
    }
}

/// An error unless a setting has an allowed value.
pub fn require(
    fits: bool,
    what: &'static str,
    value: impl ToString,
    must: &'static str,
) -> Result<(), PlanError> {
    match fits {
        true => Ok(()),
        false => Err(number(what, value, must)),
    }
}

/// Checks the plan, except for the bytes of its requests; returns its protocol.
///
/// # Errors
/// The first error found.
pub(crate) fn check(plan: &LoadPlan) -> Result<&'static Protocol, PlanError> {
    if plan.version != FORMAT_VERSION {
        return Err(PlanError::Version {
            found: plan.version,
        });
    }
    let load = &plan.load;
    tag_word("role", &plan.role)?;
    check_pacing(&load.pacing)?;
    let exchanges_max = load.connections.exchanges_max;
    let what = "the number of exchanges on a connection";
    require(exchanges_max != Some(0), what, 0, "at least 1")?;
    let (what, length) = match load.stop {
        Stop::Duration { window_ns } => ("the duration", window_ns),
        Stop::Count { exchanges } => ("the number of exchanges", exchanges),
        Stop::Interrupted => ("the duration", NEVER),
    };
    require(length > 0, what, 0, "more than 0")?;
    require(load.timeout_ns > 0, "the timeout", 0, "more than 0")?;
    let fits = (1..=WORKERS_MAX).contains(&load.workers);
    require(fits, "the number of workers", load.workers, "1 to 256")?;
    let (what, every_ns) = ("the sample interval in ns", load.sample_every_ns);
    let fits = every_ns >= SAMPLE_EVERY_NS_MIN;
    require(fits, what, every_ns, "at least 10 ms")?;
    let has_address = !plan.endpoint.addresses.is_empty();
    require(has_address, "the number of addresses", 0, "at least 1")?;
    if load.connections.unix_socket.is_none() {
        for address in &plan.endpoint.addresses {
            plan.allowed_addresses.check(address.ip())?;
        }
    }
    check_requests(plan)?;
    let client = &load.client;
    if load.mix.paths.is_some() && client.protocol != protocols::http1::NAME {
        let why = "a list of paths is possible over http/1.1 only in this version: leave out the other protocol";
        return Err(PlanError::Invalid(why.into()));
    }
    let protocol = protocols::find(&client.protocol)
        .ok_or_else(|| PlanError::Protocol(client.protocol.clone()))?;
    let connection_rules = &plan.load.connections;
    if let Some(load) = protocol.info.load {
        (load.check)(client).map_err(PlanError::Invalid)?;
        load.check_connections(protocol.info.name, connection_rules)
            .map_err(PlanError::Invalid)?;
    }
    let connections = client.connections;
    let fits = (1..=CONNECTIONS_MAX).contains(&connections);
    let what = "the number of connections";
    require(fits, what, connections, "1 to 1000000")?;
    let is_for_streams =
        connection_rules.unix_socket.is_some() || connection_rules.proxy_protocol.is_some();
    if protocol.sockets == SocketKind::Datagram && is_for_streams {
        let name = protocol.info.name;
        return Err(PlanError::Invalid(format!(
            "a {name} load has no connections: leave out --unix-socket and --proxy-protocol"
        )));
    }
    if protocol.sockets == SocketKind::Datagram && load.transport != Transport::Tcp {
        let name = protocol.info.name;
        return Err(PlanError::Invalid(format!("there is no TLS over {name}")));
    }
    Ok(protocol)
}

fn check_pacing(pacing: &Pacing) -> Result<(), PlanError> {
    match pacing {
        Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => {
            let fits = *rate_per_s > 0.0 && *rate_per_s <= RATE_MAX_PER_S;
            require(fits, "the rate", rate_per_s, RATE_MUST)
        }
        Pacing::Ramp { .. } | Pacing::Steps { .. } => {
            let Some(profile) = pacing.profile(0).filter(RateProfile::is_a_rate) else {
                return Err(number("a rate", "no number or below 0", RATE_MUST));
            };
            let peak = profile.peak_per_s();
            let fits = peak != 0.0 && peak <= RATE_MAX_PER_S;
            require(fits, "the highest rate", peak, RATE_MUST)
        }
        Pacing::Replay { speed, shard, .. } => {
            let fits = (SPEED_MIN..=SPEED_MAX).contains(speed);
            require(fits, "the speed of a replay", speed, "0.001 to 1000")?;
            let (what, must) = ("the replay shard", "less than the number of shards");
            require(shard.index < shard.count, what, shard.index, must)
        }
        Pacing::Closed { clients, .. } => {
            require(*clients > 0, "the number of clients", 0, "at least 1")
        }
        Pacing::Max => Ok(()),
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
    let fits = (1..=room).contains(&requests.len());
    let must = "1 to 4096; of requests that differ in a value, give a list of paths of any length (--paths), or write one with a placeholder that takes them from a file of data (docs/SESSIONS.md)";
    require(fits, "the number of requests", requests.len(), must)?;
    let mut names = BTreeSet::new();
    for request in requests {
        tag_word("request", &request.name)?;
        let is_taken = mix.session.is_some() && request.name == SESSION_NAME;
        if is_taken || !names.insert(&request.name) {
            return Err(PlanError::Twice(request.name.clone()));
        }
        let weight = request.weight;
        let fits = weight.is_finite() && weight > 0.0;
        require(fits, "the weight of a request", weight, "more than 0")?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_requests_than_have_histograms_of_their_own_are_refused_with_the_next_step() {
        let mut load = crate::Load::get("http://127.0.0.1:1/").unwrap();
        let one = load.plan().load.requests[0].clone();
        let named = |number: usize| RequestSpec {
            name: format!("r{number}"),
            ..one.clone()
        };
        load.plan_mut().load.requests = (0..TAGGED_REQUESTS_MAX).map(named).collect();
        assert!(check(load.plan()).is_ok());
        load.plan_mut()
            .load
            .requests
            .push(named(TAGGED_REQUESTS_MAX));
        let said = check(load.plan()).map(drop).unwrap_err().to_string();
        assert!(
            said.contains("4097") && said.contains("placeholder"),
            "{said}"
        );
    }
}
