//! Groups that bound one process and all it starts: made, joined by the child itself, removed however the keeper ends.

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

/// File of the private folder that names the groups: whoever removes the one removes the others.
const LEDGER: &str = "cgroups";
/// Time over which a share of CPU is kept. (The kernel's own choice, and that of Kubernetes)
const PERIOD_US: u64 = 100_000;
/// What to do where no group can be made.
const NEXT: &str = "run as root; without root, where the machine has control groups version 2, as \
                    `systemd-run --user --scope -p Delegate=yes ./tare run …`; or remove `limits`";
/// A process that was killed leaves its group a moment later.
const TRIES: u32 = 200;
/// Between these.
const PAUSE: Duration = Duration::from_millis(5);

/// What one process with all it starts may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// CPU time, of every 100 ms.
    pub cpu_us: Option<u64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

impl Bounds {
    /// Bounds by cores and bytes; `None` when nothing is bounded.
    #[must_use]
    pub fn new(cores: Option<f64>, memory_bytes: Option<u64>) -> Option<Bounds> {
        let bounds = Bounds {
            cpu_us: cores.map(|cores| (cores * PERIOD_US as f64).round() as u64),
            memory_bytes,
        };
        (bounds != Bounds::default()).then_some(bounds)
    }

    fn controllers(&self) -> Vec<Controller> {
        let cpu = self.cpu_us.map(|_| Controller::Cpu);
        let memory = self.memory_bytes.map(|_| Controller::Memory);
        cpu.into_iter().chain(memory).collect()
    }

    /// The files of a controller and what is written to each. A file that need not be there is marked.
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
            // Memory that is swapped out is memory: a kernel that does not count swap has no such file.
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

/// The groups of one keeper.
pub(crate) struct Fences {
    folder: PathBuf,
    made: u64,
    by_process: BTreeMap<String, Fence>,
}

/// The groups of one process: one for each tree of version 1, one for all controllers in version 2.
#[derive(Debug)]
struct Fence {
    groups: Vec<(Controller, Group)>,
}

impl Fences {
    /// Groups named after a keeper's private folder, in which they are noted.
    pub(crate) fn new(folder: &Path) -> Fences {
        Fences {
            folder: folder.to_owned(),
            made: 0,
            by_process: BTreeMap::new(),
        }
    }

    /// Makes the groups of a process: the files to which it writes `0` to join them.
    pub(crate) fn make(&mut self, process: &str, bounds: &Bounds) -> Result<Vec<OwnedFd>, String> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        self.made += 1;
        let name = format!("{}-{}", self.made, in_letters(process));
        let fence = self.build(&Mounts::read(), &own, &name, bounds)?;
        let doors = fence.doors();
        self.by_process.insert(process.to_owned(), fence);
        doors.map_err(|error| format!("no control group can be entered: {error}; {NEXT}"))
    }

    fn build(
        &self,
        mounts: &Mounts,
        own: &str,
        name: &str,
        bounds: &Bounds,
    ) -> Result<Fence, String> {
        let mut fence = Fence { groups: Vec::new() };
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
                Ok(group) => fence.groups.push((controller, group)),
                Err(why) => {
                    fence.remove();
                    let word = controller.word();
                    return Err(format!(
                        "no control group can be made for its limit of {word}: {why}; {NEXT}"
                    ));
                }
            }
        }
        Ok(fence)
    }

    /// Makes `<tree>/<where this process is>/tare-…/<name>`, or in version 2 as far up as it has to be.
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
            Version::Two => passes_on(&place, controller)?,
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

    /// Notes a group before it is made: whatever happens, somebody knows of it.
    fn note(&self, dir: &Path) -> io::Result<()> {
        let path = self.folder.join(LEDGER);
        let known = fs::read_to_string(&path).unwrap_or_default();
        if known.lines().any(|line| Path::new(line) == dir) {
            return Ok(());
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", dir.display())
    }

    /// Processes of this one that the kernel killed for want of memory within its limit.
    pub(crate) fn memory_kills(&self, process: &str) -> u64 {
        let fence = self.by_process.get(process);
        let groups = fence.iter().flat_map(|fence| &fence.groups);
        let of_memory = groups.filter(|(controller, _)| *controller == Controller::Memory);
        of_memory
            .filter_map(|(_, group)| group.memory_kills())
            .sum()
    }

    /// Removes the groups of a process that has ended.
    pub(crate) fn remove(&mut self, process: &str) {
        if let Some(fence) = self.by_process.remove(process) {
            fence.remove();
        }
    }
}

impl Fence {
    fn doors(&self) -> io::Result<Vec<OwnedFd>> {
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

    /// What is not empty yet is removed with the folder.
    fn remove(&self) {
        for (_, group) in &self.groups {
            let _ = fs::remove_dir(&group.dir);
        }
    }
}

/// The nearest group from ours upwards that hands a controller to groups below it and lets us make one.
fn passes_on(own: &Group, controller: Controller) -> Result<PathBuf, String> {
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
        // To move a process, one must be able to write where both places meet.
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

/// Removes all groups that a private folder notes; its processes are dead or dying.
pub(crate) fn remove_all(folder: &Path) {
    let Ok(ledger) = fs::read_to_string(folder.join(LEDGER)) else {
        return;
    };
    let name = crate::keeper::name_of(folder);
    let ours = ledger
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

/// A name of a process as a name of a directory.
fn in_letters(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A tree of version 2 as plain files: the kernel makes them in every new group, here the test does.
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
        assert_eq!(passes_on(&own, Controller::Cpu), Ok(at("user")));
        assert_eq!(passes_on(&own, Controller::Memory), Ok(at("user/session")));
    }

    #[test]
    fn without_a_group_that_hands_it_on_the_reason_and_the_next_step_are_told() {
        let tree = Tree::new(&[("", "pids"), ("scope", "")]);
        let folder = tempfile::tempdir().unwrap();
        let fences = Fences::new(folder.path());
        let bounds = Bounds::new(Some(0.5), None).unwrap();
        let error = fences
            .build(&tree.mounts, "0::/scope\n", "1-server", &bounds)
            .unwrap_err();
        assert!(
            error.contains("none of those above has the controller cpu")
                && error.contains("systemd-run --user --scope")
                && error.contains("remove `limits`"),
            "{error}"
        );
        let none = Mounts::parse("");
        let error = fences.build(&none, "", "1-server", &bounds).unwrap_err();
        assert!(error.contains("no tree of groups for cpu"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_written_is_the_same_limit_in_both_versions() {
        let bounds = Bounds::new(Some(1.5), Some(1 << 30)).unwrap();
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
        assert_eq!(Bounds::new(None, None), None);
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
        fs::write(folder.join(LEDGER), note).unwrap();
        remove_all(&folder);
        assert!(!ours.exists() && foreign.exists());
    }
}
