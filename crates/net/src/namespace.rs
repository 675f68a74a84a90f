//! A network namespace without a name: it lasts as long as a descriptor or a process holds it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::thread::UnshareFlags;

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
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
