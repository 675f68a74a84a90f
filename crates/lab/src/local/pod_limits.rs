//! Limits of pods elsewhere: there one holds for all that runs in a pod, its keeper included.

use std::collections::BTreeMap;
use std::iter::Sum;

use tare_record::plan::Limits;
use tare_record::topology::{Instance, Topology};

use crate::LabError;

/// Limits by pod: the sums of those of its instances. Either all of these have one, or none.
///
/// # Errors
/// An instance without a limit beside one with a limit, and a limit of what a mesh injects.
pub fn pod_limits(
    topology: &Topology,
    limits: &BTreeMap<String, Limits>,
) -> Result<BTreeMap<String, Limits>, LabError> {
    let mut injected = limits.keys().filter(|name| topology.is_injected(name));
    if let Some(name) = injected.next() {
        return Err(LabError::Unsupported {
            what: format!("`limits` of {name}"),
            environment: String::from("the mesh of a cluster, which injects it"),
            next: String::from("set its limits in the mesh, and leave them out here"),
        });
    }
    let mut all = BTreeMap::new();
    for pod in &topology.pods {
        let within = topology.instances.iter();
        let within = within.filter(|one| one.pod == pod.name && !topology.is_injected(&one.name));
        let within: Vec<&Instance> = within.collect();
        let of_pod = Limits {
            cpu: sum(&within, limits, |one| one.cpu)?,
            memory_bytes: sum(&within, limits, |one| one.memory_bytes)?,
        };
        if of_pod != Limits::default() {
            all.insert(pod.name.clone(), of_pod);
        }
    }
    Ok(all)
}

/// The sum of what all instances of a pod have; `None`: none has it.
fn sum<T: Sum>(
    within: &[&Instance],
    limits: &BTreeMap<String, Limits>,
    value: impl Fn(&Limits) -> Option<T>,
) -> Result<Option<T>, LabError> {
    let has = |one: &&&Instance| limits.get(&one.name).and_then(&value).is_some();
    let Some(limited) = within.iter().find(has) else {
        return Ok(None);
    };
    if let Some(other) = within.iter().find(|one| !has(one)) {
        return Err(LabError::Unsupported {
            what: format!("`limits` of {}", limited.name),
            environment: String::from("a pod elsewhere, where they hold for all that runs in it"),
            next: format!(
                "give {}, which is in the same pod, such a limit as well, or use the environment local",
                other.name
            ),
        });
    }
    let of = |one: &&Instance| limits.get(&one.name).and_then(&value);
    Ok(Some(within.iter().filter_map(of).sum()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn topology() -> Topology {
        let instance = |name: &str, pod: &str| json!({"name": name, "pod": pod, "target": "envoy", "role": "app", "settings": {}});
        let pod = |name: &str| json!({"name": name, "site": "here"});
        let topology = json!({"pods": [pod("client"), pod("server")], "routes": [],
            "instances": [instance("client", "client"), instance("server", "server"), instance("server-sidecar", "server")]});
        serde_json::from_value(topology).unwrap()
    }

    fn limits(all: &[(&str, Option<f64>, Option<u64>)]) -> BTreeMap<String, Limits> {
        let limits = all.iter().map(|(name, cpu, memory_bytes)| {
            let limits = Limits {
                cpu: *cpu,
                memory_bytes: *memory_bytes,
            };
            ((*name).to_owned(), limits)
        });
        limits.collect()
    }

    #[test]
    fn a_pod_has_what_its_instances_have_together() {
        let all = limits(&[
            ("server", Some(0.5), Some(1000)),
            ("server-sidecar", Some(0.25), Some(24)),
        ]);
        let found = pod_limits(&topology(), &all).unwrap();
        assert_eq!(found, limits(&[("server", Some(0.75), Some(1024))]));
        let found = pod_limits(&topology(), &limits(&[("client", Some(2.0), None)])).unwrap();
        assert_eq!(found, limits(&[("client", Some(2.0), None)]));
    }

    #[test]
    fn what_shares_a_pod_with_one_that_has_a_limit_needs_one() {
        let all = limits(&[("server-sidecar", Some(0.3), None)]);
        let said = pod_limits(&topology(), &all).unwrap_err().to_string();
        assert!(said.contains("`limits` of server-sidecar"), "{said}");
        assert!(said.contains("give server,"), "{said}");
        let all = limits(&[
            ("server", Some(1.0), Some(9)),
            ("server-sidecar", Some(0.3), None),
        ]);
        let said = pod_limits(&topology(), &all).unwrap_err().to_string();
        assert!(said.contains("give server-sidecar,"), "{said}");
    }
}
