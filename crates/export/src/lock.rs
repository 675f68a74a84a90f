//! Which process holds a run or a load: the one that has locked `lock` in its folder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal};

/// The process that measures in a folder; `None`: none does.
#[must_use]
pub fn holder(folder: &Path) -> Option<u32> {
    holder_of(&folder.join("lock"))
}

/// The process that has locked a file.
#[must_use]
pub fn holder_of(lock: &Path) -> Option<u32> {
    let inode = lock.symlink_metadata().ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut pids = locks.lines().filter_map(|line| pid_of(line, inode));
    pids.find(|pid| has_open(*pid, lock))
}

/// The process of a line of `/proc/locks`, if the line is about this inode.
///
/// `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF` (proc_locks(5))
fn pid_of(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let pid = words.nth(2)?.parse().ok()?;
    let of: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
    (of == inode).then_some(pid)
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
        drop(file);
        assert_eq!(holder(place.path()), None);
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
