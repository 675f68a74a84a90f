//! One reading of the whole machine: cores, softirq, steal, loopback packets, load.

use std::fs;

use tare_schema::record::MachineUsage;

/// More cores than any kernel counts.
const CORES_MAX: usize = 1 << 14;

/// What the machine had done at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineReading {
    all: CoreTicks,
    cores: Vec<CoreTicks>,
    loopback_packets: Option<u64>,
    load_average: Option<f64>,
}

/// A line of `/proc/stat`, ticks since boot. Guests' time is in `user` already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CoreTicks {
    /// Working for somebody: user, nice, system, irq, softirq.
    pub busy: u64,
    /// Doing nothing: idle and waiting for a disk.
    pub idle: u64,
    pub softirq: u64,
    pub steal: u64,
}

impl CoreTicks {
    fn total(&self) -> u64 {
        self.busy + self.idle + self.steal
    }

    fn since(&self, first: &CoreTicks) -> CoreTicks {
        CoreTicks {
            busy: self.busy.saturating_sub(first.busy),
            idle: self.idle.saturating_sub(first.idle),
            softirq: self.softirq.saturating_sub(first.softirq),
            steal: self.steal.saturating_sub(first.steal),
        }
    }

    fn share(&self, part: u64) -> Option<f64> {
        let total = self.total();
        (total > 0).then(|| part as f64 / total as f64)
    }
}

impl MachineReading {
    /// Reads the machine; `None` when `/proc/stat` cannot be read.
    pub(crate) fn take() -> Option<MachineReading> {
        let (all, cores) = parse_stat(&fs::read_to_string("/proc/stat").ok()?)?;
        let devices = fs::read_to_string("/proc/net/dev").ok();
        let load = fs::read_to_string("/proc/loadavg").ok();
        Some(MachineReading {
            all,
            cores,
            loopback_packets: devices.as_deref().and_then(loopback_packets),
            load_average: load.as_deref().and_then(first_number),
        })
    }

    /// As if so many ticks more had passed.
    #[cfg(test)]
    pub(crate) fn add_for_test(&mut self, busy: u64, idle: u64) {
        self.all.busy += busy;
        self.all.idle += idle;
    }

    /// The usage between two readings. `ours` is the CPU time of everything that belongs to the trial.
    pub(crate) fn since(
        &self,
        first: &MachineReading,
        window_ns: u64,
        ours: Option<u64>,
    ) -> MachineUsage {
        let all = self.all.since(&first.all);
        let pairs = self.cores.iter().zip(&first.cores);
        let shares = pairs.map(|(last, first)| {
            let core = last.since(first);
            // Of the time it had: what the hypervisor stole was neither work nor rest.
            match core.busy + core.idle {
                0 if *last == CoreTicks::default() => Some(0.0),
                0 => None,
                had => Some(core.busy as f64 / had as f64),
            }
        });
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        MachineUsage {
            window_ns,
            // A window shorter than a tick has no shares at all.
            core_busy: shares.collect::<Option<Vec<f64>>>().unwrap_or_default(),
            steal_share: all.share(all.steal),
            softirq_share: all.share(all.softirq),
            loopback_packets: self
                .loopback_packets
                .zip(first.loopback_packets)
                .map(|(last, first)| last.saturating_sub(first)),
            foreign_cpu_ns: ours.map(|ours| (all.busy * tick_ns).saturating_sub(ours)),
            load_average: self.load_average,
            pods: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// Parses `/proc/stat`: all cores together, and each.
pub(crate) fn parse_stat(text: &str) -> Option<(CoreTicks, Vec<CoreTicks>)> {
    let mut all = None;
    let mut cores = Vec::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some(number) = name.strip_prefix("cpu") else {
            continue;
        };
        let ticks = parse_core(rest)?;
        if number.is_empty() {
            all = Some(ticks);
        } else {
            // By number: where a core is offline the lines have gaps.
            let number: usize = number.parse().ok().filter(|number| *number < CORES_MAX)?;
            cores.resize(cores.len().max(number + 1), CoreTicks::default());
            cores[number] = ticks;
        }
    }
    Some((all?, cores))
}

fn parse_core(fields: &str) -> Option<CoreTicks> {
    let fields: Vec<u64> = fields
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = fields[..] else {
        return None;
    };
    Some(CoreTicks {
        busy: user + nice + system + irq + softirq,
        idle: idle + iowait,
        softirq,
        steal,
    })
}

/// Packets received by the loopback device: each sent one is received once.
pub(crate) fn loopback_packets(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The first number of a line.
pub(crate) fn first_number(text: &str) -> Option<f64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}
