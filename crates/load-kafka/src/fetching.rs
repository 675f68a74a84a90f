//! Kafka consumers of a plan.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tare_record::load::{FetchSpec, Pacing};

use super::ClusterPlan;
use super::fetch::{self, ExcessFetches, Fetch, FetchPlan};
use super::producing::{cluster, realtime_offset_ns};
use tare_load::generator::{Launch, LoadError, LoadOutcome};

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
