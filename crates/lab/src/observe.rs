//! Resource usage of all parts and of the machine between two moments, as counted by the kernel.
//!
//! CPU time is that of the process's CPU clock: exact, including threads that have ended; for reaped children the
//! times of `/proc` are added (exact to a tick). What cannot be read is `None`, never 0.
//!
//! Known limits: wait times and switches of a thread are lost when it ends within the window; memory shared by several
//! processes of one part counts for each of them; a process that starts and ends within the window without being
//! reaped by a process of its part is not seen.

mod external;
mod links;
mod live;
mod machine;
mod other_arms;
mod pods;
mod reading;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tare_record::record::{InstanceUsage, MachineUsage, PodUsage};

use crate::LabError;
use crate::cgroup::{Controller, Group, Mounts, Throttling};
use crate::environment::{Observation, UsageSample};
use crate::process::{self, ProcessStat};
pub(crate) use external::{EXTERNAL_ROLE, ObservedExternal, WithExternal};
use links::LinkObservation;
pub use links::ObservedLinks;
use live::{LivePart, LiveReading};
pub(crate) use machine::MachineReading;
pub use other_arms::OtherArms;
use other_arms::OtherArmsObservation;
pub use pods::ObservedPod;
use pods::PodCounts;
use reading::ProcessReading;

/// An instance to be observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedInstance {
    instance: String,
    role: String,
    software: String,
    scope: Scope,
    /// Whether its CPU limit is that of its pod, and so that of the pod's keeper.
    #[serde(default)]
    pub(crate) is_held_with_pod: bool,
}

/// The processes of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Scope {
    /// This process and its descendants, and orphans with its mark.
    Tree { root: u32, mark: String },
    /// Only these processes.
    Only(Vec<u32>),
    /// The processes of the pod's other containers.
    OtherContainers,
}

impl ObservedInstance {
    /// A process with its descendants; `mark` is the `NAME=value` in their environment.
    #[must_use]
    pub fn tree(
        instance: &str,
        role: &str,
        software: &str,
        root: u32,
        mark: &str,
    ) -> ObservedInstance {
        ObservedInstance {
            instance: instance.to_owned(),
            role: role.to_owned(),
            software: software.to_owned(),
            scope: Scope::Tree {
                root,
                mark: mark.to_owned(),
            },
            is_held_with_pod: false,
        }
    }

    /// What a mesh has injected into the pod of this process: the pod's other containers.
    #[must_use]
    pub fn injected(instance: &str, role: &str, software: &str) -> ObservedInstance {
        ObservedInstance {
            instance: instance.to_owned(),
            role: role.to_owned(),
            software: software.to_owned(),
            scope: Scope::OtherContainers,
            is_held_with_pod: false,
        }
    }

    /// Tare itself: this process and the keeper, without the keeper's children.
    #[must_use]
    pub fn conductor(keeper: BTreeSet<u32>) -> ObservedInstance {
        ObservedInstance {
            instance: String::from("conductor"),
            role: String::from("conductor"),
            software: format!("tare {}", env!("CARGO_PKG_VERSION")),
            scope: Scope::Only(keeper.into_iter().chain([std::process::id()]).collect()),
            is_held_with_pod: false,
        }
    }

    /// Whether it is the instance of this name.
    pub(crate) fn is(&self, instance: &str) -> bool {
        self.instance == instance
    }

    pub(crate) fn name(&self) -> &str {
        &self.instance
    }

    /// All its processes now.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.members(&process::snapshot()).into_iter().collect()
    }

    pub(crate) fn software(&self) -> &str {
        &self.software
    }

    /// The instance's control group with a CPU limit: its own, or that of its pod; `None` if it has no limit.
    fn limited(&self) -> Option<(Group, Throttling)> {
        let Scope::Tree { root, .. } = self.scope else {
            return None;
        };
        let mounts = Mounts::read();
        let group = mounts.group_of(Controller::Cpu, root)?;
        let own = mounts.group_of(Controller::Cpu, std::process::id());
        let throttling = group.throttling()?;
        let is_own = own.as_ref() != Some(&group);
        (is_own || self.is_held_with_pod).then_some((group, throttling))
    }

    /// The process that was started for it; `None`: a list of processes.
    fn root(&self) -> Option<u32> {
        match self.scope {
            Scope::Tree { root, .. } => Some(root),
            Scope::Only(_) | Scope::OtherContainers => None,
        }
    }

    fn members(&self, all: &[ProcessStat]) -> BTreeSet<u32> {
        match &self.scope {
            Scope::Only(pids) => pids.iter().copied().collect(),
            Scope::OtherContainers => {
                let own = process::control_groups(std::process::id());
                // The first process only holds the pod's namespaces.
                let others = all.iter().filter(|one| one.pid != 1);
                let is_other = |one: &&ProcessStat| {
                    let groups = process::control_groups(one.pid);
                    // Nothing is listed for one that has just ended.
                    !groups.is_empty() && groups != own
                };
                others.filter(is_other).map(|one| one.pid).collect()
            }
            Scope::Tree { root, mark } => {
                let sessions = all.iter().filter(|p| p.session == *root);
                let mut roots: BTreeSet<u32> = sessions.map(|p| p.pid).collect();
                roots.insert(*root);
                let tree = process::with_descendants(all, &roots);
                // Reading environments is expensive: only those of processes that the keeper has adopted.
                let parent = all.iter().find(|p| p.pid == *root).map(|p| p.parent);
                let adopted = all
                    .iter()
                    .filter(|p| Some(p.parent) == parent)
                    .filter(|p| !tree.contains(&p.pid))
                    .filter(|p| process::has_environment(p.pid, mark))
                    .map(|p| p.pid);
                let roots: BTreeSet<u32> = tree.iter().copied().chain(adopted).collect();
                process::with_descendants(all, &roots)
            }
        }
    }
}

/// An observation of processes on this host.
pub struct LocalObservation {
    parts: Vec<PartObservation>,
    pods: Vec<(ObservedPod, PodCounts, PodUsage)>,
    links: Option<LinkObservation>,
    other_arms: Option<OtherArmsObservation>,
    machine: Option<MachineReading>,
    live: Option<LiveReading>,
    started: Instant,
}

struct PartObservation {
    observed: ObservedInstance,
    members: BTreeSet<u32>,
    first: BTreeMap<u32, ProcessReading>,
    /// Its own control group, and the CPU throttling before the window.
    limited: Option<(Group, Throttling)>,
    /// Whether the peak memory of every process could be reset.
    peaks_reset: bool,
    rss_sum_bytes: u128,
    /// Largest reading, for processes whose high-water marks cannot be reset.
    rss_highest_bytes: u64,
    rss_readings: u32,
    rss_readable: bool,
}

impl LocalObservation {
    /// Resets the high-water marks and takes the first reading. Without other arms nothing else of the run is running.
    ///
    /// # Errors
    /// When an instance has no process.
    pub fn start(
        observed: Vec<ObservedInstance>,
        pods: Vec<ObservedPod>,
        other_arms: Option<OtherArms>,
    ) -> Result<LocalObservation, LabError> {
        let all = process::snapshot();
        let own = observed.iter().filter_map(ObservedInstance::root).collect();
        let mut parts = Vec::new();
        for observed in observed {
            let members = observed.members(&all);
            let peaks_reset = members.iter().all(|pid| reading::reset_peak(*pid));
            parts.push(PartObservation {
                limited: observed.limited(),
                observed,
                members,
                first: BTreeMap::new(),
                peaks_reset,
                rss_sum_bytes: 0,
                rss_highest_bytes: 0,
                rss_readings: 0,
                rss_readable: true,
            });
        }
        for part in &mut parts {
            part.first = read_all(&part.members);
            let found = part.first.len();
            if found == 0 {
                return Err(LabError::Died {
                    instance: part.observed.instance.clone(),
                    how: String::from("it was gone when its observation began"),
                    log_tail: Vec::new(),
                });
            }
        }
        let pods = pods.into_iter().map(|pod| {
            let counts = PodCounts::open(pod.pid);
            let first = counts.read();
            (pod, counts, first)
        });
        let pods = pods.collect();
        let other_arms = other_arms.map(|found| OtherArmsObservation::start(found, own, &all));
        let machine = MachineReading::take();
        Ok(LocalObservation {
            parts,
            pods,
            links: None,
            other_arms,
            machine,
            live: None,
            started: Instant::now(),
        })
    }

    /// Includes the links between sites from now on.
    ///
    /// # Errors
    /// When their counters cannot be read.
    pub fn with_links(mut self, links: ObservedLinks) -> Result<LocalObservation, LabError> {
        self.links = Some(LinkObservation::start(links)?);
        Ok(self)
    }

    fn live_parts(&self) -> Vec<LivePart<'_>> {
        let parts = self.parts.iter().map(|part| LivePart {
            instance: &part.observed.instance,
            role: &part.observed.role,
            members: &part.members,
            pod: self.pods.iter().find_map(|(pod, counts, _)| {
                let alone = [part.observed.instance.as_str()];
                (pod.instances == alone).then_some(counts)
            }),
        });
        parts.collect()
    }

    fn machine_usage(&self, parts: &[InstanceUsage], other_arms_ns: Option<u64>) -> MachineUsage {
        let own: Option<u64> = parts.iter().map(|part| part.cpu_ns).sum();
        let ours = own.zip(other_arms_ns).map(|(own, others)| own + others);
        let usage = match (&self.machine, MachineReading::take()) {
            (Some(first), Some(last)) => last.since(first, ours),
            _ => MachineUsage {
                window_ns: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
                ..MachineUsage::default()
            },
        };
        MachineUsage {
            other_arms_cpu_ns: other_arms_ns,
            ..usage
        }
    }
}

impl Observation for LocalObservation {
    fn tick(&mut self) {
        for part in &mut self.parts {
            part.read_memory();
        }
    }

    fn sample(&mut self) -> Option<UsageSample> {
        let parts = self.live_parts();
        let now = LiveReading::take(&parts);
        let sample = self.live.as_ref().map(|last| last.until(&now, &parts));
        self.live = Some(now);
        sample
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError> {
        self.tick();
        let all = process::snapshot();
        let mut usages: Vec<InstanceUsage> =
            self.parts.iter().map(|part| part.finish(&all)).collect();
        if let Some(links) = &self.links {
            links.account_threads(&mut usages);
        }
        let other_arms_ns = match &self.other_arms {
            Some(other_arms) => other_arms.finish(&all),
            None => Some(0),
        };
        let mut machine = self.machine_usage(&usages, other_arms_ns);
        for (pod, counts, first) in &self.pods {
            let usage = pods::growth(&pod.pod, first, &counts.read());
            if let [alone] = pod.instances.as_slice()
                && let Some(part) = usages.iter_mut().find(|part| part.instance == *alone)
            {
                let both = usage.packets_in.zip(usage.packets_out);
                part.packets = both.map(|(packets_in, packets_out)| packets_in + packets_out);
            }
            machine.pods.push(usage);
        }
        if let Some(links) = &self.links {
            machine.links = links.finish()?;
        }
        Ok((usages, machine))
    }
}

impl PartObservation {
    fn read_memory(&mut self) {
        let resident = self
            .members
            .iter()
            .filter_map(|pid| reading::resident_bytes(*pid));
        let (sum, found) = resident.fold((0_u128, 0), |(sum, n), b| (sum + u128::from(b), n + 1));
        self.rss_readable &= found > 0;
        self.rss_sum_bytes += sum;
        let sum = u64::try_from(sum).unwrap_or(u64::MAX);
        self.rss_highest_bytes = self.rss_highest_bytes.max(sum);
        self.rss_readings += 1;
    }

    fn finish(&self, all: &[ProcessStat]) -> InstanceUsage {
        let members = self.observed.members(all);
        let last = read_all(&members);
        let first = &self.first;
        let with_children = !matches!(self.observed.scope, Scope::Only(_));
        // The times of an ended process are added to its parent's children: sums over the part stay right.
        let grown = |value: &dyn Fn(&ProcessReading) -> Option<u64>| {
            let sum = |readings: &BTreeMap<u32, ProcessReading>| -> Option<u64> {
                readings.values().map(value).sum()
            };
            // Without any process left nothing is known.
            (!last.is_empty()).then_some(())?;
            Some(sum(&last)?.saturating_sub(sum(first)?))
        };
        let threads = |value: &dyn Fn(&ProcessReading) -> Option<&BTreeMap<u32, u64>>| {
            let mut total = 0;
            for (pid, reading) in &last {
                let before = first.get(pid).and_then(value);
                for (thread, now) in value(reading)? {
                    let then = before.and_then(|before| before.get(thread)).copied();
                    total += now.saturating_sub(then.unwrap_or(0));
                }
            }
            (!last.is_empty()).then_some(total)
        };
        let now = |(group, before): &(Group, Throttling)| Some((group.throttling()?, *before));
        let limited = self.limited.as_ref().and_then(now);
        let throttling = |value: &dyn Fn(&Throttling) -> u64| {
            limited.map(|(now, before)| value(&now).saturating_sub(value(&before)))
        };
        let peak: Option<u64> = last.values().map(|reading| reading.peak_bytes).sum();
        let peak = match self.observed.scope {
            // They are another user's: the highest sample has to do.
            Scope::OtherContainers => Some(self.rss_highest_bytes).filter(|_| self.rss_readable),
            _ => peak.filter(|_| self.peaks_reset && !last.is_empty()),
        };
        let mean = self.rss_sum_bytes / u128::from(self.rss_readings.max(1));
        InstanceUsage {
            instance: self.observed.instance.clone(),
            role: self.observed.role.clone(),
            software: self.observed.software.clone(),
            cpu_ns: grown(&|r| r.cpu_ns(with_children)),
            user_ns: grown(&|r| Some(r.user_ns(with_children))),
            system_ns: grown(&|r| Some(r.system_ns(with_children))),
            run_queue_wait_ns: threads(&|r| r.queued_ns.as_ref()),
            rss_mean_bytes: u64::try_from(mean).ok().filter(|_| self.rss_readable),
            rss_peak_bytes: peak,
            switches_voluntary: threads(&|r| r.voluntary.as_ref()),
            switches_involuntary: threads(&|r| r.involuntary.as_ref()),
            disk_read_bytes: grown(&|r| r.disk_read_bytes),
            disk_write_bytes: grown(&|r| r.disk_write_bytes),
            packets: None,
            throttled_ns: throttling(&|t| t.throttled_ns),
            throttled_periods: throttling(&|t| t.throttled),
            quota_periods: throttling(&|t| t.periods),
            threads: Some(last.values().map(ProcessReading::threads).sum()),
            processes: u32::try_from(last.len()).unwrap_or(u32::MAX),
        }
    }
}

fn read_all(pids: &BTreeSet<u32>) -> BTreeMap<u32, ProcessReading> {
    pids.iter()
        .filter_map(|pid| Some((*pid, ProcessReading::take(*pid)?)))
        .collect()
}

#[cfg(test)]
mod tests;
