//! The mesh of a test bed as its templates see it: control plane, proxies, services, routes through gateways.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tare_record::topology::{InstanceRole, Mesh, Route, Security, Topology};

use super::names::Names;
use super::{LayoutInputs, Listeners, chain, find, stem};
use crate::LabError;
use crate::render::{
    Context, MeshCaller, MeshContext, MeshGatewayRoute, MeshInstance, MeshPort, MeshProxy,
    MeshService, edge_id,
};

/// Protocols that proxies of a mesh tell apart by the host name of a request.
const HTTP: [&str; 3] = ["http1", "http2", "grpc"];
/// Name of the file with the root certificate in the folder of a test bed.
pub(crate) const ROOT_CERTIFICATE: &str = "root-cert.pem";

/// Application protocol of a port, as meshes know it by the name of a Service's port.
pub(crate) fn port_protocol(protocol: &str, security: Security) -> &str {
    match (HTTP.contains(&protocol), security) {
        (true, Security::Mtls) => "https",
        (true, _) if protocol == "http1" => "http",
        (true, _) => protocol,
        (false, Security::Mtls) => "tls",
        (false, _) => "tcp",
    }
}

/// The mesh of a topology.
pub(super) fn mesh(
    topology: &Topology,
    listeners: &Listeners,
    contexts: &[Context],
    inputs: &LayoutInputs<'_>,
) -> Result<Option<MeshContext>, LabError> {
    let Some(mesh) = &topology.mesh else {
        return Ok(None);
    };
    if mesh.installed {
        check_installed(mesh, topology)?;
    }
    let of = |names: &[String]| -> Result<Vec<MeshInstance>, LabError> {
        let all = names.iter().map(|name| member(contexts, name));
        all.collect()
    };
    let proxies = mesh.proxies.iter().map(|name| {
        let context = context_of(contexts, name)?;
        Ok(MeshProxy {
            name: context.name.clone(),
            role: context.role,
            pod: context.pod.clone(),
            address: context.address,
            token: context.login.password.clone(),
        })
    });
    let mut services: Vec<MeshService> = Vec::new();
    let mut gateway_routes = Vec::new();
    for route in &topology.routes {
        let passes = route.proxies.iter().any(|name| mesh.proxies.contains(name));
        if !passes || topology.external(&route.to).is_some() {
            continue;
        }
        add_service(&mut services, mesh, topology, route, (listeners, inputs))?;
        gateway_routes.extend(through_gateway(mesh, topology, route, (listeners, inputs))?);
    }
    Ok(Some(MeshContext {
        security: mesh.security,
        host: mesh.host.clone(),
        control_plane: of(&mesh.control_plane)?,
        support: of(&mesh.support)?,
        proxies: proxies.collect::<Result<_, LabError>>()?,
        services,
        gateway_routes,
        root_certificate: inputs.folder.join(ROOT_CERTIFICATE),
    }))
}

/// What proxies of a cluster's mesh cannot tell apart by the Services of pods.
fn check_installed(mesh: &Mesh, topology: &Topology) -> Result<(), LabError> {
    let refused = |what: String, next: &str| LabError::Unsupported {
        what,
        environment: format!("the {} of a cluster", mesh.name),
        next: format!("{next}, or use a control plane of the run's own (--mesh own)"),
    };
    let is_started = |route: &&Route| topology.external(&route.to).is_none();
    for route in topology.routes.iter().filter(is_started) {
        let called = find(topology, &route.to)?;
        let is_one_of_several = stem(&route.to) != route.to;
        let is_http = HTTP.contains(&route.protocol.as_str());
        if is_one_of_several && is_http {
            let what = format!("several instances that {} calls over HTTP", route.from);
            return Err(refused(what, "use one"));
        }
        // Else its name is that of its Service.
        if let Some(host) = called.host.as_ref().filter(|_| is_http) {
            let what = format!("{}, which is called by the name {host},", route.to);
            return Err(refused(what, "leave the name out"));
        }
    }
    Ok(())
}

fn context_of<'a>(contexts: &'a [Context], name: &str) -> Result<&'a Context, LabError> {
    let found = contexts.iter().find(|context| context.name == name);
    found.ok_or_else(|| LabError::Plan(format!("there is no instance `{name}` of the mesh")))
}

fn member(contexts: &[Context], name: &str) -> Result<MeshInstance, LabError> {
    let context = context_of(contexts, name)?;
    Ok(MeshInstance {
        name: context.name.clone(),
        address: context.address,
        admin: context.admin,
        ports: context.ports.clone(),
    })
}

/// The gateway of the mesh on a route, with its position.
fn gateway<'a>(mesh: &Mesh, topology: &Topology, route: &'a Route) -> Option<(usize, &'a str)> {
    let mut stops = route.proxies.iter().enumerate();
    let (index, name) = stops.find(|(_, name)| {
        let is_gateway = |role| role == InstanceRole::Gateway;
        mesh.proxies.contains(name) && find(topology, name).is_ok_and(|one| is_gateway(one.role))
    })?;
    // A chain begins with the caller.
    Some((index + 1, name))
}

fn add_service(
    services: &mut Vec<MeshService>,
    mesh: &Mesh,
    topology: &Topology,
    route: &Route,
    (listeners, inputs): (&Listeners, &LayoutInputs<'_>),
) -> Result<(), LabError> {
    let end = chain(route).len() - 1;
    let Some(listen) = listeners.at(route, end) else {
        return Ok(());
    };
    let called = find(topology, &route.to)?;
    let last = route
        .proxies
        .last()
        .filter(|name| mesh.proxies.contains(name));
    let beside = last.filter(|name| find(topology, name).is_ok_and(|one| one.pod == called.pod));
    // The last segment leads from the sidecar to its instance, the one before it to the sidecar.
    let before = route.segments.len().saturating_sub(2);
    let port = MeshPort {
        port: listen.port,
        protocol: route.protocol.clone(),
        security: route.segments[if beside.is_some() { before } else { before + 1 }].security,
        callers: callers(mesh, topology, route, beside)?,
    };
    let service = match services.iter_mut().position(|one| one.name == route.to) {
        Some(at) => &mut services[at],
        None => {
            let service = inputs.services.get(&called.pod);
            let host = service.map(|service| service.host.clone());
            services.push(MeshService {
                name: route.to.clone(),
                part: stem(&route.to).to_owned(),
                hostname: host.or_else(|| called.host.clone()),
                pod: called.pod.clone(),
                address: listen.address,
                sidecar: None,
                in_cluster: service.map(|service| service.name.clone()),
                ports: Vec::new(),
            });
            let last = services.len() - 1;
            &mut services[last]
        }
    };
    if let Some(name) = beside {
        service.sidecar = Some(name.clone());
    }
    match service
        .ports
        .iter_mut()
        .find(|known| known.port == port.port)
    {
        None => service.ports.push(port),
        Some(known) => {
            for caller in port.callers {
                if !known.callers.contains(&caller) {
                    known.callers.push(caller);
                }
            }
        }
    }
    Ok(())
}

/// The proxy of the mesh that calls on a route, the one before the called instance's own.
fn callers(
    mesh: &Mesh,
    topology: &Topology,
    route: &Route,
    beside: Option<&String>,
) -> Result<Vec<MeshCaller>, LabError> {
    let mut before = route.proxies.iter().rev();
    let last = before.find(|name| Some(*name) != beside && mesh.proxies.contains(name));
    let caller = last.map(|name| {
        let proxy = find(topology, name)?;
        Ok(MeshCaller {
            pod: proxy.pod.clone(),
            role: proxy.role,
        })
    });
    caller.into_iter().collect()
}

fn through_gateway(
    mesh: &Mesh,
    topology: &Topology,
    route: &Route,
    (listeners, inputs): (&Listeners, &LayoutInputs<'_>),
) -> Result<Option<MeshGatewayRoute>, LabError> {
    let Some((position, name)) = gateway(mesh, topology, route) else {
        return Ok(None);
    };
    let end = chain(route).len() - 1;
    let at = |position| listeners.at(route, position);
    let (Some(listen), Some(next), Some(called)) = (at(position), at(position + 1), at(end)) else {
        return Ok(None);
    };
    let service = |name: &str| inputs.service_of(topology, name);
    let in_cluster = |name: &str| service(name).map(|service| service.name.clone());
    let host = |name: &str| service(name).map(|service| service.host.clone());
    let own_host = find(topology, &route.to)?.host.clone();
    Ok(Some(MeshGatewayRoute {
        id: edge_id(&format!("{}->{}", route.from, route.to)),
        caller: find(topology, &route.from)?.pod.clone(),
        caller_in_cluster: in_cluster(&route.from),
        gateway: name.to_owned(),
        gateway_in_cluster: in_cluster(name),
        gateway_host: host(name),
        address: listen.address,
        port: listen.port,
        security: listen.security,
        service: route.to.clone(),
        part: stem(&route.to).to_owned(),
        hostname: host(&route.to).or(own_host),
        service_address: called.address,
        service_port: called.port,
        next_address: next.address,
        next_port: next.port,
        protocol: route.protocol.clone(),
    }))
}

/// Adds the control plane's name to the pods of its proxies. Each begins with another of its instances, and goes on to the next
/// where one does not answer.
pub(super) fn add_names(names: &mut Names, mesh: &MeshContext) {
    if mesh.control_plane.is_empty() {
        return;
    }
    let addresses: Vec<IpAddr> = mesh.control_plane.iter().map(|one| one.address).collect();
    let mut pods: BTreeMap<&str, usize> = BTreeMap::new();
    for proxy in &mesh.proxies {
        let next = pods.len();
        pods.entry(&proxy.pod).or_insert(next);
    }
    for (pod, first) in pods {
        let mut rotated = addresses.clone();
        rotated.rotate_left(first % addresses.len());
        let known = names.entry(pod.to_owned()).or_default();
        known.insert(mesh.host.clone(), rotated);
    }
}
