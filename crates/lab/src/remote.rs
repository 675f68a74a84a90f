//! Test beds whose pods are elsewhere: keepers in the pods, a run keeper beside them, and the conductor's side of both.
//! (docs/decisions/0021-remote-keeper.md)
//!
//! ```text
//! conductor ── one connection ──► run keeper ◄── TLS and token ── keeper of a pod ──► its keeper ──► instances, agents
//! ```
//!
//! A connection may be cut at any time: messages are numbered, kept until acknowledged, and sent again over the next
//! connection. Who says nothing for too long is gone; then everybody ends what depends on him.

mod brought;
mod channels;
mod clock;
mod connection;
mod exchange;
mod frame;
mod greeting;
pub(crate) mod host;
mod message;
mod namespaces;
mod observation;
mod own_namespace;
mod place;
mod pod_keeper;
mod pod_provider;
mod run_keeper;
mod session;

pub use connection::Dial;
pub(crate) use namespaces::BASE;
pub use namespaces::Namespaces;
pub use own_namespace::OwnNamespace;
pub use pod_keeper::{PodKeeperConfig, pod_keeper_main};
pub(crate) use pod_provider::WantedPod;
pub use pod_provider::{
    ControlPlanePod, PodAddress, PodInMesh, PodNode, PodProvider, PodPurpose, PodRequest, SitePods,
};
pub use run_keeper::{RunKeeperConfig, run_keeper_main};

#[cfg(test)]
mod tests;
