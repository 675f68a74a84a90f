//! Start, end and abort of a running load, from other threads.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mio::Waker;

use crate::arrivals::NEVER;
use crate::clock::monotonic_ns;

/// An end lies this far ahead. Every worker then knows it before it comes; one that learned of it afterwards would have counted
/// starts and responses beyond the end of the window.
const END_LEAD_NS: u64 = 5_000_000;

/// Ends a load from outside. Clones end the same load. A handle ended early ends its load as soon as that starts.
#[derive(Debug, Clone, Default)]
pub struct StopHandle(Arc<Control>);

impl StopHandle {
    /// A handle that was not used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle to another load, which ends with this one: for several loads in a row.
    #[must_use]
    pub fn child(&self) -> Self {
        let child = Self::new();
        let mut children = self.0.children();
        children.retain(|one| one.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        drop(children);
        // After the entry above, or an end between the two would be missed.
        if self.0.is_aborted() {
            child.abort();
        } else if self.is_ended() {
            child.end();
        }
        child
    }

    /// Ends the window in 5 ms, for all workers at the same time; exchanges in flight may finish within the timeout.
    pub fn end(&self) {
        self.0.end_at(monotonic_ns() + END_LEAD_NS);
        self.each_child(StopHandle::end);
    }

    /// Ends everything now; exchanges in flight count as unfinished.
    pub fn abort(&self) {
        self.0.end();
        self.0.abort.store(true, Ordering::Relaxed);
        self.0.wake();
        self.each_child(StopHandle::abort);
    }

    /// Ends the window because of this signal.
    pub(crate) fn end_by(&self, signal: i32) {
        self.0.signal.store(signal, Ordering::Relaxed);
        self.end();
    }

    /// The signal that ended it, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        if !self.is_ended() {
            return None;
        }
        match self.0.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal),
        }
    }

    fn each_child(&self, order: impl Fn(&StopHandle)) {
        let children: Vec<_> = self.0.children().iter().filter_map(Weak::upgrade).collect();
        children
            .into_iter()
            .map(StopHandle)
            .for_each(|one| order(&one));
    }

    /// Whether it was ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        // Acquire: the signal was stored before the end.
        self.0.end_ns.load(Ordering::Acquire) != 0
    }

    pub(crate) fn control(&self) -> Arc<Control> {
        Arc::clone(&self.0)
    }
}

/// State shared with the workers.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Start of the load; 0: not fixed.
    start_ns: AtomicU64,
    /// End of the window by `end`; 0: none.
    end_ns: AtomicU64,
    /// Number of the signal that ended it; 0: none.
    signal: AtomicI32,
    abort: AtomicBool,
    /// Whether a connection of any worker was open at some time.
    reached: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    /// Loads that end with this one.
    children: Mutex<Vec<Weak<Control>>>,
}

impl Control {
    /// Registers the waker of a worker; every change wakes it.
    pub fn add(&self, waker: Waker) {
        self.wakers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(waker);
    }

    /// Fixes when the load starts, and wakes the workers.
    pub fn start_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
        self.wake();
    }

    /// When the load starts, once fixed.
    pub fn start_ns(&self) -> Option<u64> {
        match self.start_ns.load(Ordering::Relaxed) {
            0 => None,
            at_ns => Some(at_ns),
        }
    }

    /// Ends the window of this load now, not those of its children: for a load that is aborted.
    pub fn end(&self) {
        self.end_at(monotonic_ns());
    }

    fn end_at(&self, end_ns: u64) {
        // The first end counts: a second one must not lengthen the window.
        let _ = self
            .end_ns
            .compare_exchange(0, end_ns, Ordering::Release, Ordering::Relaxed);
        self.wake();
    }

    /// End of the window by `end`; [`NEVER`] if it was not called.
    pub fn end_ns(&self) -> u64 {
        match self.end_ns.load(Ordering::Relaxed) {
            0 => NEVER,
            at_ns => at_ns,
        }
    }

    /// A connection is open.
    pub fn set_reached(&self) {
        // Read first: a load of connections comes here for each of them, from all workers.
        if !self.is_reached() {
            self.reached.store(true, Ordering::Relaxed);
        }
    }

    /// Whether one was at some time, of any worker.
    pub fn is_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Whether to stop immediately.
    pub fn is_aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    fn children(&self) -> MutexGuard<'_, Vec<Weak<Control>>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        for waker in &*self.wakers.lock().unwrap_or_else(PoisonError::into_inner) {
            // Fails only when the counter of the eventfd is full, and then the worker is awake.
            let _ = waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reaches_every_load_that_follows_also_one_made_later() {
        let stop = StopHandle::new();
        let first = stop.child();
        stop.end();
        let second = stop.child();
        assert!(first.is_ended() && second.is_ended());
        assert!(!first.control().is_aborted() && !second.control().is_aborted());
        stop.abort();
        assert!(first.control().is_aborted() && second.control().is_aborted());
        assert!(stop.child().control().is_aborted());
    }

    #[test]
    fn an_end_lies_ahead_so_that_no_worker_has_counted_beyond_it_and_an_abort_is_at_once() {
        let stop = StopHandle::new();
        let before_ns = monotonic_ns();
        stop.end();
        assert!(stop.control().end_ns() >= before_ns + END_LEAD_NS);
        let stop = StopHandle::new();
        stop.abort();
        assert!(stop.control().end_ns() <= monotonic_ns());
    }

    #[test]
    fn the_signal_that_ended_a_load_is_kept_and_no_other_end_has_one() {
        let stop = StopHandle::new();
        assert_eq!(stop.signal(), None);
        stop.end_by(libc::SIGTERM);
        assert!(stop.is_ended());
        assert_eq!(stop.signal(), Some(libc::SIGTERM));
        let other = StopHandle::new();
        other.abort();
        assert_eq!(other.signal(), None);
    }

    #[test]
    fn a_load_that_follows_can_end_alone() {
        let stop = StopHandle::new();
        stop.child().abort();
        assert!(!stop.is_ended());
    }
}
