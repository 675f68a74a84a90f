//! Offset between the wall clocks of two hosts.

use crate::schemas::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the clock of another host is ahead of this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// Nanoseconds; negative: it is behind.
    pub offset_ns: i64,
    /// The true offset differs at most by this much.
    pub error_ns: u64,
}

impl ClockOffset {
    /// A moment of this clock (µs since the epoch) by the other one.
    #[must_use]
    pub fn there_us(self, here_us: u64) -> u64 {
        here_us.saturating_add_signed(self.offset_ns.div_euclid(1000))
    }

    /// A moment of the other clock by this one.
    #[must_use]
    pub fn here_us(self, there_us: u64) -> u64 {
        there_us.saturating_add_signed(-self.offset_ns.div_euclid(1000))
    }

    /// This clock against a third one that the other clock is known against.
    #[must_use]
    pub fn then(self, further: ClockOffset) -> ClockOffset {
        ClockOffset {
            offset_ns: self.offset_ns + further.offset_ns,
            error_ns: self.error_ns + further.error_ns,
        }
    }

    /// The offset seen from the other clock.
    #[must_use]
    pub fn reversed(self) -> ClockOffset {
        ClockOffset {
            offset_ns: -self.offset_ns,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_moved_to_the_other_clock_and_back() {
        let ahead = ClockOffset {
            offset_ns: 2_500_000,
            error_ns: 10,
        };
        assert_eq!(ahead.there_us(1_000_000), 1_002_500);
        assert_eq!(ahead.here_us(1_002_500), 1_000_000);
        assert_eq!(ahead.reversed().there_us(1_002_500), 1_000_000);
        let behind = ClockOffset {
            offset_ns: -500_000,
            error_ns: 5,
        };
        let both = ahead.then(behind);
        assert_eq!((both.offset_ns, both.error_ns), (2_000_000, 15));
    }
}
