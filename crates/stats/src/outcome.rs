//! The outcome of a comparison: the decision rule for "differs", "same" and "undecided".

use crate::distribution::{normal_quantile, student_quantile};
use crate::interval::RatioInterval;

/// Fewest complete blocks for an interval and a verdict.
pub const BLOCKS_MIN: usize = 3;

/// The size below which a difference does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Margin {
    /// As a share of the baseline (0.05 is 5 %); 0: any difference matters.
    pub relative: f64,
    /// In the metric's own unit, for baselines so small that a share of them is negligible; 0: none.
    pub absolute: f64,
}

impl Margin {
    /// A margin that is only a share of the baseline.
    #[must_use]
    pub fn relative(relative: f64) -> Margin {
        Margin {
            relative,
            absolute: 0.0,
        }
    }

    /// The margin as a share of this baseline: the larger of the two.
    #[must_use]
    pub fn relative_to(self, baseline: f64) -> f64 {
        self.relative.max(self.absolute / baseline)
    }
}

/// The statistical power for minimum detectable differences and for numbers of further blocks.
pub const POWER: f64 = 0.8;

/// Upper limit of the search for further blocks; beyond it the answer is [`MoreBlocks::MoreThan`].
pub const MORE_BLOCKS_MAX: u32 = 100;

/// The decision about a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The decision interval excludes "no difference".
    Differs {
        /// The sign of the difference.
        direction: Direction,
        /// Whether it may exceed the margin.
        extent: Extent,
    },
    /// The 90 % interval lies inside the margin (two one-sided tests at 5 %; D. Schuirmann, J. Pharmacokinetics and
    /// Biopharmaceutics 15 (1987) 657–680) and no difference was shown.
    Same,
    /// Neither could be shown.
    Undecided {
        /// How many more blocks would decide it with 80 % probability.
        more: MoreBlocks,
    },
    /// Fewer than [`BLOCKS_MIN`] blocks have both the arm and the baseline.
    TooFewBlocks {
        /// Number of blocks that have both.
        complete: usize,
    },
}

/// The sign of a difference from the baseline; whether higher is better depends on the metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The arm's metric is larger.
    Higher,
    /// The arm's metric is smaller.
    Lower,
}

/// Whether a significant difference may exceed the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Significant but negligible: the 90 % interval lies inside the margin.
    WithinMargin,
    /// It may exceed the margin, or does.
    MayExceedMargin,
}

/// How many blocks beyond those measured would decide a comparison with 80 % probability, if estimate and noise stay
/// as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoreBlocks {
    /// About this many more.
    About(u32),
    /// More than this many more: further blocks are not worth measuring.
    MoreThan(u32),
}

/// Estimate, standard error and critical value of one comparison, on the log scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestStatistic {
    /// The estimated log-ratio.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub degrees: f64,
    /// The critical value of the decision interval.
    pub critical: f64,
    /// The tail probability of an unadjusted t interval of the same width, to extrapolate to other numbers of blocks.
    pub tail: f64,
    /// Number of blocks; of two runs that of the smaller one.
    pub blocks: usize,
    /// The relative margin.
    pub margin: f64,
}

impl TestStatistic {
    /// The interval for the decision "differs".
    pub fn decision(&self) -> RatioInterval {
        RatioInterval::from_log(self.estimate, self.critical * self.error)
    }

    /// The t interval of this confidence, not adjusted for multiplicity.
    pub fn unadjusted(&self, confidence: f64) -> RatioInterval {
        let t = student_quantile(0.5 + 0.5 * confidence, self.degrees);
        RatioInterval::from_log(self.estimate, t * self.error)
    }

    /// The decision rule. "Differs" comes first and does not depend on the margin: a larger margin can turn "undecided"
    /// into "same" and mark a difference as negligible, but cannot change whether there is one.
    pub fn judge(&self) -> Outcome {
        let within = self.unadjusted(0.90).inside_margin(self.margin);
        if self.estimate.abs() > self.critical * self.error {
            let direction = if self.estimate > 0.0 {
                Direction::Higher
            } else {
                Direction::Lower
            };
            let extent = if within {
                Extent::WithinMargin
            } else {
                Extent::MayExceedMargin
            };
            return Outcome::Differs { direction, extent };
        }
        if within {
            return Outcome::Same;
        }
        Outcome::Undecided {
            more: self.more_blocks(),
        }
    }

    /// Searches the number of further blocks that decide the comparison with [`POWER`], if the estimate stays as it is.
    ///
    /// The standard error shrinks with the root of the blocks and the degrees of freedom grow with them; the decision
    /// interval's critical value is approximated by the t quantile of the same tail.
    fn more_blocks(&self) -> MoreBlocks {
        let reserve = normal_quantile(POWER);
        let now = self.blocks as f64;
        let estimate = self.estimate.abs();
        let margin = self.margin.ln_1p();
        let decided = |more: u32| {
            let then = now + f64::from(more);
            let error = self.error * (now / then).sqrt();
            let degrees = self.degrees * (then - 1.0) / (now - 1.0);
            let differs = estimate > (student_quantile(1.0 - self.tail, degrees) + reserve) * error;
            let inside = (student_quantile(0.95, degrees) + reserve) * error;
            differs || margin - estimate > inside
        };
        if !decided(MORE_BLOCKS_MAX) {
            return MoreBlocks::MoreThan(MORE_BLOCKS_MAX);
        }
        // Both conditions are monotone in the number of blocks: bisection.
        let (mut low, mut high) = (0, MORE_BLOCKS_MAX);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if decided(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        MoreBlocks::About(high)
    }
}
