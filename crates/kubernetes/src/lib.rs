//! Pods of a run on a Kubernetes cluster, made by `kubectl`: namespace, rights, run keeper, the pods of test beds.
//!
//! What happens in the pods is the business of [`tare_lab::remote`]: this is where they come from, and how the conductor reaches
//! the run keeper. `kubectl` brings every kind of login that a user's cluster may want (docs/decisions/0022-kubectl.md).

mod cluster;
mod cluster_options;
mod companion;
mod examine;
mod forward;
mod installed;
mod kubectl;
mod leftovers;
mod manifests;
mod mesh_of_cluster;
mod nodes;
mod opt_out;
mod pod_image;
mod pods_that_start;
mod policies;
mod problems;
mod record;
mod rights;
mod run_namespace;
mod software_links;
mod watch;

pub use cluster::Cluster;
pub use cluster_options::ClusterOptions;
pub use examine::{KnownMesh, examine};
pub use installed::InstalledMesh;
pub use leftovers::Leftovers;
pub use opt_out::{Marks, OptOut};
