//! Confidence intervals of ratios and differences: the result of every comparison.

/// An interval of ratios to the baseline, `low ≤ high`, both positive: `1.02 … 1.06` is "2 to 6 % more".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl RatioInterval {
    /// The interval exp(centre ± half) of a log-ratio.
    pub(crate) fn from_log(centre: f64, half: f64) -> Self {
        Self {
            low: (centre - half).exp(),
            high: (centre + half).exp(),
        }
    }

    /// Whether the interval contains this ratio.
    #[must_use]
    pub fn contains(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// Whether the whole interval lies between 1 / (1 + margin) and 1 + margin: symmetric for ratios.
    #[must_use]
    pub fn inside_margin(&self, margin: f64) -> bool {
        // A relative 10⁻¹² for rounding, so that a margin taken from an interval's own end contains that end.
        let reach = margin.ln_1p() * (1.0 + 1e-12) + 1e-15;
        -reach <= self.low.ln() && self.high.ln() <= reach
    }

    /// The half width relative to the centre: 0.05 for `1/1.05 … 1.05` and for `2/1.05 … 2 × 1.05`.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (0.5 * (self.high / self.low).ln()).exp_m1()
    }
}

/// A difference from the baseline in the metric's own unit, derived from a ratio and its interval.
///
/// It is `baseline × (ratio − 1)` with the baseline's geometric mean over the blocks, at the estimate and at both
/// ends. It excludes 0 exactly when the ratio's interval excludes 1. "0.31 ms (0.28–0.34)" is the difference at the
/// baseline's mean level in this run; the scatter of that level between blocks cancels within blocks and is not included.
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
    pub(crate) fn derive(baseline: f64, ratio: f64, interval: RatioInterval) -> Self {
        let of = |ratio: f64| baseline * (ratio - 1.0);
        Self {
            estimate: of(ratio),
            low: of(interval.low),
            high: of(interval.high),
        }
    }
}
