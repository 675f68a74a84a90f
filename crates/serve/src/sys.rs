//! Calls of the kernel that the standard library does not have.
#![expect(
    unsafe_code,
    reason = "a new session is made between fork and exec; scheduling policies have no safe call"
)]

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Resource, Rlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Open files that a thousand connections with their streams need.
const FILES: u64 = 4096;

/// Starts a process in a session of its own, where no signal of the server's terminal reaches it, with this limit of open files.
pub fn spawn_in_session(command: &mut Command, files: Rlimit) -> io::Result<Child> {
    let new_session = move || {
        rustix::process::setsid()?;
        rustix::process::setrlimit(Resource::Nofile, files)?;
        Ok(())
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(new_session) };
    command.spawn()
}

/// Connects from the network of a process, which may be another than the server's.
pub fn connect_in_network_of(pid: u32, at: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let theirs = File::open(format!("/proc/{pid}/ns/net"))?;
    let ours = File::open("/proc/self/ns/net")?.metadata()?;
    if theirs.metadata()?.ino() == ours.ino() {
        return TcpStream::connect_timeout(&at, within);
    }
    // A thread of its own: a network is one of a thread.
    let connect = move || {
        move_into_link_name_space(theirs.as_fd(), Some(LinkNameSpaceType::Network))?;
        TcpStream::connect_timeout(&at, within)
    };
    let thread = std::thread::Builder::new().spawn(connect)?;
    let ended = thread.join();
    ended.unwrap_or_else(|_| Err(io::Error::other("the connection could not be made")))
}

/// Raises this process's limit of open files, which is 1,024 on most systems, as far as it may; returns what it was.
pub fn raise_files() -> Rlimit {
    let before = rustix::process::getrlimit(Resource::Nofile);
    let raised = before.maximum.map_or(FILES, |most| most.min(FILES));
    if before.current.is_some_and(|now| now < raised) {
        let wanted = Rlimit {
            current: Some(raised),
            ..before
        };
        let _ = rustix::process::setrlimit(Resource::Nofile, wanted);
    }
    before
}

/// Has the calling thread run only while its core has nothing else to do (`SCHED_IDLE`): a measurement of microseconds feels even a
/// niced thread. Where that is not allowed, it stays as it is.
pub fn run_when_idle() {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads the parameter, which lives longer.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &none) };
}

/// Whether the calling thread does.
pub fn runs_when_idle() -> bool {
    // SAFETY: the call has no memory to read or write.
    unsafe { libc::sched_getscheduler(0) == libc::SCHED_IDLE }
}

/// Gives the calling thread, and those that it starts, a higher niceness. It is not necessary to serve.
pub fn give_way(niceness: i32) {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), niceness);
}
