//! The word at the front of a value by which a consumer knows when the record should have been sent, and by whom.
//!
//! Eight bytes, big-endian: sixteen bits of the run, then the intended start in nanoseconds of the monotonic clock, of which the
//! lowest 48 bits stand there (they come round every 78 hours). Producer and consumer must be on one machine since its start.

/// Bytes at the front of a value.
pub const STAMP_BYTES: usize = 8;

const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Older than this, a record is none of a run's: longer than any load lasts, and short enough to tell rubbish.
const AGE_MAX_NS: u64 = 24 * 3_600_000_000_000;

/// A record may say that it is from the future by so much: the clock is read by two threads.
const AHEAD_MAX_NS: u64 = 1_000_000_000;

/// The stamps of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    run: u16,
}

impl Stamps {
    /// Those of the run with this number, folded to sixteen bits.
    #[must_use]
    pub fn of_run(run: u64) -> Self {
        let run = (run ^ (run >> 32)) as u32;
        Self {
            run: (run ^ (run >> 16)) as u16,
        }
    }

    /// The stamp of a record that should be sent at this time.
    #[inline]
    #[must_use]
    pub fn write(self, intended_ns: u64) -> u64 {
        (u64::from(self.run) << TIME_BITS) | (intended_ns & TIME_MASK)
    }

    /// When a record with this stamp should have been sent; `None` when it is not of this run.
    #[inline]
    #[must_use]
    pub fn read(self, stamp: u64, now_ns: u64) -> Option<u64> {
        if stamp >> TIME_BITS != u64::from(self.run) {
            return None;
        }
        // The nearest time not far ahead of now that has these bits.
        let latest_ns = now_ns.saturating_add(AHEAD_MAX_NS);
        let age_ns = latest_ns.wrapping_sub(stamp) & TIME_MASK;
        (age_ns <= AGE_MAX_NS && age_ns <= latest_ns).then(|| latest_ns - age_ns)
    }

    /// The same from the front of a value.
    #[inline]
    #[must_use]
    pub fn of_value(self, value: &[u8], now_ns: u64) -> Option<u64> {
        let front = value.first_chunk::<STAMP_BYTES>()?;
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
            let stamps = Stamps::of_run(run);
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
            let stamp = Stamps { run }.write(now_ns);
            prop_assert_eq!(Stamps { run: other }.read(stamp, now_ns), None);
        }
    }

    #[test]
    fn what_is_too_old_or_too_short_has_no_stamp() {
        let stamps = Stamps::of_run(7);
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
            assert_ne!(Stamps::of_run(run), Stamps::of_run(run + 1));
            assert_ne!(Stamps::of_run(run << 20), Stamps::of_run((run + 1) << 20));
        }
    }
}
