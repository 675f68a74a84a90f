//! Owners of pods to be killed, and what is left of them, for tests.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Base, LIMIT, groups_named, name_of, processes, within};

/// One of the two processes of a keeper in namespaces.
#[derive(Clone, Copy, PartialEq)]
pub enum Which {
    Guardian,
    Inside,
}

impl Which {
    pub fn word(self) -> &'static str {
        match self {
            Which::Guardian => "pods-guardian",
            Which::Inside => "pods-inside",
        }
    }
}

impl Base {
    fn token_of(&self, round: u64) -> String {
        format!("{}-{round}", self.token())
    }

    /// Starts an owner of this kind, which puts a tree of processes into each of four pods.
    pub fn owner(&self, kind: &str, round: u64, user: u32) -> Child {
        let mut command = Command::new(self.rig());
        command
            .args([kind, &self.text(), &self.token_of(round)])
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(user).gid(user);
        }
        command.spawn().unwrap()
    }

    /// Living processes of a round's trees.
    pub fn carrying(&self, round: u64) -> Vec<u32> {
        let token = self.token_of(round);
        processes(|words| {
            words.contains(&token) && !words.iter().any(|word| word.starts_with("owner-of-"))
        })
    }

    /// Keepers and guardians below this folder.
    pub fn keepers(&self) -> Vec<u32> {
        processes(|words| words.get(1).is_some_and(|w| w == "keeper") && self.names(words))
    }

    pub fn keeper(&self, which: Which) -> Option<u32> {
        let flag = match which {
            Which::Guardian => "--namespaces",
            Which::Inside => "--inside",
        };
        let found = processes(|words| words.iter().any(|w| w == flag) && self.names(words));
        found.first().copied()
    }

    fn names(&self, words: &[String]) -> bool {
        words.iter().any(|word| word.starts_with(&self.text()))
    }

    /// The network namespaces that processes of this test are in or hold open, the host's among them.
    pub fn networks(&self) -> BTreeSet<PathBuf> {
        let name = name_of(&self.0);
        processes(|words| words.iter().any(|word| word.contains(&name)))
            .into_iter()
            .flat_map(networks_of)
            .collect()
    }

    /// The control groups of the keepers that have a folder here now.
    pub fn groups(&self) -> Vec<PathBuf> {
        let entries = self.entries();
        let names = entries.iter().map(|path| name_of(path));
        names.flat_map(|name| groups_named(&name)).collect()
    }

    /// Soon there is no process, no folder, and nobody in any of these networks but the host's.
    pub fn assert_gone(&self, round: u64, networks: &BTreeSet<PathBuf>) {
        let host = std::fs::read_link("/proc/self/ns/net").unwrap();
        let held = || {
            processes(|_| true)
                .into_iter()
                .flat_map(networks_of)
                .any(|network| network != host && networks.contains(&network))
        };
        let gone = within(LIMIT, || {
            self.carrying(round).is_empty()
                && self.keepers().is_empty()
                && self.entries().is_empty()
                && !held()
        });
        assert!(
            gone,
            "round {round}: left {:?}, {:?} and {:?}",
            self.carrying(round),
            self.keepers(),
            self.entries()
        );
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains("nsfs"), "a namespace is mounted: {mounts}");
    }
}

/// The network namespace of a process, and those that it holds by descriptors.
fn networks_of(pid: u32) -> Vec<PathBuf> {
    let at = PathBuf::from(format!("/proc/{pid}"));
    let descriptors = std::fs::read_dir(at.join("fd")).into_iter().flatten();
    descriptors
        .flatten()
        .map(|descriptor| descriptor.path())
        .chain([at.join("ns/net")])
        .filter_map(|path| std::fs::read_link(path).ok())
        .filter(|target| is_network(target))
        .collect()
}

fn is_network(target: &Path) -> bool {
    target.to_string_lossy().starts_with("net:[")
}

/// Names of the host's network devices, but those of Kubernetes nodes, which other tests start.
pub fn devices() -> BTreeSet<String> {
    let text = std::fs::read_to_string("/proc/self/net/dev").unwrap();
    let lines = text.lines().skip(2);
    lines
        .map(|line| line.split(':').next().unwrap().trim().to_owned())
        .filter(|name| !name.starts_with("tare-k"))
        .collect()
}
