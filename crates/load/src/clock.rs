//! Monotonic clock, and conversion of the kernel's realtime timestamps to it.

use rustix::time::{ClockId, clock_gettime};

/// Interval at which the two clocks are compared even without suspicion.
const CHECK_EVERY_NS: u64 = 100_000_000;

/// Shortest interval of comparisons because of timestamps older than the last write. Where exchanges share a connection, a
/// response that arrived before the next request was sent is ordinary, not a sign of a clock step.
const RECHECK_EVERY_NS: u64 = 100_000;

/// Smaller changes of the offset are measurement error, not a step.
const STEP_MIN_NS: u64 = 2_000;

/// Nanoseconds of a clock, as an unsigned number.
fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Nanoseconds of the monotonic clock: every time in this crate.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Nanoseconds since the epoch.
#[must_use]
pub fn realtime_ns() -> u64 {
    read_ns(ClockId::Realtime)
}

/// CPU time of the calling thread.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

/// CPU time of the whole process.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read_ns(ClockId::ProcessCPUTime)
}

/// Realtime minus monotonic. Slewing changes both clocks equally; only a step changes the offset.
#[derive(Debug, Clone)]
pub struct RealtimeOffset {
    offset_ns: i128,
    checked_at_ns: u64,
    steps: u64,
}

impl RealtimeOffset {
    #[must_use]
    pub fn measure() -> Self {
        Self {
            offset_ns: measure_offset(),
            checked_at_ns: monotonic_ns(),
            steps: 0,
        }
    }

    /// Converts the timestamp of bytes read at `seen_ns`, on a connection last written to at `written_ns`.
    ///
    /// A timestamp outside of these two may indicate a step, so the clocks are compared again; if it is older than the write,
    /// only when the last comparison is old enough. `None` if the timestamp is still in the future.
    #[inline]
    pub fn convert(&mut self, stamp_ns: u64, written_ns: u64, seen_ns: u64) -> Option<u64> {
        if seen_ns.saturating_sub(self.checked_at_ns) > CHECK_EVERY_NS {
            self.check(seen_ns);
        }
        let arrived = self.to_monotonic(stamp_ns)?;
        if arrived >= written_ns && arrived <= seen_ns {
            return Some(arrived);
        }
        let is_old = arrived < written_ns;
        if is_old && seen_ns.saturating_sub(self.checked_at_ns) < RECHECK_EVERY_NS {
            return Some(arrived);
        }
        self.convert_after_check(stamp_ns, seen_ns)
    }

    #[cold]
    fn convert_after_check(&mut self, stamp_ns: u64, seen_ns: u64) -> Option<u64> {
        self.check(seen_ns);
        let arrived = self.to_monotonic(stamp_ns)?;
        if arrived > seen_ns {
            // Within the error of the offset this means "now"; beyond, the timestamp was made before the step.
            return (arrived - seen_ns < STEP_MIN_NS).then_some(seen_ns);
        }
        // Older than the last write: possible for unsolicited bytes.
        Some(arrived)
    }

    /// Steps so far.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    fn to_monotonic(&self, stamp_ns: u64) -> Option<u64> {
        u64::try_from(i128::from(stamp_ns) - self.offset_ns).ok()
    }

    fn check(&mut self, now_ns: u64) {
        self.checked_at_ns = now_ns;
        // Usually nothing has changed, and one bracket shows it.
        if bracket().1.abs_diff(self.offset_ns) < u128::from(STEP_MIN_NS) {
            return;
        }
        let offset_ns = measure_offset();
        if offset_ns.abs_diff(self.offset_ns) >= u128::from(STEP_MIN_NS) {
            self.steps += 1;
            self.offset_ns = offset_ns;
        }
    }
}

/// Reads monotonic, realtime, monotonic: the width of this bracket, and the offset it gives.
fn bracket() -> (u64, i128) {
    let before = monotonic_ns();
    let real = realtime_ns();
    let width = monotonic_ns() - before;
    (width, i128::from(real) - i128::from(before + width / 2))
}

/// The offset of the narrowest of five brackets.
fn measure_offset() -> i128 {
    let first = bracket();
    (0..4)
        .map(|_| bracket())
        .fold(
            first,
            |best, next| if next.0 < best.0 { next } else { best },
        )
        .1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_between_write_and_sight_is_taken_as_it_is() {
        let mut offset = RealtimeOffset::measure();
        let now = monotonic_ns();
        let real = u64::try_from(i128::from(now) + offset.offset_ns).unwrap();
        let arrived = offset.convert(real - 500, now - 1000, now).unwrap();
        assert!(arrived.abs_diff(now - 500) <= 1);
        assert_eq!(offset.steps(), 0);
    }

    #[test]
    fn a_step_of_the_realtime_clock_is_counted_and_corrected() {
        let mut offset = RealtimeOffset::measure();
        // As if realtime had stood an hour further back when the offset was measured.
        offset.offset_ns -= 3_600_000_000_000;
        let now = monotonic_ns();
        let real = realtime_ns();
        let arrived = offset
            .convert(real - 1_000_000, now - 2_000_000, now)
            .unwrap();
        assert!(
            arrived.abs_diff(now - 1_000_000) < 900_000,
            "within the bracket"
        );
        assert_eq!(offset.steps(), 1);
    }

    #[test]
    fn an_answer_that_came_before_the_next_request_went_out_makes_no_doubt_each_time() {
        let mut offset = RealtimeOffset::measure();
        let now = monotonic_ns();
        let real = u64::try_from(i128::from(now) + offset.offset_ns).unwrap();
        // Wrong by a step that only a comparison of the clocks can find.
        offset.offset_ns += 1_000_000_000;
        offset.checked_at_ns = now - RECHECK_EVERY_NS / 2;
        let old = Some(now - 1_000_000_000);
        assert_eq!(offset.convert(real, now - 1000, now), old);
        assert_eq!(offset.steps(), 0, "compared just before");
        offset.checked_at_ns = now - RECHECK_EVERY_NS;
        assert_ne!(offset.convert(real, now - 1000, now), old);
        assert_eq!(offset.steps(), 1, "compared again after a while");
    }

    #[test]
    fn a_stamp_from_the_future_is_refused() {
        let mut offset = RealtimeOffset::measure();
        let now = monotonic_ns();
        assert_eq!(
            offset.convert(realtime_ns() + 5_000_000_000, now, now),
            None
        );
    }
}
