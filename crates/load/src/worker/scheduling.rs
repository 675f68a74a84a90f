//! Scheduling priority of worker threads.

use rustix::process::{getpriority_process, setpriority_process};
use tare_schema::agent::SchedPolicy;

use crate::sys;

/// Niceness of a worker thread, where it may be set: a busy process on its core then delays a start by microseconds instead of a
/// time slice of 2 to 3 ms. The worker mostly sleeps, so it takes little from others.
const NICENESS: i32 = -10;

/// How a worker thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchedulingPolicy {
    /// `SCHED_FIFO`: before all ordinary processes.
    Fifo,
    /// A niceness of −10.
    Niceness,
}

impl SchedulingPolicy {
    /// Applies it to the calling thread, not to threads it starts, and returns the result. Without privilege the load runs all
    /// the same, and its result shows how.
    pub fn take(self) -> SchedPolicy {
        if self == SchedulingPolicy::Fifo && sys::run_in_real_time().is_ok() {
            return SchedPolicy::Fifo;
        }
        let niceness = getpriority_process(None).unwrap_or(0);
        // A niceness set by the user stays.
        let niceness = match niceness {
            0 if setpriority_process(None, NICENESS).is_ok() => NICENESS,
            chosen => chosen,
        };
        SchedPolicy::Normal { niceness }
    }
}
