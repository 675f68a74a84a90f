//! Readings of the whole machine: cores, softirq, steal, loopback packets, load average.

use std::fs;
use std::io::Read;
use std::sync::OnceLock;
use std::time::Instant;

use flate2::read::GzDecoder;
use tare_record::record::MachineUsage;

/// More cores than any kernel supports.
const CORES_MAX: usize = 1 << 14;
/// Ten times the size of a usual kernel configuration.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// Counters of the machine at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineReading {
    at: Instant,
    /// By number; `None`: offline.
    cores: Vec<Option<CoreTicks>>,
    loopback_packets: Option<u64>,
    load_average: Option<f64>,
}

/// A line of `/proc/stat`, ticks since boot. Busy times are not read: most kernels only sample them at each tick, and
/// programs that wake by a timer run at the ticks always or never. Idle time is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CoreTicks {
    /// Idle, including waiting for a disk.
    pub idle: u64,
    pub softirq: u64,
    pub steal: u64,
}

/// Use of a core's time, in ticks.
#[derive(Debug, Clone, Copy)]
struct CoreTime {
    /// Time without steal.
    available: f64,
    busy: f64,
    /// Softirq time that is accounted to no process.
    unaccounted: f64,
    softirq: f64,
    steal: f64,
}

impl CoreTime {
    fn between(first: &CoreTicks, last: &CoreTicks, elapsed: f64) -> CoreTime {
        let grown = |value: fn(&CoreTicks) -> u64| value(last).saturating_sub(value(first)) as f64;
        let steal = grown(|core| core.steal).min(elapsed);
        let available = elapsed - steal;
        let busy = (available - grown(|core| core.idle)).max(0.0);
        let softirq = grown(|core| core.softirq);
        let unaccounted = if accounts_softirq() {
            0.0
        } else {
            softirq.min(busy)
        };
        CoreTime {
            available,
            busy,
            unaccounted,
            softirq,
            steal,
        }
    }
}

impl MachineReading {
    /// Reads the machine; `None` when `/proc/stat` cannot be read.
    pub(crate) fn take() -> Option<MachineReading> {
        let cores = parse_stat(&fs::read_to_string("/proc/stat").ok()?)?;
        let at = Instant::now();
        let devices = fs::read_to_string("/proc/net/dev").ok();
        let load = fs::read_to_string("/proc/loadavg").ok();
        Some(MachineReading {
            at,
            cores,
            loopback_packets: devices.as_deref().and_then(loopback_packets),
            load_average: load.as_deref().and_then(first_number),
        })
    }

    /// Advances the reading by this time, with idle and stolen ticks on every core.
    #[cfg(test)]
    pub(crate) fn add_for_test(&mut self, passed: std::time::Duration, idle: u64, steal: u64) {
        self.at += passed;
        for core in self.cores.iter_mut().flatten() {
            core.idle += idle;
            core.steal += steal;
        }
    }

    /// Usage between two readings. `ours` is the CPU time of everything that belongs to the run.
    pub(crate) fn since(&self, first: &MachineReading, ours: Option<u64>) -> MachineUsage {
        let passed = self.at.duration_since(first.at);
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let elapsed = passed.as_nanos() as f64 / tick_ns as f64;
        let pairs = self.cores.iter().zip(&first.cores);
        let times: Vec<Option<CoreTime>> = pairs
            .map(|(last, first)| Some(CoreTime::between(first.as_ref()?, last.as_ref()?, elapsed)))
            .collect();
        let online = || times.iter().flatten();
        let all = |value: fn(&CoreTime) -> f64| online().map(value).sum::<f64>();
        let capacity = elapsed * online().count() as f64;
        let of_all = |ticks: f64| (capacity > 0.0).then(|| ticks / capacity);
        // Shares are of the time the core had, without steal; a window shorter than a tick has none.
        let of_each = |value: fn(&CoreTime) -> f64| {
            let shares = times.iter().map(|time| match time {
                None => Some(0.0),
                Some(time) => (time.available >= 1.0).then(|| value(time) / time.available),
            });
            shares.collect::<Option<Vec<f64>>>().unwrap_or_default()
        };
        let busy_ns = (all(|core| core.busy - core.unaccounted) * tick_ns as f64) as u64;
        MachineUsage {
            window_ns: u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX),
            core_busy: of_each(|core| core.busy),
            core_unattributed: of_each(|core| core.unaccounted),
            steal_share: of_all(all(|core| core.steal)),
            softirq_share: of_all(all(|core| core.softirq)),
            loopback_packets: self
                .loopback_packets
                .zip(first.loopback_packets)
                .map(|(last, first)| last.saturating_sub(first)),
            background_cpu_ns: ours.map(|ours| busy_ns.saturating_sub(ours)),
            background: None,
            other_arms_cpu_ns: None,
            other_arms: None,
            load_average: self.load_average,
            pods: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// Whether the CPU time of a process includes softirqs that interrupted it. Assumed to be false where the kernel
/// configuration is not shown: then less may be attributed to other programs than they used.
fn accounts_softirq() -> bool {
    static ACCOUNTS: OnceLock<bool> = OnceLock::new();
    *ACCOUNTS.get_or_init(|| kernel_config().is_some_and(|config| !times_interrupts(&config)))
}

/// The configuration of this kernel.
fn kernel_config() -> Option<String> {
    let release = rustix::system::uname();
    let beside = format!("/boot/config-{}", release.release().to_string_lossy());
    let mut text = String::new();
    let read = match fs::File::open("/proc/config.gz") {
        Ok(file) => GzDecoder::new(file)
            .take(CONFIG_BYTES_MAX)
            .read_to_string(&mut text),
        Err(_) => fs::File::open(beside)
            .ok()?
            .take(CONFIG_BYTES_MAX)
            .read_to_string(&mut text),
    };
    read.is_ok().then_some(text)
}

/// Whether interrupts, including softirqs, are timed separately from the process that they interrupt.
pub(crate) fn times_interrupts(config: &str) -> bool {
    config
        .lines()
        .any(|line| line == "CONFIG_IRQ_TIME_ACCOUNTING=y")
}

/// Parses `/proc/stat`: each core by its number; `None` when there are none.
pub(crate) fn parse_stat(text: &str) -> Option<Vec<Option<CoreTicks>>> {
    let mut cores = Vec::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some(number) = name.strip_prefix("cpu").filter(|n| !n.is_empty()) else {
            continue;
        };
        // Offline cores are left out of the file.
        let number: usize = number.parse().ok().filter(|number| *number < CORES_MAX)?;
        cores.resize(cores.len().max(number + 1), None);
        cores[number] = Some(parse_core(rest)?);
    }
    (!cores.is_empty()).then_some(cores)
}

fn parse_core(fields: &str) -> Option<CoreTicks> {
    let fields: Vec<u64> = fields
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let [
        _user,
        _nice,
        _system,
        idle,
        iowait,
        _irq,
        softirq,
        steal,
        ..,
    ] = fields[..]
    else {
        return None;
    };
    // No idle time since boot: a sandbox that shows zeros.
    (idle > 0).then_some(CoreTicks {
        idle: idle + iowait,
        softirq,
        steal,
    })
}

/// Packets received by the loopback device: each sent packet is received once.
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
