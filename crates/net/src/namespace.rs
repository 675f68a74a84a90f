//! Unnamed network namespaces: each exists as long as a descriptor or a process holds it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::NetError;

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub struct Namespace(OwnedFd);

impl Namespace {
    /// A new, empty one: it has only a loopback device that is down.
    ///
    /// # Errors
    /// When the kernel refuses (no privilege, or its limit is reached).
    pub fn new() -> Result<Self, NetError> {
        // On a thread of its own: the caller's namespace does not change.
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

    /// The calling thread's namespace.
    ///
    /// # Errors
    /// When `/proc` cannot be read.
    pub fn current() -> Result<Self, NetError> {
        let file = File::open("/proc/thread-self/ns/net")
            .map_err(NetError::refused("open the thread's own network namespace"))?;
        Ok(Self(file.into()))
    }

    /// Runs `work` inside it, on a thread of its own: the caller's namespace does not change. A socket
    /// that is opened inside stays inside, and so does a process that is started inside.
    ///
    /// # Errors
    /// When the kernel refuses entry.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NetError> {
        run_inside(self.as_fd(), work).map_err(NetError::refused("enter a network namespace"))
    }
}

/// Runs `work` in a network namespace, on a thread of its own.
pub(crate) fn run_inside<T: Send>(
    namespace: BorrowedFd<'_>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, rustix::io::Errno> {
    thread::scope(|scope| {
        let inside = scope.spawn(move || {
            let kind = Some(LinkNameSpaceType::Network);
            rustix::thread::move_into_link_name_space(namespace, kind)?;
            Ok(work())
        });
        match inside.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Moves the calling thread, which must be the only one of its process, into the network of another process; first
/// into its user namespace, where that is another one (a test bed made without root).
///
/// # Errors
/// When the process has ended, or the kernel refuses entry.
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
