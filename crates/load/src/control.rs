//! How a running load is told to begin and to end, from other threads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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

    /// A handle to another load, which ends with this one: each of several in a row has one of its own.
    #[must_use]
    pub fn following(&self) -> Self {
        let follower = Self::new();
        let mut followers = self.0.followers();
        followers.retain(|one| one.strong_count() > 0);
        followers.push(Arc::downgrade(&follower.0));
        drop(followers);
        // Behind the entry: whoever ended this one before has not seen it.
        if self.0.is_aborted() {
            follower.abort();
        } else if self.is_ended() {
            follower.end();
        }
        follower
    }

    /// Ends the window now; what is under way may still finish within the timeout.
    pub fn end(&self) {
        self.0.end();
        self.each_follower(StopHandle::end);
    }

    /// Ends everything now; what is under way is unfinished.
    pub fn abort(&self) {
        self.end();
        self.0.abort.store(true, Ordering::Relaxed);
        self.0.wake();
        self.each_follower(StopHandle::abort);
    }

    fn each_follower(&self, order: impl Fn(&StopHandle)) {
        let followers: Vec<_> = self
            .0
            .followers()
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        followers
            .into_iter()
            .map(StopHandle)
            .for_each(|one| order(&one));
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
    /// Loads that end with this one.
    followers: Mutex<Vec<Weak<Control>>>,
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

    /// Ends the window of this load now, not of those that follow it.
    pub fn end(&self) {
        let now_ns = monotonic_ns();
        // The first end counts: a second one must not lengthen the window.
        let _ = self
            .end_ns
            .compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        self.wake();
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

    fn followers(&self) -> MutexGuard<'_, Vec<Weak<Control>>> {
        self.followers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
        let first = stop.following();
        stop.end();
        let second = stop.following();
        assert!(first.is_ended() && second.is_ended());
        assert!(!first.control().is_aborted() && !second.control().is_aborted());
        stop.abort();
        assert!(first.control().is_aborted() && second.control().is_aborted());
        assert!(stop.following().control().is_aborted());
    }

    #[test]
    fn a_load_that_follows_can_end_alone() {
        let stop = StopHandle::new();
        stop.following().abort();
        assert!(!stop.is_ended());
    }
}
