//! Kafka consumers of a plan.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tare_kafka::group::Assignor;
use tare_kafka::sasl::Credentials;
use tare_schema::load::{FetchShare, FetchSpec, LoadPlan, Pacing, Transport};

use super::ClusterPlan;
use super::cluster::Security;
use super::fetch::{self, Fetch, FetchPlan, Surplus};
use super::names::SystemNames;
use super::producing::{REQUESTS_A_TIMEOUT, login};
use crate::clock::{monotonic_ns, realtime_ns};
use crate::generator::{Launch, LoadError, Outcome, PlanError, Setup, WorkerShare, number};

/// Most concurrent fetches of one worker.
const FETCHES_MAX: u16 = 1000;

/// Largest response, below the longest frame that is read.
const FETCH_BYTES_MAX: u32 = 100 << 20;

/// Checks the settings of fetching.
///
/// # Errors
/// The first error found.
pub(super) fn check(fetch: &FetchSpec) -> Result<(), PlanError> {
    if fetch.topics.is_empty() {
        return Err(number("the number of topics", 0, "at least 1"));
    }
    let in_flight_max = fetch.in_flight_max;
    if !(1..=FETCHES_MAX).contains(&in_flight_max) {
        return Err(number(
            "the number of fetches at once",
            in_flight_max,
            "1 to 1000",
        ));
    }
    let bytes = fetch.max_bytes.min(fetch.partition_max_bytes);
    if bytes == 0 || fetch.max_bytes > FETCH_BYTES_MAX {
        let must = "1 byte to 100 MiB";
        return Err(number("the size of a fetch", bytes, must));
    }
    if fetch.until.records == Some(0) {
        return Err(number("the number of records", 0, "at least 1"));
    }
    if let FetchShare::Group { assignors, .. } = &fetch.share {
        let is_known = |name: &String| Assignor::ALL.iter().any(|known| known.name() == name);
        if assignors.is_empty() || !assignors.iter().all(is_known) {
            let must = "range or sticky";
            return Err(number("the assignor", assignors.join(","), must));
        }
    }
    Ok(())
}

/// Runs a load of consumers.
///
/// # Errors
/// As a load.
pub(super) fn run(launch: Launch<'_, '_>) -> Result<Outcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let spec: FetchSpec = launch.options()?;
    let fetching = Fetching::of(plan, &spec)?;
    launch.clients(|part| fetching.consumer(setup, &part))
}

/// What all consumers of a plan share.
pub(super) struct Fetching<'a> {
    plan: &'a LoadPlan,
    spec: &'a FetchSpec,
    login: Option<Credentials>,
    names: Arc<SystemNames>,
    arrived: Arc<AtomicU64>,
}

impl<'a> Fetching<'a> {
    /// Reads the password, if there is one.
    ///
    /// # Errors
    /// When the password cannot be read.
    pub fn of(plan: &'a LoadPlan, spec: &'a FetchSpec) -> Result<Self, PlanError> {
        Ok(Self {
            plan,
            spec,
            login: spec.login.as_ref().map(login).transpose()?,
            names: Arc::new(SystemNames::default()),
            arrived: Arc::new(AtomicU64::new(0)),
        })
    }

    /// The consumer of one worker.
    pub fn consumer(&self, setup: &Setup, part: &WorkerShare) -> Fetch {
        let load = &self.plan.load;
        Fetch::new(FetchPlan {
            cluster: ClusterPlan {
                seeds: Arc::clone(&setup.addresses),
                first: part.first,
                topics: self.spec.topics.clone(),
                client_id: self.spec.client_id.clone(),
                apis: &fetch::APIS,
                connect_timeout_ns: load.timeout_ns,
                // Of metadata requests and the like; a fetch has a timeout of its own.
                request_timeout_ns: (load.timeout_ns / REQUESTS_A_TIMEOUT).max(1),
                names: self.names.clone(),
                address_overrides: self.plan.address_overrides.clone().into(),
                security: match load.transport {
                    Transport::Tcp => Security::Plain,
                    Transport::Tls(_) => Security::Tls,
                },
                login: self.login.clone(),
            },
            spec: self.spec.clone(),
            worker: (part.worker, setup.workers),
            arrived: Arc::clone(&self.arrived),
            timeout_ns: load.timeout_ns,
            realtime_offset_ns: i128::from(realtime_ns()) - i128::from(monotonic_ns()),
            surplus: match load.pacing {
                Pacing::Max => Surplus::GiveBack,
                _ => Surplus::Wait,
            },
        })
    }
}
