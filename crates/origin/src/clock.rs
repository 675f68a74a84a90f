//! The two clocks: monotonic for timers, realtime for timestamps that a client compares with its own.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds of the realtime clock since 1970, the clock of the kernel's receive timestamps.
pub(crate) fn realtime_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Realtime))
}

fn to_ns(time: Timespec) -> u64 {
    u64::try_from(time.tv_sec)
        .unwrap_or(0)
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
