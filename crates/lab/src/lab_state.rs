//! State of test beds started by `tare lab up`, for `lab ps`, `exec`, `logs` and `down`.
//!
//! The file is in the folder of the test bed's keeper and is removed with it. Any user may create a folder of such a
//! name: only one that belongs to this user, and that nobody else can enter, is trusted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::cached;
use crate::keeper;
use crate::process::{self, ProcessStat};
use crate::remote;

/// File in the keeper's folder.
const FILE: &str = "lab.json";

/// Name of the command's process.
const TARE: &str = "tare";

/// Maximum size of the file.
const BYTES_MAX: u64 = 1 << 20;

/// A running test bed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LabState {
    /// Process that owns it: SIGTERM stops the test bed.
    pub owner_pid: u32,
    /// Start of that process, in ticks after boot: its id may be reused.
    pub owner_started_ticks: u64,
    pub experiment: String,
    pub arm: String,
    pub level: String,
    /// `namespaces` or `loopback`.
    pub addressing: String,
    /// Where its pods are, in words.
    pub location: String,
    /// Processes in its pods.
    pub processes: Vec<PodProcess>,
    /// Address of the first hop of callers, by edge.
    pub endpoints: BTreeMap<String, Vec<String>>,
}

/// An instance in its pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodProcess {
    pub pod: String,
    /// Address of the pod.
    pub address: String,
    pub instance: String,
    /// `app`, `sidecar`, `agent` …
    pub role: String,
    /// Target and version; `None` for an agent that has not started.
    pub software: Option<String>,
    /// Process id; of the pause process where the instance has not started.
    pub pid: Option<u32>,
    /// Log file.
    pub log: Option<PathBuf>,
    /// Words that begin a command in a pod elsewhere, none if it cannot be entered; `None`: it is on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enter: Option<Vec<String>>,
    /// Its ports, by name.
    #[serde(default)]
    pub ports: BTreeMap<String, u16>,
}

impl LabState {
    /// An empty test bed that this process owns.
    ///
    /// # Errors
    /// When `/proc` does not show this process.
    pub fn of_this_process() -> Result<LabState, LabError> {
        let holder = process::stat(std::process::id()).ok_or_else(|| {
            LabError::Plan(String::from("/proc does not show this process; mount it"))
        })?;
        Ok(LabState {
            owner_pid: holder.pid,
            owner_started_ticks: holder.started_ticks,
            ..LabState::default()
        })
    }

    /// The owner; `None`: it has exited, or is no Tare.
    fn holder(&self) -> Option<ProcessStat> {
        let holder = process::stat(self.owner_pid)?;
        let same = holder.is_alive() && holder.started_ticks == self.owner_started_ticks;
        // The command, or the same program as this process, whatever it is.
        let ours = process::stat(std::process::id())?.name;
        (same && (holder.name == TARE || holder.name == ours)).then_some(holder)
    }

    /// Whether the owner still runs.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.holder().is_some()
    }

    /// Asks the owner to stop the test bed. Returns whether the signal was sent: it may have exited meanwhile.
    #[must_use]
    pub fn ask_to_end(&self) -> bool {
        let holder = self.holder();
        holder.is_some_and(|holder| process::send_signal(&holder, Signal::TERM))
    }

    /// Whether this process is a descendant of the owner.
    #[must_use]
    pub fn holds(&self, pid: u32) -> bool {
        let holder = BTreeSet::from([self.owner_pid]);
        process::with_descendants(&process::snapshot(), &holder).contains(&pid)
    }

    /// Writes the file for [`all`] into the folder of the test bed's keeper.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn publish(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        let what = format!("write {}", path.display());
        cached::write(&path, self).map_err(LabError::io(what))
    }
}

/// Running test beds of this user, by process id of their owner. `base` as the environment's; `None`: the default.
#[must_use]
pub fn all(base: Option<&Path>) -> Vec<LabState> {
    let entries = bases(base)
        .into_iter()
        .filter_map(|base| fs::read_dir(base).ok());
    let mut found: Vec<LabState> = entries
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("tare-"))
        .filter_map(|entry| read(&entry.path()))
        .filter(|lab_state| lab_state.holder().is_some())
        .collect();
    found.sort_by_key(|lab_state| lab_state.owner_pid);
    found
}

/// Parents of private folders: that of runs on this machine, and that of runs elsewhere.
fn bases(base: Option<&Path>) -> BTreeSet<PathBuf> {
    match base {
        Some(base) => BTreeSet::from([base.to_owned()]),
        None => BTreeSet::from([keeper::default_base(), PathBuf::from(remote::BASE)]),
    }
}

/// Folders that crashed runs of Tare left behind (a power cut, a killed keeper).
#[must_use]
pub fn leftovers(base: Option<&Path>) -> Vec<PathBuf> {
    let bases = bases(base);
    bases.iter().flat_map(|base| keeper::stale(base)).collect()
}

/// Removes these, with what they left running; returns those that are gone.
#[must_use]
pub fn remove_leftovers(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    keeper::remove_stale(folders)
}

/// Reads the file in a folder; only if it is private to this user, and the file a regular one of limited size.
fn read(folder: &Path) -> Option<LabState> {
    let (folder, of_folder) = open(rustix::fs::CWD, folder, OFlags::DIRECTORY)?;
    if Mode::from_raw_mode(of_folder.st_mode) != Mode::RWXU {
        return None;
    }
    let (file, of_file) = open(&folder, Path::new(FILE), OFlags::NONBLOCK)?;
    if FileType::from_raw_mode(of_file.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = Vec::new();
    let mut bounded = File::from(file).take(BYTES_MAX + 1);
    bounded.read_to_end(&mut text).ok()?;
    if text.len() as u64 > BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&text).ok()
}

/// Opens a file or folder that belongs to this user and is no symbolic link.
fn open(at: impl AsFd, path: &Path, flags: OFlags) -> Option<(OwnedFd, Stat)> {
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(at, path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&opened).ok()?;
    (stat.st_uid == rustix::process::geteuid().as_raw()).then_some((opened, stat))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says where by panicking")]

    use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};

    use super::*;

    /// A private folder of this name, as a keeper makes it.
    fn folder(base: &Path, name: &str) -> PathBuf {
        let folder = base.join(name);
        let mut builder = fs::DirBuilder::new();
        builder.mode(0o700).create(&folder).unwrap();
        folder
    }

    #[test]
    fn a_bed_is_found_while_its_holder_lives_and_malformed_input_is_not_a_bed() {
        let base = tempfile::tempdir().unwrap();
        let ours = LabState::of_this_process().unwrap();
        ours.publish(&folder(base.path(), "tare-1-a")).unwrap();
        let parent = process::stat(std::os::unix::process::parent_id()).unwrap();
        for (name, pid, ticks) in [
            ("tare-2-b", u32::MAX - 1, ours.owner_started_ticks),
            // Another process has got the number; it is no Tare.
            ("tare-3-c", ours.owner_pid, ours.owner_started_ticks - 1),
            ("tare-4-d", parent.pid, parent.started_ticks),
        ] {
            let other = LabState {
                owner_pid: pid,
                owner_started_ticks: ticks,
                ..ours.clone()
            };
            other.publish(&folder(base.path(), name)).unwrap();
            assert!(!other.ask_to_end());
        }
        fs::write(folder(base.path(), "tare-5-e").join(FILE), "{").unwrap();
        assert_eq!(all(Some(base.path())), [ours]);
    }

    #[test]
    fn only_a_private_folder_of_this_user_is_believed() {
        let base = tempfile::tempdir().unwrap();
        let ours = LabState::of_this_process().unwrap();
        let folder = folder(base.path(), "tare-1-a");
        ours.publish(&folder).unwrap();
        let found = || all(Some(base.path())).len();
        assert_eq!(found(), 1);
        for mode in [0o755, 0o777, 0o1700] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(found(), 0, "{mode:o}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&folder, base.path().join("tare-2-b")).unwrap();
        assert_eq!(found(), 1, "a link to it is not another");
        if !rustix::process::geteuid().is_root() {
            println!("not root: no file can be given to another user, so this is not tried");
            return;
        }
        for path in [folder.join(FILE), folder.clone()] {
            chown(&path, Some(65_533), None).unwrap();
            assert_eq!(found(), 0, "{}", path.display());
            chown(&path, Some(0), None).unwrap();
        }
        assert_eq!(found(), 1);
    }

    #[test]
    fn nothing_but_a_regular_file_of_some_length_is_read() {
        let base = tempfile::tempdir().unwrap();
        let folder = folder(base.path(), "tare-1-a");
        let file = folder.join(FILE);
        LabState::of_this_process()
            .unwrap()
            .publish(&folder)
            .unwrap();
        let elsewhere = base.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(all(Some(base.path())), []);
        fs::remove_file(&file).unwrap();
        // A pipe without a writer: a blocking open would never return.
        let kind = FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &file, kind, Mode::RUSR, 0).unwrap();
        assert_eq!(all(Some(base.path())), []);
        fs::remove_file(&file).unwrap();
        let mut text = fs::read(&elsewhere).unwrap();
        text.resize(BYTES_MAX as usize, b' ');
        fs::write(&file, &text).unwrap();
        assert_eq!(all(Some(base.path())).len(), 1);
        text.push(b' ');
        fs::write(&file, &text).unwrap();
        assert_eq!(all(Some(base.path())), []);
    }

    #[test]
    fn a_process_that_the_holder_did_not_start_is_not_in_its_bed() {
        let ours = LabState::of_this_process().unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(ours.holds(child.id()));
        assert!(!ours.holds(std::os::unix::process::parent_id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!ours.holds(child.id()));
    }
}
