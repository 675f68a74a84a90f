//! Definition of a mesh, and its use in an arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_record::name::{ExcludeText, Name};
use tare_record::schemas::JsonSchema;
use tare_record::topology::{InstanceRole, Settings};

use super::{HopSecurity, PartSelector};

/// A mesh: a folder of targets with a file `mesh.yaml`, which says what each of them is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "the mesh"))]
pub struct MeshDef {
    /// Name of the mesh, the name of its folder.
    pub mesh: Name,
    /// Name in texts: `Istio`.
    pub title: String,
    /// One line: what it is.
    pub about: String,
    /// Target of the control plane.
    pub control_plane: Name,
    /// Host name by which its proxies reach the control plane.
    #[schemars(length(min = 1))]
    pub host: String,
    /// Targets that only the control plane needs, one instance each, started before it.
    #[serde(default)]
    pub support: Vec<Name>,
    /// Target of its sidecars and gateways.
    pub proxy: Name,
    /// Identities that its proxies state to the called part, by the role of the caller's proxy; `{pod}` is its pod.
    #[serde(default)]
    pub identities: BTreeMap<InstanceRole, String>,
    /// How it is used where a cluster has it; none: only with a control plane of the run's own.
    pub installed: Option<InstalledDef>,
    /// How namespaces and pods of a cluster that has it stay without its proxies.
    #[serde(default)]
    pub opt_out: OptOutDef,
    /// Forms of it that a cluster may have and that no arm can use there; `tare doctor --context` names those that are there.
    #[serde(default)]
    pub detected: Vec<DetectedForm>,
    /// Folder of objects below that of a control plane's instance, for a control plane that watches one.
    pub objects: Option<String>,
    /// What results must say about it with a control plane of the run's own, sentences for the report.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a mesh of a cluster reads: where it must not inject its proxies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "opt_out"))]
pub struct OptOutDef {
    /// Of namespaces that runs make, unless their arms use the mesh.
    #[serde(default)]
    pub namespaces: MarksDef,
    /// Of pods without its proxy.
    #[serde(default)]
    pub pods: MarksDef,
}

/// Labels and annotations of an object of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "marks"))]
pub struct MarksDef {
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// A form of a mesh that a cluster may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "detected"))]
pub struct DetectedForm {
    /// What it is, in words: `Istio in ambient mode`.
    #[schemars(length(min = 1))]
    pub what: String,
    /// Label of its pods, in any namespace: `app=ztunnel`.
    #[schemars(length(min = 1))]
    pub pods: String,
}

/// A mesh that a cluster has: its control plane injects the proxies into pods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "installed"))]
pub struct InstalledDef {
    /// Label of the pods of its control plane, in any namespace: `app=istiod`.
    #[schemars(length(min = 1))]
    pub control_plane: String,
    /// Label of these pods with their revision, which injected pods need as well unless it is `default`.
    pub revision: Option<String>,
    /// Security that its proxies can have between them. Default: both.
    #[serde(default = "any_security")]
    pub security: Vec<HopSecurity>,
    /// Page with the statistics of a process of its control plane, as Prometheus' client libraries name them; `{{ address }}` is the
    /// address of its pod. Read from pods with a sidecar.
    pub metrics: Option<String>,
    /// Resources with their API groups that a run makes to configure it: `peerauthentications.security.istio.io`.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Resources that a run makes besides, where arms have a gateway; none: they cannot have one.
    #[serde(default)]
    pub gateway_resources: Vec<String>,
    /// How the identities end that its proxies state to the called part, by the role of the caller's proxy; `{pod}` is its pod.
    #[serde(default)]
    pub identities: BTreeMap<InstanceRole, String>,
    /// What results must say about it, sentences for the report.
    #[serde(default)]
    pub notes: Vec<String>,
}

fn any_security() -> Vec<HopSecurity> {
    vec![HopSecurity::Plaintext, HopSecurity::Mtls]
}

/// A mesh in an arm: by name, with sidecars beside all parts, mTLS between them, and redirected traffic; or with what differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MeshUse {
    /// By name.
    Name(Name),
    /// With what differs.
    With(MeshWith),
}

/// A mesh with what differs from its defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "mesh"))]
pub struct MeshWith {
    /// Name of the mesh.
    #[serde(rename = "use")]
    pub name: Name,
    /// Parts with a sidecar: a list of names, `services` or `all`. Default: all.
    pub on: Option<PartSelector>,
    /// Security between its proxies: `mtls` (nothing else is accepted) or `plaintext`. Default: mtls.
    pub security: Option<HopSecurity>,
    /// Instances of the control plane. Default: 1.
    #[schemars(range(min = 1, max = 16))]
    pub replicas: Option<u32>,
    /// Traffic that bypasses the sidecars: edges (`*->database`), parts, ports (`port:9092`), address ranges (`10.0.0.0/8`).
    #[serde(default)]
    pub exclude: Vec<ExcludeText>,
    /// Protocol that sidecars treat traffic as: the edge's own, or `tcp` (opaque bytes). Default: the edge's own.
    #[serde(rename = "as")]
    pub treat_as: Option<String>,
    /// Settings of the mesh: those of its control plane and of its proxies.
    #[serde(default)]
    pub settings: Settings,
}
