//! The machine in a record: what is needed to judge a result, and a fingerprint to compare runs by.

use std::collections::BTreeMap;
use std::fs;

use sha2::{Digest, Sha256};
use tare_record::FORMAT_VERSION;
use tare_record::record::{Check, EnvironmentRecord};

use crate::calibrate;
use crate::process::field;
use crate::program;

/// Kernel settings that affect a result: name in the record, file.
const FACTS: &[(&str, &str)] = &[
    (
        "clocksource",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    (
        "congestion-control",
        "/proc/sys/net/ipv4/tcp_congestion_control",
    ),
    (
        "idle-driver",
        "/sys/devices/system/cpu/cpuidle/current_driver",
    ),
    ("listen-backlog-max", "/proc/sys/net/core/somaxconn"),
    ("numa-balancing", "/proc/sys/kernel/numa_balancing"),
    ("port-range", "/proc/sys/net/ipv4/ip_local_port_range"),
    (
        "scaling-driver",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver",
    ),
    (
        "scaling-governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    ),
    ("smt", "/sys/devices/system/cpu/smt/control"),
    (
        "transparent-hugepages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    ),
    ("turbo-off", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
];

/// The machine's ID: of systemd, else of D-Bus.
const MACHINE_ID_FILES: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Hashed before the machine's ID, which machine-id(5) asks not to publish: the hash tells machines apart, and not which they are.
const MACHINE_ID_SALT: &[u8] = b"tare machine id 1\n";

/// The record of this machine, without targets.
#[must_use]
pub fn describe(environment: &str, addressing: &str, checks: Vec<Check>) -> EnvironmentRecord {
    let uname = rustix::system::uname();
    let kernel = uname.release().to_string_lossy().into_owned();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_bytes = field(&memory, "MemTotal").map_or(0, |kib| kib * 1024);
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = u32::try_from(cores).unwrap_or(u32::MAX);
    let os = os_name(&fs::read_to_string("/etc/os-release").unwrap_or_default());
    let cpu_model = cpu_model(&info).unwrap_or_else(|| uname.machine().to_string_lossy().into());
    let fingerprint = fingerprint(&cpu_model, cores, &kernel, memory_bytes);
    EnvironmentRecord {
        version: FORMAT_VERSION,
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        tare_build: tare_record::version::BUILD.map(str::to_owned),
        tare_sha256: program::sha256(),
        environment: environment.to_owned(),
        addressing: addressing.to_owned(),
        kernel,
        os,
        cpu_model,
        cores,
        memory_bytes,
        machine_id: MACHINE_ID_FILES
            .iter()
            .find_map(|path| hashed_machine_id(&read(path)?)),
        boot_id: calibrate::boot_id(),
        fingerprint,
        targets: BTreeMap::new(),
        checks,
        facts: facts(&info),
        calibration: None,
        link_rtts: Vec::new(),
        cluster: None,
        further_clusters: Vec::new(),
    }
}

/// First 16 hexadecimal digits of the salted SHA-256 of a machine's ID; `None` for a text that is none, such as `uninitialized`.
pub(crate) fn hashed_machine_id(id: &str) -> Option<String> {
    let is_id = id.len() == 32 && id.chars().all(|digit| digit.is_ascii_hexdigit());
    is_id.then(|| short_hex(&[MACHINE_ID_SALT, id.as_bytes()].concat(), 8))
}

/// The first bytes of the SHA-256 of a text, as hexadecimal digits.
fn short_hex(text: &[u8], bytes: usize) -> String {
    let digest = Sha256::digest(text);
    let first = digest.iter().take(bytes);
    first.map(|byte| format!("{byte:02x}")).collect()
}

fn facts(cpu_info: &str) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = FACTS
        .iter()
        .filter_map(|(name, path)| Some(((*name).to_owned(), read(path)?)))
        .collect();
    let virtual_machine = cpu_info
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| {
            line.split_ascii_whitespace()
                .any(|flag| flag == "hypervisor")
        });
    if virtual_machine {
        facts.insert(String::from("virtual-machine"), String::from("yes"));
    }
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let word = |limit: Option<u64>| limit.map_or_else(|| String::from("none"), |n| n.to_string());
    facts.insert(String::from("descriptors-soft"), word(limit.current));
    facts.insert(String::from("descriptors-hard"), word(limit.maximum));
    facts
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// The processor's model name; not all architectures have one.
pub(crate) fn cpu_model(info: &str) -> Option<String> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `PRETTY_NAME` of os-release.
pub(crate) fn os_name(text: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or_else(
            || String::from("Linux"),
            |name| name.trim_matches('"').to_owned(),
        )
}

/// What must be equal for two runs to be comparable: processor, cores, kernel and memory (to the GB: the kernel's own
/// share varies a little from boot to boot). Not Tare's version, not the boot.
pub(crate) fn fingerprint(model: &str, cores: u32, kernel: &str, memory_bytes: u64) -> String {
    let memory_gb = (memory_bytes as f64 / 1e9).round();
    let text = format!("{model}\n{cores}\n{kernel}\n{memory_gb}\n");
    short_hex(text.as_bytes(), 6)
}
