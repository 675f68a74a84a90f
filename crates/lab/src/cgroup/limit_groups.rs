//! Control groups that limit one process and its descendants; removed however the keeper ends.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use super::{Controller, Group, Mounts, Version};
use crate::process;

/// File in the private folder that lists the control groups, so that clean-up removes them too.
const GROUP_LIST: &str = "cgroups";
/// CFS period. (Default of the kernel and of Kubernetes)
const PERIOD_US: u64 = 100_000;
/// Next step in errors when no group can be created.
const NEXT: &str = "run as root; without root, where the machine has control groups version 2, as \
                    `systemd-run --user --scope -p Delegate=yes ./tare run …`; or remove `limits`";
/// Attempts to remove a group: a killed process leaves its group a moment later.
const TRIES: u32 = 200;
/// Time between attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// CPU and memory limits of one process and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// CPU time per period of 100 ms.
    pub cpu_us: Option<u64>,
    /// Maximum memory.
    pub memory_bytes: Option<u64>,
}

impl CgroupLimits {
    /// Limits from cores and bytes; `None` when neither is limited.
    #[must_use]
    pub fn new(cores: Option<f64>, memory_bytes: Option<u64>) -> Option<CgroupLimits> {
        let bounds = CgroupLimits {
            cpu_us: cores.map(|cores| (cores * PERIOD_US as f64).round() as u64),
            memory_bytes,
        };
        (bounds != CgroupLimits::default()).then_some(bounds)
    }

    fn controllers(&self) -> Vec<Controller> {
        let cpu = self.cpu_us.map(|_| Controller::Cpu);
        let memory = self.memory_bytes.map(|_| Controller::Memory);
        cpu.into_iter().chain(memory).collect()
    }

    /// Files of a controller and their values; optional files are marked.
    fn settings(
        &self,
        controller: Controller,
        version: Version,
    ) -> Vec<(&'static str, String, Needed)> {
        let cpu = self.cpu_us.unwrap_or_default();
        let memory = self.memory_bytes.unwrap_or_default().to_string();
        match (controller, version) {
            (Controller::Cpu, Version::One) => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string(), Needed::Yes),
                ("cpu.cfs_quota_us", cpu.to_string(), Needed::Yes),
            ],
            (Controller::Cpu, Version::Two) => {
                vec![("cpu.max", format!("{cpu} {PERIOD_US}"), Needed::Yes)]
            }
            // Swap counts as memory; without swap accounting the kernel has no such file.
            (Controller::Memory, Version::One) => vec![
                ("memory.limit_in_bytes", memory.clone(), Needed::Yes),
                ("memory.memsw.limit_in_bytes", memory, Needed::No),
            ],
            (Controller::Memory, Version::Two) => vec![
                ("memory.max", memory, Needed::Yes),
                ("memory.swap.max", String::from("0"), Needed::No),
            ],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Yes,
    No,
}

/// All control groups of one keeper.
pub(crate) struct LimitGroups {
    folder: PathBuf,
    made: u64,
    by_process: BTreeMap<String, LimitGroup>,
}

/// The groups of one process: one per tree in version 1, one for all controllers in version 2.
#[derive(Debug)]
struct LimitGroup {
    groups: Vec<(Controller, Group)>,
}

impl LimitGroups {
    /// Groups are named after the keeper's private folder and listed in it.
    pub(crate) fn new(folder: &Path) -> LimitGroups {
        LimitGroups {
            folder: folder.to_owned(),
            made: 0,
            by_process: BTreeMap::new(),
        }
    }

    /// Creates the groups of a process; returns the `cgroup.procs` files to which it writes `0` to join.
    pub(crate) fn make(
        &mut self,
        process: &str,
        bounds: &CgroupLimits,
    ) -> Result<Vec<OwnedFd>, String> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        self.made += 1;
        let name = format!("{}-{}", self.made, directory_name(process));
        let limit_group = self.build(&Mounts::read(), &own, &name, bounds)?;
        let procs_files = limit_group.procs_files();
        self.by_process.insert(process.to_owned(), limit_group);
        procs_files.map_err(|error| format!("no control group can be entered: {error}; {NEXT}"))
    }

    fn build(
        &self,
        mounts: &Mounts,
        own: &str,
        name: &str,
        bounds: &CgroupLimits,
    ) -> Result<LimitGroup, String> {
        let mut limit_group = LimitGroup { groups: Vec::new() };
        for controller in bounds.controllers() {
            let built = self
                .build_one(mounts, own, name, controller)
                .and_then(|group| {
                    for (file, text, needed) in bounds.settings(controller, group.version) {
                        write(&group.dir.join(file), &text, needed)?;
                    }
                    Ok(group)
                });
            match built {
                Ok(group) => limit_group.groups.push((controller, group)),
                Err(why) => {
                    limit_group.remove();
                    let word = controller.word();
                    return Err(format!(
                        "no control group can be made for its limit of {word}: {why}; {NEXT}"
                    ));
                }
            }
        }
        Ok(limit_group)
    }

    /// Creates `<tree>/<own group>/tare-…/<name>`; in version 2 below the nearest delegating ancestor.
    fn build_one(
        &self,
        mounts: &Mounts,
        own: &str,
        name: &str,
        controller: Controller,
    ) -> Result<Group, String> {
        let word = controller.word();
        let place = mounts.group(controller, own);
        let place =
            place.ok_or_else(|| format!("this machine shows no tree of groups for {word}"))?;
        let (version, point) = (place.version, place.point.clone());
        let above = match version {
            Version::One => place.dir.clone(),
            Version::Two => delegating_parent(&place, controller)?,
        };
        let ours = above.join(crate::keeper::name_of(&self.folder));
        self.note(&ours).map_err(|error| error.to_string())?;
        make(&ours)?;
        if version == Version::Two {
            let enabled = ours.join("cgroup.subtree_control");
            write(&enabled, &format!("+{word}"), Needed::Yes)?;
        }
        let dir = ours.join(name);
        make(&dir)?;
        Ok(Group {
            version,
            point,
            dir,
        })
    }

    /// Lists a group before it is created, so that clean-up always finds it.
    fn note(&self, dir: &Path) -> io::Result<()> {
        let path = self.folder.join(GROUP_LIST);
        let known = fs::read_to_string(&path).unwrap_or_default();
        if known.lines().any(|line| Path::new(line) == dir) {
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", dir.display())
    }

    /// Processes that the kernel killed at this process's memory limit.
    pub(crate) fn memory_kills(&self, process: &str) -> u64 {
        let limit_group = self.by_process.get(process);
        let groups = limit_group
            .iter()
            .flat_map(|limit_group| &limit_group.groups);
        let of_memory = groups.filter(|(controller, _)| *controller == Controller::Memory);
        of_memory
            .filter_map(|(_, group)| group.memory_kills())
            .sum()
    }

    /// Removes the groups of a process that has ended.
    pub(crate) fn remove(&mut self, process: &str) {
        if let Some(limit_group) = self.by_process.remove(process) {
            limit_group.remove();
        }
    }
}

impl LimitGroup {
    fn procs_files(&self) -> io::Result<Vec<OwnedFd>> {
        let mut dirs: Vec<&PathBuf> = self.groups.iter().map(|(_, group)| &group.dir).collect();
        dirs.dedup();
        let open = |dir: &PathBuf| {
            let file = OpenOptions::new()
                .write(true)
                .open(dir.join("cgroup.procs"));
            file.map(OwnedFd::from)
        };
        dirs.into_iter().map(open).collect()
    }

    /// A group that is not empty yet is removed with the folder.
    fn remove(&self) {
        for (_, group) in &self.groups {
            let _ = fs::remove_dir(&group.dir);
        }
    }
}

/// The nearest group, from our own upwards, that delegates the controller and is writable.
fn delegating_parent(own: &Group, controller: Controller) -> Result<PathBuf, String> {
    let word = controller.word();
    let mut reason = format!("none of those above has the controller {word} for others");
    for dir in own
        .dir
        .ancestors()
        .take_while(|dir| dir.starts_with(&own.point))
    {
        let enabled = fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap_or_default();
        if !enabled.split_ascii_whitespace().any(|one| one == word) {
            continue;
        }
        // Moving a process requires write access to `cgroup.procs` of the common ancestor.
        let may = [dir.to_owned(), dir.join("cgroup.procs")]
            .iter()
            .try_for_each(|path| rustix::fs::access(path, Access::WRITE_OK));
        match may {
            Ok(()) => return Ok(dir.to_owned()),
            Err(error) => reason = format!("{}: {error}", dir.display()),
        }
    }
    Err(reason)
}

fn make(dir: &Path) -> Result<(), String> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(format!("{}: {error}", dir.display()))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str, needed: Needed) -> Result<(), String> {
    let written = File::options()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Err(error) if needed == Needed::Yes => {
            Err(format!("{} does not take {text}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Removes all groups that a private folder lists; their processes are dead or dying.
pub(crate) fn remove_all(folder: &Path) {
    let Ok(list) = fs::read_to_string(folder.join(GROUP_LIST)) else {
        return;
    };
    let name = crate::keeper::name_of(folder);
    let ours = list
        .lines()
        .map(Path::new)
        .filter(|dir| dir.ends_with(&name));
    for dir in ours {
        for _ in 0..TRIES {
            let within = fs::read_dir(dir).into_iter().flatten().flatten();
            for group in within.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                let _ = fs::remove_dir(group.path());
            }
            let _ = fs::remove_dir(dir);
            if !dir.exists() {
                break;
            }
            process::pause(PAUSE);
        }
    }
}

/// A process name as a directory name.
fn directory_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A version 2 tree of plain files: the kernel creates them in every new group, here the test does.
    struct Tree {
        root: tempfile::TempDir,
        mounts: Mounts,
    }

    impl Tree {
        fn new(enabled: &[(&str, &str)]) -> Tree {
            let root = tempfile::tempdir().unwrap();
            for (group, controllers) in enabled {
                let dir = root.path().join(group);
                fs::create_dir_all(&dir).unwrap();
                fs::write(dir.join("cgroup.subtree_control"), controllers).unwrap();
                fs::write(dir.join("cgroup.procs"), "").unwrap();
            }
            let point = root.path().display();
            let mounts = Mounts::parse(&format!("41 31 0:38 / {point} rw - cgroup2 cgroup2 rw\n"));
            Tree { root, mounts }
        }

        fn own(&self, path: &str) -> Group {
            let own = self.mounts.group(Controller::Cpu, &format!("0::{path}\n"));
            own.unwrap()
        }
    }

    #[test]
    fn in_version_2_the_nearest_group_that_hands_the_controller_on_is_taken() {
        let tree = Tree::new(&[
            ("", "cpu memory"),
            ("user", "cpu memory"),
            ("user/session", "memory"),
            ("user/session/scope", ""),
        ]);
        let own = tree.own("/user/session/scope");
        let at = |path: &str| tree.root.path().join(path);
        assert_eq!(delegating_parent(&own, Controller::Cpu), Ok(at("user")));
        assert_eq!(
            delegating_parent(&own, Controller::Memory),
            Ok(at("user/session"))
        );
    }

    #[test]
    fn without_a_group_that_hands_it_on_the_reason_and_the_next_step_are_told() {
        let tree = Tree::new(&[("", "pids"), ("scope", "")]);
        let folder = tempfile::tempdir().unwrap();
        let limit_groups = LimitGroups::new(folder.path());
        let bounds = CgroupLimits::new(Some(0.5), None).unwrap();
        let error = limit_groups
            .build(&tree.mounts, "0::/scope\n", "1-server", &bounds)
            .unwrap_err();
        assert!(
            error.contains("none of those above has the controller cpu")
                && error.contains("systemd-run --user --scope")
                && error.contains("remove `limits`"),
            "{error}"
        );
        let none = Mounts::parse("");
        let error = limit_groups
            .build(&none, "", "1-server", &bounds)
            .unwrap_err();
        assert!(error.contains("no tree of groups for cpu"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_written_is_the_same_limit_in_both_versions() {
        let bounds = CgroupLimits::new(Some(1.5), Some(1 << 30)).unwrap();
        let lines = |version| -> Vec<String> {
            let all = [Controller::Cpu, Controller::Memory];
            let settings = all.map(|controller| bounds.settings(controller, version));
            let settings = settings.into_iter().flatten();
            settings
                .map(|(file, text, _)| format!("{file} {text}"))
                .collect()
        };
        assert_eq!(
            lines(Version::One),
            [
                "cpu.cfs_period_us 100000",
                "cpu.cfs_quota_us 150000",
                "memory.limit_in_bytes 1073741824",
                "memory.memsw.limit_in_bytes 1073741824",
            ]
        );
        assert_eq!(
            lines(Version::Two),
            [
                "cpu.max 150000 100000",
                "memory.max 1073741824",
                "memory.swap.max 0"
            ]
        );
        assert_eq!(CgroupLimits::new(None, None), None);
    }

    #[test]
    fn groups_are_removed_by_the_note_and_only_those_with_the_folders_name() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("tare-7-0000000000000001");
        let groups = tree.path().join("groups");
        let (ours, foreign) = (
            groups.join("tare-7-0000000000000001"),
            groups.join("somebody"),
        );
        for dir in [&folder, &ours.join("1-server"), &foreign] {
            fs::create_dir_all(dir).unwrap();
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let note = format!("{}\n{}\n", ours.display(), foreign.display());
        fs::write(folder.join(GROUP_LIST), note).unwrap();
        remove_all(&folder);
        assert!(!ours.exists() && foreign.exists());
    }
}
