//! How a worker asks the kernel to run before others on its core.

use rustix::process::{getpriority_process, setpriority_process};
use tare_schema::agent::Scheduled;

use crate::sys;

/// Of a worker thread, where it may be set: a busy neighbour on its core then delays a start by microseconds instead of by
/// the 2 to 3 ms of a time slice. The worker sleeps most of the time, so it takes little from anybody.
const NICENESS: i32 = -10;

/// What a worker asks of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    /// `SCHED_FIFO`: before every ordinary process.
    Fifo,
    /// A niceness of −10.
    Niceness,
}

impl Precedence {
    /// Asks for it, for the calling thread and not for what it starts, and says what it got. Refused without privilege: the load
    /// runs all the same, and its result says how.
    pub fn take(self) -> Scheduled {
        if self == Precedence::Fifo && sys::run_in_real_time().is_ok() {
            return Scheduled::Fifo;
        }
        let niceness = getpriority_process(None).unwrap_or(0);
        // One that somebody chose stays.
        let niceness = match niceness {
            0 if setpriority_process(None, NICENESS).is_ok() => NICENESS,
            chosen => chosen,
        };
        Scheduled::Normal { niceness }
    }
}
