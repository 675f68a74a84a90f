//! Sleeps until an absolute time with microsecond precision, or until the link stops.

use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;
/// Wake-up latency of a sleeping core: the sleep ends this much early, and the rest is spun.
const LEAD_NS: u64 = 30_000;
/// Spinning takes at most a twentieth of the time: the cores are for what is measured.
const SPIN_SHARE: u64 = 20;

/// Monotonic nanoseconds.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Both parts of this clock are never negative.
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// Stops the threads of a link.
#[derive(Debug)]
pub(super) struct StopFlag {
    stopped: AtomicU32,
    event: OwnedFd,
}

/// Why a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// The time is reached; now it is this.
    At(u64),
    /// The link stops.
    Stopped,
}

impl StopFlag {
    pub(super) fn new() -> Result<Self, super::LinkError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| super::LinkError::NoStart(error.into()))?;
        Ok(Self {
            stopped: AtomicU32::new(0),
            event,
        })
    }

    /// Ends all sleeps, now and later.
    pub(super) fn stop(&self) {
        self.stopped.store(1, Ordering::Release);
        let _ = futex::wake(&self.stopped, futex::Flags::PRIVATE, u32::MAX >> 1);
        // Never read: it stays readable for `poll`.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) != 0
    }

    /// Sleeps until an absolute time, or until [`StopFlag::stop`].
    fn sleep_until(&self, at_ns: u64) {
        let at = Timespec {
            tv_sec: (at_ns / NS_PER_S) as i64,
            tv_nsec: (at_ns % NS_PER_S) as _,
        };
        // `FUTEX_WAIT_BITSET` takes an absolute timeout. It may end early (a signal): the caller checks the clock.
        let _ = futex::wait_bitset(
            &self.stopped,
            futex::Flags::PRIVATE,
            0,
            Some(&at),
            NonZeroU32::MAX,
        );
    }
}

impl AsFd for StopFlag {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Precise sleeps of one thread.
pub(super) struct PreciseSleep<'a> {
    stop_flag: &'a StopFlag,
    began_ns: u64,
    spun_ns: u64,
}

impl<'a> PreciseSleep<'a> {
    pub(super) fn new(stop_flag: &'a StopFlag) -> Self {
        Self {
            stop_flag,
            began_ns: now_ns(),
            spun_ns: 0,
        }
    }

    /// Sleeps until `due_ns`; returns earlier only if the link stops.
    pub(super) fn until(&mut self, due_ns: u64) -> Woken {
        loop {
            let now = now_ns();
            if self.stop_flag.is_stopped() {
                return Woken::Stopped;
            }
            if now >= due_ns {
                return Woken::At(now);
            }
            let may_spin = self.spun_ns < (now - self.began_ns) / SPIN_SHARE;
            let lead_ns = if may_spin { LEAD_NS } else { 0 };
            if due_ns - now > lead_ns {
                self.stop_flag.sleep_until(due_ns - lead_ns);
            } else {
                return self.spin(now, due_ns);
            }
        }
    }

    fn spin(&mut self, from_ns: u64, due_ns: u64) -> Woken {
        loop {
            std::hint::spin_loop();
            let now = now_ns();
            if now >= due_ns {
                self.spun_ns += now - from_ns;
                return Woken::At(now);
            }
        }
    }
}

/// Sets the calling thread's timer slack to 1 ns (by default the kernel may delay timers by 50 µs).
pub(super) fn minimise_timer_slack() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wait_never_ends_before_its_moment() {
        let stop_flag = StopFlag::new().unwrap();
        let mut sleep = PreciseSleep::new(&stop_flag);
        for step in 0..50 {
            let due = now_ns() + step * 10_000;
            let before_ns = sleep.spun_ns;
            let Woken::At(now) = sleep.until(due) else {
                panic!("nobody rang");
            };
            assert!(now >= due);
            // It spins for the lead alone (unless it loses the core meanwhile), and not beyond its share.
            let spun_ns = sleep.spun_ns - before_ns;
            assert!(spun_ns <= LEAD_NS + (now - due), "{spun_ns}");
            let share_ns = (now - sleep.began_ns) / SPIN_SHARE;
            assert!(spun_ns == 0 || before_ns < share_ns, "{before_ns}");
        }
    }

    #[test]
    fn the_bell_ends_a_wait_of_an_hour() {
        let stop_flag = Arc::new(StopFlag::new().unwrap());
        let waiting = {
            let stop_flag = Arc::clone(&stop_flag);
            std::thread::spawn(move || {
                PreciseSleep::new(&stop_flag).until(now_ns() + 3600 * NS_PER_S)
            })
        };
        stop_flag.stop();
        assert_eq!(waiting.join().unwrap(), Woken::Stopped);
        // And the ones that begin after it.
        assert_eq!(
            PreciseSleep::new(&stop_flag).until(u64::MAX / 2),
            Woken::Stopped
        );
    }
}
