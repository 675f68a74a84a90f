//! A network namespace without a name: it lasts as long as a descriptor or a process holds it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::NetError;

/// A held network namespace.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new, empty one: nothing in it but a loopback device that is down.
    ///
    /// # Errors
    /// When the kernel refuses (no privilege, or its limit is reached).
    pub fn new() -> Result<Self, NetError> {
        // A thread of its own: the caller stays where it is.
        let made = thread::spawn(|| {
            crate::sys::unshare(UnshareFlags::NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        match made.join() {
            Ok(Ok(file)) => Ok(Self(file.into())),
            Ok(Err(error)) => Err(NetError::NoNamespace(error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The one that the calling thread is in.
    ///
    /// # Errors
    /// When `/proc` does not show it.
    pub fn current() -> Result<Self, NetError> {
        let file = File::open("/proc/thread-self/ns/net")
            .map_err(NetError::refused("open the thread's own network namespace"))?;
        Ok(Self(file.into()))
    }

    /// Does something inside it, in a thread of its own: the caller stays where it is. What is opened
    /// inside (a socket) stays inside; a process that is started inside lives inside.
    ///
    /// # Errors
    /// When the kernel does not let the thread in.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        let inside = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                rustix::thread::move_into_link_name_space(
                    self.as_fd(),
                    Some(LinkNameSpaceType::Network),
                )?;
                Ok::<T, rustix::io::Errno>(work())
            });
            thread.join()
        });
        match inside {
            Ok(done) => done.map_err(NetError::refused("enter a network namespace")),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Moves the calling thread, which must be the only one of its process, into the network of another process; first
/// into its user namespace, where that is another one (a test bed made without root).
///
/// # Errors
/// When the process is gone, or the kernel does not let us in.
pub fn enter(pid: u32) -> Result<(), NetError> {
    let open = |what: &str| {
        let path = format!("/proc/{pid}/ns/{what}");
        File::open(&path).map_err(NetError::refused(format!("open {path}")))
    };
    let same = |what: &str| {
        let read = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/{what}"));
        matches!((read("self"), read(&pid.to_string())), (Ok(own), Ok(other)) if own == other)
    };
    let network = open("net")?;
    if !same("user") {
        let user = open("user")?;
        rustix::thread::move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
            .map_err(NetError::refused("enter the user namespace of a test bed"))?;
    }
    rustix::thread::move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(NetError::refused("enter the network of a pod"))
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
