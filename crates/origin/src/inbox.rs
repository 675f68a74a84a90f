//! Where the acceptor leaves connections for a worker.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mio::Waker;
use mio::net::TcpStream;

/// The listener that a connection came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The one that serves as the options say.
    Service,
    /// The one for counters and control: plain HTTP/1.1.
    Control,
}

/// One worker's new connections, and how many it has.
#[derive(Debug)]
pub(crate) struct Inbox {
    waiting: Mutex<Vec<(TcpStream, Door)>>,
    open: AtomicUsize,
    waker: Waker,
}

impl Inbox {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            open: AtomicUsize::new(0),
            waker,
        }
    }

    /// Connections dealt to the worker and not closed.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Leaves a connection. A worker that cannot be woken finds it at its next event.
    pub(crate) fn leave(&self, stream: TcpStream, door: Door) {
        if let Ok(mut waiting) = self.waiting.lock() {
            self.open.fetch_add(1, Ordering::Relaxed);
            waiting.push((stream, door));
        }
        let _ = self.waker.wake();
    }

    /// The next connection that waits.
    pub(crate) fn take(&self) -> Option<(TcpStream, Door)> {
        self.waiting.lock().ok()?.pop()
    }

    /// A connection of the worker is closed.
    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
