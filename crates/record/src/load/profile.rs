//! A rate over time and its integral, the number of exchanges.

const SECOND_NS: f64 = 1e9;

/// A piecewise linear rate, which stays constant after the last segment.
#[derive(Debug, Clone, PartialEq)]
pub struct RateProfile {
    segments: Vec<Segment>,
    /// Rate from `end_ns` on.
    last_per_s: f64,
    end_ns: u64,
    /// Integral up to `end_ns`.
    total: f64,
}

/// A linear segment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Segment {
    start_ns: u64,
    length_ns: u64,
    from_per_s: f64,
    to_per_s: f64,
    /// Integral up to its start.
    before: f64,
}

impl Segment {
    fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.length_ns)
    }

    /// Integral over its first `elapsed_ns`.
    fn count(&self, elapsed_ns: f64) -> f64 {
        let share = elapsed_ns / self.length_ns.max(1) as f64;
        let now_per_s = self.from_per_s + (self.to_per_s - self.from_per_s) * share;
        f64::midpoint(self.from_per_s, now_per_s) * elapsed_ns / SECOND_NS
    }

    /// Time at which its integral reaches `count`: the root of a quadratic, in the form without cancellation at nearly constant
    /// rates.
    fn elapsed_ns(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let slope = (self.to_per_s - self.from_per_s) / (self.length_ns.max(1) as f64 / SECOND_NS);
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * count).max(0.0);
        2.0 * count / (self.from_per_s + root.sqrt()) * SECOND_NS
    }
}

impl RateProfile {
    /// A constant rate.
    #[must_use]
    pub fn steady(rate_per_s: f64) -> Self {
        Self {
            segments: Vec::new(),
            last_per_s: rate_per_s,
            end_ns: 0,
            total: 0.0,
        }
    }

    /// Continues at another rate.
    #[must_use]
    pub fn jump(mut self, rate_per_s: f64) -> Self {
        self.last_per_s = rate_per_s;
        self
    }

    /// Keeps the last rate for `length_ns`.
    #[must_use]
    pub fn hold(self, length_ns: u64) -> Self {
        let rate_per_s = self.last_per_s;
        self.ramp(rate_per_s, length_ns)
    }

    /// Changes the rate linearly over `length_ns`.
    #[must_use]
    pub fn ramp(mut self, to_per_s: f64, length_ns: u64) -> Self {
        if length_ns > 0 {
            let segment = Segment {
                start_ns: self.end_ns,
                length_ns,
                from_per_s: self.last_per_s,
                to_per_s,
                before: self.total,
            };
            self.end_ns = segment.end_ns();
            self.total += segment.count(length_ns as f64);
            self.segments.push(segment);
        }
        self.last_per_s = to_per_s;
        self
    }

    /// Exchanges before a time: the integral of the rate.
    #[must_use]
    pub fn count_until(&self, at_ns: u64) -> f64 {
        let at = self
            .segments
            .partition_point(|segment| segment.end_ns() <= at_ns);
        match self.segments.get(at) {
            Some(segment) => segment.before + segment.count((at_ns - segment.start_ns) as f64),
            None => self.total + self.last_per_s * (at_ns - self.end_ns) as f64 / SECOND_NS,
        }
    }

    /// Time in ns at which the integral of the rate reaches `count`; `None`: never.
    #[must_use]
    pub fn time_of(&self, count: f64) -> Option<f64> {
        if count < self.total {
            let after = |segment: &Segment| {
                segment.before + segment.count(segment.length_ns as f64) <= count
            };
            let at = self.segments.partition_point(after);
            let segment = self.segments.get(at)?;
            let elapsed_ns = segment.elapsed_ns(count - segment.before);
            return Some(segment.start_ns as f64 + elapsed_ns.min(segment.length_ns as f64));
        }
        let beyond = count - self.total;
        let elapsed_ns = beyond / self.last_per_s * SECOND_NS;
        (self.last_per_s > 0.0).then_some(self.end_ns as f64 + elapsed_ns)
    }

    /// Peak rate.
    #[must_use]
    pub fn peak_per_s(&self) -> f64 {
        let segments = self.segments.iter();
        segments.fold(self.last_per_s, |peak, segment| {
            peak.max(segment.from_per_s).max(segment.to_per_s)
        })
    }

    /// Whether every rate is finite and not negative.
    #[must_use]
    pub fn is_a_rate(&self) -> bool {
        let is_one = |rate: f64| rate.is_finite() && rate >= 0.0;
        let segments = self.segments.iter();
        let all = segments.flat_map(|segment| [segment.from_per_s, segment.to_per_s]);
        all.chain([self.last_per_s]).all(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_ramp_has_the_area_of_its_trapezium_and_stays_at_its_last_rate() {
        let profile = RateProfile::steady(100.0).ramp(300.0, 10 * S);
        assert_eq!(profile.count_until(10 * S), 2000.0);
        assert_eq!(profile.count_until(5 * S), 750.0);
        assert_eq!(profile.count_until(12 * S), 2600.0);
        assert_eq!(profile.time_of(2000.0), Some(10e9));
        assert_eq!(profile.time_of(750.0), Some(5e9));
        assert_eq!(profile.peak_per_s(), 300.0);
    }

    #[test]
    fn time_and_count_are_inverse_in_every_piece_and_a_pause_has_no_exchange() {
        let profile = RateProfile::steady(0.0)
            .ramp(50.0, 4 * S)
            .jump(0.0)
            .hold(3 * S)
            .jump(1000.0)
            .hold(S)
            .ramp(0.0, 2 * S);
        assert_eq!(profile.count_until(7 * S), 100.0, "the pause adds none");
        assert_eq!(profile.time_of(100.0), Some(7e9), "the 101st is behind it");
        for count in 0..2100 {
            let count = f64::from(count);
            let at_ns = profile.time_of(count).unwrap();
            let back = profile.count_until(at_ns.round() as u64);
            assert!((back - count).abs() < 1e-5, "{count}: {at_ns} {back}");
        }
        assert_eq!(profile.time_of(2100.0), None, "its last rate is nothing");
    }

    #[test]
    fn what_is_no_number_is_no_rate() {
        assert!(RateProfile::steady(1.0).ramp(0.0, S).is_a_rate());
        assert!(!RateProfile::steady(f64::NAN).is_a_rate());
        assert!(!RateProfile::steady(1.0).ramp(-1.0, S).jump(1.0).is_a_rate());
    }
}
