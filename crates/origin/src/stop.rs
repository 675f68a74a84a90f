//! The handle that ends a running origin, also from a signal.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::error::OriginError;

/// Ends a running origin. Clones end the same one; a stop is final.
///
/// An eventfd that is written once and never read: every event loop sees it.
#[derive(Debug, Clone)]
pub struct StopHandle {
    event: Arc<OwnedFd>,
}

impl StopHandle {
    /// A handle that nothing has stopped yet.
    ///
    /// # Errors
    /// When the kernel has no file descriptor left.
    pub fn new() -> Result<Self, OriginError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags)
            .map_err(|errno| OriginError::Setup("create the stop event", errno.into()))?;
        Ok(Self {
            event: Arc::new(event),
        })
    }

    /// Stops the origin: no new connections, answers in progress are finished, then `run` returns.
    pub fn stop(&self) {
        // Fails only when the counter is full, and then it is stopped already.
        let _ = rustix::io::write(&*self.event, &1_u64.to_ne_bytes());
    }

    /// Stops on SIGTERM and SIGINT.
    ///
    /// # Errors
    /// When the kernel refuses the handler or its thread.
    pub fn stop_on_signals(&self) -> Result<(), OriginError> {
        let refused = |error| OriginError::Setup("handle signals", error);
        let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(refused)?;
        let stop = self.clone();
        let wait = move || signals.forever().for_each(|_| stop.stop());
        let thread = thread::Builder::new().name("origin-signals".to_owned());
        thread.spawn(wait).map(drop).map_err(refused)
    }

    /// Waits until stopped, for `at_most`; true if stopped.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> bool {
        let mut descriptors = [PollFd::new(&*self.event, PollFlags::IN)];
        let timeout = Timespec::try_from(at_most).ok();
        matches!(poll(&mut descriptors, timeout.as_ref()), Ok(1..))
    }

    pub(crate) fn raw_fd(&self) -> i32 {
        self.event.as_raw_fd()
    }
}

impl AsFd for StopHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}
