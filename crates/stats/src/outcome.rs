//! The three outcomes of a comparison, and the rule that chooses among them.

use crate::distribution::{normal_quantile, student_quantile};
use crate::interval::Interval;

/// Fewer complete blocks than this carry no interval and no verdict.
pub const BLOCKS_MIN: usize = 3;

/// An arm with a larger share of repeated or missing trials than this has no verdict.
pub const RERUN_SHARE_MAX: f64 = 0.2;

/// The share of trials that were repeated or are missing, if it is so large that nothing may be said. A single one never is: in
/// a run of three blocks it would be a third of the arm, although one disturbed moment chooses nothing.
pub fn too_many_reruns(rerun_or_missing: u32, planned: u32) -> Option<f64> {
    let share = f64::from(rerun_or_missing) / f64::from(planned.max(1));
    (rerun_or_missing > 1 && share > RERUN_SHARE_MAX).then_some(share)
}

/// The larger of two figures, where there is any.
pub(crate) fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
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
    /// Nothing may be said.
    NoVerdict(NoVerdict),
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

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoVerdict {
    /// Fewer than [`BLOCKS_MIN`] blocks hold both the arm and the baseline.
    TooFewBlocks {
        /// How many do.
        complete: usize,
    },
    /// Of the arm's (or the baseline's) trials [`too_many_reruns`].
    TooManyReruns {
        /// The larger of the two shares.
        share: f64,
    },
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
    /// The margin as a relative difference, when there is one.
    pub margin: Option<f64>,
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
        let within = self
            .margin
            .is_some_and(|margin| self.plain(0.90).inside_margin(margin));
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
        let margin = self.margin.map(f64::ln_1p);
        let decided = |more: u32| {
            let then = now + f64::from(more);
            let error = self.error * (now / then).sqrt();
            let degrees = self.degrees * (then - 1.0) / (now - 1.0);
            let differs = estimate > (student_quantile(1.0 - self.tail, degrees) + reserve) * error;
            differs
                || margin.is_some_and(|margin| {
                    margin - estimate > (student_quantile(0.95, degrees) + reserve) * error
                })
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
