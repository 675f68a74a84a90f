//! Kafka clients of the load generator: the cluster layer, a producer and a consumer. [`install`] adds them to a program.

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
#[cfg(test)]
mod sum_tests;
mod versions;

pub use cluster::{BrokerResponse, Cluster, ClusterPlan, Event};
pub use send_queue::{NoSegments, Segments};
pub use versions::Api;

/// Pause before a request is repeated (`retry.backoff.ms`); the first one of a batch.
const RETRY_BACKOFF_NS: u64 = 100_000_000;

/// Adds the clients to this process: from now on it runs loads of producers and consumers.
pub fn install() {
    tare_load::protocols::kafka::install(producing::run, fetching::run);
}

#[cfg(test)]
mod tests {
    use tare_kafka::group::Assignor;
    use tare_load::protocols::kafka::ASSIGNORS;

    #[test]
    fn the_assignors_that_a_plan_may_name_are_those_of_the_groups() {
        assert_eq!(Assignor::ALL.map(|assignor| assignor.name()), ASSIGNORS);
    }
}
