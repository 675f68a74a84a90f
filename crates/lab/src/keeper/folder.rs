//! The keeper's private folder: created, locked, removed; folders of crashed keepers are swept up.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, RenameFlags};
use rustix::process::Signal;

use crate::LabError;
use crate::cgroup::limit_groups;
use crate::process;

/// Environment variable of every process of a keeper: the name of the keeper's folder.
pub(crate) const KEEPER_MARK: &str = "TARE_KEEPER";
/// Environment variable of every process of a keeper: the process's name.
pub(crate) const INSTANCE_MARK: &str = "TARE_INSTANCE";

const PREFIX: &str = "tare-";
const LOCK: &str = ".lock";
/// Timeout for killed processes to exit.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Timeout for a killed conductor to release its locks.
const UNLOCKED_WITHIN: Duration = Duration::from_millis(500);

/// A folder that only this user can enter, locked as long as the keeper lives.
pub(crate) struct PrivateFolder {
    path: PathBuf,
    /// The kernel drops the lock with the process, however it ends.
    _lock: File,
}

impl PrivateFolder {
    /// Makes it at a path of [`new_path`].
    pub(crate) fn make(path: PathBuf) -> Result<PrivateFolder, LabError> {
        let what = format!("make the private folder {}", path.display());
        // Under another name until it is locked: a folder of our form without a lock is one that may be removed.
        let made = path.with_file_name(format!(".{}", name_of(&path)));
        DirBuilder::new()
            .mode(0o700)
            .create(&made)
            .map_err(LabError::io(what.as_str()))?;
        let lock = lock_in(&made, &path);
        if lock.is_err() {
            let _ = remove_all(&made);
        }
        let lock = lock.map_err(LabError::io(what))?;
        Ok(PrivateFolder { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn remove(&self) -> std::io::Result<()> {
        remove(&self.path)
    }
}

/// Locks a folder, then gives it this name.
fn lock_in(made: &Path, path: &Path) -> std::io::Result<File> {
    let lock = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(made.join(LOCK))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let flags = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(rustix::fs::CWD, made, rustix::fs::CWD, path, flags)?;
    Ok(lock)
}

/// A path for the private folder of a keeper of this process: `<base>/tare-<pid>-<random>`.
pub(crate) fn new_path(base: &Path) -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    base.join(format!("{PREFIX}{}-{random:016x}", std::process::id()))
}

/// Removes a private folder, if it exists, with its contents and its control groups; retries when files are created
/// meanwhile.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    limit_groups::remove_all(path);
    remove_tree(path)
}

/// Default parent of private folders.
pub(crate) fn default_base() -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|dir| dir.is_absolute() && dir.is_dir())
        .unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// Removes the folders of dead keepers (power cut, keeper killed) and kills the processes they left running.
///
/// A folder is stale when its name has our form, it belongs to this user, its process is dead and nobody holds its
/// lock.
pub(crate) fn sweep(base: &Path) -> Vec<PathBuf> {
    remove_stale(stale(base))
}

/// The folders that [`sweep`] removes.
pub(crate) fn stale(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path());
    folders.filter(|path| is_stale(path)).collect()
}

/// Removes those of these folders that are stale still, with what they left running; returns them.
pub(crate) fn remove_stale(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders.retain(|path| is_stale(path) && clear(path));
    folders
}

/// Removes the private folders of a dead conductor: those of helper programs that it was running.
pub(crate) fn remove_those_of(base: &Path, conductor: u32) {
    // A killed process holds its locks until all of its memory is freed.
    let until = Instant::now() + UNLOCKED_WITHIN;
    loop {
        let entries = fs::read_dir(base).into_iter().flatten().flatten();
        let folders = entries.map(|entry| entry.path());
        let mut folders =
            folders.filter(|path| owner_of(&name_of(path)) == Some(conductor) && is_ours(path));
        // Only the lock tells whether it lives: in namespaces its id is not to be seen.
        let is_held = folders.any(|path| is_locked(&path) || remove(&path).is_err());
        if !is_held || Instant::now() >= until {
            return;
        }
        process::pause(Duration::from_millis(5));
    }
}

/// Kills all processes with the folder's mark and removes the folder.
pub(crate) fn clear(path: &Path) -> bool {
    let mark = format!("{KEEPER_MARK}={}", name_of(path));
    // A process may fork meanwhile, and on a busy machine exits take time: repeat until none is left.
    let until = Instant::now() + GONE_WITHIN;
    while Instant::now() < until {
        let left: Vec<_> = process::snapshot()
            .into_iter()
            .filter(|p| p.is_alive() && process::has_environment(p.pid, &mark))
            .collect();
        if left.is_empty() {
            break;
        }
        for one in &left {
            process::send_signal(one, Signal::KILL);
        }
        process::pause(Duration::from_millis(10));
    }
    remove(path).is_ok()
}

fn is_stale(path: &Path) -> bool {
    let Some(owner) = owner_of(&name_of(path)) else {
        return false;
    };
    // A zombie is dead, even if its parent never reaps it.
    let lives = process::stat(owner).is_some_and(|process| process.is_alive());
    is_ours(path) && !lives && !is_locked(path)
}

/// Whether it is a folder, not a link to one, and belongs to this user.
fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw())
}

/// The process id in a folder name of our form.
pub(crate) fn owner_of(name: &str) -> Option<u32> {
    let (pid, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let hexadecimal = random.len() == 16 && random.bytes().all(|b| b.is_ascii_hexdigit());
    hexadecimal.then(|| pid.parse().ok()).flatten()
}

/// Whether a process holds the lock: it may live in another PID namespace and share our /tmp.
fn is_locked(path: &Path) -> bool {
    File::open(path.join(LOCK)).is_ok_and(|file| {
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    })
}

/// Name of the folder, which is the mark of its keeper's processes.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// File system in memory.
const MEMORY: &str = "/dev/shm";

/// Creates a folder in memory that belongs to a private folder, for data that must not be written to disk. `None`:
/// this machine has no such file system.
///
/// # Errors
/// When it exists: the names of private folders are visible, and any user may create one there.
pub fn make_in_memory(path: &Path) -> Result<Option<PathBuf>, LabError> {
    let folder = in_memory(path);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => Ok(Some(folder)),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(LabError::File {
            path: folder,
            reason: String::from(
                "somebody made this folder before Tare could, and would see or change what is put there; see who it was (`ls -l`), then start again",
            ),
        }),
        Err(_) => Ok(None),
    }
}

fn in_memory(path: &Path) -> PathBuf {
    Path::new(MEMORY).join(name_of(path))
}

/// Removes a private folder and, if it is ours, its folder in memory.
fn remove_tree(path: &Path) -> std::io::Result<()> {
    let of_memory = in_memory(path);
    let is_emptied = match owner_of(&name_of(path)).is_some() && is_ours(&of_memory) {
        true => remove_all(&of_memory),
        false => Ok(()),
    };
    remove_all(path).and(is_emptied)
}

fn remove_all(path: &Path) -> std::io::Result<()> {
    let mut last = Ok(());
    for _ in 0..5 {
        last = fs::remove_dir_all(path);
        match &last {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(_) => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn what_lies_in_memory_is_made_for_us_alone_and_never_taken_over() {
        let base = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(new_path(base.path())).unwrap();
        let memory = make_in_memory(folder.path()).unwrap().unwrap();
        assert_eq!(memory, Path::new("/dev/shm").join(name_of(folder.path())));
        let mode = fs::symlink_metadata(&memory).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        let said = make_in_memory(folder.path()).unwrap_err().to_string();
        assert!(said.contains("somebody made this folder before"), "{said}");
        fs::write(memory.join("record"), "").unwrap();
        folder.remove().unwrap();
        assert!(!memory.exists() && !folder.path().exists());
        // A link that was created beforehand is not followed.
        let kept = base.path().join("kept");
        fs::create_dir(&kept).unwrap();
        let folder = PrivateFolder::make(new_path(base.path())).unwrap();
        let memory = in_memory(folder.path());
        symlink(&kept, &memory).unwrap();
        assert!(make_in_memory(folder.path()).is_err());
        folder.remove().unwrap();
        assert!(kept.exists() && !folder.path().exists());
        fs::remove_file(memory).unwrap();
    }

    #[test]
    fn a_folder_of_a_stranger_in_memory_is_not_removed_and_keeps_nothing_of_ours() {
        if !rustix::process::geteuid().is_root() {
            println!("not root: no folder can be given to another user, so this is not tried");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(new_path(base.path())).unwrap();
        let memory = in_memory(folder.path());
        fs::create_dir(&memory).unwrap();
        chown(&memory, Some(65_533), None).unwrap();
        folder.remove().unwrap();
        assert!(memory.exists() && !folder.path().exists());
        fs::remove_dir(memory).unwrap();
    }

    #[test]
    fn only_names_of_our_making_are_recognised() {
        assert_eq!(owner_of("tare-4711-00000000deadbeef"), Some(4711));
        for other in [
            "tare-4711",
            "tare-4711-xyz",
            "tare--00000000deadbeef",
            "tare-47x-00000000deadbeef",
            "target-4711-00000000deadbeef",
            "tare-4711-00000000deadbeef0",
        ] {
            assert_eq!(owner_of(other), None, "{other}");
        }
    }
}
