//! Where the pods of a run come from.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde_json::Value;
use tare_record::plan::Limits;
use tare_record::record::{EnvironmentRecord, TargetVersion};

use super::connection::Dial;
use super::pod_keeper::PodKeeperConfig;
use super::run_keeper::RunKeeperConfig;
use crate::LabError;
use crate::render::InjectedProxy;

/// A pod to be made: a network and a file system of its own, in which `tare keeper --pod` runs.
pub struct PodRequest {
    /// For its keeper; the name is `TEST-BED/POD`.
    pub config: PodKeeperConfig,
    pub purpose: PodPurpose,
    /// Its part in the mesh that the cluster has.
    pub in_mesh: Option<PodInMesh>,
    /// Limits of all that runs in it.
    pub limits: Limits,
    /// Programs that it must be able to read.
    pub programs: Vec<PathBuf>,
    /// Cores that it may use; empty: any.
    pub cpus: Vec<u32>,
}

/// Pods of some sites of an experiment.
pub struct SitePods {
    /// Names of the sites; none: of any.
    pub sites: Vec<String>,
    pub provider: Box<dyn PodProvider>,
}

/// A pod of a test bed.
pub(crate) struct WantedPod {
    pub site: String,
    pub purpose: PodPurpose,
    pub limits: Limits,
    pub in_mesh: Option<PodInMesh>,
}

/// What a pod is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodPurpose {
    /// Whether its traffic is redirected, which needs privileges.
    pub redirects: bool,
    /// Whether load is generated in it.
    pub is_of_agents: bool,
    /// Whether anything is measured in it: load is not.
    pub has_parts: bool,
    /// Whether it calls what is external.
    pub calls_external: bool,
}

/// What a pod is in the mesh that its cluster has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodInMesh {
    /// Name of its Service, and value of the label by which the mesh's objects select it.
    pub name: String,
    /// Its service account, which its identity states.
    pub account: String,
    /// Ports of its Service with their application protocols (`http`, `tls`, `tcp`); none: nobody calls it.
    pub ports: BTreeMap<u16, String>,
    /// Proxy that the mesh must inject.
    pub proxy: Option<InjectedProxy>,
}

/// A pod of the control plane of a cluster's mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlanePod {
    /// Name in results.
    pub name: String,
    /// Software with its version.
    pub software: String,
    /// URL of a page with the statistics of its process, as Prometheus' client libraries name them.
    pub metrics: String,
}

/// Addresses of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodAddress {
    pub pod: IpAddr,
    /// That of its Service, if it has one.
    pub service: Option<IpAddr>,
}

impl From<IpAddr> for PodAddress {
    fn from(pod: IpAddr) -> PodAddress {
        PodAddress { pod, service: None }
    }
}

/// A node that pods are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodNode {
    /// Name, as in the description.
    pub name: String,
    /// Boot ID of its kernel.
    pub boot_id: String,
}

/// Makes pods: on this machine, or on a cluster. What happens in them is not its business.
pub trait PodProvider: Send {
    /// Kind of environment, for records: `kubernetes`.
    fn environment(&self) -> &'static str;

    /// Whether pods have users for what is measured in them, besides that of their keeper.
    fn has_users(&self) -> bool {
        true
    }

    /// Where pods are, in words.
    fn location(&self) -> String {
        self.environment().to_owned()
    }

    /// Describes where pods run, with the software of these targets as it is there; `None`: it is this machine.
    ///
    /// # Errors
    /// What differs there.
    fn describe(
        &mut self,
        _targets: &BTreeMap<String, TargetVersion>,
    ) -> Result<Option<EnvironmentRecord>, LabError> {
        Ok(None)
    }

    /// Starts the run keeper (`tare keeper --run`). Returns its address for pods, and how the conductor reaches it.
    ///
    /// # Errors
    /// Why it was not started.
    fn start_run_keeper(
        &mut self,
        config: &RunKeeperConfig,
    ) -> Result<(SocketAddr, Dial), LabError>;

    /// Makes all pods of a test bed, with their Services and the mesh's objects; their addresses by name.
    ///
    /// # Errors
    /// Which pod was not made, and why.
    fn create(
        &mut self,
        pods: &[PodRequest],
        objects: &[Value],
    ) -> Result<BTreeMap<String, PodAddress>, LabError>;

    /// Lets pods that call what is external (`HOST:PORT` as written) connect to this address of it.
    ///
    /// # Errors
    /// Why they may not.
    fn admit(&mut self, _at: &str, _address: SocketAddr) -> Result<(), LabError> {
        Ok(())
    }

    /// Checks the number of cores that a pod of agents may use.
    ///
    /// # Errors
    /// It should be another.
    fn check_load_cores(&self, _pod: &str, _cores: u32) -> Result<(), LabError> {
        Ok(())
    }

    /// Pods of the control plane of the cluster's mesh, if arms use that.
    fn control_plane(&self) -> Vec<ControlPlanePod> {
        Vec::new()
    }

    /// Host name of a Service; `None`: there are no Services.
    fn service_host(&self, _name: &str) -> Option<String> {
        None
    }

    /// Why a pod, or the run keeper (an empty name), is gone; `None`: it is there as far as is known.
    fn exited(&mut self, pod: &str) -> Option<String>;

    /// Removes pods; returns when they are gone.
    ///
    /// # Errors
    /// What is left.
    fn remove(&mut self, pods: &[String]) -> Result<(), LabError>;

    /// Words that begin a command which is run in a pod, or beside the proxy that was injected there; none: it cannot be entered.
    fn enter(&self, _pod: &str, _is_injected: bool) -> Vec<String> {
        Vec::new()
    }

    /// The log of the proxy that was injected into a pod; `None`: unknown.
    fn log_of_injected(&self, _pod: &str) -> Option<String> {
        None
    }

    /// Node of a pod; `None`: it is this machine.
    fn node(&self, _pod: &str) -> Option<PodNode> {
        None
    }

    /// Its processes on the conductor's machine, whose CPU time is Tare's own.
    fn pids(&self) -> BTreeSet<u32> {
        BTreeSet::new()
    }
}
