//! Calls of the kernel that the standard library does not have.
#![expect(unsafe_code, reason = "a new session is made between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a process in a session of its own: no signal of the server's terminal reaches it.
pub fn spawn_in_session(command: &mut Command) -> io::Result<Child> {
    let new_session = || {
        rustix::process::setsid()?;
        Ok(())
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(new_session) };
    command.spawn()
}

/// Gives the calling thread, and those that it starts, a higher niceness, and the last core where there are several: load
/// generators are placed on the first ones. Neither is necessary to serve.
pub fn give_way(niceness: i32) {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), niceness);
}
