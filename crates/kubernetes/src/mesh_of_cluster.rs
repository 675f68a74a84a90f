//! The mesh of a cluster within a run: Services, service accounts and objects of test beds, and what is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;
use tare_lab::LabError;
use tare_lab::remote::{ControlPlanePod, PodInMesh, PodRequest};
use tare_record::record::TargetVersion;

use crate::installed::{FoundControlPlane, InstalledMesh};
use crate::kubectl::Kubectl;
use crate::manifests;

/// The mesh, and what a run has made for it.
pub(crate) struct MeshOfCluster {
    mesh: InstalledMesh,
    kubectl: Kubectl,
    namespace: String,
    control_plane: FoundControlPlane,
    /// Software of the injected proxy.
    proxy: Option<TargetVersion>,
    /// Service accounts of pods.
    accounts: BTreeSet<String>,
    /// Test bed → Services and objects of the mesh.
    of_test_beds: BTreeMap<String, Vec<Value>>,
}

impl MeshOfCluster {
    /// Finds the control plane.
    pub(crate) fn find(
        mesh: &InstalledMesh,
        kubectl: &Kubectl,
        namespace: &str,
    ) -> Result<MeshOfCluster, LabError> {
        Ok(MeshOfCluster {
            control_plane: mesh.control_plane(kubectl)?,
            mesh: mesh.clone(),
            kubectl: kubectl.clone(),
            namespace: namespace.to_owned(),
            proxy: None,
            accounts: BTreeSet::new(),
            of_test_beds: BTreeMap::new(),
        })
    }

    /// A pod that only shows what is injected.
    pub(crate) fn of_probe(&self) -> PodInMesh {
        self.mesh.of_probe(&self.control_plane.labels)
    }

    /// Remembers the software that was injected into a pod.
    pub(crate) fn note_proxy(&mut self, pod: &Value) -> Result<(), LabError> {
        self.proxy = Some(self.mesh.injected(pod)?);
        Ok(())
    }

    /// Target → software: control plane and proxy.
    pub(crate) fn software(&self) -> BTreeMap<String, TargetVersion> {
        let control_plane = self.control_plane.software.clone();
        let proxy = self.proxy.clone();
        let proxy = proxy.map(|software| (self.mesh.proxy.clone(), software));
        let all = [(self.mesh.control_plane.clone(), control_plane)];
        all.into_iter().chain(proxy).collect()
    }

    /// Pods of the control plane.
    pub(crate) fn control_plane(&self) -> Vec<ControlPlanePod> {
        self.control_plane.pods.clone()
    }

    /// What a pod is in the mesh; an injected one chooses the control plane.
    pub(crate) fn pod(&self, request: &PodRequest) -> Option<PodInMesh> {
        let mut pod = request.in_mesh.clone()?;
        if let Some(proxy) = &mut pod.proxy {
            proxy.labels.extend(self.control_plane.labels.clone());
        }
        Some(pod)
    }

    /// Checks that a pod has got what was to be injected.
    pub(crate) fn check(&self, request: &PodRequest, pod: &Value) -> Result<(), LabError> {
        match request.in_mesh.as_ref().and_then(|one| one.proxy.as_ref()) {
            Some(_) => self.mesh.injected(pod).map(drop),
            None => Ok(()),
        }
    }

    /// Makes the service accounts, the Services and the mesh's objects of a test bed; addresses of the Services by name.
    pub(crate) fn create(
        &mut self,
        pods: &[PodRequest],
        objects: &[Value],
    ) -> Result<BTreeMap<String, IpAddr>, LabError> {
        let run = &self.namespace;
        let in_mesh = || pods.iter().filter_map(|pod| pod.in_mesh.as_ref());
        let accounts = in_mesh().map(|pod| pod.account.clone());
        let accounts = accounts.filter(|name| !self.accounts.contains(name));
        let accounts: BTreeSet<String> = accounts.collect();
        let services = in_mesh().filter_map(|pod| manifests::service(run, pod));
        let mut of_test_bed: Vec<Value> = services.collect();
        for object in objects {
            of_test_bed.push(self.mesh.owned(run, object)?);
        }
        let identities = accounts.iter().map(|name| manifests::identity(run, name));
        let all: Vec<Value> = identities.chain(of_test_bed.clone()).collect();
        if all.is_empty() {
            return Ok(BTreeMap::new());
        }
        if let Some(first) = pods.first() {
            let test_bed = test_bed_of(&first.config.name).to_owned();
            self.of_test_beds.insert(test_bed, of_test_bed);
        }
        self.kubectl.create(&all)?;
        self.accounts.extend(accounts);
        let words = [
            "--namespace",
            &self.namespace,
            "get",
            "services",
            "--output=json",
        ];
        let found = self.kubectl.json(&words, None)?;
        let items = found["items"].as_array().into_iter().flatten();
        let addresses = items.filter_map(|service| {
            let name = service["metadata"]["name"].as_str()?.to_owned();
            Some((name, service["spec"]["clusterIP"].as_str()?.parse().ok()?))
        });
        let addresses: BTreeMap<String, IpAddr> = addresses.collect();
        let mut called = in_mesh().filter(|pod| !pod.ports.is_empty());
        match called.find(|pod| !addresses.contains_key(&pod.name)) {
            None => Ok(addresses),
            // Without it callers would pass the mesh.
            Some(pod) => Err(LabError::Cluster(format!(
                "the Service {} has no address: see `kubectl --namespace {} describe service {}`",
                pod.name, self.namespace, pod.name
            ))),
        }
    }

    /// Deletes the Services and the mesh's objects of the test beds of pods.
    pub(crate) fn remove(&mut self, pods: &[String]) {
        let test_beds: BTreeSet<&str> = pods.iter().map(|pod| test_bed_of(pod)).collect();
        let removed = test_beds.into_iter();
        let removed = removed.filter_map(|name| self.of_test_beds.remove(name));
        let objects: Vec<Value> = removed.flatten().collect();
        if !objects.is_empty() {
            let words = [
                "delete",
                "--filename=-",
                "--wait=false",
                "--ignore-not-found",
            ];
            // What stays goes with the namespace.
            let _ = self.kubectl.run(&words, Some(&manifests::list(&objects)));
        }
    }
}

/// Test bed of a pod of the topology.
fn test_bed_of(name: &str) -> &str {
    name.split_once('/').map_or(name, |(test_bed, _)| test_bed)
}
