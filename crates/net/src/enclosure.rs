//! New namespaces for a process and its children (`unshare(2)`): network, mounts, process ids, and users if not root.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

use crate::NetError;

/// Whether the namespaces were created as root or in a user namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// As root: the process has the capabilities itself.
    Privileged,
    /// As root of a user namespace that maps only the process's own user.
    UserNamespace,
}

/// Leaves the host's namespaces of network and mounts and, for children started later, of process ids.
///
/// The next child is process 1 of its namespace: when it ends, all end. The caller must have one thread only.
///
/// # Errors
/// When the kernel permits neither.
pub fn unshare_all() -> Result<Privilege, NetError> {
    let wanted = UnshareFlags::NEWNET | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    match crate::sys::unshare(wanted) {
        Ok(()) => return Ok(Privilege::Privileged),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(namespace_error(error)),
    }
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    crate::sys::unshare(wanted | UnshareFlags::NEWUSER).map_err(namespace_error)?;
    // `user_namespaces(7)`: without this an unprivileged process may not map its group.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))?;
    Ok(Privilege::UserNamespace)
}

/// `unshare(2)` fails with `ENOSPC` when a limit of namespaces is reached.
fn namespace_error(error: io::Error) -> NetError {
    NetError::NoNamespace(match error.kind() {
        io::ErrorKind::StorageFull => {
            io::Error::other("the limit of namespaces is reached (/proc/sys/user/max_*_namespaces)")
        }
        _ => error,
    })
}

fn write(path: &str, text: &str) -> Result<(), NetError> {
    fs::write(path, text).map_err(NetError::refused(format!("write {path}")))
}

/// Mounts a `/proc` that shows the processes of this namespace, and returns the host's.
///
/// To be called by process 1 of a namespace made by [`unshare_all`].
///
/// # Errors
/// When the kernel refuses, as it does without root in a container that hides parts of its own `/proc`.
pub fn mount_own_proc() -> Result<OwnedFd, NetError> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let hosts = rustix::fs::open("/proc", flags, Mode::empty())
        .map_err(NetError::refused("open the host's /proc"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)
        .map_err(NetError::refused("keep its mounts to itself"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None).map_err(NetError::refused(
        "mount a /proc of its own (in an unprivileged container use `--addressing loopback`)",
    ))?;
    Ok(hosts)
}
