//! How a running load is told to begin and to end, from other threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mio::Waker;

use crate::arrivals::NEVER;
use crate::clock::monotonic_ns;

/// Ends a load from outside. Clones end the same load; one made early ends a load that starts later at once.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Control>);

impl StopHandle {
    /// A handle to a load that nobody has stopped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the window now; what is under way may still finish within the timeout.
    pub fn end(&self) {
        let now_ns = monotonic_ns();
        // The first end counts: a second one must not lengthen the window.
        let _ = self
            .0
            .end_ns
            .compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        self.0.wake();
    }

    /// Ends everything now; what is under way is unfinished.
    pub fn abort(&self) {
        self.end();
        self.0.abort.store(true, Ordering::Relaxed);
        self.0.wake();
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.0.end_ns.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn control(&self) -> Arc<Control> {
        Arc::clone(&self.0)
    }
}

/// What the workers look at.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Start of the load; 0: not known.
    start_ns: AtomicU64,
    /// End of the window by order; 0: none.
    end_ns: AtomicU64,
    abort: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Control {
    /// Has this worker woken by every order.
    pub fn add(&self, waker: Waker) {
        self.wakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(waker);
    }

    /// Fixes when the load starts, and tells the workers.
    pub fn start_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
        self.wake();
    }

    /// When the load starts, once known.
    pub fn start_ns(&self) -> Option<u64> {
        match self.start_ns.load(Ordering::Relaxed) {
            0 => None,
            at_ns => Some(at_ns),
        }
    }

    /// When the window was ended by order; [`NEVER`] if it was not.
    pub fn end_ns(&self) -> u64 {
        match self.end_ns.load(Ordering::Relaxed) {
            0 => NEVER,
            at_ns => at_ns,
        }
    }

    /// Whether to give everything up.
    pub fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    fn wake(&self) {
        for waker in &*self.wakers.lock().unwrap_or_else(PoisonError::into_inner) {
            // Fails only when the counter of the eventfd is full, and then the worker is awake.
            let _ = waker.wake();
        }
    }
}
