//! Options for the pods of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::installed::InstalledMesh;
use crate::opt_out::OptOut;

/// A cluster, and the image of the pods.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Context of the user's configuration; `None`: the current one.
    pub context: Option<String>,
    /// Namespace that is there; `None`: one of the run's own.
    pub namespace: Option<String>,
    /// Whether pods of other clusters belong to the run.
    pub is_one_of_several: bool,
    /// Image of every pod.
    pub image: String,
    /// This program.
    pub tare: PathBuf,
    /// Whether the traffic of any pod is redirected.
    pub redirects: bool,
    /// How pods stay without the proxies of each mesh that is known.
    pub opt_outs: Vec<OptOut>,
    /// The mesh of the cluster that arms use.
    pub mesh: Option<InstalledMesh>,
    /// Labels of the nodes for load; `None`: a third of the nodes.
    pub load_nodes: Option<BTreeMap<String, String>>,
    /// Labels of the nodes for everything else; `None`: those without load.
    pub part_nodes: Option<BTreeMap<String, String>>,
    /// Exclusive cores of each pod of agents; `None`: it shares those of its node.
    pub load_cores: Option<u32>,
}
