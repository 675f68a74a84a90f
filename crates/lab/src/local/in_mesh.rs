//! Pods in the mesh that a cluster has: what the mesh is told, so that it injects its proxies and knows who is called.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tare_record::topology::{Security, Topology};

use super::layout::{Layout, PodService, port_protocol};
use super::pods::{MeshPods, Network};
use crate::LabError;
use crate::environment::TestBedPlan;
use crate::remote::PodInMesh;
use crate::render;
use crate::targets::Targets;

/// Stands for an address that is not known yet; in the range that nobody uses (RFC 1112).
pub(super) fn not_yet(number: u16) -> IpAddr {
    IpAddr::from(Ipv4Addr::from((240 << 24) + u32::from(number)))
}

/// Name of a pod's objects: none that is there already, nor one that begins with a digit.
fn name_of(pod: &str) -> String {
    format!("tare-{}", pod.replace('_', "-").to_lowercase())
}

/// A Service for each pod of a test bed; addresses are not known yet.
pub(super) fn services(
    topology: &Topology,
    test_bed: u32,
    network: &Network,
) -> Result<BTreeMap<String, PodService>, LabError> {
    let pods = topology.pods.iter().zip(1..);
    let services = pods.map(|(pod, number)| {
        let name = format!("{}-{test_bed}", name_of(&pod.name));
        let host = network
            .service_host(&name)
            .ok_or_else(|| LabError::Unsupported {
                what: String::from("the mesh of a cluster"),
                environment: format!("the environment {}", network.environment()),
                next: String::from("use --environment kubernetes"),
            })?;
        let address = not_yet(number);
        Ok((
            pod.name.clone(),
            PodService {
                name,
                host,
                address,
            },
        ))
    });
    services.collect()
}

/// What each pod of a test bed is in the mesh, and the mesh's objects. The layout need not have addresses.
pub(super) fn of_pods(
    plan: &TestBedPlan,
    layout: &Layout,
    services: &BTreeMap<String, PodService>,
    targets: &Targets,
) -> Result<MeshPods, LabError> {
    let mut all = MeshPods::default();
    for pod in &plan.topology.pods {
        let Some(service) = services.get(&pod.name) else {
            continue;
        };
        let in_mesh = PodInMesh {
            name: service.name.clone(),
            account: name_of(&pod.name),
            ..PodInMesh::default()
        };
        all.pods.insert(pod.name.clone(), in_mesh);
    }
    let proxies = layout.contexts.iter().zip(plan.topology.parts());
    let proxies = proxies.filter(|(context, _)| plan.topology.is_injected(&context.name));
    for (context, instance) in proxies {
        let target = targets.get(&instance.target)?;
        let (proxy, objects) = render::injected_proxy(target, context)?;
        if let Some(pod) = all.pods.get_mut(&context.pod) {
            pod.proxy = Some(proxy);
        }
        // They are those of the arm, whichever proxy they are rendered for.
        all.objects = objects;
        for called in context.mesh.iter().flat_map(|mesh| &mesh.services) {
            if let Some(pod) = all.pods.get_mut(&called.pod) {
                // The sidecars encrypt, not their callers.
                pod.ports.extend(called.ports.iter().map(|port| {
                    let protocol = port_protocol(&port.protocol, Security::Plaintext);
                    (port.port, protocol.to_owned())
                }));
            }
        }
        for route in context.mesh.iter().flat_map(|mesh| &mesh.gateway_routes) {
            let mut parts = plan.topology.parts();
            let gateway = parts.find(|part| part.name == route.gateway);
            if let Some(pod) = gateway.and_then(|gateway| all.pods.get_mut(&gateway.pod)) {
                let protocol = port_protocol(&route.protocol, route.security);
                pod.ports.insert(route.port, protocol.to_owned());
            }
        }
    }
    Ok(all)
}
