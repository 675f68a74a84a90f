//! Planned stalls, in which the whole server stops answering.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::stop::StopHandle;
use crate::timers::{self, nanos};

/// Limit of planned stalls.
const STALLS_MAX: usize = 64;

/// The longest stall, and the longest time until one begins.
pub const STALL_MAX: Duration = Duration::from_secs(3600);

/// A stall that is planned at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedStall {
    /// From the start of serving to the start of the stall.
    pub after: Duration,
    /// Duration of the stall.
    pub lasts: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    start_ns: u64,
    end_ns: u64,
}

/// The planned and current stalls, shared by all workers.
#[derive(Debug)]
pub(crate) struct Stalls {
    /// Start of the earliest stall: all that a worker reads while there is none.
    next_start_ns: AtomicU64,
    windows: Mutex<Vec<Window>>,
}

impl Stalls {
    pub(crate) fn new() -> Self {
        Self {
            next_start_ns: AtomicU64::new(u64::MAX),
            windows: Mutex::new(Vec::with_capacity(STALLS_MAX)),
        }
    }

    /// Plans a stall, relative to now; false when too many are planned.
    pub(crate) fn plan(&self, stall: PlannedStall) -> bool {
        let Ok(mut windows) = self.windows.lock() else {
            return false;
        };
        if windows.len() >= STALLS_MAX {
            return false;
        }
        let start_ns = timers::monotonic_ns().saturating_add(nanos(stall.after));
        windows.push(Window {
            start_ns,
            end_ns: start_ns.saturating_add(nanos(stall.lasts)),
        });
        self.announce(&windows);
        true
    }

    /// Waits for the end of the current stall, if there is one, or until the server is stopped; returns the time then.
    pub(crate) fn wait_out(&self, now_ns: u64, stop: &StopHandle) -> u64 {
        if now_ns < self.next_start_ns.load(Ordering::Relaxed) {
            return now_ns;
        }
        loop {
            let now_ns = timers::monotonic_ns();
            let Some(end_ns) = self.end_at(now_ns) else {
                return now_ns;
            };
            if stop.wait(Duration::from_nanos(end_ns - now_ns)) {
                return now_ns;
            }
        }
    }

    /// The end of the current stall; drops those that are over.
    fn end_at(&self, now_ns: u64) -> Option<u64> {
        let mut windows = self.windows.lock().ok()?;
        windows.retain(|window| window.end_ns > now_ns);
        self.announce(&windows);
        windows
            .iter()
            .filter(|window| window.start_ns <= now_ns)
            .map(|window| window.end_ns)
            .max()
    }

    fn announce(&self, windows: &[Window]) {
        let next = windows
            .iter()
            .map(|window| window.start_ns)
            .min()
            .unwrap_or(u64::MAX);
        self.next_start_ns.store(next, Ordering::Relaxed);
    }
}
