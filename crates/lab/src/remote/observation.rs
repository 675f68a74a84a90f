//! Resource usage of a test bed whose pods are observed by their own keepers.

use std::sync::Arc;
use std::time::Duration;

use tare_record::record::{InstanceUsage, MachineUsage};

use super::exchange::{ANSWER_LIMIT, Exchange};
use super::message::PodOrder;
use super::pod_provider::PodNode;
use crate::LabError;
use crate::calibrate;
use crate::environment::Observation;
use crate::observe::{LocalObservation, ObservedInstance};

/// Timeout of the last reading.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) struct RemoteObservation {
    /// The conductor.
    pub own: LocalObservation,
    /// All pods of the run.
    pub pods: Vec<ObservedElsewhere>,
    /// Orders whose replies are not read yet.
    pub told: Vec<(Arc<Exchange>, u64)>,
    /// Beginning of the names of those that are measured.
    pub test_bed: String,
}

/// A pod that its keeper observes.
pub(super) struct ObservedElsewhere {
    pub pod: String,
    /// Node; `None`: it is this machine.
    pub node: Option<PodNode>,
    pub exchange: Arc<Exchange>,
}

impl RemoteObservation {
    /// Begins it everywhere.
    pub(super) fn begin(
        all: Vec<(ObservedElsewhere, Vec<ObservedInstance>)>,
        conductor: ObservedInstance,
        test_bed: String,
    ) -> Result<RemoteObservation, LabError> {
        let mut begun = Vec::new();
        for (elsewhere, instances) in all {
            let ObservedElsewhere { pod, exchange, .. } = &elsewhere;
            let order = PodOrder::Observe {
                instances,
                pod: pod.rsplit('/').next().unwrap_or_default().to_owned(),
            };
            let id = exchange.order(pod, order, &[])?;
            begun.push((id, elsewhere));
        }
        let own = LocalObservation::start(vec![conductor], Vec::new(), None)?;
        let mut pods = Vec::new();
        for (id, elsewhere) in begun {
            elsewhere.exchange.reply(id, ANSWER_LIMIT)?;
            pods.push(elsewhere);
        }
        Ok(RemoteObservation {
            own,
            pods,
            told: Vec::new(),
            test_bed,
        })
    }
}

impl Observation for RemoteObservation {
    fn tick(&mut self) {
        // The keepers of the pods sample by themselves.
        self.own.tick();
    }

    fn ends_in(&mut self, time: Duration) -> Result<(), LabError> {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        for ObservedElsewhere { pod, exchange, .. } in &self.pods {
            let order = PodOrder::ObserveFor { time_ms };
            let told = exchange.order(pod, order, &[])?;
            self.told.push((Arc::clone(exchange), told));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError> {
        // To all at once: the replies are read afterwards.
        let mut asked = Vec::new();
        for ObservedElsewhere { pod, exchange, .. } in &self.pods {
            asked.push(exchange.order(pod, PodOrder::Observed, &[])?);
        }
        let (own, _) = Box::new(self.own).finish()?;
        for (exchange, id) in self.told {
            exchange.reply(id, LIMIT)?;
        }
        let mut all = Vec::new();
        for (observed, id) in self.pods.into_iter().zip(asked) {
            let ObservedElsewhere {
                pod,
                node,
                exchange,
            } = observed;
            let (value, _) = exchange.reply(id, LIMIT)?;
            let (used, machine) = serde_json::from_value(value)
                .map_err(|error| LabError::Keeper(format!("{pod}: {error}")))?;
            all.push(PodReading {
                is_measured: pod.starts_with(&self.test_bed),
                node,
                used,
                machine,
            });
        }
        Ok(combined(own, all, &calibrate::boot_id()))
    }
}

/// What the keeper of a pod has observed.
struct PodReading {
    /// Whether the pod is of the test bed that is measured.
    is_measured: bool,
    /// Node; `None`: it is this machine.
    node: Option<PodNode>,
    used: Vec<InstanceUsage>,
    machine: MachineUsage,
}

/// Usage of the pods that are measured, and of the machines that they are on: cores of all of them, one after the other. `here` is the
/// boot ID of this machine.
fn combined(
    own: Vec<InstanceUsage>,
    pods: Vec<PodReading>,
    here: &str,
) -> (Vec<InstanceUsage>, MachineUsage) {
    let mut nodes: Vec<Node> = Vec::new();
    let mut parts: Vec<InstanceUsage> = Vec::new();
    let kernel = |pod: &PodReading| match &pod.node {
        None => here.to_owned(),
        Some(node) => node.boot_id.clone(),
    };
    // On a cluster the conductor is on none of the nodes, unless its nodes are containers of this machine.
    let is_here = pods.iter().all(|pod| kernel(pod) == here);
    let mut conductor = own.into_iter().next().filter(|_| is_here);
    let own_ns = conductor.as_ref().and_then(|own| own.cpu_ns);
    for pod in pods {
        // Nodes with one kernel are one machine, and see all of it.
        let kernel = kernel(&pod);
        let index = match nodes.iter().position(|node| node.kernel == kernel) {
            Some(index) => index,
            None => {
                nodes.push(Node::new(kernel));
                nodes.len() - 1
            }
        };
        nodes[index].add(&pod);
        if !pod.is_measured {
            continue;
        }
        for used in pod.used {
            match &mut conductor {
                _ if used.role != "conductor" => parts.push(used),
                Some(conductor) => add(conductor, &used),
                none => *none = Some(used),
            }
        }
    }
    parts.extend(conductor);
    if let (true, Some(node)) = (is_here, nodes.first_mut()) {
        node.inside_ns = added(node.inside_ns, own_ns);
    }
    (parts, all_machines(nodes))
}

/// A machine that pods are on.
struct Node {
    /// Boot ID of its kernel.
    kernel: String,
    /// As the first measured pod sees it.
    machine: Option<MachineUsage>,
    /// CPU time of everything, as that pod sees it.
    all_ns: Option<u64>,
    /// CPU time of all pods of the run.
    inside_ns: Option<u64>,
    /// Of it, that of pods of other arms.
    other_arms_ns: Option<u64>,
}

impl Node {
    fn new(kernel: String) -> Node {
        Node {
            kernel,
            machine: None,
            all_ns: None,
            inside_ns: Some(0),
            other_arms_ns: Some(0),
        }
    }

    fn add(&mut self, pod: &PodReading) {
        let used_ns = pod.used.iter().map(|part| part.cpu_ns).sum();
        self.inside_ns = added(self.inside_ns, used_ns);
        if !pod.is_measured {
            self.other_arms_ns = added(self.other_arms_ns, used_ns);
            return;
        }
        let mut seen = pod.machine.clone();
        for of_pod in &mut seen.pods {
            of_pod.node = pod.node.as_ref().map(|node| node.name.clone());
        }
        match &mut self.machine {
            Some(machine) => machine.pods.append(&mut seen.pods),
            None => {
                let background_ns = seen.background_cpu_ns;
                self.all_ns = background_ns.zip(used_ns).map(|(other, own)| other + own);
                self.machine = Some(seen);
            }
        }
    }
}

/// Several machines as one.
fn all_machines(nodes: Vec<Node>) -> MachineUsage {
    // A node with pods of other arms alone has no part in the cores that are compared.
    let measured = nodes.iter().filter(|node| node.machine.is_some());
    let other_arms_cpu_ns = measured.clone().map(|node| node.other_arms_ns).sum();
    let background = measured.map(|node| {
        let both = node.all_ns.zip(node.inside_ns);
        both.map(|(all, ours)| all.saturating_sub(ours))
    });
    let background_cpu_ns = background.sum();
    let mut machines = nodes.into_iter().filter_map(|node| node.machine);
    let Some(mut sum) = machines.next() else {
        return MachineUsage::default();
    };
    for one in machines {
        let cores = (sum.core_busy.len() as f64, one.core_busy.len() as f64);
        let mean = |a: Option<f64>, b: Option<f64>| {
            Some((a? * cores.0 + b? * cores.1) / (cores.0 + cores.1))
        };
        sum.steal_share = mean(sum.steal_share, one.steal_share);
        sum.softirq_share = mean(sum.softirq_share, one.softirq_share);
        sum.core_busy.extend(one.core_busy);
        sum.core_unattributed.extend(one.core_unattributed);
        sum.loopback_packets = added(sum.loopback_packets, one.loopback_packets);
        let highest = sum.load_average.zip(one.load_average);
        sum.load_average = highest.map(|(a, b)| a.max(b));
        sum.pods.extend(one.pods);
    }
    MachineUsage {
        other_arms_cpu_ns,
        background_cpu_ns,
        ..sum
    }
}

fn added(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one? + other?)
}

/// Adds the usage of a keeper to that of the conductor.
fn add(sum: &mut InstanceUsage, one: &InstanceUsage) {
    for (sum, one) in [
        (&mut sum.cpu_ns, one.cpu_ns),
        (&mut sum.user_ns, one.user_ns),
        (&mut sum.system_ns, one.system_ns),
        (&mut sum.run_queue_wait_ns, one.run_queue_wait_ns),
        (&mut sum.rss_mean_bytes, one.rss_mean_bytes),
        (&mut sum.rss_peak_bytes, one.rss_peak_bytes),
        (&mut sum.switches_voluntary, one.switches_voluntary),
        (&mut sum.switches_involuntary, one.switches_involuntary),
        (&mut sum.disk_read_bytes, one.disk_read_bytes),
        (&mut sum.disk_write_bytes, one.disk_write_bytes),
    ] {
        *sum = added(*sum, one);
    }
    sum.threads = sum.threads.zip(one.threads).map(|(a, b)| a + b);
    sum.processes += one.processes;
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "here";

    fn part(instance: &str, role: &str, cpu_ns: u64) -> InstanceUsage {
        InstanceUsage {
            instance: instance.into(),
            role: role.into(),
            cpu_ns: Some(cpu_ns),
            processes: 1,
            ..InstanceUsage::default()
        }
    }

    /// Usage in two pods, with that of their keepers.
    fn server_and_client() -> [Vec<InstanceUsage>; 2] {
        let keeper = |cpu_ns| part("conductor", "conductor", cpu_ns);
        [
            vec![part("server", "app", 300), keeper(2)],
            vec![part("client", "agent", 200), keeper(3)],
        ]
    }

    fn machine(background_cpu_ns: u64) -> MachineUsage {
        MachineUsage {
            window_ns: 1000,
            background_cpu_ns: Some(background_cpu_ns),
            ..MachineUsage::default()
        }
    }

    fn reading(
        is_measured: bool,
        node: Option<&str>,
        used: Vec<InstanceUsage>,
        machine: MachineUsage,
    ) -> PodReading {
        PodReading {
            is_measured,
            node: node.map(|name| PodNode {
                name: name.to_owned(),
                boot_id: format!("boot of {}", &name[..2]),
            }),
            used,
            machine,
        }
    }

    #[test]
    fn keepers_are_the_conductors_and_other_arms_and_programs_are_told_apart() {
        let own = vec![part("conductor", "conductor", 10)];
        let [server, client] = server_and_client();
        let other = vec![part("server", "app", 50), part("conductor", "conductor", 1)];
        // 800 ns were busy in all: the first pod sees all but its own 302 as foreign.
        let pods = vec![
            reading(true, None, server, machine(498)),
            reading(true, None, client, machine(595)),
            reading(false, None, other, machine(749)),
        ];
        let (parts, machine) = combined(own, pods, HERE);
        let found: Vec<(&str, Option<u64>)> = parts
            .iter()
            .map(|part| (part.instance.as_str(), part.cpu_ns))
            .collect();
        let expected = [
            ("server", Some(300)),
            ("client", Some(200)),
            ("conductor", Some(15)),
        ];
        assert_eq!(found, expected);
        assert_eq!(parts[2].processes, 3);
        assert_eq!(machine.other_arms_cpu_ns, Some(51));
        assert_eq!(machine.background_cpu_ns, Some(800 - 515 - 51));
    }

    #[test]
    fn the_cores_of_all_nodes_are_those_of_one_machine_and_the_conductor_is_on_none() {
        let busy = |core_busy: [f64; 2], background| MachineUsage {
            core_busy: core_busy.to_vec(),
            steal_share: Some(core_busy[0] / 10.0),
            ..machine(background)
        };
        let [server, client] = server_and_client();
        let idle = vec![part("server", "app", 50)];
        let pods = vec![
            reading(true, Some("n1"), server, busy([0.5, 0.1], 98)),
            reading(true, Some("n2"), client, busy([0.3, 0.2], 40)),
            reading(false, Some("n1"), idle, busy([0.5, 0.1], 350)),
            // Nobody measures on this one.
            reading(
                false,
                Some("n3"),
                vec![part("istiod", "control-plane", 70)],
                machine(9),
            ),
        ];
        let (parts, machine) = combined(vec![part("conductor", "conductor", 10)], pods, HERE);
        assert_eq!(parts.last().unwrap().cpu_ns, Some(5), "keepers alone");
        assert_eq!(machine.core_busy, [0.5, 0.1, 0.3, 0.2]);
        // 400 ns on the first node, 350 of them ours.
        assert_eq!(machine.background_cpu_ns, Some(400 - 352 + 40));
        assert_eq!(machine.other_arms_cpu_ns, Some(50));
        assert!((machine.steal_share.unwrap() - 0.04).abs() < 1e-9);
    }

    #[test]
    fn nodes_with_one_kernel_are_one_machine() {
        let server = vec![part("server", "app", 300)];
        let client = vec![part("client", "agent", 200)];
        let busy = |background| MachineUsage {
            core_busy: vec![0.5, 0.5],
            ..machine(background)
        };
        let pods = vec![
            reading(true, Some("n1-a"), server, busy(300)),
            reading(true, Some("n1-b"), client, busy(400)),
        ];
        let (parts, machine) =
            combined(vec![part("conductor", "conductor", 10)], pods, "boot of n1");
        assert_eq!(machine.core_busy, [0.5, 0.5]);
        // 600 ns in all, 510 of them ours: the conductor is on this machine, too.
        assert_eq!(machine.background_cpu_ns, Some(90));
        assert_eq!(parts.last().unwrap().cpu_ns, Some(10));
    }

    #[test]
    fn what_one_pod_does_not_know_is_not_known() {
        let mut unknown = part("server", "app", 0);
        unknown.cpu_ns = None;
        let pods = vec![reading(true, None, vec![unknown], machine(498))];
        let (_, machine) = combined(vec![part("conductor", "conductor", 10)], pods, HERE);
        assert_eq!(machine.background_cpu_ns, None);
    }
}
