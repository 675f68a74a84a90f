//! The clocks, and the timers of one worker on a timerfd: precise to microseconds, where epoll's timeout has milliseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds of the realtime clock since 1970, the clock of the kernel's receive timestamps and of what clients compare with
/// their own.
pub(crate) fn realtime_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Realtime))
}

/// A duration in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn to_ns(time: Timespec) -> u64 {
    u64::try_from(time.tv_sec)
        .unwrap_or(0)
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// A wake-up: when, and for which connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wake {
    pub due_ns: u64,
    pub slot: usize,
}

/// Pending wake-ups. Stale ones are not removed: the caller compares with the connection's `wake_ns`.
#[derive(Debug)]
pub(crate) struct Timers {
    timer: OwnedFd,
    ahead: BinaryHeap<Reverse<Wake>>,
    armed_ns: Option<u64>,
}

impl Timers {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            timer,
            ahead: BinaryHeap::new(),
            armed_ns: None,
        })
    }

    pub(crate) fn raw_fd(&self) -> i32 {
        self.timer.as_raw_fd()
    }

    pub(crate) fn add(&mut self, wake: Wake) {
        self.ahead.push(Reverse(wake));
    }

    /// The next wake-up that is due.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<Wake> {
        let &Reverse(wake) = self.ahead.peek()?;
        if wake.due_ns > now_ns {
            return None;
        }
        self.ahead.pop();
        Some(wake)
    }

    /// Arms the timer for the earliest wake-up, if it is not already. Setting it also clears an expiry.
    pub(crate) fn arm(&mut self, now_ns: u64) -> io::Result<()> {
        let earliest = self.ahead.peek().map(|&Reverse(wake)| wake.due_ns);
        let expired = self.armed_ns.is_some_and(|armed_ns| armed_ns <= now_ns);
        if earliest == self.armed_ns && !expired {
            return Ok(());
        }
        // Zero would disarm; a time in the past fires immediately.
        let at_ns = earliest.map_or(0, |due_ns| due_ns.max(1));
        let at = Timespec {
            tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
        };
        let interval = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let setting = Itimerspec {
            it_interval: interval,
            it_value: at,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)?;
        self.armed_ns = earliest;
        Ok(())
    }
}
