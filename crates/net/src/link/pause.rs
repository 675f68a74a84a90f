//! Waiting for a moment, exactly and not longer than the link lives.

use std::io;
use std::num::{NonZeroU32, NonZeroU64};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NS_PER_S: u64 = 1_000_000_000;
/// A core that slept needs about so long to be back; what is left of it is spun away.
const LEAD_NS: u64 = 30_000;
/// Spinning takes at most a twentieth of the time: cores are for what is measured.
const SPIN_SHARE: u64 = 20;

/// Monotonic nanoseconds.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // Both parts of this clock are never negative.
    now.tv_sec.unsigned_abs() * NS_PER_S + now.tv_nsec.unsigned_abs()
}

/// Tells the threads of a link to end.
#[derive(Debug)]
pub(super) struct Bell {
    rung: AtomicU32,
    event: OwnedFd,
}

/// Why a wait is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// The moment has come; it is this moment.
    At(u64),
    /// The link ends.
    Rung,
}

impl Bell {
    pub(super) fn new() -> Result<Self, super::LinkError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| super::LinkError::NoStart(error.into()))?;
        Ok(Self {
            rung: AtomicU32::new(0),
            event,
        })
    }

    /// Ends all waits, now and later.
    pub(super) fn ring(&self) {
        self.rung.store(1, Ordering::Release);
        let _ = futex::wake(&self.rung, futex::Flags::PRIVATE, u32::MAX >> 1);
        // Readable from now on: nobody reads it.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    pub(super) fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire) != 0
    }

    /// Sleeps to the moment on the clock, or until the bell rings.
    fn sleep_until(&self, at_ns: u64) {
        let at = Timespec {
            tv_sec: (at_ns / NS_PER_S) as i64,
            tv_nsec: (at_ns % NS_PER_S) as _,
        };
        // With a bit set the timeout is a moment, not a length. It may end early (a signal): the caller looks at the clock.
        let _ = futex::wait_bitset(
            &self.rung,
            futex::Flags::PRIVATE,
            0,
            Some(&at),
            NonZeroU32::MAX,
        );
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Exact waits of one thread.
pub(super) struct Pause<'a> {
    bell: &'a Bell,
    began_ns: u64,
    spun_ns: u64,
}

impl<'a> Pause<'a> {
    pub(super) fn new(bell: &'a Bell) -> Self {
        Self {
            bell,
            began_ns: now_ns(),
            spun_ns: 0,
        }
    }

    /// Waits for the moment; never returns before it unless the link ends.
    pub(super) fn until(&mut self, due_ns: u64) -> Woken {
        loop {
            let now = now_ns();
            if self.bell.is_rung() {
                return Woken::Rung;
            }
            if now >= due_ns {
                return Woken::At(now);
            }
            let may_spin = self.spun_ns < (now - self.began_ns) / SPIN_SHARE;
            let lead_ns = if may_spin { LEAD_NS } else { 0 };
            if due_ns - now > lead_ns {
                self.bell.sleep_until(due_ns - lead_ns);
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

/// Lets timers of the calling thread fire at their moment (the kernel may else bundle them within 50 µs).
pub(super) fn exact_timers() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wait_never_ends_before_its_moment() {
        let bell = Bell::new().unwrap();
        let mut pause = Pause::new(&bell);
        for step in 0..50 {
            let due = now_ns() + step * 10_000;
            let before_ns = pause.spun_ns;
            let Woken::At(now) = pause.until(due) else {
                panic!("nobody rang");
            };
            assert!(now >= due);
            // It spins for the lead alone (who loses the core while it spins cannot help that), and not beyond its share.
            let spun_ns = pause.spun_ns - before_ns;
            assert!(spun_ns <= LEAD_NS + (now - due), "{spun_ns}");
            let share_ns = (now - pause.began_ns) / SPIN_SHARE;
            assert!(spun_ns == 0 || before_ns < share_ns, "{before_ns}");
        }
    }

    #[test]
    fn the_bell_ends_a_wait_of_an_hour() {
        let bell = Arc::new(Bell::new().unwrap());
        let waiting = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || Pause::new(&bell).until(now_ns() + 3600 * NS_PER_S))
        };
        bell.ring();
        assert_eq!(waiting.join().unwrap(), Woken::Rung);
        // And the ones that begin after it.
        assert_eq!(Pause::new(&bell).until(u64::MAX / 2), Woken::Rung);
    }
}
