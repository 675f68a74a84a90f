//! The few system calls that need `unsafe`: between fork and exec, signal dispositions, CPU clocks, timestamps.

#![expect(
    unsafe_code,
    reason = "pre_exec, signal dispositions and another process's CPU clock have no safe interface"
)]

use std::ffi::{CStr, CString};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets, CpuSet, LinkNameSpaceType, UnshareFlags};

/// Error number for a failure to join a control group: no other call between fork and exec returns it.
pub(crate) const NO_GROUP: i32 = libc::EDQUOT;
/// Error number for a failure to mount the hosts file.
pub(crate) const NO_NAMES: i32 = libc::ENOTUNIQ;

/// Error number for a failure to make the process's view of the file system.
pub(crate) const NO_VIEW: i32 = libc::ENOLINK;
/// Error number for a failure to drop privileges.
pub(crate) const NO_DROP: i32 = libc::EKEYREVOKED;

/// Setup of a child between fork and exec.
#[derive(Default)]
pub(crate) struct ChildSetup {
    /// Process that must still be the parent; `None`: one outside of the child's PID namespace.
    pub parent: Option<Pid>,
    /// Network namespace; `None`: the parent's.
    pub network: Option<OwnedFd>,
    /// File mounted at `/etc/hosts`, in a mount namespace of its own; `None`: the parent's.
    pub hosts: Option<CString>,
    /// `cgroup.procs` files: writing `0` joins the group.
    pub groups: Vec<OwnedFd>,
    /// Whether it starts a new session, which can be signalled as a whole.
    pub session: Session,
    /// CPU set; `None`: the parent's.
    pub cpus: Option<CpuSet>,
    /// Limit of open files.
    pub nofile: Option<u64>,
    /// Group ID; `None`: the parent's, or that of the user.
    pub group: Option<u32>,
    /// Privileges that it keeps; `None`: the parent's.
    pub privileges: Option<ChildPrivileges>,
    /// What it sees of the file system; `None`: what the parent sees.
    pub view: Option<ChildView>,
}

/// Privileges that a child keeps.
pub(crate) struct ChildPrivileges {
    /// User ID; `None`: the parent's.
    pub user: Option<u32>,
    pub capabilities: CapabilitySet,
    /// Limit of processes and threads of the user.
    pub processes_max: Option<u64>,
}

/// Mounts of a child, in a mount namespace of its own.
#[derive(Default)]
pub(crate) struct ChildView {
    /// Folders that are replaced by an empty file system, with its options.
    pub hidden: Vec<(CString, CString)>,
    /// Folders to be made in those.
    pub folders: Vec<CString>,
    /// Empty files to be made in those.
    pub files: Vec<CString>,
    /// Paths that are seen as before.
    pub binds: Vec<Bind>,
    /// Working directory, entered again.
    pub cwd: CString,
}

/// A path that a child sees as before.
pub(crate) struct Bind {
    pub path: CString,
    pub is_writable: bool,
    /// What was there before the mounts.
    pub tree: Option<OwnedFd>,
}

/// Session of a child.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Session {
    /// A new one.
    Own,
    /// The parent's.
    #[default]
    Parents,
}

/// Registers the setup as a hook of the command.
pub(crate) fn prepare_child(command: &mut Command, mut setup: ChildSetup) {
    let hook = move || set_up_child(&mut setup);
    // SAFETY: the hook only makes system calls that are safe after fork in a process with threads;
    // it takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(hook);
    }
}

fn set_up_child(setup: &mut ChildSetup) -> io::Result<()> {
    for group in &setup.groups {
        rustix::io::write(group, b"0").map_err(|error| named(error.into(), NO_GROUP))?;
    }
    if let Some(network) = &setup.network {
        let kind = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(network.as_fd(), kind)?;
    }
    if setup.hosts.is_some() || setup.view.is_some() {
        // SAFETY: the process has one thread here, and mounts have no part in memory safety.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }
            .map_err(|error| named(error.into(), NO_VIEW))?;
    }
    if let Some(hosts) = &setup.hosts {
        // The keeper's mounts are private, so no other process sees this one.
        rustix::mount::mount_bind(hosts.as_c_str(), c"/etc/hosts")
            .map_err(|error| named(error.into(), NO_NAMES))?;
    }
    if let Some(view) = &mut setup.view {
        see(view).map_err(|error| named(error, NO_VIEW))?;
    }
    if setup.session == Session::Own {
        rustix::process::setsid()?;
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: sets a disposition to the default; no handler is involved.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    // SAFETY: both are plain values; the set is filled before it is used.
    unsafe {
        // A thread that receives its signals from a descriptor has them blocked; its child could not be ended by them.
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    if let Some(cpus) = &setup.cpus {
        rustix::thread::sched_setaffinity(None, cpus)?;
    }
    if let Some(wanted) = setup.nofile {
        let hard = rustix::process::getrlimit(Resource::Nofile).maximum;
        let current = hard.map_or(wanted, |most| wanted.min(most));
        rustix::process::setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(current),
                maximum: hard,
            },
        )?;
    }
    let user = setup.privileges.as_ref().and_then(|one| one.user);
    if let Some(group) = setup.group.or(user) {
        let group = Gid::from_raw(group);
        rustix::thread::set_thread_res_gid(group, group, group)?;
    }
    if let Some(privileges) = &setup.privileges {
        keep(privileges).map_err(|error| named(error, NO_DROP))?;
    }
    // Last: a change of user or group clears it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then the signal would never come.
    if rustix::process::getppid() != setup.parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// The error number of a step; where no descriptor is left, that is the reason, whatever the step.
fn named(error: io::Error, step: i32) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EMFILE) => error,
        _ => io::Error::from_raw_os_error(step),
    }
}

/// Drops all privileges but these.
fn keep(privileges: &ChildPrivileges) -> io::Result<()> {
    // What this process does not have it cannot hand on.
    let kept = privileges.capabilities & rustix::thread::capabilities(None)?.permitted;
    if let Some(most) = privileges.processes_max {
        let limit = Some(most);
        let both = Rlimit {
            current: limit,
            maximum: limit,
        };
        rustix::process::setrlimit(Resource::Nproc, both)?;
    }
    // Beyond the last capability of this kernel the answer is an error.
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if rustix::thread::capability_is_in_bounding_set(one).is_ok_and(|known| known)
            && !kept.contains(one)
        {
            match rustix::thread::remove_capability_from_bounding_set(one) {
                // A container without CAP_SETPCAP, where no other user can be had either: what it left to root stays.
                Err(rustix::io::Errno::PERM) if privileges.user.is_none() => break,
                removed => removed?,
            }
        }
    }
    if let Some(user) = privileges.user {
        rustix::thread::set_thread_groups(&[])?;
        rustix::thread::set_keep_capabilities(true)?;
        let user = Uid::from_raw(user);
        rustix::thread::set_thread_res_uid(user, user, user)?;
        let sets = CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: kept,
        };
        rustix::thread::set_capabilities(None, sets)?;
        for one in kept.iter() {
            rustix::thread::configure_capability_in_ambient_set(one, true)?;
        }
    }
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Makes everything read-only but what the view says, and hides what it hides.
fn see(view: &mut ChildView) -> io::Result<()> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change(c"/", private)?;
    for bind in &mut view.binds {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = rustix::mount::open_tree(CWD, bind.path.as_c_str(), flags)?;
        bind.tree = Some(tree);
    }
    make_read_only(CWD, c"/", libc::AT_RECURSIVE)?;
    for (folder, options) in &view.hidden {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        rustix::mount::mount(
            c"tmpfs",
            folder.as_c_str(),
            c"tmpfs",
            flags,
            Some(options.as_c_str()),
        )?;
    }
    for folder in &view.folders {
        match rustix::fs::mkdir(folder.as_c_str(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    for file in &view.files {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(rustix::fs::open(
            file.as_c_str(),
            flags,
            Mode::from_raw_mode(0o644),
        )?);
    }
    for bind in &mut view.binds {
        let Some(tree) = bind.tree.take() else {
            continue;
        };
        if !bind.is_writable {
            make_read_only(tree.as_fd(), c"", libc::AT_EMPTY_PATH)?;
        }
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(tree.as_fd(), c"", CWD, bind.path.as_c_str(), flags)?;
    }
    Ok(rustix::process::chdir(view.cwd.as_c_str())?)
}

fn make_read_only(from: BorrowedFd<'_>, path: &CStr, flags: libc::c_int) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends with a zero byte, and the pointer and the length describe `attributes`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            from.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Calls with the files' user and group of another, as far as this process may be that user. In a thread of its own: the kernel takes the
/// death signal of the parent from a thread that changes them.
pub(crate) fn as_user<T: Send>(
    (user, group): (u32, u32),
    call: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let call = move || {
        // SAFETY: both change credentials of this thread alone, which have no part in memory safety.
        unsafe {
            libc::setfsgid(group);
            libc::setfsuid(user);
        }
        call()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, call)?;
        let panicked = |_| Err(io::ErrorKind::Other.into());
        thread.join().unwrap_or_else(panicked)
    })
}

/// Ignores the signals that end an interactive program.
pub(crate) fn ignore_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
        // SAFETY: sets a disposition to "ignore"; no handler is involved.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// CPU time of a process with all its threads, ended ones included; resolution 1 ns.
///
/// `None` when there is no such process. (Ended children are not included.)
pub(crate) fn process_cpu(pid: u32) -> Option<Duration> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a valid place to write to.
    if unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place to write to.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(
        u64::try_from(time.tv_sec).ok()?,
        u32::try_from(time.tv_nsec).ok()?,
    ))
}

/// Enables receive timestamps of the kernel on this socket.
pub(crate) fn want_stamps(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of_val(&on)).unwrap_or_default();
    // SAFETY: the pointer and the length describe `on`.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            length,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Receives a few bytes; returns the kernel's timestamp of their arrival (realtime clock), if there is one.
pub(crate) fn receive_stamp(stream: &TcpStream) -> io::Result<Option<Duration>> {
    let mut data = [0_u8; 16];
    // Aligned as control messages must be.
    let mut control = [0_u64; 16];
    let mut part = libc::iovec {
        iov_base: data.as_mut_ptr().cast(),
        iov_len: data.len(),
    };
    // SAFETY: all-zero bytes are a valid empty message header.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control);
    // SAFETY: the header points to living buffers with their true lengths.
    while unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the kernel filled the header and the control buffer.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !header.is_null() {
        // SAFETY: the header is not null and lies in the control buffer.
        let (level, kind) = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
            // SAFETY: a message of this kind carries a timespec, perhaps unaligned.
            let time = unsafe {
                libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
            let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
            return Ok(Some(Duration::new(seconds, nanoseconds)));
        }
        // SAFETY: the message and the header are those of the call above.
        header = unsafe { libc::CMSG_NXTHDR(&raw const message, header) };
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_a_thread_that_blocks_signals_is_ended_by_them() {
        // SAFETY: both are plain values; the set is filled before it is used.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        let words = ["sh", "-c", "kill -TERM $$; echo it lives"];
        let ended = crate::subprocess::run(
            &words,
            crate::variables::ProgramKind::Plain,
            Duration::from_secs(20),
        )
        .unwrap();
        assert!(
            !ended.success && ended.stdout.is_empty(),
            "{}",
            ended.stdout
        );
    }
}
