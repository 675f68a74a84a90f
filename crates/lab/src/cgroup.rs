//! Control groups of the kernel, version 1 or 2: where a process is in them, and what they count.

pub(crate) mod fence;

use std::fs;
use std::path::{Path, PathBuf};

use crate::observe::field;

/// What a group can bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Cpu,
    Memory,
}

impl Controller {
    /// The kernel's word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Memory => "memory",
        }
    }
}

/// The two interfaces that kernels have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// A tree for each controller.
    One,
    /// One tree for all.
    Two,
}

/// The trees of groups, as they are mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mounts(Vec<Mount>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// Of version 1; version 2 says elsewhere which it has.
    controllers: Vec<String>,
    /// Group that is seen at the mount point.
    root: String,
    point: PathBuf,
}

/// A group of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) version: Version,
    /// Where the tree is mounted.
    pub(crate) point: PathBuf,
    pub(crate) dir: PathBuf,
}

/// What a limit of CPU has done, since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throttling {
    /// Periods in which somebody of the group wanted to run.
    pub periods: u64,
    /// Of them, those in which the limit was reached.
    pub throttled: u64,
    /// Time that runnable processes were kept waiting.
    pub throttled_ns: u64,
}

impl Mounts {
    /// The trees that this process sees; none where `/proc` does not tell.
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

    /// The group of a process for a controller, by its `/proc/PID/cgroup`. A controller that a tree of version 1 has is not
    /// in that of version 2.
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

    /// The same, of a living process.
    pub(crate) fn group_of(&self, controller: Controller, pid: u32) -> Option<Group> {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        self.group(controller, &text)
    }
}

impl Group {
    /// What a limit of CPU has done; `None`: the group has none of its own, or cannot be read.
    pub(crate) fn throttling(&self) -> Option<Throttling> {
        parse_throttling(&fs::read_to_string(self.dir.join("cpu.stat")).ok()?)
    }

    /// Processes that the kernel has killed since they wanted more memory than the group may have.
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
