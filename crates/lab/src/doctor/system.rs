//! Checks by reading files: cores, limits, clock, memory, what can be observed.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

use rustix::process::Resource;
use tare_record::locate::locate;
use tare_record::record::Check;

use super::{Graded, RequiredProgram, check, figure};
use crate::process::field;

/// Descriptors for ten thousand connections, in and out.
const DESCRIPTORS_WANTED: u64 = 20_000;
/// Below this not even a modest load with proxies can open its connections.
const DESCRIPTORS_NEEDED: u64 = 256;
const MEMORY_WANTED_MB: f64 = 1000.0;
const MEMORY_NEEDED_MB: f64 = 200.0;

/// Cores that this process may use.
pub(crate) fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    figure("cores", format!("{cores} usable"), cores as f64, "cores")
        .warn_if(
            cores < 4,
            "the agent has one core, all parts share the rest: they saturate early, so compare at modest rates",
        )
        .warn_if(
            cores < 2,
            "the agent shares the core with what it measures: intervals will be wide; use two or more",
        )
}

/// CPU and memory limits of this process's control group.
pub(crate) fn quota() -> Check {
    match (cpu_quota(), memory_quota()) {
        (Some(cores), _) => {
            let found = format!("the control group allows {cores:.2} cores");
            figure("quota", found, cores, "cores").warn_if(
                true,
                "parts are stopped in the middle when it is used up: remove the CPU limit of the container",
            )
        }
        (None, Some(bytes)) => figure(
            "quota",
            format!(
                "no limit of cores; the control group allows {:.1} GB",
                bytes as f64 / 1e9
            ),
            bytes as f64 / 1e6,
            "MB",
        ),
        (None, None) => check("quota", "no limit of cores or memory by a control group"),
    }
}

/// CPU limit of the control group (either version), in cores.
fn cpu_quota() -> Option<f64> {
    let parse = |quota: &str, period: &str| -> Option<f64> {
        Some(quota.trim().parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?)
    };
    let two = groups("0::").into_iter().filter_map(|group| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{group}/cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        parse(quota, period)
    });
    let one = fs::read_to_string("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
        .ok()
        .zip(fs::read_to_string("/sys/fs/cgroup/cpu/cpu.cfs_period_us").ok())
        .and_then(|(quota, period)| parse(&quota, &period))
        .filter(|cores| *cores > 0.0);
    two.chain(one).min_by(f64::total_cmp)
}

fn memory_quota() -> Option<u64> {
    groups("0::")
        .into_iter()
        .filter_map(|group| {
            let text = fs::read_to_string(format!("/sys/fs/cgroup{group}/memory.max")).ok()?;
            text.trim().parse().ok()
        })
        .min()
}

/// The control group of this process and its ancestors, each starting with a slash or empty.
fn groups(prefix: &str) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let Some(group) = text.lines().find_map(|line| line.strip_prefix(prefix)) else {
        return Vec::new();
    };
    std::path::Path::new(group)
        .ancestors()
        .map(|path| path.display().to_string().trim_end_matches('/').to_owned())
        .collect()
}

/// The frequency governor of the cores.
pub(crate) fn governor() -> Check {
    let Ok(entries) = fs::read_dir("/sys/devices/system/cpu") else {
        return check("governor", "not shown by this kernel");
    };
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|cpu| fs::read_to_string(cpu.path().join("cpufreq/scaling_governor")).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    found.sort();
    found.dedup();
    match found.as_slice() {
        [] => check(
            "governor",
            "none (the host or the firmware sets the frequency)",
        ),
        [one] if one == "performance" => check("governor", "performance"),
        several => check("governor", several.join(", ")).warn_if(
            true,
            "the frequency follows the load, so a light load looks slow: cpupower frequency-set -g performance",
        ),
    }
}

/// The clock that all times come from.
pub(crate) fn clock_source() -> Check {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let Ok(source) = fs::read_to_string(path) else {
        return check("clock", "not shown by this kernel");
    };
    let source = source.trim();
    check("clock", source).warn_if(
        ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&source),
        "reading this clock costs a microsecond or more each time: boot with clocksource=tsc if the processor has a stable one",
    )
}

/// Whether pods can have their own addresses, and how many client ports there are.
pub(crate) fn addresses() -> Check {
    let pod = IpAddr::from(Ipv4Addr::new(127, 77, 0, 1));
    if let Err(error) = TcpListener::bind((pod, 0)) {
        return check("addresses", format!("{pod} cannot be used: {error}")).fail_if(
            true,
            "every pod needs an address of 127.0.0.0/8: give the device lo the address 127.0.0.1/8",
        );
    }
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_ascii_whitespace().map(str::parse::<u32>);
    let (Some(Ok(low)), Some(Ok(high))) = (ends.next(), ends.next()) else {
        return check("addresses", "127.0.0.0/8 is usable");
    };
    let ports = high.saturating_sub(low) + 1;
    let found = format!("127.0.0.0/8 is usable, {ports} ports for callers");
    figure("addresses", found, f64::from(ports), "ports").warn_if(
        ports < 20_000,
        "many connections use up the ports: sysctl -w net.ipv4.ip_local_port_range='32768 60999'",
    )
}

/// Limit of open files and connections per process.
pub(crate) fn descriptors() -> Check {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    // Targets and agents raise their own limit up to the hard one.
    let Some(hard) = limit.maximum else {
        return check("descriptors", "no limit");
    };
    let soft = limit.current.unwrap_or(hard);
    let found = format!("{hard} per process (soft limit {soft}; Tare raises it)");
    figure("descriptors", found, hard as f64, "files")
        .warn_if(
            hard < DESCRIPTORS_WANTED,
            "loads with thousands of connections need more: ulimit -Hn 20000, or LimitNOFILE of the service",
        )
        .fail_if(
            hard < DESCRIPTORS_NEEDED,
            "raise the hard limit: ulimit -Hn 20000",
        )
}

/// Available memory.
pub(crate) fn memory() -> Check {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let Some(available) = field(&text, "MemAvailable") else {
        return check("memory", "not shown by this kernel");
    };
    let mb = (available * 1024) as f64 / 1e6;
    let found = format!("{:.1} GB available", mb / 1000.0);
    figure("memory", found, mb, "MB")
        .warn_if(
            mb < MEMORY_WANTED_MB,
            "larger targets may be killed for want of memory: free some",
        )
        .fail_if(
            mb < MEMORY_NEEDED_MB,
            "proxies and histograms need more: free some memory",
        )
}

/// Whether links between sites can be emulated.
pub(crate) fn distance() -> Check {
    match tare_net::link::possible() {
        Ok(()) => check(
            "distance",
            "sites can lie apart: by Tare's own link (TUN), the same on every machine",
        ),
        Err(error) => check("distance", "sites cannot lie apart").warn_if(
            true,
            format!("experiments without sites still run; {error}"),
        ),
    }
}

/// Whether all figures of a record can be read for processes.
pub(crate) fn observation() -> Check {
    let mut missing = Vec::new();
    let schedstat = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    if crate::process::queued(&schedstat).is_none() {
        missing.push("time on run queues (kernel without CONFIG_SCHED_INFO)");
    }
    if fs::write("/proc/self/clear_refs", "5").is_err() {
        missing.push("peak memory per trial (/proc/PID/clear_refs is closed)");
    }
    if fs::read_to_string("/proc/self/io").is_err() {
        missing.push("disk bytes (/proc/PID/io is closed)");
    }
    if missing.is_empty() {
        return check(
            "observation",
            "CPU, queues, memory and disk of every process can be read",
        );
    }
    let found = format!("not to be had: {}", missing.join(", "));
    check("observation", found).warn_if(true, "those figures are shown as –")
}

/// Whether a program is installed.
pub(crate) fn required_program(required_program: &RequiredProgram) -> Check {
    match locate(&required_program.program) {
        Some(path) => check(&required_program.program, path.display().to_string()),
        None => check(&required_program.program, "missing").warn_if(
            true,
            format!(
                "needed for {}: apt-get install {}",
                required_program.needed_for, required_program.package
            ),
        ),
    }
}
