//! Kafka as a protocol of the generator: connections to the brokers of a cluster, and what produces over them.

pub mod cluster;
pub mod errors;
pub mod fetch;
mod inbox;
pub mod names;
mod outbox;
pub mod produce;
#[cfg(test)]
pub(crate) mod sim;
mod versions;

pub use cluster::{Answer, Cluster, ClusterPlan, Event};
pub use outbox::{NoSegments, Segments};
pub use versions::Api;
