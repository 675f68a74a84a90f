//! The three outcomes of a comparison, and the rule that chooses among them.

use crate::distribution::{normal_quantile, student_quantile};
use crate::interval::Interval;

/// Fewer complete blocks than this carry no interval and no verdict.
pub const BLOCKS_MIN: usize = 3;

/// What is too small to matter.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Margin {
    /// As a share of the baseline (0.05 is 5 %); 0: any difference matters.
    pub relative: f64,
    /// In the metric's own unit, where a share of a small baseline would be less than anybody notices; 0: none.
    pub absolute: f64,
}

impl Margin {
    /// A share of the baseline alone.
    #[must_use]
    pub fn relative(relative: f64) -> Margin {
        Margin {
            relative,
            absolute: 0.0,
        }
    }

    /// The relative difference that counts as none beside this baseline: the larger of the two.
    #[must_use]
    pub fn beside(self, baseline: f64) -> f64 {
        self.relative.max(self.absolute / baseline)
    }
}

/// The power for which designs are planned and blocks are counted.
pub const POWER: f64 = 0.8;

/// More blocks than this are not searched: the answer is then "more than this".
pub const MORE_BLOCKS_MAX: u32 = 100;

/// What can be said about a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The deciding interval excludes "no difference".
    Differs {
        /// Which way.
        direction: Direction,
        /// Whether it could matter.
        extent: Extent,
    },
    /// The 90 % interval lies inside the margin (two one-sided tests at 5 %; D. Schuirmann, J. Pharmacokinetics and
    /// Biopharmaceutics 15 (1987) 657–680) and no difference was shown.
    Same,
    /// Neither could be shown.
    Undecided {
        /// How many blocks would probably decide it.
        more: MoreBlocks,
    },
    /// Fewer than [`BLOCKS_MIN`] blocks hold both the arm and the baseline.
    TooFewBlocks {
        /// How many do.
        complete: usize,
    },
}

/// Which way a metric differs from the baseline's (whether that is good is the metric's matter).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The arm's metric is larger.
    Higher,
    /// The arm's metric is smaller.
    Lower,
}

/// Whether a difference that was shown could matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Real but negligible: the 90 % interval lies inside the margin.
    WithinMargin,
    /// It may lie, or does lie, beyond the margin.
    MayExceedMargin,
}

/// How many blocks beyond those measured would decide a comparison with 80 % probability, if estimate and noise stay
/// as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoreBlocks {
    /// About so many more.
    About(u32),
    /// More than so many more: measuring on is not the way.
    MoreThan(u32),
}

/// The figures that a verdict needs, all on the log scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence {
    /// The estimated log-ratio.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub degrees: f64,
    /// The critical value of the deciding interval.
    pub critical: f64,
    /// The tail probability that a plain t interval would need to be as wide: for other numbers of blocks.
    pub tail: f64,
    /// Blocks (the smaller run's, when two are compared) behind the estimate.
    pub blocks: usize,
    /// The relative difference that counts as none.
    pub margin: f64,
}

impl Evidence {
    /// The interval that decides "differs".
    pub fn deciding(&self) -> Interval {
        Interval::from_log(self.estimate, self.critical * self.error)
    }

    /// A plain interval of this confidence.
    pub fn plain(&self, confidence: f64) -> Interval {
        let t = student_quantile(0.5 + 0.5 * confidence, self.degrees);
        Interval::from_log(self.estimate, t * self.error)
    }

    /// The rule. "Differs" is looked at first and does not depend on the margin: a larger margin can turn "undecided"
    /// into "same" and mark a difference as negligible, but never make or unmake a difference.
    pub fn judge(&self) -> Outcome {
        let within = self.plain(0.90).inside_margin(self.margin);
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

    /// Searches the number of further blocks at which the estimate, if it stays, is decided with [`POWER`].
    ///
    /// The standard error shrinks with the root of the blocks and the degrees of freedom grow with them; the deciding
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
        // Both conditions only get easier with more blocks, so halving finds the first that holds.
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
