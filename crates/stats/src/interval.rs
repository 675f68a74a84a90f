//! An interval on a ratio: the shape in which every comparison is given.

/// An interval of ratios to the baseline, `low ≤ high`, both positive: `1.02 … 1.06` is "2 to 6 % more".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval exp(centre ± half) of a log-ratio.
    pub(crate) fn from_log(centre: f64, half: f64) -> Self {
        Self {
            low: (centre - half).exp(),
            high: (centre + half).exp(),
        }
    }

    /// Whether the interval holds this ratio.
    #[must_use]
    pub fn contains(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// Whether the whole interval lies between 1 / (1 + margin) and 1 + margin: symmetric for ratios.
    #[must_use]
    pub fn inside_margin(&self, margin: f64) -> bool {
        // One part in 10⁻¹² is rounding, so that a margin taken from an interval's own end holds that end.
        let reach = margin.ln_1p() * (1.0 + 1e-12) + 1e-15;
        -reach <= self.low.ln() && self.high.ln() <= reach
    }

    /// How far the ends are from the middle, relatively: 0.05 for `1/1.05 … 1.05` and for `2/1.05 … 2 × 1.05`.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (0.5 * (self.high / self.low).ln()).exp_m1()
    }
}

/// A difference from the baseline in the metric's own unit, derived from a ratio and its interval.
///
/// It is `baseline × (ratio − 1)` with the baseline's geometric mean over the blocks, at the estimate and at both
/// ends. The difference therefore never contradicts the ratio's verdict (both exclude "none" together), and
/// "0.31 ms (0.28–0.34)" reads as "at the baseline's typical level in this run"; that level's own scatter from block
/// to block cancels within blocks and is left out on purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Difference {
    pub(crate) fn derive(baseline: f64, ratio: f64, interval: Interval) -> Self {
        let of = |ratio: f64| baseline * (ratio - 1.0);
        Self {
            estimate: of(ratio),
            low: of(interval.low),
            high: of(interval.high),
        }
    }
}
