//! What every part and the machine consumed between two moments, as the kernel counts it.
//!
//! CPU time comes from the process's CPU clock: exact, threads that ended included; children that
//! were reaped add what `/proc` tells of them (exact to a tick). What cannot be read is `None`, never 0.
//!
//! Known weaknesses: what a thread waited or switched is lost when it ends within the window; memory
//! shared by several processes of one part counts for each of them; a process that starts and ends within
//! the window without being waited for by a process of its part is not seen.

mod external;
mod links;
mod machine;
mod pods;
mod reading;
mod threads;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use tare_schema::record::{MachineUsage, PartUsage};

use crate::LabError;
use crate::cgroup::{Controller, Group, Mounts, Throttling};
use crate::environment::Observation;
use crate::process::{self, ProcessStat};
pub(crate) use external::{WatchedExternal, WithExternal};
use links::LinkObservation;
pub use links::WatchedLinks;
pub(crate) use machine::MachineReading;
pub use pods::WatchedPod;
use pods::{PodCounts, PodReading};
use reading::ProcessReading;
pub(crate) use reading::{field, queued};

/// One part to be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    instance: String,
    role: String,
    software: String,
    scope: Scope,
}

/// Which processes belong to a part.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    /// This process and all below it, and those that left it but carry its mark.
    Tree { root: u32, mark: String },
    /// Just these processes.
    Only(Vec<u32>),
}

impl Watched {
    /// A process with everything below it; `mark` is the `NAME=value` in the environment of all of them.
    #[must_use]
    pub fn tree(instance: &str, role: &str, software: &str, root: u32, mark: &str) -> Watched {
        Watched {
            instance: instance.to_owned(),
            role: role.to_owned(),
            software: software.to_owned(),
            scope: Scope::Tree {
                root,
                mark: mark.to_owned(),
            },
        }
    }

    /// Tare itself: this process and the keeper's own, without what the keeper keeps.
    #[must_use]
    pub fn conductor(keeper: BTreeSet<u32>) -> Watched {
        Watched {
            instance: String::from("conductor"),
            role: String::from("conductor"),
            software: format!("tare {}", env!("CARGO_PKG_VERSION")),
            scope: Scope::Only(keeper.into_iter().chain([std::process::id()]).collect()),
        }
    }

    /// The control group by which a limit of CPU is set for this part alone. (Tare's own is nobody's.)
    fn limited(&self) -> Option<(Group, Throttling)> {
        let Scope::Tree { root, .. } = self.scope else {
            return None;
        };
        let mounts = Mounts::read();
        let group = mounts.group_of(Controller::Cpu, root)?;
        let own = mounts.group_of(Controller::Cpu, std::process::id());
        let throttling = group.throttling()?;
        (own.as_ref() != Some(&group)).then_some((group, throttling))
    }

    fn members(&self, all: &[ProcessStat]) -> BTreeSet<u32> {
        match &self.scope {
            Scope::Only(pids) => pids.iter().copied().collect(),
            Scope::Tree { root, mark } => {
                let sessions = all.iter().filter(|p| p.session == *root);
                let mut roots: BTreeSet<u32> = sessions.map(|p| p.pid).collect();
                roots.insert(*root);
                let tree = process::with_descendants(all, &roots);
                // Looking at environments is dear: only at those that were adopted by the keeper.
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

/// An observation of processes of this host.
pub struct LocalObservation {
    parts: Vec<PartObservation>,
    pods: Vec<(WatchedPod, PodCounts, PodReading)>,
    links: Option<LinkObservation>,
    machine: Option<MachineReading>,
    started: Instant,
}

struct PartObservation {
    watched: Watched,
    members: BTreeSet<u32>,
    first: BTreeMap<u32, ProcessReading>,
    /// Its control group of its own, and what its limit of CPU had done before the window.
    limited: Option<(Group, Throttling)>,
    /// Whether the peak of every process could be set back.
    peaks_reset: bool,
    rss_sum_bytes: u128,
    rss_readings: u32,
    rss_readable: bool,
}

impl LocalObservation {
    /// Sets the high-water marks back and takes the first reading.
    ///
    /// # Errors
    /// When a part to be watched is not there.
    pub fn start(
        watched: Vec<Watched>,
        pods: Vec<WatchedPod>,
    ) -> Result<LocalObservation, LabError> {
        let all = process::snapshot();
        let mut parts = Vec::new();
        for watched in watched {
            let members = watched.members(&all);
            let peaks_reset = members.iter().all(|pid| reading::reset_peak(*pid));
            parts.push(PartObservation {
                limited: watched.limited(),
                watched,
                members,
                first: BTreeMap::new(),
                peaks_reset,
                rss_sum_bytes: 0,
                rss_readings: 0,
                rss_readable: true,
            });
        }
        for part in &mut parts {
            part.first = read_all(&part.members);
            let found = part.first.len();
            if found == 0 {
                return Err(LabError::Died {
                    instance: part.watched.instance.clone(),
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
        let machine = MachineReading::take();
        Ok(LocalObservation {
            parts,
            pods,
            links: None,
            machine,
            started: Instant::now(),
        })
    }

    /// Counts what crosses the links between sites from now on, too.
    ///
    /// # Errors
    /// When they do not say what has crossed them so far.
    pub fn with_links(mut self, links: WatchedLinks) -> Result<LocalObservation, LabError> {
        self.links = Some(LinkObservation::start(links)?);
        Ok(self)
    }

    fn machine_usage(&self, parts: &[PartUsage]) -> MachineUsage {
        let ours: Option<u64> = parts.iter().map(|part| part.cpu_ns).sum();
        match (&self.machine, MachineReading::take()) {
            (Some(first), Some(last)) => last.since(first, ours),
            _ => MachineUsage {
                window_ns: u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
                ..MachineUsage::default()
            },
        }
    }
}

impl Observation for LocalObservation {
    fn tick(&mut self) {
        for part in &mut self.parts {
            part.read_memory();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<PartUsage>, MachineUsage), LabError> {
        self.tick();
        let all = process::snapshot();
        let mut usages: Vec<PartUsage> = self.parts.iter().map(|part| part.finish(&all)).collect();
        if let Some(links) = &self.links {
            links.book_threads(&mut usages);
        }
        let mut machine = self.machine_usage(&usages);
        for (pod, counts, first) in &self.pods {
            let usage = counts.read().since(first, &pod.pod);
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
        self.rss_readings += 1;
    }

    fn finish(&self, all: &[ProcessStat]) -> PartUsage {
        let members = self.watched.members(all);
        let last = read_all(&members);
        let first = &self.first;
        let with_children = matches!(self.watched.scope, Scope::Tree { .. });
        // A process that ended is in its parent's children from then on: sums over the part agree.
        let grown = |value: &dyn Fn(&ProcessReading) -> Option<u64>| {
            let sum = |readings: &BTreeMap<u32, ProcessReading>| -> Option<u64> {
                readings.values().map(value).sum()
            };
            // Nothing is known of one that was ended within the window.
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
        let mean = self.rss_sum_bytes / u128::from(self.rss_readings.max(1));
        PartUsage {
            instance: self.watched.instance.clone(),
            role: self.watched.role.clone(),
            software: self.watched.software.clone(),
            cpu_ns: grown(&|r| r.cpu_ns(with_children)),
            user_ns: grown(&|r| r.user_ns(with_children)),
            system_ns: grown(&|r| r.system_ns(with_children)),
            run_queue_wait_ns: threads(&|r| r.queued_ns.as_ref()),
            rss_mean_bytes: u64::try_from(mean).ok().filter(|_| self.rss_readable),
            rss_peak_bytes: peak.filter(|_| self.peaks_reset && !last.is_empty()),
            switches_voluntary: threads(&|r| r.voluntary.as_ref()),
            switches_involuntary: threads(&|r| r.involuntary.as_ref()),
            disk_read_bytes: grown(&|r| r.disk_read_bytes),
            disk_write_bytes: grown(&|r| r.disk_write_bytes),
            packets: None,
            throttled_ns: throttling(&|t| t.throttled_ns),
            throttled_periods: throttling(&|t| t.throttled),
            limited_periods: throttling(&|t| t.periods),
            threads: last.values().map(|reading| reading.thread_count).sum(),
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
