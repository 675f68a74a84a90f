//! Generated descriptions of arms: "an Envoy sidecar at client and server, mTLS between them".

use tare_record::plan::{Arm, Edge};
use tare_record::topology::{InstanceRole, Interception, Mesh, Security, Topology};

use super::Scope;
use crate::def::{ArmDef, EdgeSecurityDef, HopSecurity, PartGroup, PartSelector};
use crate::problem::list;
use crate::target::TargetDef;
use crate::yaml::Mark;

/// Display name of a target: the first word of its description if that is the target's name, else the name.
pub(super) fn title(target: &TargetDef) -> String {
    let first: String = target
        .about
        .split(|c: char| c.is_whitespace() || c == ':' || c == ',')
        .next()
        .unwrap_or_default()
        .to_owned();
    if first.eq_ignore_ascii_case(&target.target) {
        first
    } else {
        target.target.clone()
    }
}

/// Generated description of an arm.
pub(super) fn arm(scope: &mut Scope<'_>, def: &ArmDef, topology: &Topology) -> String {
    let mut words = sidecars(scope, def, topology);
    words.extend(hops(scope, topology));
    words.extend(own(def));
    words.extend(other_sites(def));
    words.extend(control_plane(topology));
    if words.is_empty() {
        // An arm that runs in another environment only is not described by what this environment would do.
        return match &def.requires {
            Some(needs) => format!("what {needs} makes of it"),
            None => String::from("direct, no proxy"),
        };
    }
    words.join("; ")
}

/// Several instances of a control plane.
fn control_plane(topology: &Topology) -> Option<String> {
    let several = topology.mesh.as_ref()?.control_plane.len();
    (several > 1).then(|| format!("{several} instances of the control plane"))
}

fn other_sites(def: &ArmDef) -> impl Iterator<Item = String> + '_ {
    def.sites.iter().map(|(site, pods)| {
        let pods: Vec<&str> = pods.iter().map(|pod| &**pod).collect();
        format!("{} at site {site}", list(&pods))
    })
}

/// Title of a target that the topology has read; an unknown one has been reported there.
fn title_of(scope: &Scope<'_>, target: &str) -> String {
    let def = scope.targets.get(target).and_then(Option::as_deref);
    def.map_or_else(|| target.to_owned(), title)
}

/// Title of a mesh; one that cannot be read has been reported.
fn mesh_title(scope: &Scope<'_>, mesh: &Mesh) -> String {
    let def = scope.catalog.mesh(&mesh.name).ok().flatten();
    def.map_or_else(|| mesh.name.clone(), |def| def.title)
}

fn sidecars(scope: &mut Scope<'_>, def: &ArmDef, topology: &Topology) -> Vec<String> {
    let mut all = Vec::new();
    for sidecar in def.sidecars.iter().flat_map(|sidecars| sidecars.all()) {
        let mut beside: Vec<&str> = topology
            .instances
            .iter()
            .filter(|instance| {
                instance.role == InstanceRole::Sidecar && instance.target == sidecar.proxy.0
            })
            .map(|instance| instance.pod.as_str())
            .collect();
        // Callers first, in the order of a call.
        beside.reverse();
        let title = match &topology.mesh {
            Some(mesh) => &mesh_title(scope, mesh),
            None => &title_of(scope, &sidecar.proxy),
        };
        let place = match sidecar.on {
            PartSelector::Word(PartGroup::Services) if beside.len() > 2 => {
                String::from("every service")
            }
            PartSelector::Word(PartGroup::All) if beside.len() > 2 => {
                String::from("every client and service")
            }
            _ => list(&beside),
        };
        let mut text = format!("{} {title} sidecar at {place}", article(title));
        let mtls = sidecar.security == Some(HopSecurity::Mtls);
        text.push_str(match (mtls, beside.len()) {
            (true, 2) => ", mTLS between them",
            (true, _) => ", mTLS between sidecars",
            (false, 0 | 1) => "",
            (false, 2) => ", plaintext between them",
            (false, _) => ", plaintext between sidecars",
        });
        if redirected(topology) {
            text.push_str(", traffic redirected");
        }
        if let Some(protocol) = &sidecar.treat_as {
            text.push_str(&format!(", as {protocol}"));
        }
        if !sidecar.exclude.is_empty() {
            text.push_str(&format!(", not on {}", list(&sidecar.exclude)));
        }
        all.push(text);
    }
    all
}

fn redirected(topology: &Topology) -> bool {
    let mut segments = topology.routes.iter().flat_map(|route| &route.segments);
    segments.any(|segment| segment.interception == Interception::Redirect)
}

fn hops(scope: &mut Scope<'_>, topology: &Topology) -> Vec<String> {
    let mut all = Vec::new();
    // Instances are in start order, called parts first; a call goes in reverse order.
    for instance in topology.instances.iter().rev() {
        let role = match instance.role {
            InstanceRole::Gateway => "gateway",
            InstanceRole::Sni => "SNI proxy",
            InstanceRole::Ingress => "ingress",
            InstanceRole::App
            | InstanceRole::Agent
            | InstanceRole::Sidecar
            | InstanceRole::ControlPlane
            | InstanceRole::Support => continue,
        };
        let of_mesh = |mesh: &&Mesh| mesh.proxies.contains(&instance.name);
        let title = match topology.mesh.as_ref().filter(of_mesh) {
            Some(mesh) => &mesh_title(scope, mesh),
            None => &title_of(scope, &instance.target),
        };
        let mut edges: Vec<String> = Vec::new();
        let mut wrapped = false;
        for route in &topology.routes {
            let at = route.proxies.iter().position(|stop| *stop == instance.name);
            if let Some(at) = at {
                let to = format!("*->{}", route.to);
                if !edges.contains(&to) {
                    edges.push(to);
                }
                wrapped |= route
                    .segments
                    .get(at)
                    .is_some_and(|segment| segment.security == Security::Mtls);
            }
        }
        let security = if wrapped { ", reached by mTLS" } else { "" };
        let article = article(title);
        all.push(format!(
            "{article} {title} {role} on {}{security}",
            list(&edges)
        ));
    }
    all
}

fn own(def: &ArmDef) -> Option<String> {
    match def.edge_security.as_ref()? {
        EdgeSecurityDef::All(security) => Some(format!("{} from end to end", security.word())),
        EdgeSecurityDef::Edges(edges) => {
            let words: Vec<String> = edges
                .iter()
                .map(|(edge, security)| format!("{} on {edge}", security.word()))
                .collect();
            Some(format!("{} from end to end", list(&words)))
        }
    }
}

/// Notes on proxies that do not count the operations of a protocol, with the reason, each once.
pub(super) fn uncounted(scope: &mut Scope<'_>, arms: &[Arm], edges: &[Edge]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for topology in arms.iter().map(|arm| &arm.topology) {
        for route in &topology.routes {
            let edge = edges.iter().find(|edge| edge.name() == route.edge);
            let on_the_way = topology.instances.iter();
            let on_the_way = on_the_way.filter(|instance| route.proxies.contains(&instance.name));
            for (edge, instance) in on_the_way.filter_map(|instance| edge.zip(Some(instance))) {
                let Some(target) = scope.target(&instance.target, Mark::START) else {
                    continue;
                };
                let Some(reason) = target.uncounted_protocols.get(&edge.protocol) else {
                    continue;
                };
                let note = format!(
                    "{} counts connections and bytes of {}, not its operations: {reason}.",
                    title(&target),
                    edge.protocol
                );
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    notes
}

/// Indefinite article by pronunciation, for names of software: `an Envoy`, `an nginx`, `a HAProxy`.
fn article(word: &str) -> &'static str {
    let lower = word.to_ascii_lowercase();
    let spelled = ["nginx", "haproxy-"]
        .iter()
        .any(|name| lower.starts_with(name));
    if spelled || lower.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    }
}
