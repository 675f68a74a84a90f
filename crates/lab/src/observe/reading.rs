//! One reading of one process from /proc and its CPU clock.

use std::collections::BTreeMap;
use std::fs;

use crate::process::{self, ProcessStat, field, queued};
use crate::sys;

/// Resource usage of one process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessReading {
    own_cpu_ns: Option<u64>,
    stat: ProcessStat,
    /// Thread → time on a run queue.
    pub queued_ns: Option<BTreeMap<u32, u64>>,
    /// Thread → voluntary context switches.
    pub voluntary: Option<BTreeMap<u32, u64>>,
    /// Thread → involuntary context switches.
    pub involuntary: Option<BTreeMap<u32, u64>>,
    pub disk_read_bytes: Option<u64>,
    pub disk_write_bytes: Option<u64>,
    pub peak_bytes: Option<u64>,
}

impl ProcessReading {
    /// Reads a process; `None` when it is gone.
    pub(crate) fn take(pid: u32) -> Option<ProcessReading> {
        let stat = process::stat(pid)?;
        let io = process::read_own(pid, "io").ok();
        let io = io.map(|text| String::from_utf8_lossy(&text).into_owned());
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok();
        let threads = thread_ids(pid);
        let of_threads = |value: &dyn Fn(u32) -> Option<u64>| {
            let threads = threads.as_ref()?;
            // A thread that ended meanwhile is left out.
            let found: BTreeMap<u32, u64> = threads
                .iter()
                .filter_map(|t| Some((*t, value(*t)?)))
                .collect();
            (!found.is_empty()).then_some(found)
        };
        let statuses: BTreeMap<u32, String> = threads
            .iter()
            .flatten()
            .filter_map(|t| {
                let text = fs::read_to_string(format!("/proc/{pid}/task/{t}/status"));
                Some((*t, text.ok()?))
            })
            .collect();
        let switches = |key: &str| of_threads(&|thread| field(statuses.get(&thread)?, key));
        Some(ProcessReading {
            own_cpu_ns: sys::process_cpu(pid).and_then(|d| u64::try_from(d.as_nanos()).ok()),
            queued_ns: of_threads(&|thread| {
                let path = format!("/proc/{pid}/task/{thread}/schedstat");
                queued(&fs::read_to_string(path).ok()?)
            }),
            voluntary: switches("voluntary_ctxt_switches"),
            involuntary: switches("nonvoluntary_ctxt_switches"),
            disk_read_bytes: io.as_deref().and_then(|io| field(io, "read_bytes")),
            disk_write_bytes: io.as_deref().and_then(|io| field(io, "write_bytes")),
            peak_bytes: status
                .as_deref()
                .and_then(|status| field(status, "VmHWM"))
                .map(|kib| kib * 1024),
            stat,
        })
    }

    /// CPU time, optionally with that of reaped children.
    pub(crate) fn cpu_ns(&self, with_children: bool) -> Option<u64> {
        let children = self.stat.children_user_ticks + self.stat.children_system_ticks;
        Some(self.own_cpu_ns? + ticks_ns(children * u64::from(with_children)))
    }

    /// CPU time in user mode.
    pub(crate) fn user_ns(&self, with_children: bool) -> u64 {
        let children = self.stat.children_user_ticks * u64::from(with_children);
        ticks_ns(self.stat.user_ticks + children)
    }

    /// CPU time in the kernel.
    pub(crate) fn system_ns(&self, with_children: bool) -> u64 {
        let children = self.stat.children_system_ticks * u64::from(with_children);
        ticks_ns(self.stat.system_ticks + children)
    }

    pub(crate) fn threads(&self) -> u32 {
        self.stat.threads
    }
}

/// Resets the high-water mark of resident memory. (`proc_pid_clear_refs(5)`)
pub(crate) fn reset_peak(pid: u32) -> bool {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").is_ok()
}

/// Resident memory now.
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * u64::try_from(rustix::param::page_size()).ok()?)
}

pub(super) fn thread_ids(pid: u32) -> Option<Vec<u32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let names = entries.flatten().map(|entry| entry.file_name());
    Some(
        names
            .filter_map(|name| name.to_str()?.parse().ok())
            .collect(),
    )
}

pub(super) fn ticks_ns(ticks: u64) -> u64 {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    ticks * (1_000_000_000 / per_second)
}
