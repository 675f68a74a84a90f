//! Kafka consumers of a plan.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tare_kafka::group::Assignor;
use tare_record::load::{FetchAssignment, FetchSpec, Pacing};

use super::ClusterPlan;
use super::fetch::{self, ExcessFetches, Fetch, FetchPlan};
use super::producing::{cluster, realtime_offset_ns};
use crate::generator::{Launch, LoadError, LoadOutcome, PlanError, require};

/// Most concurrent fetches of one worker.
const FETCHES_MAX: u16 = 1000;

/// Largest response, below the longest frame that is read.
const FETCH_BYTES_MAX: u32 = 100 << 20;

/// Checks the settings of fetching.
///
/// # Errors
/// The first error found.
pub(super) fn check(fetch: &FetchSpec) -> Result<(), PlanError> {
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
        let is_known = |name: &String| Assignor::ALL.iter().any(|known| known.name() == name);
        let are_known = !assignors.is_empty() && assignors.iter().all(is_known);
        let names = assignors.join(",");
        require(are_known, "the assignor", names, "range or sticky")?;
    }
    Ok(())
}

/// Runs a load of consumers.
///
/// # Errors
/// As a load.
pub(super) fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let spec: FetchSpec = launch.options()?;
    let cluster = ClusterPlan {
        client_id: spec.client_id.clone(),
        topics: spec.topics.clone(),
        apis: &fetch::APIS,
        ..cluster(&launch, spec.sasl.as_ref())?
    };
    let arrived = Arc::new(AtomicU64::new(0));
    launch.clients(|part| {
        Fetch::new(FetchPlan {
            cluster: ClusterPlan {
                first: part.first,
                ..cluster.clone()
            },
            spec: spec.clone(),
            worker: (part.worker, setup.workers),
            arrived: Arc::clone(&arrived),
            timeout_ns: plan.load.timeout_ns,
            realtime_offset_ns: realtime_offset_ns(),
            surplus: match plan.load.pacing {
                Pacing::Max => ExcessFetches::Return,
                _ => ExcessFetches::Wait,
            },
        })
    })
}
