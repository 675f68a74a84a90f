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

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
