//! Clusters of test beds that `tare lab up` has started: they appear by themselves, reached in the networks of their pods.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tare_experiment::clusters::ClusterDef;
use tare_kafka_admin::api::{ClusterEntry, ClusterOrigin, ClusterRequest};
use tare_kafka_admin::client::Connector;
use tare_lab::lab_state::{self, LabState, PodProcess};

use super::TARGET;
use crate::sys;

/// The port of clients.
const PORT: &str = "plain";

/// A cluster of a test bed.
pub struct TestBedCluster {
    pub entry: ClusterEntry,
    /// A process in the network of each broker's address.
    networks: BTreeMap<IpAddr, u32>,
}

impl TestBedCluster {
    /// Opens connections in the networks of the brokers.
    pub fn connector(&self) -> Connector {
        let networks = self.networks.clone();
        Connector::Custom(Arc::new(move |at, within| {
            let pid = networks.get(&at.ip()).or_else(|| networks.values().next());
            match pid {
                Some(pid) => sys::connect_in_network_of(*pid, at, within),
                None => Err(std::io::ErrorKind::NotFound.into()),
            }
        }))
    }
}

/// The clusters that are up now.
pub fn all() -> Vec<TestBedCluster> {
    lab_state::all(None).iter().flat_map(of_test_bed).collect()
}

fn of_test_bed(bed: &LabState) -> Vec<TestBedCluster> {
    let mut by_part: BTreeMap<&str, Vec<&PodProcess>> = BTreeMap::new();
    for process in &bed.processes {
        let is_broker = process
            .software
            .as_deref()
            .is_some_and(|software| software.split(' ').next() == Some(TARGET));
        if is_broker && process.ports.contains_key(PORT) {
            by_part
                .entry(part(&process.instance))
                .or_default()
                .push(process);
        }
    }
    let clusters = by_part.into_iter().filter_map(|(part, brokers)| {
        let bootstrap = brokers.iter().filter_map(|broker| {
            let port = broker.ports.get(PORT)?;
            Some(format!("{}:{port}", broker.address))
        });
        let networks = brokers.iter().filter_map(|broker| {
            let address = broker.address.parse().ok()?;
            Some((address, broker.pid?))
        });
        let networks: BTreeMap<IpAddr, u32> = networks.collect();
        let entry = ClusterEntry {
            origin: ClusterOrigin::TestBed,
            definition: ClusterRequest {
                name: format!("lab-{}-{part}", bed.owner_pid),
                cluster: ClusterDef {
                    bootstrap: bootstrap.collect(),
                    tls: None,
                    sasl: None,
                    allow_public_target: false,
                    metrics: None,
                },
                read_only: false,
                show_records: true,
                lag_limit: None,
            },
        };
        (!networks.is_empty()).then_some(TestBedCluster { entry, networks })
    });
    clusters.collect()
}

/// The part of an instance: its name without the number behind it.
fn part(instance: &str) -> &str {
    match instance.rsplit_once('-') {
        Some((part, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => part,
        _ => instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_of_a_test_bed_are_one_cluster_for_each_part() {
        let process = |instance: &str, software: &str, address: &str| PodProcess {
            pod: instance.to_owned(),
            address: address.to_owned(),
            instance: instance.to_owned(),
            role: "app".to_owned(),
            software: Some(software.to_owned()),
            pid: Some(1),
            log: None,
            enter: None,
            ports: BTreeMap::from([(PORT.to_owned(), 9092)]),
        };
        let bed = LabState {
            owner_pid: 7,
            processes: vec![
                process("east-1", "kafka 4.1.0", "10.0.0.1"),
                process("east-2", "kafka 4.1.0", "10.0.0.2"),
                process("west-1", "kafka 4.1.0", "10.0.1.1"),
                process("proxy", "envoy 1.38.3", "10.0.2.1"),
            ],
            ..LabState::default()
        };
        let found = of_test_bed(&bed);
        let names: Vec<&str> = found
            .iter()
            .map(|one| one.entry.definition.name.as_str())
            .collect();
        assert_eq!(names, ["lab-7-east", "lab-7-west"]);
        assert_eq!(
            found[0].entry.definition.cluster.bootstrap,
            ["10.0.0.1:9092", "10.0.0.2:9092"]
        );
        assert_eq!(found[1].networks.len(), 1);
    }
}
