//! Kafka clients of the load generator: the cluster layer, a producer and a consumer.

pub mod cluster;
pub mod errors;
pub mod fetch;
mod frame_reader;
pub mod names;
pub mod produce;
mod send_queue;
#[cfg(test)]
pub(crate) mod sim;
mod versions;

pub use cluster::{BrokerResponse, Cluster, ClusterPlan, Event};
pub use send_queue::{NoSegments, Segments};
pub use versions::Api;
