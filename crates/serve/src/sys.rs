//! Calls of the kernel that the standard library does not have.
#![expect(unsafe_code, reason = "a new session is made between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::process::{Resource, Rlimit};

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

/// Gives the calling thread, and those that it starts, a higher niceness. It is not necessary to serve.
pub fn give_way(niceness: i32) {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), niceness);
}
