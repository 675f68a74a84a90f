//! Who measures in the folder of a run or a load: whoever has locked `lock` in it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal};
use tare_record::regular::OPEN_UNTRUSTED;

/// File of a run or a load that is locked as long as it is measured.
pub const LOCK: &str = "lock";

/// Whether somebody measures in a folder.
#[must_use]
pub fn is_held(folder: &Path) -> bool {
    is_locked(&folder.join(LOCK))
}

/// Whether somebody has locked a file. The lock itself is asked: `/proc` shows neither the processes of another PID namespace nor
/// the files of another user's. Who takes such a lock waits for those who only look (`tare_record::regular::lock_new`).
#[must_use]
pub fn is_locked(lock: &Path) -> bool {
    // Who is seen need not be disturbed.
    holder_of(lock).is_some()
        || open(lock).is_ok_and(|file| {
            file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        })
}

/// Inodes of all files that processes which can be seen from here have locked.
#[must_use]
pub fn locked_inodes() -> BTreeSet<u64> {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    locks
        .lines()
        .filter_map(flock)
        .map(|(_, inode)| inode)
        .collect()
}

/// Takes the lock of a folder that nobody measures in; held until it is dropped. Without a file there is none: nobody can begin to
/// measure in a folder whose disk is full or that was made without.
///
/// # Errors
/// `WouldBlock` when somebody has it.
pub fn take(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(LOCK);
    let file = match open(&path)? {
        Some(file) => file,
        // Whoever resumes the run now meets the lock.
        None => match new_file(&path) {
            Ok(file) => file,
            Err(_) => return Ok(None),
        },
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a lock; `None` where there is none, or what no process of Tare locks: a link, a device.
fn open(lock: &Path) -> io::Result<Option<File>> {
    if !lock.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    // As its owner has it: a run of root is locked by a file that others may read only.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_UNTRUSTED)
        .open(lock)?;
    let is_file = file.metadata()?.is_file();
    Ok(is_file.then_some(file))
}

fn new_file(lock: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(lock)
}

/// The process that measures in a folder, as far as it can be seen from here; `None`: none, or see [`is_held`].
#[must_use]
pub fn holder(folder: &Path) -> Option<u32> {
    holder_of(&folder.join(LOCK))
}

/// The process that has locked a file.
fn holder_of(lock: &Path) -> Option<u32> {
    let inode = lock.symlink_metadata().ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut pids = locks.lines().filter_map(|line| pid_of(line, inode));
    pids.find(|pid| has_open(*pid, lock))
}

/// The process of a line of `/proc/locks`, if the line is about this inode.
fn pid_of(line: &str, inode: u64) -> Option<u32> {
    flock(line)
        .filter(|(_, of)| *of == inode)
        .map(|(pid, _)| pid)
}

/// Process and inode of a line of `/proc/locks`.
///
/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF` (proc_locks(5))
fn flock(line: &str) -> Option<(u32, u64)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let inode = words.next()?.rsplit(':').next()?.parse().ok()?;
    Some((pid, inode))
}

/// Whether a process has this file open: inodes of two file systems can have one number.
fn has_open(pid: u32, file: &Path) -> bool {
    let Ok(file) = file.canonicalize() else {
        return false;
    };
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let open = descriptors.into_iter().flatten().flatten();
    open.map(|one| fs::read_link(one.path()))
        .any(|target| target.is_ok_and(|target| target == file))
}

/// Asks a process to end, as Ctrl-C does, if it is still the one that `is_it` recognises.
pub fn interrupt(pid: u32, is_it: impl Fn() -> bool) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    // The number of a process can be given again; what the descriptor refers to cannot.
    let Ok(process) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else {
        return false;
    };
    is_it() && rustix::process::pidfd_send_signal(process, Signal::INT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_until_it_lets_go() {
        let place = tempfile::tempdir().unwrap();
        let file = fs::File::create(place.path().join("lock")).unwrap();
        assert_eq!(holder(place.path()), None);
        file.try_lock().unwrap();
        assert_eq!(holder(place.path()), Some(std::process::id()));
        assert!(is_held(place.path()));
        assert_eq!(
            take(place.path()).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        drop(file);
        assert_eq!(holder(place.path()), None);
        assert!(!is_held(place.path()));
        let taken = take(place.path()).unwrap();
        assert!(taken.is_some() && is_held(place.path()));
    }

    #[test]
    fn a_folder_without_a_lock_gets_one_and_a_link_is_none() {
        let place = tempfile::tempdir().unwrap();
        assert!(!is_held(place.path()));
        let taken = take(place.path()).unwrap();
        assert!(taken.is_some() && is_held(place.path()));
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(place.path().join(LOCK), other.path().join(LOCK)).unwrap();
        assert!(!is_held(other.path()));
        assert!(take(other.path()).unwrap().is_none());
    }

    #[test]
    fn a_line_about_another_file_or_kind_names_nobody() {
        assert_eq!(
            pid_of("1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", 5678),
            Some(1234)
        );
        assert_eq!(
            pid_of("1: POSIX  ADVISORY  WRITE 1234 fe:00:5678 0 EOF", 5678),
            None
        );
        assert_eq!(
            pid_of("1: FLOCK  ADVISORY  WRITE 1234 fe:00:5679 0 EOF", 5678),
            None
        );
        assert_eq!(pid_of("1: -> FLOCK", 1), None);
    }
}
