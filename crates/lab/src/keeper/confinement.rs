//! What a started process may do and see: a user of its own, no capabilities but those declared, and a file system that is read-only
//! outside of its own folders.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};
use tare_experiment::target::Capability;

use crate::sys::{Bind, ChildPrivileges, ChildSetup, ChildView};

/// Folders for temporary files, which each process has for itself.
const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];
/// Options of the file systems that replace them.
const TEMPORARY_OPTIONS: &str = "mode=1777,size=256m";
/// Options of a file system that hides a folder.
const HIDING_OPTIONS: &str = "mode=755,size=1m";

/// Restrictions of a process and its descendants. None of them can gain privileges by a set-user-ID program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// User ID, also the group ID where no other is given; `None`: the keeper's.
    pub user: Option<u32>,
    /// Capabilities that it has.
    pub capabilities: Vec<Capability>,
    /// Most processes and threads of its user.
    pub processes_max: Option<u64>,
    /// What it sees of the file system; `None`: everything.
    pub view: Option<FileSystemView>,
}

/// A view of the file system. Folders that others cannot enter are hidden but for the paths named here; the rest is read-only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileSystemView {
    /// Files and folders that it can read though they lie in hidden folders.
    pub readable: BTreeSet<PathBuf>,
    /// Folders that it can write.
    pub writable: BTreeSet<PathBuf>,
}

impl Confinement {
    /// Adds these restrictions to a child that starts in the folder `cwd`.
    ///
    /// # Errors
    /// When a path of the view cannot be looked at.
    pub(crate) fn set_up(&self, cwd: &Path, setup: &mut ChildSetup) -> io::Result<()> {
        let view = self.view.as_ref().map(|view| view.prepare(cwd));
        setup.view = view.transpose()?;
        setup.privileges = Some(ChildPrivileges {
            user: self.user,
            capabilities: capability_set(&self.capabilities),
            processes_max: self.processes_max,
        });
        Ok(())
    }
}

impl FileSystemView {
    /// The mounts that make this view, for a process in the folder `cwd`.
    ///
    /// # Errors
    /// When a path cannot be looked at.
    fn prepare(&self, cwd: &Path) -> io::Result<ChildView> {
        let mut wanted: BTreeMap<&Path, bool> = BTreeMap::new();
        let readable = self.readable.iter().map(|path| (path, false));
        // A path that is in both can be written.
        for (path, is_writable) in readable.chain(self.writable.iter().map(|path| (path, true))) {
            wanted.insert(path, is_writable);
        }
        let mut view = ChildView {
            cwd: c_string(cwd)?,
            ..ChildView::default()
        };
        let mut hidden: BTreeSet<PathBuf> = TEMPORARY
            .iter()
            .map(PathBuf::from)
            .filter(|folder| folder.is_dir())
            .collect();
        for path in wanted.keys() {
            let above = path.ancestors().skip(1).collect::<Vec<_>>();
            if let Some(first) = above.iter().rev().find(|one| is_closed_to_others(one))
                && !hidden.iter().any(|known| first.starts_with(known))
            {
                hidden.insert(first.to_path_buf());
            }
        }
        for folder in &hidden {
            let is_temporary = TEMPORARY.iter().any(|one| Path::new(one) == folder);
            let options = if is_temporary {
                TEMPORARY_OPTIONS
            } else {
                HIDING_OPTIONS
            };
            view.hidden
                .push((c_string(folder)?, CString::new(options)?));
        }
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        let mut bound: Vec<(&Path, bool)> = Vec::new();
        for (path, is_writable) in wanted {
            let covers = |(known, writable): &(&Path, bool)| {
                path.starts_with(known) && (*writable || !is_writable)
            };
            if bound.iter().any(covers) {
                continue;
            }
            let metadata = fs::metadata(path)?;
            let within = |one: &&Path| {
                hidden
                    .iter()
                    .any(|folder| one.starts_with(folder) && *one != folder)
            };
            folders.extend(path.ancestors().skip(1).filter(within));
            if metadata.is_dir() {
                folders.extend(Some(path).filter(within));
            } else if within(&path) {
                view.files.push(c_string(path)?);
            }
            bound.push((path, is_writable));
        }
        // Sorted, a folder comes before those in it.
        view.folders = folders
            .into_iter()
            .map(c_string)
            .collect::<io::Result<_>>()?;
        for (path, is_writable) in bound {
            view.binds.push(Bind {
                path: c_string(path)?,
                is_writable,
                tree: None,
            });
        }
        Ok(view)
    }
}

fn is_closed_to_others(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0)
}

fn c_string(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

/// The kernel's set of these capabilities.
fn capability_set(all: &[Capability]) -> CapabilitySet {
    let one = |capability: &Capability| match capability {
        Capability::NetAdmin => CapabilitySet::NET_ADMIN,
        Capability::NetBindService => CapabilitySet::NET_BIND_SERVICE,
        Capability::NetRaw => CapabilitySet::NET_RAW,
        Capability::IpcLock => CapabilitySet::IPC_LOCK,
        Capability::SysNice => CapabilitySet::SYS_NICE,
        Capability::Setgid => CapabilitySet::SETGID,
        Capability::Setpcap => CapabilitySet::SETPCAP,
        Capability::Setuid => CapabilitySet::SETUID,
        Capability::Chown => CapabilitySet::CHOWN,
        Capability::DacOverride => CapabilitySet::DAC_OVERRIDE,
        Capability::Kill => CapabilitySet::KILL,
    };
    all.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with_mode(path: &Path, mode: u32) {
        fs::create_dir_all(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn texts(all: &[CString]) -> Vec<&str> {
        all.iter().map(|one| one.to_str().unwrap()).collect()
    }

    #[test]
    fn folders_closed_to_others_are_hidden_and_the_named_paths_are_made_in_them() {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        let at = |name: &str| base.path().join(name);
        // The folder of a test is closed itself.
        folder_with_mode(base.path(), 0o755);
        folder_with_mode(&at("home"), 0o700);
        folder_with_mode(&at("home/cache/envoy"), 0o755);
        folder_with_mode(&at("open/data"), 0o700);
        fs::write(at("home/tare"), "").unwrap();
        let view = FileSystemView {
            readable: [at("home/cache/envoy"), at("home/tare"), at("open/data")].into(),
            writable: [at("open/data")].into(),
        };
        let prepared = view.prepare(&at("open/data")).unwrap();
        let hidden: Vec<&str> = prepared
            .hidden
            .iter()
            .map(|(folder, _)| folder.to_str().unwrap())
            .collect();
        let home = at("home");
        assert_eq!(hidden, ["/dev/shm", "/tmp", home.to_str().unwrap()]);
        let below = |all: &[CString]| -> Vec<String> {
            let all = texts(all).into_iter();
            all.map(|one| one.replace(base.path().to_str().unwrap(), ""))
                .collect()
        };
        assert_eq!(
            below(&prepared.folders),
            ["/home/cache", "/home/cache/envoy"]
        );
        assert_eq!(below(&prepared.files), ["/home/tare"]);
        let binds: Vec<(String, bool)> = prepared
            .binds
            .iter()
            .map(|bind| {
                (
                    below(std::slice::from_ref(&bind.path)).remove(0),
                    bind.is_writable,
                )
            })
            .collect();
        let expected = [
            ("/home/cache/envoy", false),
            ("/home/tare", false),
            ("/open/data", true),
        ];
        assert_eq!(
            binds,
            expected.map(|(path, writable)| (path.to_owned(), writable))
        );
    }

    #[test]
    fn a_path_below_another_is_bound_with_it() {
        let base = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::create_dir_all(base.path().join("a/b")).unwrap();
        let view = FileSystemView {
            readable: [base.path().join("a/b")].into(),
            writable: [base.path().join("a")].into(),
        };
        let prepared = view.prepare(Path::new("/")).unwrap();
        assert_eq!(prepared.binds.len(), 1);
        assert!(prepared.binds[0].is_writable);
    }
}
