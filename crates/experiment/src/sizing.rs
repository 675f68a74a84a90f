//! Topologies for `tare size --for`: services, and the requests per second between them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tare_record::api::{ProxyFeatures, SizedEdge, SizedTopology};
use tare_record::name::{EdgePattern, Name};
use tare_record::plan::PartKind;
use tare_record::schemas::JsonSchema;

use crate::catalog::Catalog;
use crate::def::LoadKindDef;
use crate::document;
use crate::problem::{Problems, hint, list};
use crate::yaml::{Mark, Node};

/// Connections over an edge whose number is not given: those of a load.
const CONNECTIONS: u32 = tare_record::load::LoadSpec::CONNECTIONS;

/// A topology whose sidecars are sized. Either `services` and `edges`, or `workload`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyDef {
    /// Its name.
    pub topology: Name,
    /// Arm of the measured experiment whose proxies it has. Default: the arm whose proxies do exactly what is below.
    pub arm: Option<String>,
    /// What its proxies do: `{security: mtls, settings: {access_log: true}}`. Default: plaintext, no settings.
    #[serde(default)]
    pub proxies: ProxyFeatures,
    /// Worker threads of each sidecar. Default: the least that was measured.
    #[schemars(range(min = 1))]
    pub workers: Option<u64>,
    /// Services that each sidecar has in its configuration. Default: those of the topology.
    pub configured_services: Option<u32>,
    /// Services with a sidecar.
    #[serde(default)]
    pub services: BTreeMap<Name, TopologyServiceDef>,
    /// Calls between services, or to them from clients without a sidecar.
    #[serde(default)]
    pub edges: Vec<TopologyEdgeDef>,
    /// A workload in place of services and edges.
    pub workload: Option<TopologyWorkloadDef>,
}

/// A service with a sidecar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "service"))]
pub struct TopologyServiceDef {
    /// Instances, each with a sidecar. Requests are spread evenly over them. Default: 1.
    #[schemars(range(min = 1, max = 100_000))]
    pub instances: Option<u32>,
}

/// Calls over an edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "edge"))]
pub struct TopologyEdgeDef {
    /// The edge, `from->to`.
    pub edge: EdgePattern,
    /// Requests per second.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: f64,
    /// Connections between each two sidecars. Default: 16.
    #[schemars(range(min = 1))]
    pub connections: Option<u32>,
}

/// A workload under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-word" = "workload"))]
pub struct TopologyWorkloadDef {
    /// Name of the workload.
    #[serde(rename = "use")]
    pub name: Name,
    /// Its load. Default: `default`.
    pub load: Option<String>,
    /// Requests per second of the load.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub rate: f64,
    /// Connections between each two sidecars. Default: 16.
    #[schemars(range(min = 1))]
    pub connections: Option<u32>,
}

/// Reads a topology, with the workload that it names.
///
/// # Errors
/// Problems of the file, each with its position.
pub fn read_topology(path: &Path, catalog: &Catalog) -> Result<SizedTopology, Problems> {
    let file = path.display().to_string();
    let (def, root) = document::read::<TopologyDef>(&file, &document::read_text(path)?)?;
    let reader = Reader {
        file: &file,
        root: &root,
    };
    let (services, edges) = match &def.workload {
        Some(workload) => reader.workload(&def, workload, catalog)?,
        None => reader.written(&def)?,
    };
    let all = u32::try_from(services.len()).unwrap_or(u32::MAX);
    Ok(SizedTopology {
        name: def.topology.0,
        arm: def.arm,
        features: def.proxies,
        workers: def.workers,
        configured_services: def.configured_services.unwrap_or(all),
        services,
        edges,
    })
}

type Parts = (BTreeMap<String, u32>, Vec<SizedEdge>);

struct Reader<'a> {
    file: &'a str,
    root: &'a Node,
}

impl Reader<'_> {
    fn problem(&self, mark: Mark, text: impl Into<String>) -> Problems {
        Problems::one(self.file, mark, text)
    }

    fn written(&self, def: &TopologyDef) -> Result<Parts, Problems> {
        let services = def.services.iter();
        let services: BTreeMap<String, u32> = services
            .map(|(name, service)| (name.0.clone(), service.instances.unwrap_or(1)))
            .collect();
        if services.is_empty() || def.edges.is_empty() {
            let text = "write services and edges, or a workload";
            return Err(self.problem(self.root.mark, text));
        }
        let mut problems = Problems::default();
        let mut edges = Vec::new();
        let nodes = self.root.get("edges").map_or(&[][..], Node::items);
        for (edge, node) in def.edges.iter().zip(nodes) {
            let (from, to) = ends(&edge.edge);
            if !services.contains_key(to) {
                let hint = hint(to, services.keys());
                let text = format!("no service \"{to}\"{hint}");
                problems.add(self.file, node.mark_at(&["edge"]), text);
            }
            edges.push(SizedEdge {
                from: from.to_owned(),
                to: to.to_owned(),
                rate_per_s: edge.rate,
                connections: edge.connections.unwrap_or(CONNECTIONS),
            });
        }
        problems.into_result((services, edges))
    }

    /// Services of a workload, and the requests over its edges that its load makes.
    fn workload(
        &self,
        def: &TopologyDef,
        wanted: &TopologyWorkloadDef,
        catalog: &Catalog,
    ) -> Result<Parts, Problems> {
        let at = |key: &str| self.root.mark_at(&["workload", key]);
        if !def.services.is_empty() || !def.edges.is_empty() {
            let text = "a workload has services and edges of its own: leave out the others";
            return Err(self.problem(at("use"), text));
        }
        let name = &wanted.name.0;
        let Some(folder) = catalog.workload(name)? else {
            let hint = hint(name, catalog.workload_names().iter());
            return Err(self.problem(at("use"), format!("no workload \"{name}\"{hint}")));
        };
        let load_name = wanted.load.as_deref().unwrap_or("default");
        let loads = &folder.def.loads;
        let Some(load) = loads.get(load_name) else {
            let names: Vec<_> = loads.keys().collect();
            let text = format!("workload \"{name}\" has these loads: {}", list(&names));
            return Err(self.problem(at("load"), text));
        };
        let rates = rates(load, wanted.rate).map_err(|text| self.problem(at("load"), text))?;
        let is_service = |part: &str| {
            let parts = folder.def.parts.iter();
            let mut parts = parts.filter(|(name, _)| name.0 == part);
            parts.any(|(_, part)| part.kind == PartKind::Service)
        };
        let mut services = BTreeMap::new();
        let mut edges = Vec::new();
        for (edge, rate_per_s) in rates {
            let (from, to) = ends(&edge);
            for part in [from, to].into_iter().filter(|part| is_service(part)) {
                services.insert(part.to_owned(), 1);
            }
            edges.push(SizedEdge {
                from: from.to_owned(),
                to: to.to_owned(),
                rate_per_s,
                connections: wanted.connections.unwrap_or(CONNECTIONS),
            });
        }
        Ok((services, edges))
    }
}

/// Requests per second over each edge under a load.
fn rates(load: &LoadKindDef, rate_per_s: f64) -> Result<BTreeMap<EdgePattern, f64>, String> {
    if load.session.is_some() {
        return Err(
            "this load is a session, whose requests per second depend on its answers: choose a load of plain requests, or write services and edges"
                .into(),
        );
    }
    let weight = |request: &crate::def::RequestDef| request.weight.unwrap_or(1.0);
    let whole: f64 = load.requests.iter().map(weight).sum();
    let mut rates = BTreeMap::from([(load.edge.clone(), rate_per_s)]);
    for request in &load.requests {
        for (edge, calls) in request.calls.iter().flatten() {
            let share = weight(request) / whole * f64::from(*calls);
            *rates.entry(edge.clone()).or_default() += rate_per_s * share;
        }
    }
    Ok(rates)
}

fn ends(edge: &EdgePattern) -> (&str, &str) {
    edge.0.split_once("->").unwrap_or((&edge.0, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::Library;

    fn read(text: &str) -> Result<SizedTopology, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("topology.yaml");
        std::fs::write(&path, text).unwrap();
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let library = Library::in_directory(&home, &[]);
        read_topology(&path, &library.catalog).map_err(|problems| problems.to_string())
    }

    #[test]
    fn services_and_edges_are_read_with_their_defaults() {
        let text = "topology: shop\nservices:\n  web: {instances: 2}\n  cart: {}\n\
                    edges:\n  - {edge: users->web, rate: 100}\n  - {edge: web->cart, rate: 250.5, connections: 4}\n";
        let topology = read(text).unwrap();
        assert_eq!(topology.configured_services, 2);
        assert_eq!(topology.services["web"], 2);
        assert_eq!(topology.edges[0].connections, CONNECTIONS);
        assert_eq!(topology.edges[1].rate_per_s, 250.5);
    }

    #[test]
    fn a_service_that_is_not_there_is_named_with_its_place() {
        let text =
            "topology: shop\nservices: {web: {}}\nedges:\n  - {edge: users->wep, rate: 100}\n";
        let problem = read(text).unwrap_err();
        assert!(problem.contains("4:"), "{problem}");
        assert!(problem.contains("no service \"wep\""), "{problem}");
        assert!(problem.contains("web"), "{problem}");
    }
}
