//! The few system calls that need `unsafe`: between fork and exec, signal dispositions, CPU clocks, timestamps.

#![expect(
    unsafe_code,
    reason = "pre_exec, signal dispositions and another process's CPU clock have no safe interface"
)]

use std::ffi::CString;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CpuSet, LinkNameSpaceType, UnshareFlags};

/// Error number for a failure to join a control group: no other call between fork and exec returns it.
pub(crate) const NO_GROUP: i32 = libc::EDQUOT;
/// Error number for a failure to mount the hosts file.
pub(crate) const NO_NAMES: i32 = libc::ENOTUNIQ;

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
pub(crate) fn prepare_child(command: &mut Command, setup: ChildSetup) {
    let hook = move || set_up_child(&setup);
    // SAFETY: the hook only makes system calls that are safe after fork in a process with threads;
    // it takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(hook);
    }
}

fn set_up_child(setup: &ChildSetup) -> io::Result<()> {
    for group in &setup.groups {
        if rustix::io::write(group, b"0").is_err() {
            return Err(io::Error::from_raw_os_error(NO_GROUP));
        }
    }
    if let Some(network) = &setup.network {
        let kind = Some(LinkNameSpaceType::Network);
        rustix::thread::move_into_link_name_space(network.as_fd(), kind)?;
    }
    if let Some(hosts) = &setup.hosts {
        see_as_hosts(hosts).map_err(|_| io::Error::from_raw_os_error(NO_NAMES))?;
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the line above; then the signal would never come.
    if rustix::process::getppid() != setup.parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
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
    Ok(())
}

/// The keeper's mounts are private, so no other process sees this one.
fn see_as_hosts(file: &CString) -> io::Result<()> {
    // SAFETY: the process has one thread here, and mounts have no part in memory safety.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    Ok(rustix::mount::mount_bind(file.as_c_str(), c"/etc/hosts")?)
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
    if unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0) } < 0 {
        return Err(io::Error::last_os_error());
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
