//! Control groups, version 1 or 2: the group of a process, and its counters.

pub(crate) mod limit_groups;

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::field;

/// A controller whose limits are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Cpu,
    Memory,
}

impl Controller {
    /// The kernel's name of it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
        }
    }
}

/// Version of the cgroup interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// One tree per controller.
    One,
    /// One tree for all controllers.
    Two,
}

/// Mounted cgroup trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// Controllers of a version 1 tree; version 2 lists them in a file.
    controllers: Vec<String>,
    /// Group that is visible at the mount point.
    root: String,
    point: PathBuf,
}

/// A group in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) version: Version,
    /// Mount point of the tree.
    pub(crate) point: PathBuf,
    pub(crate) dir: PathBuf,
}

/// CPU throttling counters since the group was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// Periods in which a process of the group was runnable.
    pub periods: u64,
    /// Of these, periods in which the quota ran out.
    pub throttled: u64,
    /// Time that runnable processes were throttled.
    pub throttled_ns: u64,
}

impl Mounts {
    /// The trees visible to this process; none when `/proc` cannot be read.
    pub(crate) fn read() -> Mounts {
        Mounts::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// Parses `mountinfo`. (`proc_pid_mountinfo(5)`)
    fn parse(text: &str) -> Mounts {
        let mount = |line: &str| {
            let (left, right) = line.split_once(" - ")?;
            let left: Vec<&str> = left.split(' ').collect();
            let mut right = right.split(' ');
            let version = match right.next()? {
                "cgroup" => Version::One,
                "cgroup2" => Version::Two,
                _ => return None,
            };
            Some(Mount {
                version,
                controllers: right.nth(1)?.split(',').map(str::to_owned).collect(),
                root: (*left.get(3)?).to_owned(),
                point: PathBuf::from(left.get(4)?),
            })
        };
        Mounts(text.lines().filter_map(mount).collect())
    }

    /// The group of a process for a controller, from its `/proc/PID/cgroup`. A controller in a version 1 tree is not
    /// in the version 2 tree.
    pub(crate) fn group(&self, controller: Controller, of_process: &str) -> Option<Group> {
        let word = controller.word();
        let has = |mount: &&Mount| {
            mount.version == Version::One && mount.controllers.iter().any(|one| one == word)
        };
        let two = |mount: &&Mount| mount.version == Version::Two;
        let mount = self.0.iter().find(has).or(self.0.iter().find(two))?;
        let path = of_process.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers) = (fields.next()?, fields.next()?);
            let belongs = match mount.version {
                Version::One => controllers.split(',').any(|one| one == word),
                Version::Two => number == "0",
            };
            belongs.then(|| fields.next()).flatten()
        })?;
        let inside = Path::new(path).strip_prefix(&mount.root).ok()?;
        Some(Group {
            version: mount.version,
            point: mount.point.clone(),
            dir: mount.point.join(inside),
        })
    }

    /// The group of a running process.
    pub(crate) fn group_of(&self, controller: Controller, pid: u32) -> Option<Group> {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        self.group(controller, &text)
    }
}

impl Group {
    /// CPU throttling; `None` when the group has no such counters or they cannot be read.
    pub(crate) fn throttling(&self) -> Option<Throttling> {
        parse_throttling(&fs::read_to_string(self.dir.join("cpu.stat")).ok()?)
    }

    /// Number of processes that the kernel killed at the memory limit.
    pub(crate) fn memory_kills(&self) -> Option<u64> {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        field(&fs::read_to_string(self.dir.join(file)).ok()?, "oom_kill")
    }
}

/// Parses `cpu.stat`: nanoseconds in version 1, microseconds in version 2.
fn parse_throttling(text: &str) -> Option<Throttling> {
    let ns = field(text, "throttled_time");
    let us = field(text, "throttled_usec").map(|us| us * 1000);
    Some(Throttling {
        periods: field(text, "nr_periods")?,
        throttled: field(text, "nr_throttled")?,
        throttled_ns: ns.or(us)?,
    })
}

#[cfg(test)]
mod tests;
