//! The comparison of each arm of a table with its baseline: estimate, intervals, outcome.

use super::family::ComparisonFamily;
use super::model::{self, Fit};
use super::table::{PairedTable, mean, variance};
use crate::distribution::{f_cdf, student_cdf, student_quantile};
use crate::interval::{Difference, RatioInterval};
use crate::outcome::{BLOCKS_MIN, Margin, Outcome, TestStatistic};

/// Above this ratio of variances the unpooled interval is given as well.
const VARIANCE_RATIO_MAX: f64 = 4.0;

/// Level of the F test by which an arm gets its own residual: see the module's documentation.
pub(crate) const NOISIER_TAIL: f64 = 0.2;

/// Smallest standard error of a log-ratio: it covers rounding.
const ERROR_MIN: f64 = 1e-9;

/// Whether a metric belongs to the primary family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricRole {
    /// Verdicts from simultaneous intervals.
    Primary,
    /// No verdicts, unadjusted 95 % intervals: one in twenty misses.
    Descriptive,
}

/// Input of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonInput<'a> {
    /// The values of all arms.
    pub table: &'a PairedTable,
    /// Primary or descriptive.
    pub role: MetricRole,
    /// The declared margin; noise never widens it.
    pub margin: Margin,
    /// The relative step of the metric's own scale (a histogram's [`crate::Latencies::RESOLUTION`]), 0 for counts and
    /// clocks: values are not known more exactly.
    pub resolution: f64,
}

/// The residual behind an arm's intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Residual {
    /// One residual for all arms.
    Pooled,
    /// The arm's own: it scatters significantly more than the rest.
    Own,
}

/// The comparison of one arm with the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The arm, by its index in the table (0 is the first after the baseline).
    pub arm: usize,
    /// Number of blocks with both the arm and the baseline.
    pub blocks: usize,
    /// The ratio of geometric means, arm to baseline: by the model, or from the pairs when there are too few for it.
    pub ratio: Option<f64>,
    /// The intervals; none with fewer than three blocks.
    pub intervals: Option<Intervals>,
    /// The difference in the metric's unit, with the decision interval.
    pub difference: Option<Difference>,
    /// The decision.
    pub outcome: Outcome,
}

/// The intervals of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intervals {
    /// The interval for the decision "differs": simultaneous 95 % for primary, unadjusted 95 % for descriptive metrics.
    pub decision: RatioInterval,
    /// Unadjusted 95 %.
    pub unadjusted_95: RatioInterval,
    /// Unadjusted 90 %, for "same".
    pub unadjusted_90: RatioInterval,
    /// The residual behind all of these.
    pub residual: Residual,
    /// The unadjusted 95 % t interval from this arm's pairs alone, given when variances differ more than fourfold.
    pub unpooled: Option<RatioInterval>,
    /// The standard error of the log-ratio.
    pub error: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// The two-sided p value of "no difference", not adjusted for the family.
    pub p: f64,
}

/// The comparisons of all arms at one level for one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparisons {
    /// The geometric mean of the baseline.
    pub baseline: Option<f64>,
    /// The margin relative to this baseline; `None` without a baseline.
    pub margin: Option<f64>,
    /// Ratio of the largest of the arms' variances to the smallest, when at least two arms have one.
    pub variance_ratio: Option<f64>,
    /// The pooled standard deviation of one trial within a block, relative: what [`crate::power`] calls noise.
    pub noise: Option<f64>,
    /// One per arm.
    pub arms: Vec<Comparison>,
}

impl ComparisonFamily {
    /// Compares every arm of a table with its baseline.
    #[must_use]
    pub fn compare(&self, input: &ComparisonInput) -> Comparisons {
        let table = input.table;
        let ratios: Vec<Vec<f64>> = (0..table.arms()).map(|arm| table.log_ratios(arm)).collect();
        let usable: Vec<usize> = (0..table.arms())
            .filter(|&arm| ratios[arm].len() >= BLOCKS_MIN)
            .collect();
        let fit = model::fit(table, &usable);
        let variance_ratio = variance_ratio(&ratios, &usable);
        let baseline = table.baseline_level();
        let margin = baseline.map(|baseline| input.margin.relative_to(baseline));
        let judge = ArmJudge {
            family: self,
            input,
            fit: fit.as_ref(),
            variance_ratio,
            margin,
            baseline,
        };
        Comparisons {
            baseline,
            margin,
            variance_ratio,
            noise: fit.as_ref().map(|fit| fit.variance.sqrt().exp_m1()),
            arms: ratios
                .iter()
                .enumerate()
                .map(|(arm, ratios)| judge.arm(arm, ratios))
                .collect(),
        }
    }
}

/// Ratio of the largest variance of the arms' log-ratios to the smallest.
fn variance_ratio(ratios: &[Vec<f64>], usable: &[usize]) -> Option<f64> {
    let variances: Vec<f64> = usable
        .iter()
        .filter_map(|&arm| variance(&ratios[arm]))
        .collect();
    let largest = variances.iter().copied().reduce(f64::max)?;
    let smallest = variances.iter().copied().reduce(f64::min)?;
    (variances.len() > 1 && smallest > 0.0).then(|| largest / smallest)
}

/// Compares the arms of one table.
struct ArmJudge<'a> {
    family: &'a ComparisonFamily,
    input: &'a ComparisonInput<'a>,
    fit: Option<&'a Fit>,
    variance_ratio: Option<f64>,
    margin: Option<f64>,
    baseline: Option<f64>,
}

impl ArmJudge<'_> {
    fn arm(&self, arm: usize, ratios: &[f64]) -> Comparison {
        let statistic = self.statistic(arm, ratios);
        let estimate = statistic.map(|(e, _)| e.estimate).or_else(|| mean(ratios));
        let intervals = statistic.map(|(e, residual)| Intervals {
            residual,
            decision: e.decision(),
            unadjusted_95: e.unadjusted(0.95),
            unadjusted_90: e.unadjusted(0.90),
            unpooled: self.unpooled(ratios),
            error: e.error,
            degrees: e.degrees,
            p: 2.0 * student_cdf(-(e.estimate / e.error).abs(), e.degrees),
        });
        let ratio = estimate.map(f64::exp);
        let difference = match (self.baseline, ratio, intervals) {
            (Some(baseline), Some(ratio), Some(intervals)) => {
                Some(Difference::derive(baseline, ratio, intervals.decision))
            }
            _ => None,
        };
        let outcome = match statistic {
            None => Outcome::TooFewBlocks {
                complete: ratios.len(),
            },
            Some((statistic, _)) => statistic.judge(),
        };
        Comparison {
            arm,
            blocks: ratios.len(),
            ratio,
            intervals,
            difference,
            outcome,
        }
    }

    fn statistic(&self, arm: usize, ratios: &[f64]) -> Option<(TestStatistic, Residual)> {
        let fit = self.fit?;
        let place = fit.arms.iter().position(|&a| a == arm)?;
        let floor = self.input.resolution.powi(2) / 12.0;
        let pooled = (fit.variance.max(floor) * fit.covariance[place][place]).sqrt();
        let own = self.own_error(ratios)?;
        let residual = self.residual(fit, ratios);
        let (estimate, error) = match residual {
            Residual::Pooled => (fit.contrasts[place], pooled),
            Residual::Own => (mean(ratios)?, own.max(pooled)),
        };
        let (critical, tail) = match self.input.role {
            MetricRole::Descriptive => (student_quantile(0.975, fit.degrees), 0.025),
            MetricRole::Primary => {
                let critical = self
                    .family
                    .critical_pooled(fit.degrees, fit.correlation_min());
                (critical, student_cdf(-critical, fit.degrees))
            }
        };
        let statistic = TestStatistic {
            estimate,
            error: error.max(ERROR_MIN),
            degrees: fit.degrees,
            critical,
            tail,
            blocks: ratios.len(),
            margin: self.margin.unwrap_or_default(),
        };
        Some((statistic, residual))
    }

    /// Whether the arm scatters significantly more than the rest of the table: an F test of its part of the residual
    /// against the remainder, which is independent of it in a complete table.
    fn residual(&self, fit: &Fit, ratios: &[f64]) -> Residual {
        let copies = self.input.table.copies().count() as f64;
        let own_degrees = ratios.len() as f64 - 1.0;
        let rest_degrees = fit.degrees - own_degrees;
        let Some(own) = variance(ratios).map(|v| v / (1.0 + 1.0 / copies)) else {
            return Residual::Pooled;
        };
        if rest_degrees < 1.0 {
            return Residual::Pooled;
        }
        let rest = (fit.variance * fit.degrees - own * own_degrees) / rest_degrees;
        let ratio = own / rest.max(ERROR_MIN * ERROR_MIN);
        if f_cdf(ratio, own_degrees, rest_degrees) > 1.0 - NOISIER_TAIL {
            Residual::Own
        } else {
            Residual::Pooled
        }
    }

    /// The standard error of an arm's mean log-ratio from its own scatter.
    fn own_error(&self, ratios: &[f64]) -> Option<f64> {
        let copies = self.input.table.copies().count() as f64;
        let floor = self.input.resolution.powi(2) / 12.0 * (1.0 + 1.0 / copies);
        let error = (variance(ratios)?.max(floor) / ratios.len() as f64).sqrt();
        Some(error.max(ERROR_MIN))
    }

    fn unpooled(&self, ratios: &[f64]) -> Option<RatioInterval> {
        self.variance_ratio
            .filter(|&ratio| ratio > VARIANCE_RATIO_MAX)?;
        let t = student_quantile(0.975, ratios.len() as f64 - 1.0);
        Some(RatioInterval::from_log(
            mean(ratios)?,
            t * self.own_error(ratios)?,
        ))
    }
}
