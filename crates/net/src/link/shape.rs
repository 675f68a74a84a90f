//! Computes when a packet is due at the other end, or why it is dropped. Pure: the time is an argument.

use tare_stats::random::Random;

use super::plan::DirectionPlan;

const NS_PER_S: u128 = 1_000_000_000;

/// Whether a packet is admitted, and when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It arrives at this time.
    Due(u64),
    /// Lost, as planned.
    Lost,
    /// Dropped: the queue is full.
    Full,
}

/// The state of one direction of a link.
#[derive(Debug)]
pub(crate) struct Shaper {
    plan: DirectionPlan,
    random: Random,
    /// When the last bit of all admitted packets has been sent, …
    free_ns: u64,
    /// … and the remainder of that division: rounding must not add up to a rate above the plan's.
    carry: u128,
    due_ns: u64,
}

impl Shaper {
    pub(crate) fn new(plan: DirectionPlan, seed: u64, purpose: &str) -> Self {
        Self {
            plan,
            random: Random::for_purpose(seed, purpose),
            free_ns: 0,
            carry: 0,
            due_ns: 0,
        }
    }

    /// Decides about a packet of `bytes` that enters now.
    pub(crate) fn admit(&mut self, now_ns: u64, bytes: u64) -> Admission {
        if self.plan.loss > 0.0 && self.random.unit() < self.plan.loss {
            return Admission::Lost;
        }
        let Some(sent_ns) = self.send(now_ns, bytes) else {
            return Admission::Full;
        };
        let due_ns = sent_ns + self.plan.delay_ns;
        // Uniform to either side; a plan with more jitter than delay is rejected.
        let due_ns = match self.plan.jitter_ns {
            0 => due_ns,
            jitter => due_ns - jitter + self.random.below(2 * jitter + 1),
        };
        self.due_ns = self.due_ns.max(due_ns);
        Admission::Due(self.due_ns)
    }

    /// When its last bit is sent; `None` if it does not fit the queue.
    fn send(&mut self, now_ns: u64, bytes: u64) -> Option<u64> {
        let Some(rate) = self.plan.rate_bits_per_s else {
            return Some(now_ns);
        };
        if self.free_ns <= now_ns {
            self.free_ns = now_ns;
            self.carry = 0;
        } else {
            let waiting_ns = u128::from(self.free_ns - now_ns);
            let waiting_bytes = waiting_ns * u128::from(rate) / (8 * NS_PER_S);
            if waiting_bytes + u128::from(bytes) > u128::from(self.plan.queue_bytes) {
                return None;
            }
        }
        let bit_ns = u128::from(bytes) * 8 * NS_PER_S + self.carry;
        let rate = u128::from(rate);
        self.free_ns += (bit_ns / rate) as u64;
        self.carry = bit_ns % rate;
        Some(self.free_ns + u64::from(self.carry > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn shaper(plan: &DirectionPlan) -> Shaper {
        Shaper::new(plan.clone(), 7, "there")
    }

    #[test]
    fn a_packet_is_due_after_exactly_the_delay() {
        let mut way = shaper(&DirectionPlan {
            delay_ns: 12 * MS,
            ..DirectionPlan::default()
        });
        assert_eq!(way.admit(5, 1500), Admission::Due(12 * MS + 5));
        assert_eq!(way.admit(6, 64_000), Admission::Due(12 * MS + 6));
    }

    #[test]
    fn jitter_stays_in_its_bounds_reaches_them_and_keeps_the_order() {
        let plan = DirectionPlan {
            delay_ns: 10 * MS,
            jitter_ns: 3 * MS,
            ..DirectionPlan::default()
        };
        let mut way = shaper(&plan);
        let mut last = 0;
        let (mut least, mut most) = (u64::MAX, 0);
        for packet in 0..20_000_u64 {
            // 1 ms apart: several share the delay of a slow one before them.
            let now = packet * MS;
            let Admission::Due(due) = way.admit(now, 100) else {
                panic!("nothing is lost here");
            };
            assert!(due >= last, "packet {packet} overtakes");
            last = due;
            let delay = due - now;
            assert!(
                (7 * MS..=13 * MS).contains(&delay),
                "packet {packet}: {delay}"
            );
            (least, most) = (least.min(delay), most.max(delay));
        }
        assert!(least < 8 * MS && most > 12 * MS, "{least} to {most}");
    }

    #[test]
    fn the_rate_is_kept_to_the_nanosecond_over_a_million_packets() {
        // 64 bytes at 10 Gbit/s take 51.2 ns: rounding each one would be 1.5 % off.
        let plan = DirectionPlan {
            rate_bits_per_s: Some(10_000_000_000),
            queue_bytes: u64::MAX,
            ..DirectionPlan::default()
        };
        let mut way = shaper(&plan);
        let mut last = 0;
        for packet in 1..=1_000_000_u64 {
            let Admission::Due(due) = way.admit(0, 64) else {
                panic!("there is room for all");
            };
            let earliest = (u128::from(packet) * 64 * 8).div_ceil(10) as u64;
            assert_eq!(due, earliest, "packet {packet}");
            last = due;
        }
        assert_eq!(last, 51_200_000);
    }

    #[test]
    fn what_does_not_fit_the_queue_is_dropped_and_the_queue_drains_at_the_rate() {
        // 8 Mbit/s: a byte a microsecond.
        let plan = DirectionPlan {
            rate_bits_per_s: Some(8_000_000),
            queue_bytes: 10_000,
            ..DirectionPlan::default()
        };
        let mut way = shaper(&plan);
        let admitted = (0..100)
            .filter(|_| way.admit(0, 1000) != Admission::Full)
            .count();
        assert_eq!(admitted, 10);
        assert_eq!(way.admit(999_000, 1000), Admission::Full);
        assert_eq!(way.admit(1_000_000, 1000), Admission::Due(11_000_000));
        // After a pause nothing is saved up: the link is as fast as ever, not faster.
        assert_eq!(way.admit(500 * MS, 1000), Admission::Due(501 * MS));
        assert_eq!(way.admit(500 * MS, 1000), Admission::Due(502 * MS));
    }

    #[test]
    fn a_packet_larger_than_the_queue_passes_when_nothing_waits() {
        let plan = DirectionPlan {
            rate_bits_per_s: Some(8_000_000),
            queue_bytes: 1000,
            ..DirectionPlan::default()
        };
        let mut way = shaper(&plan);
        assert_eq!(way.admit(0, 64_000), Admission::Due(64 * MS));
        assert_eq!(way.admit(0, 100), Admission::Full);
    }

    #[test]
    fn the_lost_share_is_the_planned_one_and_repeats_with_the_seed() {
        let plan = DirectionPlan {
            loss: 0.02,
            ..DirectionPlan::default()
        };
        let losses = |seed, purpose| -> Vec<u64> {
            let mut way = Shaper::new(plan.clone(), seed, purpose);
            (0..100_000)
                .filter(|now| way.admit(*now, 100) == Admission::Lost)
                .collect()
        };
        let first = losses(1, "there");
        // 2000 of 100,000, four standard deviations of the binomial (44.3) to either side.
        assert!((1823..=2177).contains(&first.len()), "{}", first.len());
        assert_eq!(first, losses(1, "there"));
        assert_ne!(first, losses(2, "there"));
        assert_ne!(first, losses(1, "back"));
    }
}
