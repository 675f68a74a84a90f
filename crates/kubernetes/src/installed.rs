//! The mesh that a cluster has: found by its pods, recorded by its images.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tare_lab::LabError;
use tare_lab::remote::{ControlPlanePod, PodInMesh};
use tare_lab::render::InjectedProxy;
use tare_record::record::TargetVersion;

use crate::kubectl::Kubectl;
use crate::manifests::RUN;

/// Revision that pods need not name.
const DEFAULT_REVISION: &str = "default";

/// A mesh that arms use as the cluster has it.
#[derive(Debug, Clone)]
pub struct InstalledMesh {
    /// Name in texts: `Istio`.
    pub title: String,
    /// Label of the pods of its control plane.
    pub selector: String,
    /// Page with the statistics of its process; `{{ address }}` is the address of its pod.
    pub metrics: Option<String>,
    /// Label of these pods with their revision.
    pub revision: Option<String>,
    /// Target of the control plane, for the record.
    pub control_plane: String,
    /// Target of the injected proxy, for the record.
    pub proxy: String,
    /// Resources with their API groups that a run makes to configure it.
    pub resources: Vec<String>,
    /// Container of the injected proxy.
    pub container: String,
    /// Labels of an injected pod.
    pub labels: BTreeMap<String, String>,
    /// Annotations that all injected pods have.
    pub annotations: BTreeMap<String, String>,
}

/// The control plane of a cluster's mesh.
#[derive(Debug, Default)]
pub(crate) struct FoundControlPlane {
    pub software: TargetVersion,
    /// Labels by which pods choose it.
    pub labels: BTreeMap<String, String>,
    pub pods: Vec<ControlPlanePod>,
}

impl InstalledMesh {
    /// Group, resource and verb of what a run needs besides.
    pub(crate) fn rights(&self) -> Vec<(String, String, String)> {
        let resources = self
            .resources
            .iter()
            .filter_map(|name| name.split_once('.'));
        let of_mesh = resources.flat_map(|(resource, group)| {
            ["create", "delete"].map(|verb| [group, resource, verb].map(str::to_owned))
        });
        let services =
            ["create", "list", "delete"].map(|verb| ["", "services", verb].map(str::to_owned));
        let all = services.into_iter().chain(of_mesh);
        all.map(|[group, resource, verb]| (group, resource, verb))
            .collect()
    }

    /// An object of the mesh, in the namespace of the run.
    ///
    /// # Errors
    /// One of an API group that is not the mesh's.
    pub(crate) fn owned(&self, run: &str, object: &Value) -> Result<Value, LabError> {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let mut groups = self
            .resources
            .iter()
            .filter_map(|name| name.split_once('.'));
        if !groups.any(|(_, known)| known == group) {
            return Err(LabError::Plan(format!(
                "an object for {} is of the API group `{group}`, which its `mesh.yaml` does not list",
                self.title
            )));
        }
        let mut object = object.clone();
        object["metadata"]["namespace"] = json!(run);
        object["metadata"]["labels"][RUN] = json!(run);
        Ok(object)
    }

    /// The control plane, by its running pods; `None`: there is none.
    pub(crate) fn find(&self, kubectl: &Kubectl) -> Result<Option<FoundControlPlane>, LabError> {
        Ok(self.found(&pods_with(kubectl, &self.selector)?))
    }

    /// The control plane, by its running pods.
    pub(crate) fn control_plane(&self, kubectl: &Kubectl) -> Result<FoundControlPlane, LabError> {
        self.find(kubectl)?.ok_or_else(|| {
            LabError::Cluster(format!(
                "{}: no {} is installed (no running pod has the label {}): install it, or leave `--mesh installed` out",
                kubectl.name(),
                self.title,
                self.selector
            ))
        })
    }

    /// The control plane in a list of pods; `None`: none runs.
    fn found(&self, list: &Value) -> Option<FoundControlPlane> {
        let pods = list["items"].as_array().into_iter().flatten();
        let is_running = |pod: &&Value| {
            pod["status"]["phase"] == "Running" && pod["metadata"]["deletionTimestamp"].is_null()
        };
        let running: Vec<&Value> = pods.filter(is_running).collect();
        // Of several revisions, that of pods which name none.
        let revision_of = |pod: &Value| {
            let label = self.revision.as_ref()?;
            pod["metadata"]["labels"][label].as_str().map(str::to_owned)
        };
        let is_default = |pod: &&&Value| revision_of(pod).is_none_or(|one| one == DEFAULT_REVISION);
        let first = running.iter().find(is_default).or(running.first())?;
        let chosen = revision_of(first);
        let running = running.iter().filter(|pod| revision_of(pod) == chosen);
        let running: Vec<&Value> = running.copied().collect();
        let container = first["spec"]["containers"][0]["name"].as_str()?;
        let software = container_image(first, container)?;
        let labels = chosen.filter(|one| one != DEFAULT_REVISION);
        let labels = self.revision.clone().zip(labels);
        let addresses = running
            .iter()
            .filter_map(|pod| pod["status"]["podIP"].as_str());
        let addresses: Vec<&str> = addresses.collect();
        let name = |number: usize| match addresses.len() {
            1 => self.control_plane.clone(),
            _ => format!("{}-{number}", self.control_plane),
        };
        let pods = self.metrics.iter().flat_map(|url| {
            addresses
                .iter()
                .zip(1..)
                .map(|(address, number)| ControlPlanePod {
                    name: name(number),
                    software: format!("{} {}", self.control_plane, software.version),
                    metrics: url.replace("{{ address }}", address),
                })
        });
        Some(FoundControlPlane {
            labels: labels.into_iter().collect(),
            pods: pods.collect(),
            software,
        })
    }

    /// A pod that only shows what is injected.
    pub(crate) fn of_probe(&self, labels: &BTreeMap<String, String>) -> PodInMesh {
        let own = self.labels.clone().into_iter();
        PodInMesh {
            name: String::from("probe"),
            proxy: Some(InjectedProxy {
                container: self.container.clone(),
                labels: own.chain(labels.clone()).collect(),
                annotations: self.annotations.clone(),
                service_annotations: BTreeMap::new(),
            }),
            ..PodInMesh::default()
        }
    }

    /// Software of the proxy that was injected into a pod.
    pub(crate) fn injected(&self, pod: &Value) -> Result<TargetVersion, LabError> {
        container_image(pod, &self.container).ok_or_else(|| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            LabError::Cluster(format!(
                "{name} got no container {}: its labels and annotations ask {} for one, but no webhook has added it; see `kubectl get \
                 mutatingwebhookconfigurations` and the logs of its control plane",
                self.container, self.title
            ))
        })
    }
}

/// Pods with a label, in any namespace.
pub(crate) fn pods_with(kubectl: &Kubectl, label: &str) -> Result<Value, LabError> {
    let selector = format!("--selector={label}");
    let words = [
        "get",
        "pods",
        "--all-namespaces",
        &selector,
        "--output=json",
    ];
    kubectl.json(&words, None)
}

/// Tag of the first image of the first pod of a list; `None`: the list is empty.
pub(crate) fn version_of_first(list: &Value) -> Option<String> {
    let first = &list["items"][0];
    let container = first["spec"]["containers"][0]["name"].as_str()?;
    container_image(first, container).map(|software| software.version)
}

/// The image of a container of a pod: its tag is taken for the version.
fn container_image(pod: &Value, name: &str) -> Option<TargetVersion> {
    let named = |list: &Value| {
        let mut all = list.as_array().into_iter().flatten();
        all.find(|one| one["name"] == name).cloned()
    };
    let of = |keys: [&str; 2], place: &str| keys.iter().find_map(|key| named(&pod[place][*key]));
    let container = of(["containers", "initContainers"], "spec")?;
    let status = of(["containerStatuses", "initContainerStatuses"], "status");
    let image = container["image"].as_str()?;
    let (_, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    let digest = status.and_then(|status| {
        let id = status["imageID"].as_str()?;
        Some(id.rsplit_once("sha256:")?.1.to_owned())
    });
    Some(TargetVersion {
        version: tag.split('@').next().unwrap_or(tag).to_owned(),
        source: String::from("installed in the cluster"),
        path: image.to_owned(),
        sha256: digest,
        folder_sha256: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh() -> InstalledMesh {
        InstalledMesh {
            title: String::from("Istio"),
            selector: String::from("app=istiod"),
            metrics: Some(String::from("http://{{ address }}:15014/metrics")),
            revision: None,
            control_plane: String::from("istiod"),
            proxy: String::from("istio-proxy"),
            resources: Vec::new(),
            container: String::from("istio-proxy"),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        }
    }

    #[test]
    fn a_control_plane_is_found_by_its_running_pods() {
        let pod = |phase: &str, address: &str| {
            json!({"metadata": {"labels": {"istio.io/rev": "1-27"}}, "spec": {"containers": [{"name": "discovery", "image": "istio/pilot:1.27.1"}]},
                "status": {"phase": phase, "podIP": address}})
        };
        let list = json!({"items": [pod("Pending", ""), pod("Running", "10.0.0.7")]});
        let with_revision = InstalledMesh {
            revision: Some(String::from("istio.io/rev")),
            ..mesh()
        };
        let found = with_revision.found(&list).unwrap();
        assert_eq!(found.software.version, "1.27.1");
        assert_eq!(found.labels["istio.io/rev"], "1-27");
        let [of_istiod] = found.pods.as_slice() else {
            panic!("{:?}", found.pods)
        };
        assert_eq!(
            (&*of_istiod.name, &*of_istiod.metrics),
            ("istiod", "http://10.0.0.7:15014/metrics")
        );
        assert!(mesh().found(&json!({"items": []})).is_none());
        assert!(mesh().found(&list).unwrap().labels.is_empty());
        let mut stable = pod("Running", "10.0.0.8");
        stable["metadata"]["labels"] = json!({"istio.io/rev": "default"});
        let mut ending = pod("Running", "10.0.0.9");
        ending["metadata"] =
            json!({"labels": {"istio.io/rev": "default"}, "deletionTimestamp": "now"});
        let both = json!({"items": [pod("Running", "10.0.0.7"), stable, ending]});
        let found = with_revision.found(&both).unwrap();
        assert_eq!(found.pods.len(), 1, "{:?}", found.pods);
        assert!(found.pods[0].metrics.contains("10.0.0.8") && found.labels.is_empty());
    }

    #[test]
    fn an_object_is_the_meshs_and_belongs_to_the_run() {
        let mesh = InstalledMesh {
            resources: vec![String::from("peerauthentications.security.istio.io")],
            ..mesh()
        };
        let object = json!({"apiVersion": "security.istio.io/v1", "metadata": {"name": "a", "namespace": "istio-system"}});
        let owned = mesh.owned("tare-1", &object).unwrap();
        assert_eq!(owned["metadata"]["namespace"], "tare-1");
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "a"}});
        assert!(mesh.owned("tare-1", &role).is_err());
        let words = |(group, resource, verb): &(String, String, String)| {
            format!("{verb} {resource}.{group}")
        };
        let rights: Vec<String> = mesh.rights().iter().map(words).collect();
        assert!(
            rights.contains(&String::from(
                "delete peerauthentications.security.istio.io"
            )),
            "{rights:?}"
        );
    }

    #[test]
    fn the_image_of_an_injected_proxy_is_recorded_and_one_that_is_missing_is_said() {
        let own = json!({"name": "tare", "image": "tare:1"});
        let pod = json!({
            "metadata": {"name": "server-1"},
            "spec": {"containers": [own], "initContainers": [{"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.27.1"}]},
            "status": {"initContainerStatuses": [{"name": "istio-proxy", "imageID": "docker.io/istio/proxyv2@sha256:ab12"}]},
        });
        let found = mesh().injected(&pod).unwrap();
        assert_eq!(
            (&*found.version, found.sha256.as_deref()),
            ("1.27.1", Some("ab12"))
        );
        let plain = json!({"metadata": {"name": "server-1"}, "spec": {"containers": [own]}});
        let error = mesh().injected(&plain).unwrap_err().to_string();
        assert!(
            error.contains("server-1 got no container istio-proxy"),
            "{error}"
        );
    }
}
