//! Send timestamp in the first 8 bytes of a value: run id and intended start, for end-to-end latency.
//!
//! Eight bytes, big-endian: 16 bits of the run, then the lowest 48 bits of the intended start in nanoseconds of the monotonic
//! clock (they wrap every 78 hours). Producer and consumer must run on one machine that has not been restarted in between.

/// Length of a timestamp.
pub const SEND_TIME_BYTES: usize = 8;

const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Records older than this are not of the run: longer than any load lasts, short enough to detect random bytes.
const AGE_MAX_NS: u64 = 24 * 3_600_000_000_000;

/// How far in the future a timestamp may be: two threads read the clock.
const AHEAD_MAX_NS: u64 = 1_000_000_000;

/// The send timestamps of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendTimestamps {
    run: u16,
}

impl SendTimestamps {
    /// Those of a run, its number folded to 16 bits.
    #[must_use]
    pub fn of_run(run: u64) -> Self {
        let run = (run ^ (run >> 32)) as u32;
        Self {
            run: (run ^ (run >> 16)) as u16,
        }
    }

    /// The timestamp of a record with this intended start.
    #[inline]
    #[must_use]
    pub fn write(self, intended_ns: u64) -> u64 {
        (u64::from(self.run) << TIME_BITS) | (intended_ns & TIME_MASK)
    }

    /// The intended start of a record with this timestamp; `None` if it is not of this run.
    #[inline]
    #[must_use]
    pub fn read(self, stamp: u64, now_ns: u64) -> Option<u64> {
        if stamp >> TIME_BITS != u64::from(self.run) {
            return None;
        }
        // The nearest time not far after now with these bits.
        let latest_ns = now_ns.saturating_add(AHEAD_MAX_NS);
        let age_ns = latest_ns.wrapping_sub(stamp) & TIME_MASK;
        (age_ns <= AGE_MAX_NS && age_ns <= latest_ns).then(|| latest_ns - age_ns)
    }

    /// Reads the timestamp at the start of a value.
    #[inline]
    #[must_use]
    pub fn of_value(self, value: &[u8], now_ns: u64) -> Option<u64> {
        let front = value.first_chunk::<SEND_TIME_BYTES>()?;
        self.read(u64::from_be_bytes(*front), now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_comes_back_to_the_nanosecond(
            run: u64,
            now_ns in 0..1_u64 << 62,
            age_ns in 0..AGE_MAX_NS - AHEAD_MAX_NS,
        ) {
            let stamps = SendTimestamps::of_run(run);
            let intended_ns = now_ns.saturating_sub(age_ns);
            let stamp = stamps.write(intended_ns);
            prop_assert_eq!(stamps.read(stamp, now_ns), Some(intended_ns));
            prop_assert_eq!(stamps.of_value(&stamp.to_be_bytes(), now_ns), Some(intended_ns));
            let ahead_ns = intended_ns + AHEAD_MAX_NS / 2;
            prop_assert_eq!(stamps.read(stamps.write(ahead_ns), intended_ns), Some(ahead_ns));
        }

        #[test]
        fn records_of_another_run_are_told_apart(now_ns in 0..1_u64 << 62, run: u16, other: u16) {
            prop_assume!(run != other);
            let stamp = SendTimestamps { run }.write(now_ns);
            prop_assert_eq!(SendTimestamps { run: other }.read(stamp, now_ns), None);
        }
    }

    #[test]
    fn what_is_too_old_or_too_short_has_no_stamp() {
        let stamps = SendTimestamps::of_run(7);
        let now_ns = 200 * 3_600_000_000_000;
        assert_eq!(stamps.read(stamps.write(now_ns - AGE_MAX_NS), now_ns), None);
        assert_eq!(
            stamps.of_value(&stamps.write(1).to_be_bytes()[..7], 1),
            None
        );
        assert_eq!(stamps.of_value(b"", 1), None);
    }

    #[test]
    fn runs_that_follow_each_other_have_different_stamps() {
        for run in 0..1000_u64 {
            assert_ne!(SendTimestamps::of_run(run), SendTimestamps::of_run(run + 1));
            assert_ne!(
                SendTimestamps::of_run(run << 20),
                SendTimestamps::of_run((run + 1) << 20)
            );
        }
    }
}
