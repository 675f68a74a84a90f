//! Queue of accepted connections, from the acceptor to a worker.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mio::Waker;
use mio::net::TcpStream;

/// The listener that a connection was accepted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListenerKind {
    /// The main listener.
    Service,
    /// The listener for counters and control: plain HTTP/1.1.
    Control,
}

/// One worker's new connections, and the number of its open ones.
#[derive(Debug)]
pub(crate) struct ConnectionQueue {
    waiting: Mutex<Vec<(TcpStream, ListenerKind)>>,
    open: AtomicUsize,
    waker: Waker,
}

impl ConnectionQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        Self {
            waiting: Mutex::new(Vec::new()),
            open: AtomicUsize::new(0),
            waker,
        }
    }

    /// Connections assigned to the worker and not closed.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Queues a connection. If waking fails, the worker finds it at its next event.
    pub(crate) fn push(&self, stream: TcpStream, listener_kind: ListenerKind) {
        if let Ok(mut waiting) = self.waiting.lock() {
            self.open.fetch_add(1, Ordering::Relaxed);
            waiting.push((stream, listener_kind));
        }
        let _ = self.waker.wake();
    }

    /// The next queued connection.
    pub(crate) fn take(&self) -> Option<(TcpStream, ListenerKind)> {
        self.waiting.lock().ok()?.pop()
    }

    /// A connection of the worker is closed.
    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
