//! Processes in /proc: parents, states, fields; their cores; and signals that cannot hit a reused process id.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::thread::CpuSet;
use rustix::time::Timespec;

use crate::sys;

/// The first fields of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat {
    /// Process id.
    pub pid: u32,
    /// Name of the executable, cut at 15 bytes by the kernel.
    pub name: String,
    /// State letter.
    pub state: char,
    pub parent: u32,
    pub session: u32,
    /// CPU in user mode, ticks.
    pub user_ticks: u64,
    /// CPU in the kernel, ticks.
    pub system_ticks: u64,
    /// CPU in user mode of reaped children, ticks.
    pub children_user_ticks: u64,
    /// CPU in the kernel of reaped children, ticks.
    pub children_system_ticks: u64,
    pub threads: u32,
    /// Start after boot, ticks: unique together with the pid.
    pub started_ticks: u64,
}

impl ProcessStat {
    /// Whether it runs, and is neither a zombie nor dead.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Parses a line of `/proc/PID/stat`. The name is in parentheses and may itself hold any of them.
#[must_use]
pub fn parse_stat(line: &str) -> Option<ProcessStat> {
    let open = line.find('(')?;
    let close = line.rfind(')')?;
    let pid = line[..open].trim().parse().ok()?;
    let fields: Vec<&str> = line.get(close + 1..)?.split_ascii_whitespace().collect();
    // `proc_pid_stat(5)` counts from 1 with the state as third: its field n is `fields[n - 3]`.
    let number = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        pid,
        name: line.get(open + 1..close)?.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: u32::try_from(number(4)?).ok()?,
        // Kernel threads and processes of outer namespaces have no valid session: 0.
        session: fields
            .get(6 - 3)?
            .parse::<i64>()
            .ok()?
            .max(0)
            .try_into()
            .ok()?,
        user_ticks: number(14)?,
        system_ticks: number(15)?,
        children_user_ticks: number(16)?,
        children_system_ticks: number(17)?,
        threads: u32::try_from(number(20)?).ok()?,
        started_ticks: number(22)?,
    })
}

/// A process; `None` when it is gone.
#[must_use]
pub fn stat(pid: u32) -> Option<ProcessStat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// All visible processes.
#[must_use]
pub fn snapshot() -> Vec<ProcessStat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(stat)
        .collect()
}

/// Control groups of a process, as the kernel lists them; empty: it is gone.
pub(crate) fn control_groups(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default()
}

/// The number after `key:` (or `key `) at the start of a line.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix(' '))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// Second field of schedstat: time spent waiting on a run queue, ns. (`sched-stats.rst`)
///
/// The third counts time slices: a kernel without these statistics gives three zeros.
pub(crate) fn queued(schedstat: &str) -> Option<u64> {
    let mut fields = schedstat.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran, waited, slices) = (
        fields.next()?.ok()?,
        fields.next()?.ok()?,
        fields.next()?.ok()?,
    );
    (ran > 0 || waited > 0 || slices > 0).then_some(waited)
}

#[must_use]
pub fn with_descendants(all: &[ProcessStat], roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in all {
        children
            .entry(process.parent)
            .or_default()
            .push(process.pid);
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    while let Some(pid) = open.pop() {
        if found.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// A file of `/proc/PID` that only the user of the process may read. A keeper in a pod has no right to look into all processes, but may
/// be that user.
pub(crate) fn read_own(pid: u32, name: &str) -> io::Result<Vec<u8>> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    match fs::read(path.join(name)) {
        Err(error)
            if error.kind() == io::ErrorKind::PermissionDenied
                && rustix::process::geteuid().is_root() =>
        {
            let owner = fs::metadata(&path)?;
            sys::as_user((owner.uid(), owner.gid()), || fs::read(path.join(name)))
        }
        read => read,
    }
}

/// Whether the process was started with this `NAME=value` in its environment.
#[must_use]
pub fn has_environment(pid: u32, entry: &str) -> bool {
    read_own(pid, "environ")
        .is_ok_and(|text| text.split(|b| *b == 0).any(|one| one == entry.as_bytes()))
}

/// Whether the process was started with a `NAME=value` in its environment that begins like this.
pub(crate) fn has_environment_prefix(pid: u32, beginning: &str) -> bool {
    let entries = read_own(pid, "environ");
    entries.is_ok_and(|text| {
        let mut entries = text.split(|b| *b == 0);
        entries.any(|one| one.starts_with(beginning.as_bytes()))
    })
}

/// Sends a signal to exactly this process, never to another one that reused its id.
///
/// Returns whether it was sent.
pub fn send_signal(process: &ProcessStat, signal: Signal) -> bool {
    let Some(pid) = raw_pid(process.pid) else {
        return false;
    };
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    // The handle is bound now: if the process is still the same, the signal goes to it.
    let same = stat(process.pid).is_some_and(|now| now.started_ticks == process.started_ticks);
    same && rustix::process::pidfd_send_signal(&handle, signal).is_ok()
}

/// A process id as the system calls take it.
#[must_use]
pub(crate) fn raw_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// A CPU set; `None` for an empty list: inherited from the parent.
pub(crate) fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    if cpus.is_empty() {
        return None;
    }
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()) {
        if cpu < CpuSet::MAX_CPU {
            set.set(cpu);
        }
    }
    Some(set)
}

/// Pins all threads of this process to these cores, and so later ones; does nothing for an empty list.
pub(crate) fn pin_own_threads(cpus: &[u32]) -> std::io::Result<()> {
    let Some(set) = cpu_set(cpus) else {
        return Ok(());
    };
    for thread in std::fs::read_dir("/proc/self/task")?.flatten() {
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
        let Some(id) = id.and_then(raw_pid) else {
            continue;
        };
        match rustix::thread::sched_setaffinity(Some(id), &set) {
            // The thread has ended meanwhile.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A length of time as the system calls take it.
pub(crate) fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: length.as_secs().cast_signed(),
        tv_nsec: length.subsec_nanos().into(),
    }
}

/// A short sleep in a bounded polling loop.
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "1234 (a ) (b) S 77 1234 1234 0 -1 4194560 500 900 0 0 12 34 5 6 20 0 3 0 98765 1000 200 18446744073709551615 1 1";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = parse_stat(LINE).unwrap();
        assert_eq!(stat.name, "a ) (b");
        assert_eq!((stat.pid, stat.parent, stat.session), (1234, 77, 1234));
        assert_eq!((stat.user_ticks, stat.system_ticks), (12, 34));
        assert_eq!(
            (stat.children_user_ticks, stat.children_system_ticks),
            (5, 6)
        );
        assert_eq!((stat.threads, stat.started_ticks), (3, 98765));
    }

    #[test]
    fn a_cut_line_is_no_process() {
        for length in 0..LINE.find("98765").unwrap() {
            assert_eq!(parse_stat(&LINE[..length]), None, "{length}");
        }
    }

    #[test]
    fn descendants_are_followed_over_generations() {
        let line = |pid: u32, parent: u32| {
            parse_stat(&format!(
                "{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"
            ))
            .unwrap()
        };
        let all = [line(2, 1), line(3, 2), line(4, 3), line(5, 1), line(6, 5)];
        let found = with_descendants(&all, &BTreeSet::from([2]));
        assert_eq!(found, BTreeSet::from([2, 3, 4]));
    }

    #[test]
    fn this_process_finds_itself() {
        let me = stat(std::process::id()).unwrap();
        assert!(me.is_alive() && me.threads >= 1);
        assert!(snapshot().iter().any(|p| p.pid == me.pid));
    }
}
