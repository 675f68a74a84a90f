//! Resource usage of a test bed whose pods are observed by their own keepers.

use std::sync::Arc;
use std::time::Duration;

use tare_record::record::{InstanceUsage, MachineUsage};

use super::exchange::Exchange;
use super::message::PodOrder;
use crate::LabError;
use crate::environment::Observation;
use crate::observe::LocalObservation;

/// Timeout of the last reading.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) struct RemoteObservation {
    pub exchange: Arc<Exchange>,
    /// The conductor.
    pub own: LocalObservation,
    /// All pods of the run.
    pub pods: Vec<String>,
    /// Orders whose replies are not read yet.
    pub told: Vec<u64>,
    /// Beginning of the names of those that are measured.
    pub test_bed: String,
}

impl Observation for RemoteObservation {
    fn tick(&mut self) {
        // The keepers of the pods sample by themselves.
        self.own.tick();
    }

    fn ends_in(&mut self, time: Duration) -> Result<(), LabError> {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        for pod in &self.pods {
            let order = PodOrder::ObserveFor { time_ms };
            self.told.push(self.exchange.order(pod, order, &[])?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError> {
        // To all at once: the replies are read afterwards.
        let mut asked = Vec::new();
        for pod in &self.pods {
            asked.push(self.exchange.order(pod, PodOrder::Observed, &[])?);
        }
        let (own, _) = Box::new(self.own).finish()?;
        for id in self.told {
            self.exchange.reply(id, LIMIT)?;
        }
        let mut all = Vec::new();
        for (pod, id) in self.pods.iter().zip(asked) {
            let (value, _) = self.exchange.reply(id, LIMIT)?;
            let usage: (Vec<InstanceUsage>, MachineUsage) = serde_json::from_value(value)
                .map_err(|error| LabError::Keeper(format!("{pod}: {error}")))?;
            all.push((pod.starts_with(&self.test_bed), usage));
        }
        Ok(combined(own, all))
    }
}

/// Usage of the pods that are measured, and of the machine of the first of them.
///
/// All pods must be on one machine: what other programs used is not known otherwise.
fn combined(
    own: Vec<InstanceUsage>,
    pods: Vec<(bool, (Vec<InstanceUsage>, MachineUsage))>,
) -> (Vec<InstanceUsage>, MachineUsage) {
    let mut parts: Vec<InstanceUsage> = Vec::new();
    let mut conductor = own.into_iter().next().unwrap_or_default();
    let mut other_arms_ns = Some(0);
    let mut machine: Option<MachineUsage> = None;
    // CPU time of other programs as this pod sees it: all that is not its own.
    let mut outside_ns = None;
    let mut inside_ns = Some(0);
    let sum = |parts: &[InstanceUsage]| parts.iter().map(|part| part.cpu_ns).sum::<Option<u64>>();
    for (is_measured, (used, mut seen)) in pods {
        let used_ns = sum(&used);
        if !is_measured {
            other_arms_ns = added(other_arms_ns, used_ns);
            continue;
        }
        let (keepers, instances): (Vec<_>, Vec<_>) =
            used.into_iter().partition(|part| part.role == "conductor");
        for keeper in &keepers {
            add(&mut conductor, keeper);
        }
        parts.extend(instances);
        match &mut machine {
            None => {
                outside_ns = seen.background_cpu_ns.zip(used_ns).map(|(o, own)| o + own);
                machine = Some(seen);
            }
            Some(machine) => machine.pods.append(&mut seen.pods),
        }
    }
    parts.push(conductor);
    inside_ns = added(added(inside_ns, sum(&parts)), other_arms_ns);
    let mut machine = machine.unwrap_or_default();
    machine.other_arms_cpu_ns = other_arms_ns;
    let both = outside_ns.zip(inside_ns);
    machine.background_cpu_ns = both.map(|(all, ours)| all.saturating_sub(ours));
    (parts, machine)
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

    fn part(instance: &str, role: &str, cpu_ns: u64) -> InstanceUsage {
        InstanceUsage {
            instance: instance.into(),
            role: role.into(),
            cpu_ns: Some(cpu_ns),
            processes: 1,
            ..InstanceUsage::default()
        }
    }

    fn machine(background_cpu_ns: u64) -> MachineUsage {
        MachineUsage {
            window_ns: 1000,
            background_cpu_ns: Some(background_cpu_ns),
            ..MachineUsage::default()
        }
    }

    #[test]
    fn keepers_are_the_conductors_and_other_arms_and_programs_are_told_apart() {
        let own = vec![part("conductor", "conductor", 10)];
        let server = vec![
            part("server", "app", 300),
            part("conductor", "conductor", 2),
        ];
        let client = vec![
            part("client", "agent", 200),
            part("conductor", "conductor", 3),
        ];
        let other = vec![part("server", "app", 50), part("conductor", "conductor", 1)];
        // 800 ns were busy in all: the first pod sees all but its own 302 as foreign.
        let pods = vec![
            (true, (server, machine(498))),
            (true, (client, machine(595))),
            (false, (other, machine(749))),
        ];
        let (parts, machine) = combined(own, pods);
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
    fn what_one_pod_does_not_know_is_not_known() {
        let mut unknown = part("server", "app", 0);
        unknown.cpu_ns = None;
        let pods = vec![(true, (vec![unknown], machine(498)))];
        let (_, machine) = combined(vec![part("conductor", "conductor", 10)], pods);
        assert_eq!(machine.background_cpu_ns, None);
    }
}
